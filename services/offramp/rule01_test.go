package offramp_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
)

// raise raises an event of an attempt and returns its outcome in one word.
func (w *world) raise(order string, on offramp.Event, attempt int, by offramp.Actor) string {
	_, already, err := w.svc.Raise(w.t.Context(), order, offramp.Occurrence{On: on, ID: "test", Attempt: attempt, By: by, Fresh: true})
	switch {
	case err != nil:
		return fault.As(err).Code
	case already:
		return "already-applied"
	default:
		return "applied"
	}
}

// Rule 1: attempts and repeats.
func TestRule1_attemptsAndRepeats(t *testing.T) {
	t.Parallel()
	scenario(t, "a row applies to the current attempt only, a repeat is already applied, anything else is refused", func(t *testing.T, w *world) {
		o := w.second()
		rows := len(o.History)
		for _, on := range []offramp.Event{offramp.PayoutPaid, offramp.PayoutFailed, offramp.PayoutAccepted, offramp.OutcomeUnknown} {
			by := offramp.ByProvider
			if on == offramp.OutcomeUnknown {
				by = offramp.ByWorker
			}
			require.Equal(t, "event_refused", w.raise(o.ID, on, 3, by), on)
			want := "event_refused"
			if on == offramp.PayoutFailed {
				want = "already-applied" // it is in the history
			}
			require.Equal(t, want, w.raise(o.ID, on, 1, by), on)
		}
		require.Equal(t, "already-applied", w.raise(o.ID, offramp.ExchangeDone, 1, offramp.ByVenue))
		require.Equal(t, "event_refused", w.raise(o.ID, offramp.ExchangeDone, 2, offramp.ByVenue))
		require.Equal(t, "event_refused", w.raise(o.ID, offramp.LookupExhausted, 0, offramp.ByTimer))
		require.Len(t, w.order(o.ID).History, rows)
		require.Equal(t, o.Revision, w.order(o.ID).Revision)
	})
	scenario(t, "nobody but the row's actor may cause it", func(t *testing.T, w *world) {
		o := w.sending()
		for _, by := range []offramp.Actor{offramp.ByUser, offramp.ByChain, offramp.ByTimer, offramp.ByVenue, offramp.ByWorker, offramp.ByTwoAdmins} {
			require.Equal(t, "event_refused", w.raise(o.ID, offramp.PayoutPaid, 1, by), by)
		}
		require.Equal(t, "event_refused", w.raise(o.ID, offramp.AdminSettled, 1, offramp.ByTwoAdmins))
	})
	scenario(t, "a refused event is in the trail", func(t *testing.T, w *world) {
		o := w.sending()
		before := w.entries("order:" + o.ID)
		w.raise(o.ID, offramp.PayoutPaid, 2, offramp.ByProvider)
		require.Equal(t, before+1, w.entries("order:"+o.ID))
		w.raise(o.ID, offramp.ExchangeDone, 1, offramp.ByVenue)
		require.Equal(t, before+1, w.entries("order:"+o.ID), "a repeat is nothing new")
	})
	scenario(t, "the same event 25 times at once is one row of history and one operation", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		o := w.place(w.offer(25))
		for _, step := range []struct {
			on   offramp.Event
			by   offramp.Actor
			to   offramp.State
			kind operation.Kind
		}{
			{offramp.ExchangeDone, offramp.ByVenue, offramp.Sending, operation.Payout},
			{offramp.PayoutPaid, offramp.ByLookUp, offramp.Success, operation.LookUp},
			{offramp.PayoutReversed, offramp.ByLookUp, offramp.Returned, operation.LookUp},
		} {
			var mu sync.Mutex
			var wg sync.WaitGroup
			got := map[string]int{}
			for range 25 {
				wg.Go(func() {
					outcome := w.raise(o.ID, step.on, 1, step.by)
					mu.Lock()
					defer mu.Unlock()
					got[outcome]++
				})
			}
			wg.Wait()
			require.Equal(t, map[string]int{"applied": 1, "already-applied": 24}, got, step.on)
			require.Equal(t, step.to, w.order(o.ID).State)
			require.Len(t, w.rows(o.ID, step.on), 1)
			require.Equal(t, 1, w.operations(o.ID, step.kind), step.on)
		}
		require.Equal(t, 30*oneUSDT, w.account().Available)
	})
}

// Rule 7: a credit or reversal is unconditional.
func TestRule7_creditsAreUnconditional(t *testing.T) {
	t.Parallel()
	scenario(t, "money is credited whatever the user's orders are", func(t *testing.T, w *world) {
		w.deposited("0x1", 10*oneUSDT)
		o := w.place(w.offer(25))
		require.NoError(t, w.svc.FreezeUser(t.Context(), "ada", "x", "staff:one"))
		w.deposited("0x2", 10*oneUSDT)
		w.deposited("0x3", 10*oneUSDT)
		require.Equal(t, 30*oneUSDT, w.account().Available)
		o = w.order(o.ID)
		require.Equal(t, offramp.Deposit, o.State)
		require.Contains(t, w.notices(), "order.barred")
		require.NoError(t, w.svc.UnfreezeUser(t.Context(), "ada", "x", "staff:one"))
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
		w.work()
		w.deposited("0x4", 10*oneUSDT)
		require.Equal(t, 15*oneUSDT, w.account().Available, "surplus and later money stay in the balance")
		require.Contains(t, w.notices(), "deposit.credited")
	})
	scenario(t, "a sender on the list is credited, frozen and alarmed", func(t *testing.T, w *world) {
		w.screen.addresses = []string{"0xsender"}
		o := w.place(w.offer(25))
		w.deposited("0x1", 25*oneUSDT)
		require.Equal(t, 25*oneUSDT, w.account().Available)
		require.NotNil(t, w.user().Frozen)
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		require.NotEmpty(t, w.alerts())
		require.Equal(t, "screening_hit", w.stored("0x1").Reason)
	})
	scenario(t, "less than a micro-unit is recorded and credits nothing", func(t *testing.T, w *world) {
		w.deposited("0x1", 0)
		require.Zero(t, w.account().Available)
		require.True(t, w.stored("0x1").Credited)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 0))
		require.Zero(t, w.account().Owed)
	})
	scenario(t, "a fact that fails leaves nothing, and its repeat is whole", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		before := w.dump()
		for n := 1; ; n++ {
			w.svc = w.service(&failAt{Engine: w.engine, at: n})
			err := w.fact(deposit.FactConfirmed, "0x1", 25*oneUSDT)
			if err == nil {
				require.Greater(t, n, 8)
				break
			}
			require.ErrorIs(t, err, errWrite)
			require.Equal(t, before, w.dump(), "write %d", n)
		}
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
	})
	scenario(t, "two deposits of one transaction are two credits", func(t *testing.T, w *world) {
		for n := range 2 {
			d := deposit.Deposit{
				Chain: "base", Tx: "0x1", Ordinal: n, Asset: "USDT", User: "ada", To: "0xada", Raw: "25000000", Micro: 25 * oneUSDT,
				Fingerprint: "f", SeenAt: w.clock.Now(),
			}
			d.ID = deposit.Ref("base", "0x1", n)
			require.NoError(t, w.svc.ApplyDeposit(t.Context(), deposit.Fact{Kind: deposit.FactConfirmed, Deposit: d}))
		}
		require.Equal(t, 50*oneUSDT, w.account().Available)
	})
	scenario(t, "freed money starts the next order in the same commit", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		first := w.place(w.offer(25))
		next := w.place(w.offer(20))
		require.Equal(t, offramp.Waiting, next.State)
		w.venue.execute = refuses
		require.NoError(t, w.run(w.claim(operation.StartExchange)))
		require.Equal(t, offramp.Failed, w.order(first.ID).State)
		next = w.order(next.ID)
		require.Equal(t, offramp.Exchange, next.State)
		require.Equal(t, w.order(first.ID).UpdatedAt, next.UpdatedAt)
		require.Len(t, w.rows(next.ID, offramp.FundsFreed), 1)
		require.Equal(t, 5*oneUSDT, w.account().Available)
	})
	scenario(t, "a returned sale starts the next order too", func(t *testing.T, w *world) {
		o := w.sold()
		next := w.place(w.offer(30))
		require.Equal(t, offramp.Waiting, next.State)
		w.turnsOut(o.Attempts[0].Reference, payout.Reversed)
		require.Equal(t, offramp.Exchange, w.order(next.ID).State)
	})
}

// The provider's approval route (DESIGN §8).
func TestApprove(t *testing.T) {
	t.Parallel()
	approve := func(w *world, reference string, amount money.Minor) bool {
		w.t.Helper()
		yes, err := w.svc.Approve(w.t.Context(), reference, amount)
		require.NoError(w.t, err)
		return yes
	}
	scenario(t, "yes for the current attempt, once it was called, to the minor unit", func(t *testing.T, w *world) {
		o := w.sending()
		reference := o.Attempts[0].Reference
		require.False(t, approve(w, reference, o.Net), "not called yet")
		w.rail.send = accepts(w)
		w.during = func() {
			require.True(t, approve(w, reference, o.Net))
			require.True(t, approve(w, reference, o.Net), "as often as it asks")
			require.False(t, approve(w, reference, o.Net-1))
			require.False(t, approve(w, "nobody", o.Net))
			require.True(t, w.operation(o.OperationID()).Approved)
		}
		require.NoError(t, w.run(w.claim(operation.Payout)))
		require.Equal(t, offramp.Sending, w.order(o.ID).State)
		require.NoError(t, w.svc.FreezeUser(t.Context(), "ada", "x", "staff:one"))
		require.False(t, approve(w, reference, o.Net), "a frozen user's money does not go out")
	})
	scenario(t, "no for an attempt that the order went on without", func(t *testing.T, w *world) {
		o := w.second()
		require.False(t, approve(w, o.Attempts[0].Reference, o.Net))
	})
	scenario(t, "no once the order is in review, and a release waits for what was approved", func(t *testing.T, w *world) {
		o := w.unclear()
		reference := o.Attempts[0].Reference
		require.True(t, approve(w, reference, o.Net), "unclear is not left yet")
		w.rail.mute = true
		w.pass(25*time.Hour, time.Hour)
		w.rail.mute = false
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.False(t, approve(w, reference, o.Net))
		_, err := w.decide(o, offramp.AdminReleased)
		require.True(t, fault.Is(err, "evidence_missing"), "an approval is out")
		o = w.resume(o)
		w.rail.send = nil
		w.pass(time.Minute, 5*time.Second)
		require.Equal(t, offramp.Success, w.order(o.ID).State, "but the sale may go on under its reference")
	})
}
