package flows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/offramp"
)

func TestConfirm_secondPaymentNeedsItsTick(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		paid(p)
		c := p.atPIN("25")
		reference := p.placed()[0].Reference
		for range 2 { // without the tick it is asked again, and the PIN is not looked at
			a := c.submit(map[string]any{"pin": rightPIN, "second_payment": false})
			require.Equal(t, CryptoReview, a.Screen)
			require.Equal(t, "Transaction already completed 2 minute(s) ago. Reference: "+reference, a.text("error_message"))
			require.Equal(t, true, a.Data["ask_second_payment"])
		}
		require.Equal(t, int64(1), w.hasher.compared.Load())
		require.Equal(t, 2, p.trail(audit.DuplicateBlocked))
		a := c.submit(map[string]any{"pin": rightPIN, "second_payment": true})
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 2)
	})
}

func TestConfirm_anotherSaleOfTheSameContentInProgress(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		p.deposits("USDT", 100*oneUSDT)
		first := p.sells("25")
		c := p.atPIN("25")
		a := c.submit(pin(rightPIN))
		require.Equal(t, Refused, a.Screen)
		require.Equal(t, inProgress, a.text("error_message"))
		require.Len(t, p.placed(), 1)
		require.NotEmpty(t, first.text("reference"))
	})
}

func TestConfirm_renewalContinuesItsSale(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		first := p.sells("25")
		id := p.placed()[0].ID
		w.clock.Advance(31 * time.Minute)
		require.NoError(t, raiseElapsed(t, w, id))
		require.Equal(t, offramp.Overdue, p.placed()[0].State)

		c := p.opens("offramp_flow", map[string]string{"renews": id})
		a := c.init()
		require.Equal(t, "25 USDT", a.text("sell_amount"))
		require.Equal(t, "USDT:base", a.text("asset"))
		require.NotEqual(t, newBank, a.text("beneficiary"))
		a = c.submit(map[string]any{"asset": a.text("asset"), "sell_amount": a.text("sell_amount"), "beneficiary": a.text("beneficiary")})
		require.Equal(t, FiatReview, a.Screen, "%v", a.Data)
		c.submit(nil)
		a = c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Equal(t, first.text("reference"), a.text("reference"), "the same order goes on")
		require.Len(t, p.placed(), 1)
		require.Equal(t, offramp.Waiting, p.placed()[0].State)
		require.Contains(t, a.text("next_step"), "14:01 WAT", "its window runs anew")
	})
}

func TestConfirm_renewalOfSomethingElseIsANewSale(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	p.sells("25")
	id := p.placed()[0].ID
	w.clock.Advance(31 * time.Minute)
	require.NoError(t, raiseElapsed(t, w, id))
	c := p.opens("offramp_flow", map[string]string{"renews": id})
	a := c.submit(toNew("26", account))
	require.Equal(t, Details, a.Screen)
	require.Contains(t, a.text("error_message"), p.placed()[0].Reference, "one sale of this coin waits already, and it is named")

	stranger := w.person()
	c = stranger.opens("offramp_flow", map[string]string{"renews": id})
	require.Empty(t, c.init().text("sell_amount"), "another person's sale is not shown")
	require.Equal(t, FiatReview, c.submit(toNew("25", account)).Screen)
	c.submit(nil)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
	require.NotEqual(t, id, stranger.placed()[0].ID)
	require.Equal(t, offramp.Overdue, p.placed()[0].State)
}

// raiseElapsed lets an order's window end, as the timer does.
func raiseElapsed(t *testing.T, w *world, id string) error {
	t.Helper()
	o, err := w.orders.Order(t.Context(), id)
	require.NoError(t, err)
	_, _, err = w.orders.Raise(t.Context(), id, offramp.Occurrence{
		On: offramp.WindowElapsed, ID: "timer:" + id, By: offramp.ByTimer, Due: o.Due,
	})
	return err
}

func TestConfirm_unfundedSaleIsNamed(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		late := p.atPIN("27")
		reference := p.sells("25").text("reference")
		want := "Your sale " + reference + " of 25 USDT still waits for its deposit."
		a := p.opens("offramp_flow", nil).submit(toNew("26", account))
		require.Equal(t, Details, a.Screen)
		require.Contains(t, a.text("error_message"), want)
		require.Equal(t, "One sale waits already", a.text("asset_error"))
		a = late.submit(pin(rightPIN))
		require.Equal(t, Refused, a.Screen)
		require.Contains(t, a.text("error_message"), want)
		require.Len(t, p.placed(), 1)

		other := toNew("26", account)
		other["asset"] = "USDC:base"
		require.Equal(t, FiatReview, p.opens("offramp_flow", nil).submit(other).Screen, "another coin is not in its way")
	})
}
