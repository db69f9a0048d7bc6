package chaintest_test

import (
	"context"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
	"offrampbot/services/store"
)

// The gaps G1–G17 of the source's watcher, each by name; what they ask for stands in the reference.

func TestG1_aPendingDepositReorgedAwayDuringADowntimeIsNeverConfirmed(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(1)
	r.WantState(tx, deposit.Pending)

	// The process is down while the block is replaced and the chain runs far past the window.
	r.Chain.Reorg(1, tx)
	r.Chain.Mine(200)
	r.Restart("second")
	r.Settle()

	r.WantSteps(tx)
	r.WantState(tx, deposit.Reverted)
}

func TestG1_aPendingDepositBelowTheWindowIsConfirmedByAFreshReceipt(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(1)
	r.Chain.Unready(tx, true) // the receipt is not ready for longer than the window
	r.Mine(30)
	r.WantSteps(tx)

	r.Chain.Unready(tx, false)
	before := r.Chain.Calls("Receipt")
	r.Poll()
	r.WantSteps(tx, "credit")
	require.Greater(t, r.Chain.Calls("Receipt"), before)
}

func TestG2_depositsMinedDuringADowntimeAreFound(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	var txs []string
	for range 40 {
		txs = append(txs, r.Pay(chaintest.USDT, chaintest.Alice, 1))
		r.Chain.Mine(7)
	}
	r.Restart("second")
	r.Settle()
	for _, tx := range txs[:39] {
		r.WantSteps(tx, "credit")
	}
	r.Mine(3)
	r.WantBalance("alice:USDT", 40)
}

func TestG3_emptyAnswersTakeNothingBack(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(3)
	r.WantState(tx, deposit.Reported)
	r.Books.Facts()

	r.Chain.Empty(3)
	r.Settle()
	r.WantState(tx, deposit.Reported)
	require.Empty(t, r.Books.Facts(), "the receipt still shows the transfer")

	// Even a node that knows neither log nor receipt proves nothing while the block stands.
	r.Source = &amnesia{Script: r.Chain, tx: tx}
	r.Restart("second")
	r.Settle()
	r.WantState(tx, deposit.Missing)
	r.WantSteps(tx, "credit")

	r.Source = r.Chain
	r.Restart("third")
	r.Settle()
	r.WantState(tx, deposit.Reported)
	r.WantSteps(tx, "credit")
	require.Equal(t, []deposit.FactKind{deposit.FactMissing, deposit.FactSeen}, chaintest.Kinds(r.Books.Facts()))
}

func TestG4_aFailedCommitLeavesNothingInMemory(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Chain.Mine(3)
	height := r.Cursor().Height
	r.Books.FailBefore(deposit.FactConfirmed, 1)

	_, err := r.Watcher.Step(t.Context())
	require.ErrorIs(t, err, chaintest.ErrScripted)
	require.Equal(t, height, r.Cursor().Height, "the cursor comes last")
	r.WantSteps(tx)

	r.Poll()
	r.WantSteps(tx, "credit")
	require.Equal(t, r.Chain.Height(), r.Cursor().Height)
}

func TestG4_aLostAnswerOfACommitCreditsOnce(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Chain.Mine(3)
	r.Books.FailAfter(deposit.FactConfirmed, 1)
	_, err := r.Watcher.Step(t.Context())
	require.ErrorIs(t, err, chaintest.ErrScripted)
	r.Settle()
	r.WantSteps(tx, "credit")
}

func TestG5_aReorgInTheMiddleOfAPollConcludesNothing(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Chain.Mine(3)
	height := r.Cursor().Height

	moved := false
	r.Chain.OnCall(func(method string) {
		if method == "Receipt" && !moved {
			moved = true
			r.Chain.Reorg(3, tx)
		}
	})
	_, err := r.Watcher.Step(t.Context())
	require.NoError(t, err)
	require.True(t, moved)
	require.Equal(t, height, r.Cursor().Height)
	r.Settle()
	r.WantSteps(tx)
}

func TestG5_logsOfANodeOnAnotherForkAreNotBelieved(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	other := r.Chain.Fork()
	tx := other.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Stranger, To: chaintest.Alice, Raw: chaintest.Raw(chaintest.USDT, 9)})
	other.Mine(5)
	r.Chain.Mine(5)
	r.Source = &mixed{Script: r.Chain, logs: other}
	r.Restart("second")
	r.Settle()
	_, found := r.Find(tx, 0)
	require.False(t, found)
	require.Positive(t, r.Watcher.Health().Ignored[deposit.IgnoredOffChain])
}

func TestG6_oneTransactionOnTwoChainsIsTwoDeposits(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, deposit.Ref("base", "0xab", 0), deposit.Ref("bnb", "0xab", 0))
}

func TestG7_theRefDoesNotChangeWhenTheTransactionIsMinedElsewhere(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(2)
	first := r.Deposit(tx)
	r.Chain.Reorg(2)
	r.Settle()
	second := r.Deposit(tx)
	require.Equal(t, first.ID, second.ID)
	require.NotEqual(t, first.BlockHash, second.BlockHash)
	require.Equal(t, first.Block+1, second.Block)
}

func TestG8_theSameRefWithAnotherAmountIsParkedAndNeverCredited(t *testing.T) {
	t.Parallel()
	t.Run("before the credit", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
		r.Mine(1)
		r.Chain.Alter(tx, big.NewInt(999_000_000))
		r.Mine(5)
		r.WantState(tx, deposit.Parked)
		require.Equal(t, deposit.ReasonConflict, r.Deposit(tx).Reason)
		r.Mine(20)
		r.WantSteps(tx)
	})
	t.Run("after the credit", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
		r.Mine(3)
		r.Chain.Alter(tx, big.NewInt(999_000_000))
		r.Mine(5)
		r.WantState(tx, deposit.Parked)
		r.Mine(20)
		r.WantSteps(tx, "credit")
		r.WantBalance("alice:USDT", 10)
	})
	t.Run("after it was settled", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
		r.Mine(11)
		r.Mine(1)
		r.WantState(tx, deposit.Settled)
		r.SetCursor(func(c *deposit.Cursor) {
			c.Height, c.Hash, c.Marks = 0, r.Chain.Hash(0), []deposit.Mark{{Hash: r.Chain.Hash(0)}}
		})
		r.Chain.Alter(tx, big.NewInt(999_000_000))
		r.Settle()
		r.WantState(tx, deposit.Settled)
		require.Equal(t, []string{"settled_conflict " + r.Deposit(tx).ID}, r.Bell.Rung())
	})
	t.Run("mined elsewhere with another result the old credit is reversed first", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
		r.Mine(3)
		r.WantSteps(tx, "credit")
		r.Chain.Reorg(3)
		r.Chain.Alter(tx, big.NewInt(8_000_000))
		r.Mine(6)
		r.Settle()
		r.WantSteps(tx, "credit", "reverse")
		r.WantState(tx, deposit.Parked)
		r.WantBalance("alice:USDT", 0)
	})
}

func TestG9_aPollReadsOpenDepositsOnly(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	for range 50 {
		r.Pay(chaintest.USDT, chaintest.Alice, 1)
		r.Chain.Mine(1)
	}
	r.Mine(30)
	r.Settle()
	r.Books.Facts()
	before := r.Chain.Calls("BlockAt")
	r.Poll()
	// A header for the cursor and one for the pinned head; nothing for the fifty settled deposits (R121).
	require.LessOrEqual(t, r.Chain.Calls("BlockAt")-before, 2)
	require.Empty(t, r.Books.Facts())
}

func TestG10_unknownContractsAreNeverCredited(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.Fake, chaintest.Alice, 1_000_000)
	r.Mine(20)
	d := r.Deposit(tx)
	require.Equal(t, deposit.Parked, d.State)
	require.Equal(t, deposit.ReasonUnknownContract, d.Reason)
	require.Empty(t, d.Asset)
	r.WantSteps(tx)
}

func TestG11_bigAmountsWaitForMoreBlocksAndTheTagSettles(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.Policy.FinalityTag = "finalized" })
	small, big := r.Pay(chaintest.USDT, chaintest.Alice, 999), r.Pay(chaintest.USDT, chaintest.Bob, 1000)
	r.Mine(3)
	r.WantState(small, deposit.Reported)
	r.WantState(big, deposit.Pending)
	r.Mine(1)
	r.WantState(big, deposit.Pending)
	r.Mine(1)
	r.WantState(big, deposit.Reported)

	r.Chain.Finalise(2) // the block of both
	r.Settle()
	r.WantState(small, deposit.Settled)
	r.WantState(big, deposit.Settled)
}

func TestG12_addressesAreWatchedFromTheirAllotmentOnAndForEver(t *testing.T) {
	t.Parallel()
	const fresh = "0xf4e5000000000000000000000000000000000077"
	r := chaintest.NewRig(t)
	r.Users.Allot(fresh, "carol")
	tx := r.Pay(chaintest.USDT, fresh, 5)
	r.Mine(3)
	r.WantSteps(tx, "credit")
	r.Mine(5000)
	late := r.Pay(chaintest.USDT, fresh, 6)
	r.Mine(3)
	r.WantSteps(late, "credit")
	r.WantBalance("carol:USDT", 11)
}

func TestG13_twoWatchersNeverPollOneChainTogether(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	second := r.NewWatcher("second")
	calls := r.Chain.Calls("Head")
	worked, err := second.Step(t.Context())
	require.NoError(t, err)
	require.False(t, worked)
	require.Equal(t, calls, r.Chain.Calls("Head"), "the second asks the node nothing")
	require.False(t, second.Health().Leading)

	// Within two seconds of its end the lease is nobody's: clocks may differ by as much.
	r.Clock.Advance(20*time.Second + 2*time.Second)
	_, err = second.Step(t.Context())
	require.NoError(t, err)
	require.False(t, second.Health().Leading)
	r.Clock.Advance(time.Millisecond)
	_, err = second.Step(t.Context())
	require.NoError(t, err)
	require.True(t, second.Health().Leading)
	_, err = r.Watcher.Step(t.Context())
	require.NoError(t, err)
	require.False(t, r.Watcher.Health().Leading)
}

func TestG13_aWatcherThatWasOvertakenCommitsNoCursor(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Chain.Mine(3)
	height := r.Cursor().Height
	second := r.NewWatcher("second")
	overtaken := false
	r.Chain.OnCall(func(method string) {
		if method == "Transfers" && !overtaken {
			overtaken = true
			r.Clock.Advance(time.Minute) // the first process stands still for a minute
			_, err := second.Step(t.Context())
			require.NoError(t, err)
		}
	})
	_, err := r.Watcher.Step(t.Context())
	require.Error(t, err)
	require.Equal(t, r.Chain.Height(), r.Cursor().Height)
	require.Greater(t, r.Cursor().Height, height)
	r.WantSteps(tx, "credit")
}

func TestG13_theLeaseIsTheFenceOfTheCommitEvenWhenClocksAreWrong(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Chain.Mine(3)
	height := r.Cursor().Height
	stolen := false
	r.Chain.OnCall(func(method string) {
		if method != "Receipt" || stolen {
			return
		}
		stolen = true // by a process whose clock runs ahead; ours says that the lease is good
		require.NoError(t, r.Engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			var l deposit.Lease
			if err := tx.Get(store.Leases, deposit.LeaseID("testnet"), &l); err != nil {
				return err
			}
			l.Owner = "another"
			return tx.Replace(store.Leases, &l)
		}))
	})
	_, err := r.Watcher.Step(t.Context())
	require.ErrorContains(t, err, "lease lost")
	require.True(t, stolen)
	require.Equal(t, height, r.Cursor().Height)
	r.WantSteps(tx, "credit") // facts need no lease: they are the same whoever commits them
}

func TestG14_rangesAreReadInChunksWithoutAGapAndHealthTells(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.Chunk, r.Config.MaxBlocks = 7, 40 })
	r.Chain.Ranges()
	r.Chain.Mine(100)
	r.Poll()
	covered := map[int64]bool{}
	for _, span := range r.Chain.Ranges() {
		require.LessOrEqual(t, span[1]-span[0], int64(6))
		for h := span[0]; h <= span[1]; h++ {
			covered[h] = true
		}
	}
	for h := int64(1); h <= 101; h++ {
		require.True(t, covered[h], "block %d", h)
	}
	h := r.Watcher.Health()
	require.Equal(t, int64(101), h.Cursor)
	require.Zero(t, h.Lag())

	r.Chain.Fail("Transfers", 2)
	for range 2 {
		_, err := r.Watcher.Step(t.Context())
		require.Error(t, err)
	}
	require.Equal(t, int64(2), r.Watcher.Health().InARow)
	r.Poll()
	require.Zero(t, r.Watcher.Health().InARow)
	require.Equal(t, int64(2), r.Watcher.Health().Failures)
}

func TestG15_addressesAreComparedInCanonicalForm(t *testing.T) {
	t.Parallel()
	// The canonical form is lower case on both sides: chains/evm makes it of every answer, the registry of every contract.
	require.NoError(t, chaintest.Policy("testnet").Validate())
	for _, token := range chaintest.Policy("testnet").Tokens {
		require.Regexp(t, `^0x[0-9a-f]{40}$`, token.Contract)
	}
}

func TestG17_aCreditIsReversedAndAnotherOneMadeWhenTheMoneyComesBack(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(3)
	for range 3 {
		r.Chain.Reorg(int(r.Chain.Height() - r.Deposit(tx).Block + 1))
		r.Settle()
		r.Mine(3)
		r.Settle()
	}
	r.WantSteps(tx, "credit", "reverse", "credit", "reverse", "credit", "reverse", "credit")
	r.WantBalance("alice:USDT", 10)
	require.Equal(t, 3, r.Deposit(tx).Epoch)
}
