package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/store"
)

// lost is a call of which nothing came back, whether it was carried out or not.
func lost(done bool) func(payout.Request) (bool, payout.Result) {
	return func(payout.Request) (bool, payout.Result) {
		return done, payout.Result{Outcome: payout.Unknown, Found: true, Reason: "reply lost"}
	}
}

// unclear brings an order to unclear with a payout that was called and is not known to the bank, and returns it.
func (w *world) unclear() *offramp.Order {
	w.t.Helper()
	w.deposited("0x1", 30*oneUSDT)
	o := w.place(w.offer(25))
	w.rail.send = lost(false)
	w.work()
	o = w.order(o.ID)
	require.Equal(w.t, offramp.Unclear, o.State)
	return o
}

// pass moves the clock on by d in steps, with workers and timers at work.
func (w *world) pass(d, step time.Duration) {
	w.t.Helper()
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.clock.Advance(min(step, end.Sub(w.clock.Now())))
		w.work()
		w.sweep()
	}
}

// sweep raises every timer that is due.
func (w *world) sweep() {
	w.t.Helper()
	for range 100 {
		worked, err := w.svc.SweepTimers(w.t.Context())
		require.NoError(w.t, err)
		if !worked {
			return
		}
	}
	require.Fail(w.t, "timers run in circles")
}

// decide is what two admins do at once: gather evidence and decide.
func (w *world) decide(o *offramp.Order, on offramp.Event) (*offramp.Order, error) {
	w.t.Helper()
	v, now, err := w.svc.Gather(w.t.Context(), o.ID)
	require.NoError(w.t, err)
	return w.act(now, on, v)
}

// act decides on evidence that was gathered before.
func (w *world) act(o *offramp.Order, on offramp.Event, v offramp.Evidence) (*offramp.Order, error) {
	return w.svc.Decide(w.t.Context(), offramp.Act{
		Order: o.ID, On: on, Approval: "approval-" + string(on), Who: "staff:two", Why: "because", Evidence: v,
	}, func(store.Tx, *offramp.Order) error { return nil })
}

// Rule 3: release, settle and resume need evidence.
func TestRule3_evidence(t *testing.T) {
	t.Parallel()
	scenario(t, "evidence that was gathered before the visibility bound does not release later", func(t *testing.T, w *world) {
		o := w.unclear()
		w.pass(25*time.Hour, time.Hour)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		o, err := w.decide(o, offramp.AdminResumed)
		require.NoError(t, err)
		require.Equal(t, offramp.Unclear, o.State)
		w.clock.Advance(6 * time.Second)
		require.Positive(t, w.work(), "the look-up finds nothing, and the same reference goes out again")
		early, _, err := w.svc.Gather(t.Context(), o.ID)
		require.NoError(t, err)
		w.pass(25*time.Hour, time.Hour)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		_, err = w.act(o, offramp.AdminReleased, early)
		require.True(t, fault.Is(err, "evidence_missing"), err)
		o, err = w.decide(o, offramp.AdminReleased)
		require.NoError(t, err)
		require.Equal(t, offramp.Failed, o.State)
		require.Equal(t, 30*oneUSDT, w.account().Available)
	})
}
