package webhooks

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
)

func TestAdmin_tokens(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.list = func(admin.List, admin.Query) (admin.Page, error) { return admin.Page{}, nil }
	const path = "/admin/api/v1/orders"
	cookie := header("Cookie", SessionCookie+"=viewer")
	require.Equal(t, 200, h.do("GET", path, "", cookie).Code)
	require.Equal(t, 200, h.do("GET", path, "", header("Authorization", "bearer viewer")).Code)
	for name, options := range map[string][]option{
		"basic":                             {header("Authorization", "Basic viewer")},
		"a bare token":                      {header("Authorization", "viewer")},
		"two headers":                       {as(admin.Viewer), as(admin.Approver)},
		"a bad header beside a good cookie": {cookie, header("Authorization", "Bearer x")},
		"a cookie of another name":          {header("Cookie", "offramp=viewer")},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.do("GET", path, "", options...)
			h.wantRefusal(w, 401, "unauthorized")
			require.Equal(t, `Bearer realm="admin"`, w.Header().Get("WWW-Authenticate"))
		})
	}
	h.wantRefusal(h.do("GET", path, "", as("down")), 503, "store_unavailable")
	made := Cookies{}.Fresh(admin.Token{Text: "t", Expires: time.Unix(1, 0)})
	require.Equal(t, "__Host-offramp=t; Path=/; Expires=Thu, 01 Jan 1970 00:00:01 GMT; HttpOnly; Secure; SameSite=Strict", made.String())
	require.Contains(t, Cookies{}.End().String(), "Max-Age=0")
	plain := Cookies{Plain: true}
	require.Equal(t, "offramp=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", plain.End().String())
	require.Equal(t, 401, h.do("GET", path, "", cookie, cookie).Code, "two cookies of the name: one is somebody else's")
}

func TestAdmin_headersAndOrigin(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.change = func(string, admin.Change, ...any) (admin.Changed, error) {
		return admin.Changed{Status: 200, Body: []byte("{}")}, nil
	}
	w := h.do("GET", "/admin/login", "")
	require.Equal(t, "log in, ", w.Body.String())
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		require.Contains(t, w.Header().Get(name), want)
	}
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
	cookie := header("Cookie", SessionCookie+"=approver")
	post := func(options ...option) int {
		return h.do("POST", "/admin/api/v1/approvals/a/approve", `{"reason":"seen"}`, append(options, cookie)...).Code
	}
	require.Equal(t, 403, post(header("Sec-Fetch-Site", "cross-site")))
	require.Equal(t, 403, post(header("Origin", "https://evil.example")))
	require.Equal(t, 200, post(header("Sec-Fetch-Site", "same-origin")))
	require.Equal(t, 200, post(), "a script sends no such header")
}

func TestAdmin_pages(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, "o1 for viewer@example.com", h.do("GET", "/admin/orders/o1", "", as(admin.Viewer)).Body.String())
	w := h.do("POST", "/admin/login", "email=a%40example.com", header("Content-Type", "application/x-www-form-urlencoded"))
	require.Equal(t, "a@example.com", w.Body.String())
	require.Len(t, h.limits, 2)
	h.limited = true
	w = h.do("POST", "/admin/login", "x")
	h.wantRefusal(w, 429, "too_many_requests")
	require.Equal(t, "2", w.Header().Get("Retry-After"))
	require.Equal(t, 200, h.do("GET", "/admin/login", "").Code, "looking at the login is free")
	for _, limit := range h.limits {
		require.NotContains(t, limit, "192.0.2.1")
	}
}

func TestAdmin_addressOfALoginIsTheConnectionsOwn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.do("POST", "/admin/login", "")
	h.do("POST", "/admin/login", "", header("X-Forwarded-For", "203.0.113.9"), header("X-Real-Ip", "203.0.113.9"))
	require.Equal(t, h.limits[0], h.limits[1])
}

func TestAdmin_listQueries(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var got admin.Query
	h.list = func(list admin.List, q admin.Query) (admin.Page, error) {
		require.Equal(t, admin.Orders, list)
		got = q
		return admin.Page{Next: "n"}, nil
	}
	w := h.do("GET", "/admin/api/v1/orders?q=0xabc&state=review&cursor=c&limit=7&user=", "", as(admin.Viewer))
	require.Equal(t, `{"items":[],"next":"n"}`, w.Body.String())
	require.Equal(t, admin.Query{Text: "0xabc", Cursor: "c", Limit: 7, Filters: map[string]string{"state": "review"}}, got)
	for _, query := range []string{
		"limit=0", "limit=201", "limit=x", "format=xml", "sort=id", "state=a&state=b", "q=" + strings.Repeat("x", 300), "%zz",
		"state[$ne]=x", "a;b",
	} {
		h.wantRefusal(h.do("GET", "/admin/api/v1/orders?"+query, "", as(admin.Viewer)), 400, "body_invalid")
	}
	require.NotEmpty(t, admin.Lists())
	for _, l := range admin.Lists() {
		require.Equal(t, l == admin.Settings, len(admin.Filters(l)) == 0, l)
	}
}

func TestAdmin_storyOfAnOrder(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.order = func(id string) (any, error) {
		if id != "o/1" {
			return nil, fault.New("order_unknown", nil)
		}
		return map[string]string{"order": id}, nil
	}
	require.Equal(t, `{"order":"o/1"}`, h.do("GET", "/admin/api/v1/orders/"+url.PathEscape("o/1"), "", as(admin.Viewer)).Body.String())
	h.wantRefusal(h.do("GET", "/admin/api/v1/orders/x", "", as(admin.Viewer)), 404, "order_unknown")
}

func TestAdmin_csv(t *testing.T) {
	t.Parallel()
	type inner struct {
		Name string `json:"name"`
	}
	type row struct {
		ID     string   `json:"id"`
		Amount int64    `json:"amount_minor"`
		Bank   inner    `json:"bank"`
		Tags   []string `json:"tags"`
		Note   *string  `json:"note"`
	}
	h := newHarness(t)
	h.list = func(_ admin.List, q admin.Query) (admin.Page, error) {
		require.Equal(t, maxLimit, q.Limit)
		if q.Cursor == "" {
			return admin.Page{Items: []any{row{ID: "1", Amount: -5, Bank: inner{"=HYPERLINK(1)"}, Tags: []string{"a"}}}, Next: "c"}, nil
		}
		return admin.Page{Items: []any{row{ID: "-2", Amount: 9007199254740993, Bank: inner{" \u200b+cmd,\"x\""}}}}, nil
	}
	w := h.do("GET", "/admin/api/v1/deposits?format=csv", "", as(admin.Viewer))
	require.Equal(t, "id,amount_minor,bank.name,tags,note\n"+
		"1,-5,'=HYPERLINK(1),\"[\"\"a\"\"]\",\n"+
		"-2,9007199254740993,\"' \u200b+cmd,\"\"x\"\"\",,\n", w.Body.String())
	require.Contains(t, w.Header().Get("Content-Disposition"), `filename="deposits.csv"`)
	for in, want := range map[string]string{
		"": "", "plain": "plain", "-12.50": "-12.50", "+5": "+5", "-1+1": "'-1+1", "@x": "'@x", "\tx": "'\tx", "＝1": "'＝1", "  =1": "'  =1",
		"a=b": "a=b", "+234 80": "'+234 80", "\u202e=1": "'\u202e=1",
	} {
		require.Equal(t, want, safeCell(in), "%q", in)
	}
}

func TestAdmin_changes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var what string
	var change admin.Change
	var args []any
	repeated := false
	h.change = func(w string, c admin.Change, a ...any) (admin.Changed, error) {
		what, change, args = w, c, a
		return admin.Changed{Status: 201, Body: []byte(`{"id":"x"}`), Repeated: repeated}, nil
	}
	key := header("Idempotency-Key", "key-1")

	w := h.do("POST", "/admin/api/v1/approvals", `{"action":"settle","order":"o1","reason":"seen"}`, as(admin.Operator), key)
	require.Equal(t, 201, w.Code)
	require.Equal(t, `{"id":"x"}`, w.Body.String())
	require.Empty(t, w.Header().Get("Idempotent-Replayed"))
	require.Equal(t, "ask", what)
	require.Equal(t, []any{admin.Settle, "o1"}, args)
	require.Equal(t, "seen", change.Reason)
	require.Equal(t, "operator@example.com", change.Who.ID)
	require.Equal(t, admin.Scope{Admin: "operator@example.com", Method: "POST", Route: "/admin/api/v1/approvals", Key: "key-1"}, change.Request.Scope)

	repeated = true
	w = h.do("POST", "/admin/api/v1/approvals/a1/approve", `{"reason":"seen"}`, as(admin.Approver), key)
	require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
	require.Equal(t, []any{"a1", true}, args)
	first := change.Request.Hash
	h.do("POST", "/admin/api/v1/approvals/a2/approve", `{"reason":"seen"}`, as(admin.Approver), key)
	require.NotEqual(t, first, change.Request.Hash, "the same key for another record is another request")
	require.Equal(t, "/admin/api/v1/approvals/:id/approve", change.Request.Scope.Route)
	h.do("POST", "/admin/api/v1/approvals/a1/reject", `{"reason":"no"}`, as(admin.Approver), key)
	require.Equal(t, []any{"a1", false}, args)
	h.do("POST", "/admin/api/v1/parked/p1/redrive", `{"reason":"repaired"}`, as(admin.Operator), key)
	require.Equal(t, []any{"p1"}, args)

	for _, body := range []string{
		`{"reason":"r","settings":{"switch.chain.base":true,"rate.USDT.NGN":"1500.25","fee":50}}`,
		`{"reason":"r","switch.chain.base":"on","rate.USDT.NGN":"1500.25","fee":"50"}`,
	} {
		require.Equal(t, 201, h.do("PUT", "/admin/api/v1/settings", body, as(admin.Operator)).Code)
		require.Equal(t, []any{map[string]string{"switch.chain.base": "on", "rate.USDT.NGN": "1500.25", "fee": "50"}}, args)
		require.Equal(t, "r", change.Reason)
		require.Len(t, change.Request.Scope.Key, 36, "without a key each request is its own")
	}
}

func TestAdmin_changesRefuseOtherBodies(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.change = func(string, admin.Change, ...any) (admin.Changed, error) { panic("not reached") }
	for _, body := range []string{
		"", "null", "[]", "{", `{"action":"settle","order":"o1","reason":"x"} {}`, `{"action":"settle","order":{"$ne":""},"reason":"x"}`,
		`{"action":"settle","order":7,"reason":"x"}`, `{"action":"settle","order":"o1","reason":"x","role":"approver"}`,
		`{"action":"settle","action":"release","order":"o1","reason":"x"}`, `{"Action":"settle","order":"o1","reason":"x"}`,
		`{"action":null,"order":"o1","reason":"x"}`,
	} {
		h.wantRefusal(h.do("POST", "/admin/api/v1/approvals", body, as(admin.Operator)), 400, "body_invalid")
	}
	for _, body := range []string{`{"settings":{"a":{}}}`, `{"settings":{"a":1e3}}`, `{"settings":{"a":null}}`, `{"reason":7,"settings":{}}`, `{"settings":{"a":"1","a":"2"}}`, `{"settings":[]}`} {
		h.wantRefusal(h.do("PUT", "/admin/api/v1/settings", body, as(admin.Operator)), 400, "body_invalid")
	}
	for _, options := range [][]option{
		{header("Idempotency-Key", "")},
		{header("Idempotency-Key", "a b")},
		{header("Idempotency-Key", strings.Repeat("x", 129))},
		{header("Idempotency-Key", "a"), header("Idempotency-Key", "b")},
	} {
		w := h.do("POST", "/admin/api/v1/parked/p/redrive", `{"reason":"x"}`, append(options, as(admin.Operator))...)
		h.wantRefusal(w, 422, "idempotency_key")
	}
}
