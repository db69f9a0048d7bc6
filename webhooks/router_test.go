package webhooks

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/obs"
	"offrampbot/services/testkit"
	"offrampbot/webhooks/pages"
)

func TestRoutes_documentIsFresh(t *testing.T) {
	t.Parallel()
	deps := goodDeps(t, &fakes{}, &fakeInbox{}, io.Discard, obs.NewMetrics("test"))
	deps.Pages = realPages(func(p pages.Page) PageHandler { return p.Handle })
	edge, err := New(deps, goodConfig())
	require.NoError(t, err)
	path := filepath.Join("..", "docs", "routes.md")
	if testkit.Updating() {
		require.NoError(t, os.WriteFile(path, []byte(edge.Routes()), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, edge.Routes(), string(got), "run go test ./webhooks -update and read the difference: is every route meant to be open?")
}

// realPages are the operator's pages with handlers of the test's choice.
func realPages(handle func(p pages.Page) PageHandler) []AdminPage {
	var out []AdminPage
	for _, p := range new(pages.Pages).Table() {
		out = append(out, AdminPage{Method: p.Method, Path: p.Path, Permission: p.Permission, Handle: handle(p)})
	}
	return out
}

func TestNew_refusesWhatIsMissing(t *testing.T) {
	t.Parallel()
	good := goodDeps(t, &fakes{}, &fakeInbox{}, io.Discard, obs.NewMetrics("test"))
	v := reflect.TypeFor[Deps]()
	for i := range v.NumField() {
		name := v.Field(i).Name
		if name == "Pages" || name == "Refuse" {
			continue
		}
		deps := good
		reflect.ValueOf(&deps).Elem().Field(i).SetZero()
		_, err := New(deps, goodConfig())
		require.ErrorContains(t, err, "webhooks: "+name+" is missing")
	}
	for want, change := range map[string]func(*Config){
		"PhoneNumberID":                        func(c *Config) { c.PhoneNumberID = "" },
		"VerifyToken":                          func(c *Config) { c.VerifyToken = "" },
		"AppSecrets cannot be empty":           func(c *Config) { c.AppSecrets = nil },
		"DepositSecrets holds an empty secret": func(c *Config) { c.DepositSecrets = [][]byte{[]byte("x"), nil} },
	} {
		cfg := goodConfig()
		change(&cfg)
		_, err := New(good, cfg)
		require.ErrorContains(t, err, want)
	}
}

// TestRoutes_eachRoleMayWhatItsTableSays calls every admin route with every role, and without one.
func TestRoutes_eachRoleMayWhatItsTableSays(t *testing.T) {
	t.Parallel()
	least := map[string]admin.Role{ // written by hand: the router's own table is what is tested
		"GET /admin/api/v1/orders": admin.Viewer, "GET /admin/api/v1/orders/:id": admin.Viewer,
		"GET /admin/api/v1/audit": admin.Viewer, "GET /admin/api/v1/duplicates": admin.Viewer,
		"GET /admin/api/v1/deposits": admin.Viewer, "GET /admin/api/v1/ledger": admin.Viewer,
		"GET /admin/api/v1/parked": admin.Viewer, "GET /admin/api/v1/settings": admin.Viewer,
		"GET /admin/api/v1/approvals": admin.Viewer,
		"GET /admin/api/v1/users":     admin.Viewer, "POST /admin/api/v1/users/:id/freeze": admin.Support,
		"POST /admin/api/v1/users/:id/unlock": admin.Support, "POST /admin/api/v1/users/:id/unfreeze": admin.Operator,
		"PUT /admin/api/v1/settings": admin.Operator, "POST /admin/api/v1/approvals": admin.Operator,
		"POST /admin/api/v1/parked/:id/redrive":    admin.Operator,
		"POST /admin/api/v1/approvals/:id/approve": admin.Approver, "POST /admin/api/v1/approvals/:id/reject": admin.Approver,

		"GET /admin/": admin.Viewer, "GET /admin/orders": admin.Viewer, "GET /admin/orders/:id": admin.Viewer,
		"GET /admin/review": admin.Viewer, "GET /admin/parked": admin.Viewer, "GET /admin/duplicates": admin.Viewer,
		"GET /admin/users": admin.Viewer, "GET /admin/users/:id": admin.Viewer, "GET /admin/deposits": admin.Viewer,
		"GET /admin/ledger": admin.Viewer, "GET /admin/settings": admin.Viewer, "GET /admin/audit": admin.Viewer,
		"GET /admin/verify": admin.Viewer, "POST /admin/verify": admin.Viewer, "POST /admin/reconcile": admin.Viewer, "POST /admin/logout": admin.Viewer,
		"POST /admin/logout-everywhere": admin.Viewer,
		"POST /admin/users/:id/freeze":  admin.Support, "POST /admin/users/:id/unlock": admin.Support,
		"POST /admin/users/:id/unfreeze": admin.Operator, "POST /admin/orders/:id/approvals": admin.Operator,
		"POST /admin/parked/:id/redrive": admin.Operator, "POST /admin/settings": admin.Operator,
		"POST /admin/approvals/:id/approve": admin.Approver, "POST /admin/approvals/:id/reject": admin.Approver,
		"GET /admin/staff": admin.Owner, "POST /admin/staff/:id/role": admin.Owner, "POST /admin/staff/:id/close": admin.Owner,
		"POST /admin/staff/:id/open": admin.Owner, "POST /admin/staff/:id/end-sessions": admin.Owner,
	}
	h := newHarness(t, func(d *Deps) {
		d.Pages = realPages(func(pages.Page) PageHandler {
			return func(w http.ResponseWriter, _ *http.Request, _ admin.Identity) { w.WriteHeader(http.StatusOK) }
		})
	})
	h.list = func(admin.List, admin.Query) (admin.Page, error) { return admin.Page{}, nil }
	h.order = func(string) (any, error) { return struct{}{}, nil }
	h.change = func(string, admin.Change, ...any) (admin.Changed, error) {
		return admin.Changed{Status: 200, Body: []byte("{}")}, nil
	}
	seen := 0
	for _, r := range h.edge.routes {
		if !strings.HasPrefix(r.path, "/admin") || slices.Contains(openPages, r.method+" "+r.path) {
			continue
		}
		seen++
		name := r.method + " " + r.path
		need, ok := least[name]
		require.True(t, ok, "%s is not in the table of this test", name)
		path := strings.ReplaceAll(r.path, ":id", "x")
		h.wantRefusal(h.do(r.method, path, "{}"), 401, "unauthorized")
		h.wantRefusal(h.do(r.method, path, "{}", as("root")), 401, "unauthorized")
		allowed := false
		for _, role := range admin.Roles() {
			allowed = allowed || role == need
			w := h.do(r.method, path, "{}", as(role))
			if allowed {
				require.Equal(t, 200, w.Code, "%s as %s: %s", name, role, w.Body)
			} else {
				h.wantRefusal(w, 403, "forbidden")
			}
		}
	}
	require.Equal(t, len(least), seen)
}

// openPages are what somebody sees who is not signed in.
var openPages = []string{"GET /admin", "GET /admin/style.css", "GET /admin/icon.svg", "GET /admin/login", "POST /admin/login"}

func TestRoutes_openOnesAreFew(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(d *Deps) { d.Pages = realPages(func(p pages.Page) PageHandler { return p.Handle }) })
	var open []string
	for _, r := range h.edge.routes {
		checked := false
		for _, s := range r.steps {
			checked = checked || s.name == "token" || strings.HasSuffix(s.name, "_signature")
		}
		if !checked {
			open = append(open, string(r.listener)+" "+r.method+" "+r.path)
		}
	}
	require.Equal(t, []string{
		"public GET /webhooks/whatsapp",                    // compares the verify token itself
		"public POST /webhooks/payouts/:provider",          // the rail compares the signature
		"public POST /webhooks/payouts/:provider/approval", // likewise
		"public GET /healthz", "public GET /readyz", "internal GET /healthz", "internal GET /readyz", "public GET /metrics",
		"public GET /admin", "public GET /admin/style.css", "public GET /admin/icon.svg", "public GET /admin/login", "public POST /admin/login",
	}, open)
}

func TestEdge_everyRequest(t *testing.T) {
	t.Parallel()
	t.Run("an unknown address and an unknown method say so", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.wantRefusal(h.do("GET", "/nothing", ""), 404, "route_unknown")
		h.wantRefusal(h.do("DELETE", "/webhooks/whatsapp", ""), 405, "method_unknown")
		h.wantRefusal(h.do("POST", "/webhooks/deposits", "{}"), 404, "route_unknown")
		h.wantRefusal(h.on(h.edge.Internal, "POST", "/webhooks/whatsapp", ""), 404, "route_unknown")
	})
	t.Run("has an id of ours in answer and log, whatever it brings", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		w := h.do("GET", "/healthz", "", header("X-Request-Id", "evil"))
		id := w.Header().Get("X-Request-Id")
		require.Len(t, id, 36)
		require.Contains(t, h.log.String(), `"request_id":"`+id+`"`)
	})
	t.Run("a panic is a logged 500 without detail", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.order = func(string) (any, error) { panic("secret detail") }
		w := h.do("GET", "/admin/api/v1/orders/x", "", as(admin.Viewer))
		h.wantRefusal(w, 500, "internal")
		require.NotContains(t, w.Body.String(), "secret detail")
		require.Contains(t, h.log.String(), "request panicked")
		require.Contains(t, scrape(h), `offramp_panics_total{where="http"} 1`)
	})
	t.Run("an error without a class is a logged 500 without detail", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.order = func(string) (any, error) { return nil, errors.New("dial mongodb: " + canary) }
		w := h.do("GET", "/admin/api/v1/orders/x", "", as(admin.Viewer))
		h.wantRefusal(w, 500, "internal")
		require.NotContains(t, w.Body.String(), canary)
		require.Equal(t, 1, strings.Count(h.log.String(), canary), "logged once")
	})
	t.Run("query and body never reach log or metrics", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.do("GET", "/webhooks/whatsapp?hub.verify_token="+canary, "")
		h.do("POST", "/webhooks/whatsapp", canary, header("X-Hub-Signature-256", signature(appSecret, canary)))
		h.do("POST", "/webhooks/payouts/"+canary, canary)
		h.do("BREW"+strings.ToUpper(canary), "/"+canary, canary)
		require.NotContains(t, strings.ToLower(h.log.String()+scrape(h)), canary)
	})
}

func scrape(h *harness) string { return h.do("GET", "/metrics", "").Body.String() }

func TestBody_limits(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 4<<20+1)
	tests := []struct {
		name, path, body string
		options          []option
		status           int
		code             string
	}{
		{"a webhook of 4 MiB and a byte", "/webhooks/whatsapp", big, nil, 413, "body_too_large"},
		{"the same without a length", "/webhooks/whatsapp", big, []option{func(r *http.Request) { r.ContentLength = -1 }}, 413, "body_too_large"},
		{"a callback of 64 KiB and a byte", "/webhooks/payouts/paystack", big[:64<<10+1], nil, 413, "body_too_large"},
		{"a Flow request of 64 KiB and a byte", "/webhooks/flows", big[:64<<10+1], nil, 413, "body_too_large"},
		{"a compressed webhook", "/webhooks/whatsapp", "x", []option{header("Content-Encoding", "gzip")}, 415, "encoding_unsupported"},
		{"a compressed admin request", "/admin/api/v1/approvals", "x", []option{header("Content-Encoding", "br"), as(admin.Operator)}, 415, "encoding_unsupported"},
		{"a webhook of exactly 4 MiB goes on to the signature", "/webhooks/whatsapp", big[:4<<20], nil, 401, "signature_invalid"},
		{"no encoding at all is an encoding", "/webhooks/whatsapp", "x", []option{header("Content-Encoding", "identity")}, 401, "signature_invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.wantRefusal(h.do("POST", tt.path, tt.body, tt.options...), tt.status, tt.code)
			require.Empty(t, h.inbox.receipts)
		})
	}
}

func TestClock_refusesWhateverWouldBeStored(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.clockOff = true
	for _, path := range []string{"/webhooks/whatsapp", "/webhooks/flows", "/webhooks/payouts/paystack", "/webhooks/payouts/paystack/approval"} {
		h.wantRefusal(h.do("POST", path, "{}"), 503, "clock_off")
	}
	h.wantRefusal(h.on(h.edge.Internal, "POST", "/webhooks/deposits", "{}"), 503, "clock_off")
	require.Empty(t, h.inbox.receipts)
	require.Equal(t, 200, h.do("GET", "/healthz", "").Code, "restarting it would not help")
	h.clockOff = false
	h.wantRefusal(h.do("POST", "/webhooks/whatsapp", "{}"), 401, "signature_invalid")
}

func TestHealth_saysNothingToAStranger(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.JSONEq(t, `{"status":"ok"}`, h.do("GET", "/healthz", "").Body.String())
	require.JSONEq(t, `{"status":"ready"}`, h.on(h.edge.Internal, "GET", "/readyz", "").Body.String())
	h.degraded = true
	w := h.do("GET", "/readyz", "")
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"status":"degraded"}`, w.Body.String())
	h.live, h.ready = errors.New(canary), errors.New(canary)
	for _, path := range []string{"/healthz", "/readyz"} {
		w := h.do("GET", path, "")
		require.Equal(t, 503, w.Code)
		require.NotContains(t, w.Body.String(), canary)
	}
	require.Contains(t, h.log.String(), canary)
}

func TestMetrics_moveToTheirOwnListener(t *testing.T) {
	t.Parallel()
	deps := goodDeps(t, &fakes{}, &fakeInbox{receipts: map[string]*delivery.Receipt{}}, &bytes.Buffer{}, obs.NewMetrics("test"))
	cfg := goodConfig()
	cfg.SeparateMetrics = true
	edge, err := New(deps, cfg)
	require.NoError(t, err)
	for handler, want := range map[*http.Handler]int{&edge.Public: 404, &edge.Metrics: 200} {
		w := httptest.NewRecorder()
		(*handler).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		require.Equal(t, want, w.Code)
	}
}
