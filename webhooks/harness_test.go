package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/obs"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/ratelimit"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
)

const (
	appSecret     = "example-app-secret"
	depositSecret = "example-deposit-secret"
	verifyToken   = "example-verify-token"
	canary        = "canary-4821-canary"
)

// fakeInbox remembers receipts by id.
type fakeInbox struct {
	mu       sync.Mutex
	receipts map[string]*delivery.Receipt
	err      error
	calls    int
}

func (f *fakeInbox) Store(_ context.Context, in []*delivery.Receipt) ([]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	isNew := make([]bool, len(in))
	for i, r := range in {
		if _, known := f.receipts[r.ID]; !known {
			f.receipts[r.ID], isNew[i] = r, true
		}
	}
	return isNew, nil
}

func (f *fakeInbox) ids() []string { return slices.Sorted(maps.Keys(f.receipts)) }

// fakeRail reads the callback "event reference status" and the approval "reference amount", signed with X-Sign: good.
type fakeRail struct{}

func (fakeRail) ParseWebhook(body []byte, header func(string) string) (payout.Callback, error) {
	if header("X-Sign") != "good" {
		return payout.Callback{}, fault.New("signature_invalid", nil)
	}
	parts := strings.Split(string(body), " ")
	if len(parts) != 3 {
		return payout.Callback{}, errors.New("not three words")
	}
	return payout.Callback{Event: parts[0], Reference: parts[1], Status: parts[2]}, nil
}

func (fakeRail) ParseApproval(body []byte, header func(string) string) (string, money.Minor, error) {
	if header("X-Sign") != "good" {
		return "", 0, fault.New("signature_invalid", nil)
	}
	if len(body) == 0 {
		return "", 0, errors.New("empty")
	}
	return string(body), 100, nil
}

// fakes are the function fields of every other port.
type fakes struct {
	repeated func(id string) error
	approve  func(provider, reference string, amount money.Minor) error
	flow     func(body []byte) (int, []byte)
	confirm  func(c offramp.Confirmation) (offramp.Confirmed, error)
	list     func(list admin.List, q admin.Query) (admin.Page, error)
	order    func(id string) (any, error)
	change   func(what string, c admin.Change, args ...any) (admin.Changed, error)
	live     error
	ready    error
	degraded bool
	clockOff bool
	limited  bool
	limits   []string
}

func (f *fakes) Repeated(_ context.Context, id string) error { return f.repeated(id) }
func (f *fakes) ApprovePayout(_ context.Context, p, r string, a money.Minor) error {
	return f.approve(p, r, a)
}
func (f *fakes) Answer(_ context.Context, body []byte) (int, []byte) { return f.flow(body) }
func (f *fakes) Confirm(_ context.Context, c offramp.Confirmation) (offramp.Confirmed, error) {
	return f.confirm(c)
}

func (f *fakes) List(_ context.Context, list admin.List, q admin.Query) (admin.Page, error) {
	return f.list(list, q)
}
func (f *fakes) Order(_ context.Context, id string) (any, error) { return f.order(id) }
func (f *fakes) PutSettings(_ context.Context, c admin.Change, s map[string]string) (admin.Changed, error) {
	return f.change("settings", c, s)
}

func (f *fakes) AskApproval(_ context.Context, c admin.Change, a admin.Action, order string) (admin.Changed, error) {
	return f.change("ask", c, a, order)
}

func (f *fakes) Decide(_ context.Context, c admin.Change, id string, approve bool) (admin.Changed, error) {
	return f.change("decide", c, id, approve)
}

func (f *fakes) Redrive(_ context.Context, c admin.Change, id string) (admin.Changed, error) {
	return f.change("redrive", c, id)
}

func (f *fakes) FreezeUser(_ context.Context, c admin.Change, id string) (admin.Changed, error) {
	return f.change("freeze", c, id)
}

func (f *fakes) UnfreezeUser(_ context.Context, c admin.Change, id string) (admin.Changed, error) {
	return f.change("unfreeze", c, id)
}

func (f *fakes) UnlockUser(_ context.Context, c admin.Change, id string) (admin.Changed, error) {
	return f.change("unlock", c, id)
}

func (f *fakes) Live() error                         { return f.live }
func (f *fakes) Ready(context.Context) (bool, error) { return f.degraded, f.ready }

func (f *fakes) ClockIsOff() bool { return f.clockOff }

// Verify takes a role as the token: "operator" is a member of staff with that role.
func (f *fakes) Verify(_ context.Context, token string) (admin.Identity, error) {
	if token == "down" {
		return admin.Identity{}, store.ErrUnavailable
	}
	if !admin.Can(admin.Role(token), admin.Read) {
		return admin.Identity{}, fault.New("unauthorized", nil)
	}
	return admin.Identity{ID: token + "@example.com", Role: admin.Role(token), JTI: "j"}, nil
}

func (f *fakes) Allow(_ context.Context, scope, id string, _ ratelimit.Limit) (bool, time.Duration) {
	f.limits = append(f.limits, scope+" "+id)
	return !f.limited, 1500 * time.Millisecond
}

type harness struct {
	*testing.T
	*fakes
	edge  *Edge
	inbox *fakeInbox
	log   *bytes.Buffer
	meter *obs.Metrics
}

func goodDeps(tb testing.TB, f *fakes, inbox *fakeInbox, log io.Writer, meter *obs.Metrics) Deps {
	tb.Helper()
	catalogue, err := texts.Load()
	require.NoError(tb, err)
	return Deps{
		Inbox: inbox, Repeats: f, Rails: map[string]CallbackRail{"paystack": fakeRail{}}, Approver: f, Flows: f, Confirm: f,
		Staff: f, Reads: f, Changes: f, Limiter: f, Health: f, Metrics: meter, Scrape: meter.Handler(), Texts: catalogue,
		Log: obs.NewLogger(log, slog.LevelDebug), Now: testkit.Noon().Now,
		Digest: func(parts ...string) string {
			sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
			return hex.EncodeToString(sum[:8])
		},
		Pages: []AdminPage{
			{Method: "GET", Path: "/login", Handle: func(w http.ResponseWriter, _ *http.Request, who admin.Identity) {
				_, _ = io.WriteString(w, "log in, "+who.ID)
			}},
			{Method: "POST", Path: "/login", Handle: func(w http.ResponseWriter, r *http.Request, _ admin.Identity) {
				_, _ = io.WriteString(w, r.FormValue("email"))
			}},
			{
				Method: "GET", Path: "/orders/:id", Permission: admin.Read,
				Handle: func(w http.ResponseWriter, r *http.Request, who admin.Identity) {
					_, _ = io.WriteString(w, r.PathValue("id")+" for "+who.ID)
				},
			},
		},
	}
}

func goodConfig() Config {
	return Config{
		PhoneNumberID: "106540352242922", VerifyToken: verifyToken,
		AppSecrets: [][]byte{[]byte(appSecret), []byte("previous-app-secret")}, DepositSecrets: [][]byte{[]byte(depositSecret)},
	}
}

func newHarness(t *testing.T, change ...func(*Deps)) *harness {
	t.Helper()
	h := &harness{
		T: t, fakes: &fakes{}, inbox: &fakeInbox{receipts: map[string]*delivery.Receipt{}}, log: &bytes.Buffer{},
		meter: obs.NewMetrics("test"),
	}
	deps := goodDeps(t, h.fakes, h.inbox, h.log, h.meter)
	for _, c := range change {
		c(&deps)
	}
	edge, err := New(deps, goodConfig())
	require.NoError(t, err)
	h.edge = edge
	return h
}

type option func(*http.Request)

func header(name, value string) option { return func(r *http.Request) { r.Header.Add(name, value) } }

// as makes the request one of a member of staff.
func as(role admin.Role) option { return header("Authorization", "Bearer "+string(role)) }

func signature(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// do sends a request to the public listener.
func (h *harness) do(method, path, body string, options ...option) *httptest.ResponseRecorder {
	h.Helper()
	return h.on(h.edge.Public, method, path, body, options...)
}

func (h *harness) on(handler http.Handler, method, path, body string, options ...option) *httptest.ResponseRecorder {
	h.Helper()
	r := httptest.NewRequestWithContext(h.Context(), method, path, strings.NewReader(body))
	for _, set := range options {
		set(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// wantRefusal checks status and code, and that nothing else is said.
func (h *harness) wantRefusal(w *httptest.ResponseRecorder, status int, code string) {
	h.Helper()
	require.Equal(h, status, w.Code, w.Body.String())
	var got map[string]string
	require.NoError(h, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(h, code, got["error"])
	require.NotEmpty(h, got["message"])
	require.NotContains(h, got["message"], "⟦")
	require.Len(h, got, 2)
}

// slowReads answers every question by waiting.
type slowReads func(ctx context.Context) error

func (f slowReads) List(ctx context.Context, _ admin.List, _ admin.Query) (admin.Page, error) {
	return admin.Page{}, f(ctx)
}

func (f slowReads) Order(ctx context.Context, _ string) (any, error) { return nil, f(ctx) }
