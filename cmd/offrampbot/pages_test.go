package main

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
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
