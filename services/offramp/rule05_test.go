package offramp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/offramp"
)

// Rule 5: funding is by level, not by edge.
func TestRule5_levelNotEdge(t *testing.T) {
	t.Parallel()
	scenario(t, "a sale that takes what another order counted on makes that one wait again", func(t *testing.T, w *world) {
		w.deposited("0x1", 10*oneUSDT)
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 15*oneUSDT))
		counting := w.place(w.offer(25))
		require.Equal(t, offramp.Deposit, counting.State)
		require.Equal(t, offramp.Exchange, w.place(w.offer(10)).State)
		require.Equal(t, offramp.Waiting, w.order(counting.ID).State)
		require.NoError(t, w.fact(deposit.FactConfirmed, "0x2", 15*oneUSDT))
		require.Equal(t, offramp.Waiting, w.order(counting.ID).State, "15 USDT do not cover 25")
	})
}
