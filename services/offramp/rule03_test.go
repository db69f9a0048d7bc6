package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
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

// resume is what two admins do about an order in review; it must be allowed.
func (w *world) resume(o *offramp.Order) *offramp.Order {
	w.t.Helper()
	o, err := w.decide(o, offramp.AdminResumed)
	require.NoError(w.t, err)
	return o
}

func TestRule3_waiting(t *testing.T) {
	t.Parallel()
	scenario(t, "resends stop when the look-ups are given up, and the order goes to review", func(t *testing.T, w *world) {
		o := w.unclear()
		w.clock.Advance(24*time.Hour - time.Minute) // nobody was at work
		w.work()
		require.Equal(t, 1, w.rail.calls[o.Attempts[0].Reference]-1, "sent again")
		w.clock.Advance(time.Minute)
		for range 40 { // the last call is too young: the timer waits, and nothing is sent meanwhile
			w.sweep()
			w.work()
			w.clock.Advance(30 * time.Second)
		}
		require.Equal(t, 2, w.rail.calls[o.Attempts[0].Reference])
		require.Equal(t, offramp.Review, w.order(o.ID).State)
	})
	scenario(t, "release waits for the last call to end and for the visibility bound", func(t *testing.T, w *world) {
		o := w.unclear()
		last := *w.operation(o.OperationID()).LastCall
		w.pass(25*time.Hour, time.Hour)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		o = w.resume(o)
		w.clock.Advance(10 * time.Second)
		w.work() // sent again just now
		require.True(t, w.operation(o.OperationID()).LastCall.After(last))
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
		w.clock.Advance(24 * time.Hour)
		for w.order(o.ID).State == offramp.Unclear {
			w.sweep()
			w.clock.Advance(time.Second)
		}
		o, err := w.decide(w.order(o.ID), offramp.AdminReleased)
		require.NoError(t, err)
		require.Equal(t, offramp.Failed, o.State)
	})
	scenario(t, "look-ups of an order in review go on, an hour apart", func(t *testing.T, w *world) {
		o := w.unclear()
		w.pass(25*time.Hour, time.Hour)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		before := w.rail.lookUps
		w.pass(100*time.Hour, 10*time.Minute)
		require.InDelta(t, 100, w.rail.lookUps-before, 3)
		w.rail.say(o.Attempts[0].Reference, payout.Success)
		w.pass(2*time.Hour, 10*time.Minute)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
}

func TestRule3_resume(t *testing.T) {
	t.Parallel()
	scenario(t, "the same approval again is the decision that was made", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		require.NoError(t, w.svc.OnPark(t.Context(), w.claim(operation.StartExchange), "gave up"))
		v, o, err := w.svc.Gather(t.Context(), o.ID)
		require.NoError(t, err)
		for range 2 {
			done, err := w.act(o, offramp.AdminReleased, v)
			require.NoError(t, err)
			require.Equal(t, offramp.Failed, done.State)
		}
		require.Len(t, w.rows(o.ID, offramp.AdminReleased), 1)
	})
	scenario(t, "an order that was parked before its call is resumed: looked up, then called under its reference", func(t *testing.T, w *world) {
		o := w.sending()
		op := w.claim(operation.Payout)
		require.NoError(t, w.svc.OnPark(t.Context(), op, "gave up"))
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Equal(t, operation.Parked, w.operation(op.ID).State)
		require.Equal(t, "gave up", w.operation(op.ID).Reason)
		o = w.resume(o)
		require.Equal(t, offramp.Unclear, o.State)
		w.pass(10*time.Second, 5*time.Second)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Equal(t, []string{op.Reference}, w.rail.order)
	})
	scenario(t, "an exchange that was parked before its call is armed again under its reference", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		op := w.claim(operation.StartExchange)
		require.NoError(t, w.svc.OnPark(t.Context(), op, "gave up"))
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Equal(t, offramp.ExchangePhase(1), o.Phase)
		require.Equal(t, offramp.Exchange, w.resume(o).State)
		w.work()
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
	scenario(t, "a payout that was withdrawn before its call goes out under its old number and reference", func(t *testing.T, w *world) {
		o := w.sending()
		reference := o.Attempts[0].Reference
		w.spend(5)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 30*oneUSDT))
		_, err := w.decide(w.order(o.ID), offramp.AdminResumed)
		require.True(t, fault.Is(err, "evidence_missing"), "the user owes 30 USDT")
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 30*oneUSDT))
		require.NoError(t, w.fact(deposit.FactConfirmed, "0x1", 30*oneUSDT))
		require.Zero(t, w.account().Owed)
		require.Equal(t, offramp.Sending, w.resume(w.order(o.ID)).State)
		w.work()
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 1, o.Attempt)
		require.Contains(t, w.rail.order, reference)
	})
}
