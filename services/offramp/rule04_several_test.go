package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
)

// third brings an order to its third payout attempt, whose reply is lost, after two failed that turn out to be paid.
func (w *world) third(does bool) *offramp.Order {
	w.t.Helper()
	w.most = 3
	o := w.second()
	w.rail.send = fails
	require.NoError(w.t, w.run(w.claim(operation.Payout)))
	w.rail.send = lost(does)
	require.NoError(w.t, w.run(w.claim(operation.Payout)))
	o = w.order(o.ID)
	require.Equal(w.t, offramp.PayoutPhase(3), o.Phase)
	for _, a := range o.Attempts[:2] {
		w.turnsOut(a.Reference, payout.Success)
	}
	w.clock.Advance(time.Hour)
	o = w.order(o.ID)
	require.Equal(w.t, offramp.Review, o.State)
	return o
}

// Rule 4 holds for any number of older attempts: each that is paid is known, and booked when the order is settled.
func TestRule4_severalOlderAttemptsPaid(t *testing.T) {
	t.Parallel()
	scenario(t, "all three are paid: two are owed", func(t *testing.T, w *world) {
		o, err := w.decide(w.third(true), offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 3, o.Paid)
		require.Equal(t, 2*o.Net, w.account().OwedFiat["NGN"])
		require.NotNil(t, w.user().Frozen)
	})
	scenario(t, "the latest is not paid: one of the others settles, the other one is owed", func(t *testing.T, w *world) {
		o, err := w.decide(w.third(false), offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, 1, o.Paid)
		require.Equal(t, o.Net, w.account().OwedFiat["NGN"])
	})
	scenario(t, "one of them is taken back: it is owed only when it is paid again", func(t *testing.T, w *world) {
		o := w.third(true)
		w.rail.say(o.Attempts[1].Reference, payout.Reversed)
		o, err := w.decide(o, offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, 3, o.Paid)
		require.Equal(t, o.Net, w.account().OwedFiat["NGN"])
		require.Equal(t, offramp.AttemptReversed, o.Attempts[1].State)
		w.turnsOut(o.Attempts[1].Reference, payout.Success)
		require.Equal(t, 2*o.Net, w.account().OwedFiat["NGN"])
	})
	scenario(t, "all are taken back: the order is released, and each payment is news again", func(t *testing.T, w *world) {
		o := w.third(false)
		for _, a := range o.Attempts[:2] {
			w.rail.say(a.Reference, payout.Failed)
		}
		o, err := w.decide(o, offramp.AdminReleased)
		require.NoError(t, err)
		require.Equal(t, offramp.Failed, o.State)
		require.Zero(t, o.Older)
		w.turnsOut(o.Attempts[1].Reference, payout.Success)
		require.Contains(t, w.order(o.ID).Booked, "late:2")
	})
}
