package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/exchange"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
)

// Rule 9: parking raises an event in the same transaction. Rule 10: "not now" is no attempt and parks after 24 hours.
func TestRule9_parking(t *testing.T) {
	t.Parallel()
	scenario(t, "a bank that says not now for a day is asked under one reference and then parked", func(t *testing.T, w *world) {
		o := w.sending()
		reference := o.Attempts[0].Reference
		w.rail.send = func(payout.Request) (bool, payout.Result) {
			return false, payout.Result{Outcome: payout.NotNow, Found: true, Reason: "float is empty", RetryAfter: time.Hour}
		}
		w.pass(24*time.Hour, 30*time.Minute)
		o = w.order(o.ID)
		require.Equal(t, offramp.Sending, o.State)
		require.Equal(t, 1, o.Attempt)
		require.InDelta(t, 24, w.rail.calls[reference], 2)
		require.Len(t, w.rail.calls, 1, "one reference")
		w.pass(3*time.Hour, 30*time.Minute)
		o = w.order(o.ID)
		require.Equal(t, offramp.Unclear, o.State, "it was called, so it is looked up")
		require.Equal(t, operation.Parked, w.operation(o.OperationID()).State)
		require.Equal(t, "not now for too long: float is empty", w.operation(o.OperationID()).Reason)
		calls := w.rail.calls[reference]
		w.pass(26*time.Hour, 30*time.Minute)
		require.Equal(t, offramp.Review, w.order(o.ID).State)
		require.Equal(t, calls, w.rail.calls[reference], "what is parked is not sent again by itself")
		o, err := w.decide(w.order(o.ID), offramp.AdminReleased)
		require.NoError(t, err)
		require.Equal(t, offramp.Failed, o.State)
	})
	scenario(t, "a venue that says not now for a day is parked, and sells when it is resumed", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		w.venue.execute = func(exchange.Order) (bool, exchange.Result) {
			return false, exchange.Result{Outcome: exchange.NotNow, Found: true, Reason: "closed"}
		}
		w.pass(25*time.Hour, 30*time.Minute)
		o = w.order(o.ID)
		require.Equal(t, offramp.Unclear, o.State)
		w.pass(25*time.Hour, 30*time.Minute)
		require.Equal(t, offramp.Review, w.order(o.ID).State)
		w.venue.execute = nil
		require.Equal(t, offramp.Exchange, w.resume(w.order(o.ID)).State)
		w.work()
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
	scenario(t, "a switch that is off is not now: nothing is called, and it goes on when it is back", func(t *testing.T, w *world) {
		o := w.sending()
		w.switchOff("payouts")
		w.pass(2*time.Hour, 10*time.Minute)
		require.Equal(t, offramp.Sending, w.order(o.ID).State)
		require.Zero(t, w.operation(o.OperationID()).Calls)
		w.switchOff()
		w.pass(time.Minute, time.Minute)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
	scenario(t, "a called operation that is parked while its order waits for it is looked up", func(t *testing.T, w *world) {
		o := w.sending()
		op := w.claim(operation.Payout)
		w.rail.send = lost(true)
		w.crashAfter(op)
		w.clock.Advance(2 * time.Minute)
		again := w.claim(operation.Payout)
		require.NoError(t, w.svc.OnPark(t.Context(), again, "gave up"))
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
		require.Equal(t, operation.Parked, w.operation(op.ID).State)
		w.pass(time.Minute, 10*time.Second)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Equal(t, operation.Done, w.operation(op.ID).State, "what was found out closes it")
	})
	scenario(t, "an operation that its order no longer waits for is parked without an event", func(t *testing.T, w *world) {
		o := w.sending()
		op := w.claim(operation.Payout)
		w.crash(op)
		w.clock.Advance(2 * time.Minute)
		again := w.claim(operation.Payout)
		w.rail.net = o.Net
		w.rail.say(op.Reference, payout.Success)
		require.NoError(t, w.hint(op.Reference))
		w.work()
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.ErrorIs(t, w.svc.OnPark(t.Context(), again, "gave up"), operation.ErrLeaseLost)
	})
	scenario(t, "a look-up that keeps failing is alarmed once and made again on the schedule", func(t *testing.T, w *world) {
		o := w.unclear()
		for range 3 {
			w.clock.Advance(time.Hour)
			op := w.claim(operation.LookUp)
			require.NoError(t, w.svc.OnPark(t.Context(), op, "gave up"))
			require.Equal(t, operation.Pending, w.operation(op.ID).State)
			require.Zero(t, w.operation(op.ID).Tries)
		}
		require.Equal(t, []string{"gave up"}, w.alerts())
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
		w.pass(time.Hour, 10*time.Minute)
		require.Equal(t, offramp.Success, w.after(o, payout.Success).State)
	})
	scenario(t, "a hint gives a look-up that keeps failing its tries back", func(t *testing.T, w *world) {
		o := w.sold()
		for range 3 {
			w.clock.Advance(time.Hour)
			w.claim(operation.LookUp) // and the process dies
		}
		w.clock.Advance(time.Hour)
		require.NoError(t, w.hint(o.Attempts[0].Reference))
		require.Equal(t, 1, w.claim(operation.LookUp).Tries)
	})
}

// after lets the bank say how an order's latest attempt ended and us find out.
func (w *world) after(o *offramp.Order, ended payout.Outcome) *offramp.Order {
	w.t.Helper()
	w.rail.say(w.order(o.ID).Attempts[0].Reference, ended)
	w.pass(2*time.Hour, 10*time.Minute)
	return w.order(o.ID)
}
