package offramp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// claim takes the next due operation of a kind under a lease of a minute.
func (w *world) claim(kind operation.Kind) *operation.Operation {
	w.t.Helper()
	w.claims++
	op, err := operation.Claim(w.t.Context(), w.engine, kind, string(rune('a'+w.claims)), time.Minute, w.clock.Now())
	require.NoError(w.t, err)
	require.NotNil(w.t, op, "no %s is due", kind)
	return op
}

// lookUp carries out every look-up that is due, and nothing else.
func (w *world) lookUp() {
	w.t.Helper()
	for range 50 {
		w.claims++
		op, err := operation.Claim(w.t.Context(), w.engine, operation.LookUp, string(rune('a'+w.claims)), time.Minute, w.clock.Now())
		require.NoError(w.t, err)
		if op == nil {
			return
		}
		require.NoError(w.t, w.run(op))
	}
	require.Fail(w.t, "look-ups run in circles")
}

// operation reads an operation.
func (w *world) operation(id string) *operation.Operation {
	w.t.Helper()
	var op *operation.Operation
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		op, err = operation.Load(r, id)
		return err
	}))
	return op
}

// sending brings an order to sending with its payout not yet called, and returns it.
func (w *world) sending() *offramp.Order {
	w.t.Helper()
	w.deposited("0x1", 30*oneUSDT)
	o := w.place(w.offer(25))
	require.NoError(w.t, w.run(w.claim(operation.StartExchange)))
	o = w.order(o.ID)
	require.Equal(w.t, offramp.Sending, o.State)
	return o
}

// Rule 2: operations do not outlive their state.
func TestRule2_operationsDoNotOutliveTheirState(t *testing.T) {
	t.Parallel()
	scenario(t, "what is not called yet is superseded when the order leaves, and never called", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		op := w.claim(operation.StartExchange)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 25*oneUSDT))
		require.Equal(t, offramp.Review, w.order(o.ID).State)
		require.ErrorIs(t, w.run(op), operation.ErrLeaseLost)
		require.Equal(t, operation.Superseded, w.operation(op.ID).State)
		require.Empty(t, w.venue.did)
	})
	scenario(t, "a payout that is not called yet is withdrawn, and its number is kept", func(t *testing.T, w *world) {
		o := w.sending()
		op := w.claim(operation.Payout)
		w.spend(5)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 30*oneUSDT))
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Equal(t, offramp.NoPhase, o.Phase)
		require.Equal(t, 1, o.Attempt)
		require.Equal(t, offramp.Withdrawn, o.Attempts[0].State)
		require.ErrorIs(t, w.run(op), operation.ErrLeaseLost)
		require.Empty(t, w.rail.order)
	})
	scenario(t, "a called operation is not superseded", func(t *testing.T, w *world) {
		o := w.sending()
		w.spend(5)
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			require.NoError(t, w.fact(deposit.FactReverted, "0x1", 30*oneUSDT))
			return true, w.rail.paid(q)
		}
		require.NoError(t, w.run(w.claim(operation.Payout)))
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
	})
	scenario(t, "a call starts only while its lease has time left for it and for its commit", func(t *testing.T, w *world) {
		w.sending()
		op := w.claim(operation.Payout)
		for _, left := range []time.Duration{0, 19 * time.Second, 20*time.Second - time.Millisecond} {
			ctx := operation.WithLeft(t.Context(), func() time.Duration { return left })
			require.Error(t, w.svc.Payout(ctx, op, *op.Lease))
			require.Zero(t, w.operation(op.ID).Calls)
		}
		require.Error(t, w.svc.Payout(t.Context(), op, *op.Lease), "without a lease there is no call")
		ctx := operation.WithLeft(t.Context(), func() time.Duration { return 20 * time.Second })
		require.NoError(t, w.svc.Payout(ctx, op, *op.Lease))
		require.Len(t, w.rail.order, 1)
	})
	scenario(t, "a worker that stalls behind its commit does not call any more", func(t *testing.T, w *world) {
		w.sending()
		op := w.claim(operation.Payout)
		left := []time.Duration{time.Minute, time.Second}
		n := 0
		ctx := operation.WithLeft(t.Context(), func() time.Duration {
			n++
			return left[min(n, len(left))-1]
		})
		require.Error(t, w.svc.Payout(ctx, op, *op.Lease))
		require.Empty(t, w.rail.calls)
		require.Equal(t, 1, w.operation(op.ID).Calls, "it is counted as called: a look-up comes first")
	})
	scenario(t, "an outcome is committed under the lease or not at all, and the next worker finds out", func(t *testing.T, w *world) {
		o := w.sending()
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			w.clock.Advance(2 * time.Minute)
			return true, w.rail.paid(q)
		}
		op := w.claim(operation.Payout)
		require.ErrorIs(t, w.run(op), operation.ErrLeaseLost)
		require.Equal(t, offramp.Sending, w.order(o.ID).State)
		w.work()
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Len(t, w.rail.order, 1)
		require.Equal(t, 1, w.rail.calls[o.Attempts[0].Reference], "looked up, not sent again")
	})
	scenario(t, "an outcome that comes after the order has left closes its operation", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		op := w.claim(operation.StartExchange)
		w.venue.execute = nil
		w.during = func() { require.NoError(t, w.fact(deposit.FactReverted, "0x1", 25*oneUSDT)) }
		require.NoError(t, w.run(op))
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Equal(t, operation.Done, w.operation(op.ID).State)
		w.pass(2*time.Minute, 10*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.NoPhase, o.Phase, "a look-up brings the exchange into the books")
		require.True(t, o.Exchanged)
	})
	scenario(t, "a called operation whose order has left stays open until it is known what became of it", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		w.place(w.offer(25))
		op := w.claim(operation.StartExchange)
		w.crash(op) // called, and nothing is known
		w.clock.Advance(2 * time.Minute)
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 25*oneUSDT))
		w.work()
		require.Equal(t, operation.Called, w.operation(op.ID).State)
		require.Nil(t, w.operation(op.ID).Due)
	})
}

var errCrash = errors.New("crash")

// crash carries an operation out up to its call, which never reaches the other side, and dies there.
func (w *world) crash(op *operation.Operation) {
	w.t.Helper()
	w.during = func() { panic(errCrash) }
	defer func() { w.during = nil }()
	require.PanicsWithValue(w.t, errCrash, func() { _ = w.run(op) })
}

// crashAfter carries an operation out up to behind its call, and dies before anything of it is committed.
func (w *world) crashAfter(op *operation.Operation) {
	w.t.Helper()
	w.rail.after = func() { panic(errCrash) }
	defer func() { w.rail.after = nil }()
	require.PanicsWithValue(w.t, errCrash, func() { _ = w.run(op) })
}

// hint is a webhook of the bank about a reference.
func (w *world) hint(reference string) error {
	return w.svc.Hint(w.t.Context(), reference, func(store.Tx, *offramp.Order) error { return nil })
}

// switchOff turns these switches off and all others on.
func (w *world) switchOff(names ...string) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		s, err := setting.Load(tx)
		if err != nil {
			return err
		}
		s.Switches = map[string]string{}
		for _, name := range names {
			s.Switches[name] = "a test"
		}
		if s.Revision == 0 {
			return tx.Insert(store.Settings, s)
		}
		return tx.Replace(store.Settings, s)
	})
}

// spend leaves the user without the rest of the balance, so that a reversal is a shortfall.
func (w *world) spend(usdt int64) {
	w.t.Helper()
	require.Equal(w.t, offramp.Exchange, w.place(w.offer(usdt)).State)
}
