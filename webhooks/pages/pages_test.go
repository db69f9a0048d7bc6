package pages

import (
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/invariant"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/reconcile"
	"offrampbot/services/store"
	"offrampbot/services/story"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
	"offrampbot/services/user"
)

// evil is what somebody would put into every text that a page shows.
const evil = `<script>alert(1)</script>"' onload=alert(2) {{.}} javascript:alert(3)`

// staffPort is Staff under a name that its method has not.
type staffPort interface{ Staff }

// fakes are the ports of the pages as function fields; a nil one is not called.
type fakes struct {
	staffPort
	Changes
	list   func(list admin.List, q admin.Query) (admin.Page, error)
	tale   func(id string) (*story.Tale, error)
	login  func(email, password, code string) (admin.Token, error)
	verify func() (invariant.Report, error)
	renews int
	ended  []string
}

func (f *fakes) List(_ context.Context, l admin.List, q admin.Query) (admin.Page, error) {
	return f.list(l, q)
}
func (f *fakes) Tale(_ context.Context, id string) (*story.Tale, error) { return f.tale(id) }
func (*fakes) Overview(context.Context) (*story.Overview, error)        { return &story.Overview{}, nil }
func (f *fakes) Login(_ context.Context, email, password, code string) (admin.Token, error) {
	return f.login(email, password, code)
}

func (f *fakes) Verify(_ context.Context, token string) (admin.Identity, error) {
	if token == "gone" {
		return admin.Identity{}, fault.New("unauthorized", nil)
	}
	return admin.Identity{ID: token, JTI: token}, nil
}

func (f *fakes) Logout(_ context.Context, who admin.Identity) error {
	f.ended = append(f.ended, who.JTI)
	return nil
}

func (f *fakes) Renew(who admin.Identity) (admin.Token, bool, error) {
	f.renews++
	return admin.Token{Text: "renewed-" + who.ID}, !who.Since.IsZero(), nil
}

// checker gives the fakes' check its name.
type checker struct{ f *fakes }

func (c checker) Verify(context.Context) (invariant.Report, error) { return c.f.verify() }

func (checker) Reconcile(context.Context) (reconcile.Report, error) {
	return reconcile.Report{OK: true, Explained: []reconcile.Difference{{ID: "o2", Rule: "statement", Text: "is under way"}}}, nil
}

type cookies struct{}

func (cookies) Name() string { return "s" }
func (cookies) Fresh(t admin.Token) *http.Cookie {
	return &http.Cookie{Name: "s", Value: t.Text, Path: "/", HttpOnly: true}
}
func (cookies) End() *http.Cookie { return &http.Cookie{Name: "s", MaxAge: -1} }

type harness struct {
	*testing.T
	*fakes
	pages *Pages
	clock *testkit.Clock
	who   admin.Identity
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	h := &harness{T: t, fakes: &fakes{}, clock: testkit.Noon()}
	h.list = func(admin.List, admin.Query) (admin.Page, error) { return admin.Page{}, nil }
	h.who = admin.Identity{ID: "op@example.com", Role: admin.Operator, Expires: h.clock.Now().Add(15 * time.Minute)}
	h.pages, err = New(Deps{
		Staff: h.fakes, Reads: h.fakes, Changes: h.fakes, Checker: checker{h.fakes}, Cookies: cookies{}, Texts: catalogue,
		Registry: assets.Sandbox(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: h.clock.Now, Key: func() string { return "k1" },
	}, Config{})
	require.NoError(t, err)
	return h
}

// do serves one request as the edge would: by its pattern, with its parameters.
func (h *harness) do(method, pattern, target string, form url.Values, options ...func(*http.Request)) *httptest.ResponseRecorder {
	h.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(h.Context(), method, target, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, set := range options {
		set(r)
	}
	for _, page := range h.pages.Table() {
		if page.Method == method && page.Path == pattern {
			if i := strings.Index(pattern, ":id"); i >= 0 {
				id, _, _ := strings.Cut(r.URL.Path[len("/admin")+i:], "/")
				r.SetPathValue("id", id)
			}
			w := httptest.NewRecorder()
			page.Handle(w, r, h.who)
			return w
		}
	}
	require.FailNow(h, "no such page", pattern)
	return nil
}

func (h *harness) get(path string) *httptest.ResponseRecorder {
	h.Helper()
	pattern, _, _ := strings.Cut(path, "?")
	return h.do("GET", pattern, "/admin"+path, nil)
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := New(Deps{}, Config{})
	require.ErrorContains(t, err, "pages: Staff is missing")
}

func TestPages_showNothingAsMarkup(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	at := h.clock.Now()
	order := &offramp.Order{
		Reference: evil, State: offramp.Review, User: evil, Asset: "USDT", Chain: evil, Amount: 25_000_000, Fiat: evil, Reason: evil,
		Beneficiary: quote.Beneficiary{BankName: evil, Last4: evil, Name: evil}, CreatedAt: at,
		Attempts: []offramp.Attempt{{N: 1, Rail: evil, Reference: evil, State: offramp.AttemptPaid, ProviderID: evil, SessionID: evil, Reason: evil}},
	}
	entry := &audit.Entry{Stream: "order:" + evil, At: at, Actor: evil, Action: evil, Why: evil, Before: evil, After: evil, Data: map[string]string{"intent": evil, "blocked_by": evil}}
	h.tale = func(string) (*story.Tale, error) {
		return &story.Tale{
			Order: order, History: []offramp.Fact{{Event: offramp.Placed, Key: evil, From: evil, To: offramp.Waiting, By: evil, At: at}},
			Postings: []*ledger.Posting{{Debit: evil, Credit: evil, Asset: evil, Amount: 1, At: at}},
			Deposits: []*deposit.Deposit{{Chain: evil, Tx: evil, Asset: evil, From: evil, To: evil, Reason: evil, SeenAt: at}}, Audit: []*audit.Entry{entry},
		}, nil
	}
	rows := map[admin.List]any{
		admin.Orders: story.OrderRow{ID: evil, Reference: evil, Asset: evil, Chain: evil, Fiat: evil, BankName: evil, Last4: evil, Reason: evil},
		admin.Audit:  entry, admin.Duplicates: entry,
		admin.Deposits:  &deposit.Deposit{Chain: evil, Tx: evil, Asset: evil, User: evil, Reason: evil},
		admin.Ledger:    &ledger.Posting{Debit: evil, Credit: evil, Asset: evil},
		admin.Parked:    story.ParkedRow{ID: evil, Record: evil, Kind: evil, State: evil, Reason: evil, Order: evil, Redrive: true},
		admin.Users:     story.UserRow{ID: evil, Name: evil, Country: evil, Tier: evil, Status: evil, Frozen: &user.Freeze{Why: evil}},
		admin.Approvals: &admin.Approval{Meta: store.Meta{ID: evil}, Action: evil, Order: evil, Reason: evil, AskedBy: evil, State: admin.Open},
	}
	h.who.Role = admin.Owner
	h.list = func(l admin.List, _ admin.Query) (admin.Page, error) {
		return admin.Page{Items: []any{rows[l]}, Next: evil}, nil
	}
	for _, path := range []string{"/orders", "/review", "/parked", "/duplicates", "/users", "/deposits", "/ledger", "/audit"} {
		h.harmless(path, h.get(path+"?state="+url.QueryEscape(evil)))
	}
	h.harmless("order", h.do("GET", "/orders/:id", "/admin/orders/x", nil))
}

// harmless fails when a page has a script, a handler or an address that runs, or does not show the text at all.
func (h *harness) harmless(name string, w *httptest.ResponseRecorder) {
	h.Helper()
	body := w.Body.String()
	require.Equal(h, 200, w.Code, "%s: %s", name, body)
	require.NotContains(h, body, "<script", name)
	require.NotRegexp(h, `<[a-z]+( [a-z-]+(="[^"]*")?)* onload=`, body, name)
	require.NotRegexp(h, `(href|formaction|action)="\s*javascript:`, body, name)
	require.Contains(h, body, "&lt;script&gt;alert(1)&lt;/script&gt;", name)
}

func TestPages_sayWhyNot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.list = func(admin.List, admin.Query) (admin.Page, error) {
		return admin.Page{}, errors.New("dial: secret detail")
	}
	w := h.get("/orders")
	require.Equal(t, 500, w.Code)
	require.NotContains(t, w.Body.String(), "secret detail")
	require.Contains(t, w.Body.String(), "Back to the overview")
	h.list = func(admin.List, admin.Query) (admin.Page, error) {
		return admin.Page{}, fault.New("body_invalid", nil).With("why", "The cursor cannot be read")
	}
	w = h.get("/orders?cursor=x")
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), "The cursor cannot be read")
}

func TestLists_askForWhatTheAddressSays(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var got admin.Query
	h.list = func(_ admin.List, q admin.Query) (admin.Page, error) {
		got = q
		return admin.Page{Items: []any{&audit.Entry{Action: "login"}}, Next: "place 2"}, nil
	}
	w := h.get("/audit?q=x&actor=staff%3Aa&from=2026-06-03T12%3A00&nothing=1&cursor=place+1")
	require.Equal(t, admin.Query{
		Text: "x", Cursor: "place 1", Limit: listLimit, Filters: map[string]string{"actor": "staff:a", "from": "2026-06-03T12:00:00Z"},
	}, got)
	body := html.UnescapeString(w.Body.String())
	require.Contains(t, body, `href="/admin/audit?actor=staff%3Aa&cursor=place+2&from=2026-06-03T12%3A00%3A00Z&q=x"`)
	require.Contains(t, body, `href="/admin/api/v1/audit?actor=staff%3Aa&format=csv&from=2026-06-03T12%3A00%3A00Z&q=x"`)
	require.Contains(t, w.Body.String(), `value="2026-06-03T12:00"`)
	require.Contains(t, w.Body.String(), "First page")
}

func TestFormat_moneyHasItsUnit(t *testing.T) {
	t.Parallel()
	p := newHarness(t).pages
	require.Equal(t, "25.5 USDT", crypto("USDT", 25_500_000))
	require.Equal(t, "₦37,262.50", p.fiat("NGN", 3726250))
	require.Equal(t, "5 minor units of XXX", p.fiat("XXX", 5))
	require.Equal(t, "₦1,500.25 for 1 USDT", p.rate("NGN", "USDT", money.Rate{Num: 150025, Den: 1_000_000}))
	require.Equal(t, "-₦1.00", p.amount("NGN", -100))
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", time.Hour - 1: "59 min", 47 * time.Hour: "47 h", 50 * time.Hour: "2 days",
	} {
		require.Equal(t, strings.ReplaceAll(want, " ", "\u00a0"), span(d))
	}
	for _, s := range offramp.States() {
		require.NotEmpty(t, tones[s], s)
		require.NotEmpty(t, sentence(s), s)
	}
	require.Equal(t, "look-ups gave no answer for too long", reason("LookupExhausted"))
	require.Equal(t, "payout failed", reason("PayoutFailed"))
}

func TestRoleMeanings_nameEveryRole(t *testing.T) {
	t.Parallel()
	var names []admin.Role
	for _, r := range roleMeanings {
		names = append(names, r.Name)
	}
	require.Equal(t, admin.Roles(), names)
}
