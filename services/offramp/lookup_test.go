package offramp_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/exchange"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/store"
)

// lookUps lists an order's look-ups that are not closed, by target.
func (w *world) lookUps(order string) map[string]time.Time {
	w.t.Helper()
	out := map[string]time.Time{}
	for _, op := range w.all(order) {
		if op.Kind == operation.LookUp && !op.State.Closed() {
			out[op.Target] = *op.Due
		}
	}
	return out
}

// The life of look-ups after an order has ended (DESIGN §8).
func TestLookUps_afterTheEnd(t *testing.T) {
	t.Parallel()
	scenario(t, "a success is looked up after 1, 24 and 72 hours, and then no more", func(t *testing.T, w *world) {
		o := w.sold()
		at := *o.EndedAt
		target := "payout:" + o.ID
		for _, after := range []time.Duration{time.Hour, 24 * time.Hour, 72 * time.Hour} {
			require.Equal(t, map[string]time.Time{target: at.Add(after)}, w.lookUps(o.ID))
			w.clock.Set(at.Add(after - time.Second))
			require.Zero(t, w.work())
			w.clock.Set(at.Add(after))
			require.Equal(t, 1, w.work())
		}
		require.Empty(t, w.lookUps(o.ID))
		w.pass(200*time.Hour, 10*time.Hour)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
	scenario(t, "a watch that gets no answer is made again on the schedule", func(t *testing.T, w *world) {
		o := w.sold()
		w.clock.Advance(time.Hour)
		w.rail.says = []payout.Outcome{payout.Unknown, payout.Unknown}
		require.Equal(t, 1, w.work())
		w.clock.Advance(15 * time.Second)
		require.Equal(t, 1, w.work())
		w.rail.say(o.Attempts[0].Reference, payout.Reversed)
		w.clock.Advance(time.Minute)
		w.work()
		require.Equal(t, offramp.Returned, w.order(o.ID).State)
	})
	scenario(t, "without any answer a watch gives up after 72 hours and comes back with the next", func(t *testing.T, w *world) {
		o := w.sold()
		w.clock.Advance(time.Hour)
		w.rail.mute = true
		before := w.rail.lookUps
		w.pass(200*time.Hour, 30*time.Minute)
		require.Empty(t, w.lookUps(o.ID))
		require.InDelta(t, 80, w.rail.lookUps-before, 20)
	})
	scenario(t, "a look-up of the exchange is not a watch of the payout", func(t *testing.T, w *world) {
		w.venue.execute = func(q exchange.Order) (bool, exchange.Result) {
			return true, exchange.Result{Outcome: exchange.Unknown, Found: true}
		}
		o := w.sold()
		require.Equal(t, offramp.Unclear, o.State)
		w.pass(30*time.Second, 5*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, []string{"payout:" + o.ID}, slices.Collect(maps.Keys(w.lookUps(o.ID))))
	})
	scenario(t, "a hint during a look-up is not lost", func(t *testing.T, w *world) {
		o := w.sold()
		reference := o.Attempts[0].Reference
		w.clock.Advance(time.Hour)
		op := w.claim(operation.LookUp)
		w.rail.asked = func() { // the bank answers, takes it back, and tells us, all before we commit
			w.rail.asked = nil
			require.NoError(t, w.hint(reference))
		}
		require.NoError(t, w.run(op))
		w.rail.say(reference, payout.Reversed)
		require.Equal(t, 1, w.work(), "at once, not a day later")
		require.Equal(t, offramp.Returned, w.order(o.ID).State)
	})
	scenario(t, "hints of an ended attempt are looked up once, watched and ended", func(t *testing.T, w *world) {
		o := w.second()
		w.rail.send = fails
		w.work()
		o = w.order(o.ID)
		require.Equal(t, offramp.Failed, o.State)
		w.pass(100*time.Hour, time.Hour)
		require.Empty(t, w.lookUps(o.ID))
		for range 3 {
			require.NoError(t, w.hint(o.Attempts[0].Reference))
			require.NoError(t, w.hint(o.Attempts[1].Reference))
		}
		w.rail.say(o.Attempts[0].Reference, payout.Failed)
		w.rail.say(o.Attempts[1].Reference, payout.Failed)
		before := w.rail.lookUps
		w.pass(time.Minute, 5*time.Second)
		require.Equal(t, 4, w.rail.lookUps-before, "three hints, one look-up; a failure is asked about twice")
		w.pass(100*time.Hour, time.Hour)
		require.Empty(t, w.lookUps(o.ID))
		require.Equal(t, offramp.Failed, w.order(o.ID).State)
	})
	scenario(t, "a hint about a reference of nobody is refused", func(t *testing.T, w *world) {
		err := w.svc.Hint(t.Context(), "nobody", func(store.Tx, *offramp.Order) error { return nil })
		require.ErrorContains(t, err, "order_unknown")
	})
}

// A bank that has no answer for an unclear payout is asked on the schedule until the look-ups are given up.
func TestLookUps_schedule(t *testing.T) {
	t.Parallel()
	scenario(t, "5 s, 15 s, 1 min, 5 min, 15 min, then every hour", func(t *testing.T, w *world) {
		o := w.unclear()
		w.rail.mute = true
		at := w.clock.Now()
		for _, after := range []time.Duration{
			5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, time.Hour, time.Hour,
		} {
			at = at.Add(after)
			require.Equal(t, []time.Time{at}, slices.Collect(maps.Values(w.lookUps(o.ID))))
			w.clock.Set(at)
			require.Equal(t, 1, w.work())
		}
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
		require.Equal(t, 1, w.rail.calls[o.Attempts[0].Reference])
	})
	scenario(t, "pending raises nothing in unclear and in review", func(t *testing.T, w *world) {
		o := w.unclear()
		w.rail.say(o.Attempts[0].Reference, payout.Accepted)
		w.pass(30*time.Hour, 30*time.Minute)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Empty(t, w.rows(o.ID, offramp.PayoutAccepted))
		_, err := w.decide(o, offramp.AdminReleased)
		require.ErrorContains(t, err, "evidence_missing", "never on pending")
		w.rail.say(o.Attempts[0].Reference, payout.Success)
		w.pass(2*time.Hour, 30*time.Minute)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
}
