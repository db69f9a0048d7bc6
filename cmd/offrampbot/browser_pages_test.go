package main

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
	"offrampbot/services/testkit"
)

// fits fails when a page is wider than its window, or when something that can be used has no name.
func (b *browser) fits(path string) {
	b.t.Helper()
	var over int
	b.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &over)
	require.LessOrEqual(b.t, over, 0, "%s is wider than its window", path)
	b.everythingHasAName()
}

// TestPages_inABrowser goes through the pages as a person would, on a wide screen and on a phone, light and dark.
func TestPages_inABrowser(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), map[string]string{"LOOKUP_GIVE_UP": "5s"})
	p := w.newPerson()
	p.signsUp()
	paid := w.becomes(p.sells("25 usdt on base", "0123456789"), offramp.Waiting)
	p.deposits("base", "USDT", "25")
	w.becomes(paid.Reference, offramp.Success)
	stuck := w.review(w.signedUp())
	other := w.signedUp()
	other.sells("40 usdc on polygon", "0123456789")
	settled := w.review(w.signedUp())
	ask := map[string]any{"action": "settle", "order": settled.ID, "reason": "The bank's statement of today shows it, line 14"}
	w.staff(sandbox.DefaultApprover().Email).call(201, "POST", "/approvals", ask)

	d := w.desk(sandbox.DefaultOperator())
	b := newBrowser(t, 1280, 900)
	b.colours("light")
	b.open(w.bot + "/admin/")
	b.see("#code")
	b.shot("admin-login")
	b.fill("#email", d.who.Email)
	b.fill("#password", d.who.Password)
	b.fill("#code", d.code())
	b.tap("button.wide")
	b.see(".numbers")
	b.fits("/admin/")
	b.shot("admin-overview")

	b.fill("#find", stuck.Reference)
	b.press("\r")
	b.until("the story is there", `document.querySelector("h1")?.innerText.includes("`+stuck.Reference+`")`)
	paths := []string{
		"/admin/", "/admin/orders", "/admin/orders/" + paid.ID, "/admin/orders/" + stuck.ID, "/admin/review", "/admin/parked", "/admin/duplicates",
		"/admin/users", "/admin/users/" + paid.User, "/admin/deposits", "/admin/ledger", "/admin/settings", "/admin/audit", "/admin/verify", "/admin/staff",
	}
	names := []string{
		"overview", "orders", "order", "order-review", "review", "parked", "duplicates", "users", "user", "deposits", "ledger", "settings", "audit",
		"verify", "staff",
	}
	for _, at := range []struct {
		width, height int64
		colour        string
		suffix        string
	}{{1280, 1000, "light", ""}, {380, 900, "dark", "-small"}} {
		b.size(at.width, at.height)
		b.colours(at.colour)
		for i, path := range paths {
			b.open(w.bot + path)
			b.see("h1")
			b.fits(path)
			b.shot("admin-" + names[i] + at.suffix)
			if names[i] == "order" {
				b.eval(`(document.getElementById("story").closest("section").scrollIntoView(), true)`, new(bool))
				b.shot("admin-story" + at.suffix)
			}
		}
	}
	require.Empty(t, b.console())
}

// signedUp is somebody new with an account.
func (w *town) signedUp() *person {
	w.t.Helper()
	p := w.newPerson()
	p.signsUp()
	return p
}
