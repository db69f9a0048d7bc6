package offramp_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/ids"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	scenario(t, "the checks run in this order: event id, workflow, ref and amount, state", func(t *testing.T, w *world) {
		o, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		all := offramp.Confirmation{EventID: "evt-1", Order: "nobody", Ref: "x", Amount: "1"}
		w.refused(all, "event_conflict")
		all.EventID = "evt-9"
		w.refused(all, "workflow_unknown")
		other := w.place(w.offer(5))
		require.Equal(t, offramp.Waiting, other.State)
		all.Order = other.ID
		w.refused(all, "mismatch")
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", oneUSDT))
		all.Ref, all.Amount = deposit.Ref("base", "0x2", 0), "1000000"
		w.refused(all, "state_refused")
		require.NotEqual(t, o.ID, other.ID)
	})
	scenario(t, "a refusal leaves no mark: the same bytes are applied when the state allows", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
		c := offramp.Confirmation{EventID: "evt-1", Order: o.ID, Ref: deposit.Ref("base", "0x1", 0), Amount: "10000000"}
		w.refused(c, "state_refused")
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 15*oneUSDT))
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "applied", State: offramp.Deposit}, got, "one of two deposits: no operation yet")
		got, err = w.confirm(offramp.Confirmation{EventID: "evt-2", Order: o.ID, Ref: deposit.Ref("base", "0x2", 0), Amount: "15000000"})
		require.NoError(t, err)
		require.Equal(t, "start-exchange:"+o.ID, got.Operation)
	})
	scenario(t, "a deposit that is proven gone does not count, and counts again when it is back", func(t *testing.T, w *world) {
		o, c := w.awaited()
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 25*oneUSDT))
		require.NoError(t, w.fact(deposit.FactDropped, "0x1", 25*oneUSDT))
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		w.refused(c, "mismatch")
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "applied", got.Outcome)
	})
	scenario(t, "a deposit of another user, of another asset or parked does not count", func(t *testing.T, w *world) {
		_, c := w.awaited()
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 25*oneUSDT))
		require.NoError(t, w.fact(deposit.FactParked, "0x2", 25*oneUSDT))
		c.Ref = deposit.Ref("base", "0x2", 0)
		w.refused(c, "mismatch")
		d := w.stored("0x1")
		for _, change := range []func(d *deposit.Deposit){
			func(d *deposit.Deposit) { d.User = "bob" }, func(d *deposit.Deposit) { d.Asset = "USDC" },
		} {
			c := *d
			change(&c)
			c.ID = "base:other:0"
			c.Revision = 0
			w.update(func(tx store.Tx) error { return tx.Insert(store.Deposits, &c) })
			w.refused(offramp.Confirmation{EventID: "evt-1", Order: w.only().ID, Ref: c.ID, Amount: "25000000"}, "mismatch")
			w.update(func(tx store.Tx) error { return tx.Delete(store.Deposits, c.ID, c.Revision) })
		}
	})
	scenario(t, "watcher and verifier race: one credit per ref and epoch", func(t *testing.T, w *world) {
		o, c := w.awaited()
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() { _, _ = w.confirm(as(c, fmt.Sprint("evt-", n))) })
			wg.Go(func() { _ = w.fact(deposit.FactConfirmed, "0x1", 25*oneUSDT) })
		}
		wg.Wait()
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
		require.Equal(t, 25*oneUSDT, w.account().Held)
		require.Zero(t, w.account().Available)
	})
	scenario(t, "after a reversal the same ref confirms again in its new epoch, under a new event", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 15*oneUSDT))
		c := offramp.Confirmation{EventID: "evt-1", Order: o.ID, Ref: deposit.Ref("base", "0x1", 0), Amount: "10000000"}
		for epoch := 1; epoch <= 3; epoch++ {
			got, err := w.confirm(as(c, fmt.Sprint("evt-", epoch)))
			require.NoError(t, err)
			require.Equal(t, "applied", got.Outcome)
			require.Equal(t, 10*oneUSDT, w.account().Available)
			require.NoError(t, w.fact(deposit.FactReverted, "0x1", 10*oneUSDT))
			require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
			require.Zero(t, w.account().Available)
		}
		require.Len(t, w.rows(o.ID, offramp.DepositConfirmed), 3)
	})
	scenario(t, "R20 without receipts the business guards still know what was applied", func(t *testing.T, w *world) {
		_, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		w.update(func(tx store.Tx) error { return tx.Delete(store.Inbox, ids.ChainDelivery("evt-1"), 1) })
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "already-applied", got.Outcome)
	})
	scenario(t, "a frozen user's deposit is credited and applied, and starts nothing", func(t *testing.T, w *world) {
		o, c := w.awaited()
		require.NoError(t, w.svc.FreezeUser(t.Context(), "ada", "because", "staff:one"))
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "applied", State: offramp.Deposit}, got)
		require.Equal(t, "user_frozen", w.order(o.ID).Reason)
		require.NoError(t, w.svc.UnfreezeUser(t.Context(), "ada", "because", "staff:one"))
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
	})
}

// TestTwice runs a whole sale with every transaction run twice, as after conflicts: nothing happens twice (R33).
func TestTwice(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine)
		w.engine = storetest.Twice(engine)
		w.svc = w.service(w.engine)
		o, c := w.awaited()
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "applied", got.Outcome)
		w.rail.send = lost(true)
		w.work()
		w.pass(time.Minute, 10*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 1, w.rail.calls[o.Attempts[0].Reference])
		w.turnsOut(o.Attempts[0].Reference, payout.Reversed)
		require.Equal(t, offramp.Returned, w.order(o.ID).State)
		require.Equal(t, 25*oneUSDT, w.account().Available)
		w.verify()
	})
}
