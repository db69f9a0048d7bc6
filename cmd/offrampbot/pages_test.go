package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
	"offrampbot/services/testkit"
)

func TestPages_findASaleAndReadItsStory(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		reference := p.sells("25 usdt on base", "0123456789")
		tx := p.deposits("base", "USDT", "25")
		p.hears("🎉 Paid")
		o := w.becomes(reference, offramp.Success)

		d := w.desk(sandbox.DefaultOperator())
		asked := d.send(http.MethodGet, "/admin/orders?state=success", nil)
		require.Equal(t, "/admin/login?next="+url.QueryEscape("/admin/orders?state=success"), asked.path, "whoever is not signed in is asked to")
		d.logsIn()
		d.says(d.page("/admin/orders?state=success"), reference, "25 USDT on Base", "₦", "****6789")
		d.says(d.page("/admin/orders?state=failed"), "Nothing found")
		for name, id := range map[string]string{
			"id": o.ID, "reference": reference, "transaction": tx, "provider reference": o.Attempts[0].Reference, "phone": p.phone,
			"deposit address": p.address,
		} {
			story := d.page("/admin/orders?q=" + url.QueryEscape(id))
			require.Equal(t, "/admin/orders/"+o.ID, story.path, name)
			d.says(story, "Order "+reference, "Deposit of 25 USDT seen on Base", "Payout paid", "Booked in the ledger", "Callback from the provider",
				"Message to the user", "🎉 Paid", o.Attempts[0].Reference, "exchange → sending", "sending → success")
			require.NotContains(t, story.body, "0123456789")
			require.NotContains(t, story.body, p.phone)
		}
		missing := d.send(http.MethodGet, "/admin/orders/nothing", nil)
		require.Equal(t, 404, missing.status)
		d.says(missing, "Not found")
	})
}

// review brings a sale into review: the provider took the payout and then says nothing.
func (w *town) review(p *person) *offramp.Order {
	w.t.Helper()
	w.faults("paystack", "transfer", "lost_reply", 1)
	w.faults("paystack", "verify", "http_500", 1000)
	reference := p.sells("25 usdt on base", "0123456789")
	p.deposits("base", "USDT", "25")
	return w.becomes(reference, offramp.Review)
}

func TestPages_settleWithASecondPerson(t *testing.T) {
	t.Parallel()
	onBoth(t, map[string]string{"LOOKUP_GIVE_UP": "5s"}, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		o := w.review(p)
		first, second := w.desk(sandbox.DefaultOperator()), w.desk(sandbox.DefaultApprover())
		first.logsIn()
		second.logsIn()
		first.says(first.page("/admin/"), "In review", "a person must decide", "Chains")
		first.says(first.page("/admin/review"), o.Reference, "Nothing waits for a decision")

		page := first.page("/admin/orders/" + o.ID)
		short := first.post(page, "/admin/orders/"+o.ID+"/approvals", "action", "settle", "reason", "x")
		require.Equal(t, 422, short.status)
		first.says(short, "This request cannot be accepted")
		require.Contains(t, short.body, `value="settle" required checked`, "what was chosen stays")
		asked := first.post(page, "/admin/orders/"+o.ID+"/approvals", "action", "settle", "reason", "seen on the statement")
		first.says(asked, "Your request is open", "You asked for this, so another person must decide it.")
		require.NotContains(t, asked.body, "/approve\"")
		again := first.post(page, "/admin/orders/"+o.ID+"/approvals", "action", "settle", "reason", "seen on the statement")
		require.Equal(t, 200, again.status, "the button pressed twice is one request: %s", again.body)

		queue := second.page("/admin/review")
		second.says(queue, o.Reference, first.who.Email+" asks to settle", "seen on the statement")
		approve := regexp.MustCompile(`formaction="(/admin/approvals/[^"]+/approve)"`).FindStringSubmatch(queue.body)
		require.NotNil(t, approve)
		own := first.post(first.page("/admin/settings"), approve[1], "order", o.ID, "reason", "it is fine")
		require.Equal(t, 403, own.status)
		first.says(own, "another person must decide")
		early := second.post(queue, approve[1], "order", o.ID, "reason", "I have seen it too")
		require.Equal(t, 409, early.status, "the provider still does not answer")
		second.says(early, "The evidence for this decision is missing")
		require.Equal(t, offramp.Review, w.order(o.Reference).State)

		w.call("DELETE", "/world/faults", nil)
		ended := second.post(second.page("/admin/review"), approve[1], "order", o.ID, "reason", "I have seen it too")
		require.Equal(t, 200, ended.status, ended.body)
		second.says(ended, "Approved and carried out", "Conclusively paid", "I have seen it too")
		require.Equal(t, offramp.Success, w.order(o.Reference).State)
		require.Len(t, w.bank(), 1)
		first.says(first.page("/admin/review"), "No order is in review", "Decided lately")
		w.holds()
	})
}

func TestPages_everyPageOpensAndIsEmptyInWords(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	d := w.desk(sandbox.DefaultOperator())
	d.logsIn()
	for path, says := range map[string]string{
		"/admin/": "nothing to do", "/admin/orders": "No orders yet", "/admin/review": "No order is in review", "/admin/parked": "Nothing is parked",
		"/admin/duplicates": "No duplicate was blocked", "/admin/users": "No users yet", "/admin/deposits": "No deposits yet",
		"/admin/ledger": "Nothing is booked yet", "/admin/settings": "spread_bps", "/admin/audit": "login", "/admin/verify": "Check everything now",
		"/admin/staff": "approver@sandbox.test",
	} {
		s := d.page(path)
		d.says(s, says)
		require.Equal(t, "no-store", s.header.Get("Cache-Control"), path)
		require.Equal(t, "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			s.header.Get("Content-Security-Policy"), path)
		require.NotRegexp(t, `(?i)<script|\son[a-z]+=|style="|javascript:`, s.body, path)
	}
	require.Equal(t, 404, d.send("GET", "/admin/nothing", nil).status)
	d.says(d.send("GET", "/admin/nothing", nil), "Not found")
	checked := d.post(d.page("/admin/verify"), "/admin/verify")
	d.says(checked, "Everything holds", "The store shows no difference")
	d.says(d.post(d.page("/admin/verify"), "/admin/reconcile"), "Everything holds", "The comparison with chains and providers")

	settings := d.page("/admin/settings")
	d.says(d.post(settings, "/admin/settings", "name", "spread_bps", "value", "25", "reason", "the market moved"), "The setting is changed")
	wrong := d.post(settings, "/admin/settings", "name", "spread_bps", "value", "many", "reason", "the market moved")
	require.Equal(t, 409, wrong.status, "the key of a form is for one request")
	wrong = d.post(d.page("/admin/settings"), "/admin/settings", "name", "spread_bps", "value", "many", "reason", "the market moved")
	require.Equal(t, 422, wrong.status)
	require.Contains(t, wrong.body, `value="many"`, "what was typed stays")
	d.says(d.post(d.page("/admin/settings"), "/admin/settings", "name", "switch.chain.base", "value", "off", "reason", "the node lags"), "off:the node lags")
	d.says(d.page("/admin/audit?stream=settings"), "the market moved", "staff:"+d.who.Email)
	csv := d.send("GET", "/admin/api/v1/audit?stream=settings&format=csv", nil)
	require.Equal(t, "text/csv; charset=utf-8", csv.header.Get("Content-Type"))
	require.Contains(t, csv.body, "the market moved")

	other := "/admin/staff/" + sandbox.DefaultApprover().Email
	second := w.desk(sandbox.DefaultApprover())
	second.logsIn()
	require.Equal(t, 403, second.send("GET", "/admin/staff", nil).status, "staff are for owners")
	require.Equal(t, 403, second.post(settings, other+"/role", "role", "owner", "reason", "I would like it").status)
	d.says(d.post(settings, other+"/role", "role", "viewer", "reason", "moved to another team"), "The role is changed")
	require.Equal(t, 403, second.post(settings, "/admin/settings", "name", "spread_bps", "value", "0", "reason", "a gift").status)
	d.says(second.page("/admin/settings"), "Only an operator may change a setting; your role is viewer.")
	d.says(d.post(settings, other+"/close", "reason", "left us"), "The account is closed", "disabled")
	require.Equal(t, "/admin/login", second.send("GET", "/admin/", nil).path)
	own := d.post(settings, "/admin/staff/"+d.who.Email+"/role", "role", "viewer", "reason", "a slip")
	require.Equal(t, 403, own.status)
	d.says(own, "Nobody changes their own role")
}

func TestPages_userIsFrozenUnlockedAndFree(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	p := w.newPerson()
	p.signsUp()
	p.knowsAddress()
	d := w.desk(sandbox.DefaultOperator())
	d.logsIn()
	found := d.page("/admin/users?q=" + p.phone)
	require.Contains(t, found.path, "/admin/users/u_")
	require.NotContains(t, found.body, p.phone, "numbers are masked")
	d.says(found, "Ada Obi", "…"+p.phone[len(p.phone)-3:], p.address)

	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>{{.}}`
	w.rename(strings.TrimPrefix(found.path, "/admin/users/"), evil)
	for _, path := range []string{found.path, "/admin/users"} {
		s := d.page(path)
		require.NotContains(t, s.body, "<script>")
		require.NotContains(t, s.body, "<img src=x")
		require.Contains(t, s.body, "&lt;script&gt;alert(1)&lt;/script&gt;", "the name is shown as it is, as text")
	}

	frozen := d.post(d.page(found.path), found.path+"/freeze", "reason", "they called us")
	d.says(frozen, "The user is frozen", "staff: they called us", "Unfreeze")
	p.says("sell 25 usdt on base")
	p.hears("paused")
	d.says(d.post(d.page(found.path), found.path+"/unlock", "reason", "they called us"), "The PIN may be tried again")
	d.says(d.post(d.page(found.path), found.path+"/unfreeze", "reason", "all is well"), "The user is free again")
	p.says("sell 25 usdt on base")
	p.hears("offramp_flow")
}
