package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestSale(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		t.Run("a sale that the balance covers ends in success, paid once, with the books balanced", func(t *testing.T) {
			w := newWorld(t, engine)
			w.deposited("0x1", 30*oneUSDT)
			o := w.place(w.offer(25))
			require.Equal(t, offramp.Exchange, o.State)
			require.Equal(t, 5*oneUSDT, w.account().Available)
			w.work()
			o = w.order(o.ID)
			require.Equal(t, offramp.Success, o.State)
			require.Len(t, w.rail.order, 1)
			require.Equal(t, offramp.Posted, o.Hold)
			a := w.account()
			require.NoError(t, a.Check())
			require.Zero(t, a.Held)
			b := w.balances()
			require.Equal(t, -int64(o.Net)-1000, -b["float:bank:NGN"]*1) //nolint:staticcheck // float went down by net and charge
			require.Zero(t, b["due:NGN"])
			require.Contains(t, w.notices(), "order.paid")
		})
	})
}

func TestSale_scenarios(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine)
		o := w.place(w.offer(25))
		require.Equal(t, offramp.Waiting, o.State)
		require.NoError(t, w.fact(deposit.FactSeen, "0xa", 10*oneUSDT))
		require.Equal(t, offramp.Waiting, w.order(o.ID).State)
		require.NoError(t, w.fact(deposit.FactSeen, "0xb", 20*oneUSDT))
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		require.NoError(t, w.fact(deposit.FactConfirmed, "0xa", 10*oneUSDT))
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		require.NoError(t, w.fact(deposit.FactConfirmed, "0xb", 20*oneUSDT))
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)

		// The reply of the first send is lost: unclear, then found by a look-up.
		w.rail.send = func(payout.Request) (bool, payout.Result) {
			return true, payout.Result{Outcome: payout.Unknown, Found: true}
		}
		w.work()
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
		w.clock.Advance(10 * time.Second)
		w.work()
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Len(t, w.rail.order, 1)
		require.Equal(t, money.Micro(5_000_000), w.account().Available)

		// The bank returns it a day later.
		w.rail.say(w.rail.order[0], payout.Reversed)
		w.clock.Advance(25 * time.Hour)
		w.work()
		o = w.order(o.ID)
		require.Equal(t, offramp.Returned, o.State)
		require.Equal(t, 30*oneUSDT, w.account().Available)
		w.balances()
	})
}
