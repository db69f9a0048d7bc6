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
)

// fails is a call that the bank conclusively refuses.
func fails(q payout.Request) (bool, payout.Result) {
	return false, payout.Result{Outcome: payout.Failed, Found: true, Reference: q.Reference}
}

// second brings an order to its second payout attempt, which is not called yet, after the first one conclusively failed.
func (w *world) second() *offramp.Order {
	w.t.Helper()
	o := w.sending()
	w.rail.send = fails
	require.NoError(w.t, w.run(w.claim(operation.Payout)))
	w.rail.send = nil
	o = w.order(o.ID)
	require.Equal(w.t, offramp.Sending, o.State)
	require.Equal(w.t, offramp.PayoutPhase(2), o.Phase)
	require.Equal(w.t, offramp.AttemptFailed, o.Attempts[0].State)
	return o
}

// turnsOut lets the bank contradict itself about a reference, and a webhook tell us.
func (w *world) turnsOut(reference string, what payout.Outcome) {
	w.t.Helper()
	w.rail.say(reference, what)
	require.NoError(w.t, w.hint(reference))
	w.lookUp()
}

// Rule 4: an older attempt known paid.
func TestRule4_olderAttemptPaid(t *testing.T) {
	t.Parallel()
	scenario(t, "it stops the current attempt that was not called yet, and settles the sale", func(t *testing.T, w *world) {
		o := w.second()
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Equal(t, 1, o.Older)
		require.Equal(t, operation.Superseded, w.operation(o.OperationID()).State)
		require.Zero(t, w.work(), "nothing goes out any more")
		for _, on := range []offramp.Event{offramp.AdminReleased, offramp.AdminResumed} {
			_, err := w.decide(o, on)
			require.True(t, fault.Is(err, "evidence_missing"), on)
		}
		o, err := w.decide(o, offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 1, o.Paid)
		require.Len(t, w.rail.calls, 1)
		require.Zero(t, w.account().Owed)
	})
	scenario(t, "while the current attempt may be out, nothing is settled on the older one", func(t *testing.T, w *world) {
		o := w.second()
		w.rail.send = lost(false)
		require.NoError(t, w.run(w.claim(operation.Payout)))
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		_, err := w.decide(o, offramp.AdminSettled)
		require.True(t, fault.Is(err, "evidence_missing"), "the last call may be in flight")
		w.clock.Advance(time.Hour)
		o, err = w.decide(w.order(o.ID), offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, 1, o.Paid)
	})
	scenario(t, "both paid: the current one settles the sale, the older one is owed, the user is frozen", func(t *testing.T, w *world) {
		o := w.second()
		w.rail.send = lost(true)
		require.NoError(t, w.run(w.claim(operation.Payout)))
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		w.clock.Advance(time.Minute)
		require.Positive(t, w.work(), "the look-up of the current attempt finds it paid")
		require.Equal(t, offramp.Review, w.order(o.ID).State, "and review refuses it")
		o, err := w.decide(w.order(o.ID), offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 2, o.Paid)
		require.Equal(t, o.Net, w.account().OwedFiat["NGN"])
		require.Equal(t, 2*(int64(o.Net)+1000), w.balances()["float:bank:NGN"], "as on the bank's statement, charges included")
		require.NotNil(t, w.user().Frozen)
	})
	scenario(t, "an older attempt that turns out not paid after all frees the order, and its record", func(t *testing.T, w *world) {
		o := w.second()
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		w.rail.say(o.Attempts[0].Reference, payout.Reversed)
		o = w.resume(w.order(o.ID))
		require.Equal(t, offramp.Unclear, o.State)
		require.Zero(t, o.Older)
		require.Equal(t, offramp.AttemptReversed, o.Attempts[0].State)
		require.Equal(t, offramp.Planned, o.Attempts[1].State)
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		require.Equal(t, 1, w.order(o.ID).Older, "and a second contradiction is seen like the first")
		w.rail.say(o.Attempts[0].Reference, payout.Failed)
		w.clock.Advance(time.Hour)
		o, err := w.decide(w.order(o.ID), offramp.AdminReleased)
		require.NoError(t, err)
		require.Equal(t, offramp.Failed, o.State)
		require.Equal(t, offramp.AttemptReversed, o.Attempts[0].State)
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		require.Contains(t, w.order(o.ID).Booked, "late:1")
	})
	scenario(t, "a shortfall first and then an older payment: settled in phase none", func(t *testing.T, w *world) {
		o := w.second()
		w.spend(5)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 30*oneUSDT))
		o = w.order(o.ID)
		require.Equal(t, offramp.NoPhase, o.Phase)
		require.Equal(t, 2, o.Attempt)
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		o = w.order(o.ID)
		require.Equal(t, 1, o.Older)
		_, err := w.decide(o, offramp.AdminReleased)
		require.True(t, fault.Is(err, "evidence_missing"))
		o, err = w.decide(o, offramp.AdminSettled)
		require.NoError(t, err)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 1, o.Paid)
		require.Equal(t, 30*oneUSDT, w.account().Owed)
	})
	scenario(t, "without an older payment phase none cannot be settled", func(t *testing.T, w *world) {
		o := w.sending()
		w.spend(5)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 30*oneUSDT))
		_, err := w.decide(w.order(o.ID), offramp.AdminSettled)
		require.True(t, fault.Is(err, "evidence_missing"))
		o, err = w.decide(w.order(o.ID), offramp.AdminReleased)
		require.NoError(t, err, "nothing was ever called: it is released at once")
		require.Equal(t, offramp.Failed, o.State)
		require.Equal(t, 5*oneUSDT, w.account().Owed, "the hold pays the debt first")
	})
}

// Contradictions after a final state are booked, frozen and alarmed (DESIGN §7, last rows; §8).
func TestContradictions(t *testing.T) {
	t.Parallel()
	scenario(t, "a reversal after success credits the crypto back and reverses every entry", func(t *testing.T, w *world) {
		o := w.sending()
		w.work()
		reference := w.order(o.ID).Attempts[0].Reference
		w.turnsOut(reference, payout.Reversed)
		o = w.order(o.ID)
		require.Equal(t, offramp.Returned, o.State)
		require.Equal(t, 30*oneUSDT, w.account().Available)
		b := w.balances()
		require.Zero(t, b["due:NGN"])
		require.Zero(t, b["desk:NGN"])
		require.Zero(t, b["desk:USDT"])
		require.Equal(t, int64(1000), b["float:bank:NGN"], "the bank keeps its charge")
		require.Contains(t, w.notices(), "order.returned")
		w.turnsOut(reference, payout.Reversed)
		require.Equal(t, 30*oneUSDT, w.account().Available, "once")
	})
	scenario(t, "a failure after success is a reversal too", func(t *testing.T, w *world) {
		o := w.sending()
		w.work()
		w.turnsOut(w.order(o.ID).Attempts[0].Reference, payout.Failed)
		require.Equal(t, offramp.Returned, w.order(o.ID).State)
	})
	for _, spent := range []bool{false, true} {
		name := "a payment after a failure is paid for from the balance"
		if spent {
			name += ", and owed where it was spent"
		}
		scenario(t, name, func(t *testing.T, w *world) {
			o := w.second()
			w.rail.send = fails
			w.work()
			o = w.order(o.ID)
			require.Equal(t, offramp.Failed, o.State)
			require.Equal(t, 30*oneUSDT, w.account().Available)
			if spent {
				w.rail.send = nil
				w.spend(25)
			}
			for range 2 {
				w.turnsOut(o.Attempts[0].Reference, payout.Success)
			}
			o = w.order(o.ID)
			require.Equal(t, offramp.Failed, o.State)
			require.Equal(t, []string{"late:1"}, o.Booked)
			require.NotNil(t, w.user().Frozen)
			a := w.account()
			if spent {
				require.Equal(t, 20*oneUSDT, a.Owed)
			} else {
				require.Equal(t, 5*oneUSDT, a.Available)
			}
			w.turnsOut(o.Attempts[1].Reference, payout.Success)
			require.Equal(t, []string{"late:1", "late:2"}, w.order(o.ID).Booked, "once per attempt")
			if !spent {
				require.Equal(t, 2*(int64(o.Net)+1000), w.balances()["float:bank:NGN"], "charges included")
			}
		})
	}
	scenario(t, "a payment after a return is booked late", func(t *testing.T, w *world) {
		o := w.sending()
		w.work()
		reference := w.order(o.ID).Attempts[0].Reference
		w.turnsOut(reference, payout.Reversed)
		w.turnsOut(reference, payout.Success)
		o = w.order(o.ID)
		require.Equal(t, offramp.Returned, o.State)
		require.Contains(t, o.Booked, "late:1")
		require.Equal(t, int64(o.Net)+1000, w.balances()["float:bank:NGN"], "the charge of the one transfer stayed booked")
		require.Equal(t, 5*oneUSDT, w.account().Available)
		require.NotNil(t, w.user().Frozen)
	})
	scenario(t, "a second payment in success is owed in fiat", func(t *testing.T, w *world) {
		o := w.second()
		w.work()
		o = w.order(o.ID)
		require.Equal(t, 2, o.Paid)
		for range 2 {
			w.turnsOut(o.Attempts[0].Reference, payout.Success)
		}
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, o.Net, w.account().OwedFiat["NGN"])
		require.NotNil(t, w.user().Frozen)
		require.Equal(t, 2*(int64(o.Net)+1000), w.balances()["float:bank:NGN"], "as on the bank's statement, charges included")
	})
	scenario(t, "what has no row is alarmed, and said as often as it comes", func(t *testing.T, w *world) {
		o := w.second()
		w.rail.send = fails
		w.work()
		o = w.order(o.ID)
		w.turnsOut(o.Attempts[0].Reference, payout.Success)
		for range 3 { // the late payment is taken back again: no row
			w.turnsOut(o.Attempts[0].Reference, payout.Reversed)
		}
		require.Equal(t, offramp.Failed, w.order(o.ID).State)
		require.Contains(t, w.alerts(), "PayoutFailed in failed (payout:2), attempt 1")
	})
}
