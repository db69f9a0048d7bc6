package chaintest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
	"offrampbot/services/store"
)

func TestWatcher_followsADepositThroughItsLife(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(1)
	r.WantState(tx, deposit.Pending)
	require.Equal(t, 10*chaintest.Whole, r.Deposit(tx).Micro)
	require.EqualValues(t, 3, r.Deposit(tx).Depth)
	r.Mine(1)
	r.WantState(tx, deposit.Pending)
	r.Mine(1)
	r.WantState(tx, deposit.Reported)
	require.NotNil(t, r.Deposit(tx).Open)
	r.Mine(7)
	r.WantState(tx, deposit.Reported)
	r.Mine(1)
	r.WantState(tx, deposit.Settled)
	require.Nil(t, r.Deposit(tx).Open)
	require.Equal(t, []deposit.FactKind{deposit.FactSeen, deposit.FactConfirmed, deposit.FactSettled}, chaintest.Kinds(r.Books.Facts()))
	r.WantSteps(tx, "credit")
}

func TestWatcher_countsBlocksAndNotMinutes(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(1)
	r.Clock.Advance(1000 * time.Hour)
	r.Settle()
	r.WantState(tx, deposit.Pending)
}

func TestWatcher_aStalledChainChangesNothing(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(2)
	r.Books.Facts()
	for range 5 {
		r.Clock.Advance(4 * time.Second)
		r.Poll()
	}
	r.WantState(tx, deposit.Pending)
	require.Empty(t, r.Books.Facts())
	h := r.Watcher.Health()
	require.Equal(t, r.Chain.Height(), h.Head)
	require.Equal(t, r.Clock.Now(), h.PolledAt)
	require.Zero(t, h.Age(r.Clock.Now()))
}

func TestWatcher_aLaggingNodeSaysNothing(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(3)
	r.Books.Facts()
	cursor := r.Cursor()
	r.Chain.Lag(3)
	r.Settle()
	require.Empty(t, r.Books.Facts())
	require.Equal(t, cursor.Height, r.Cursor().Height)
	require.True(t, r.Watcher.Health().Behind)
	r.Chain.Lag(0)
	r.Settle()
	r.WantSteps(tx, "credit")
	require.False(t, r.Watcher.Health().Behind)
}

func TestWatcher_aShorterChainAloneIsNoReorganisation(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(4)
	r.Chain.Rollback(4)
	r.Settle()
	r.WantSteps(tx, "credit")
	r.Chain.Mine(9) // the transaction came back from the pool, in another block
	r.Settle()
	r.WantSteps(tx, "credit", "reverse", "credit")
}

func TestWatcher_aReorganisationRestartsTheCountOfAPendingDeposit(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(2)
	r.Chain.Reorg(2) // one block later now
	r.Poll()
	r.WantState(tx, deposit.Pending)
	r.Mine(1)
	r.WantState(tx, deposit.Pending)
	r.Mine(1)
	r.WantState(tx, deposit.Reported)
	r.WantSteps(tx, "credit")
}

func TestWatcher_aPendingDepositProvenGoneIsDropped(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(1)
	r.Chain.Reorg(1, tx)
	r.Settle()
	r.WantState(tx, deposit.Reverted)
	require.Equal(t, []deposit.FactKind{deposit.FactSeen, deposit.FactDropped}, chaintest.Kinds(r.Books.Facts()))
	r.Mine(30)
	r.Settle()
	r.WantSteps(tx)
	require.Empty(t, r.Books.Facts())
}

func TestWatcher_aCreditedDepositDroppedForGoodIsReversedOnce(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(4)
	r.Books.Facts()
	r.Chain.Reorg(4, tx)
	r.Poll()
	r.WantState(tx, deposit.Missing)
	r.WantSteps(tx, "credit")
	r.Poll()
	r.WantState(tx, deposit.Reverted)
	r.Mine(30)
	r.Settle()
	r.WantSteps(tx, "credit", "reverse")
	r.WantBalance("alice:USDT", 0)
	require.Equal(t, []deposit.FactKind{deposit.FactMissing, deposit.FactReverted}, chaintest.Kinds(r.Books.Facts()))
}

func TestWatcher_aSecondNodeThatStillHasTheBlockForbidsTheReversal(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(4)
	honest := r.Chain.Fork()
	r.Chain.Reorg(4, tx) // this node is on a fork now
	source := &witnessed{Script: r.Chain, second: honest}
	r.Source = source
	r.Restart("second")
	for range 5 {
		r.Settle()
	}
	r.WantState(tx, deposit.Missing)
	r.WantSteps(tx, "credit")
	require.Positive(t, r.Watcher.Health().Ignored[deposit.IgnoredDisputed])

	r.Chain.Become(honest)
	r.Settle()
	r.WantState(tx, deposit.Reported)

	// With both on the fork, or the second unreachable, the proof stands.
	r.Chain.Reorg(4, tx)
	source.down = true
	r.Settle()
	r.WantSteps(tx, "credit", "reverse")
}

func TestWatcher_settledDepositsSurviveADeeperReorganisationWithAnAlarm(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	for range 15 {
		r.Mine(1)
	}
	r.WantState(tx, deposit.Settled)
	late := r.Pay(chaintest.USDT, chaintest.Bob, 7)
	r.Chain.Reorg(15)
	r.Mine(5)
	r.Settle()
	r.WantSteps(tx, "credit")
	r.WantSteps(late, "credit")
	require.Len(t, r.Bell.Rung(), 2)
	require.Contains(t, r.Bell.Rung()[0], "deep_reorg testnet:")
	require.Equal(t, "settled_moved "+r.Deposit(tx).ID, r.Bell.Rung()[1])
}

func TestWatcher_findsWhatADeepReorganisationBroughtBelowTheWindow(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	for range 40 {
		r.Mine(1)
	}
	other := r.Chain.Fork()
	other.Rollback(30)
	tx := other.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Stranger, To: chaintest.Alice, Raw: chaintest.Raw(chaintest.USDT, 3)})
	other.Mine(40)
	r.Chain.Become(other)
	r.Settle()
	r.WantSteps(tx, "credit")
}

func TestWatcher_concludesNothingFromAChainItDoesNotKnow(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Chain.Mine(50) })
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Mine(3)
	stranger := chaintest.NewScript("testnet")
	stranger.Reorg(0)
	stranger.Mine(100)
	r.Chain.Become(stranger)
	for range 3 {
		_, err := r.Watcher.Step(t.Context())
		require.ErrorContains(t, err, "check continuity")
	}
	r.WantState(tx, deposit.Reported)
	require.Equal(t, []string{"chain_discontinuity testnet"}, r.Bell.Rung())
}

func TestWatcher_everyFailingCallMovesNothingAndLosesNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Head", "BlockAt", "Final", "Transfers", "Receipt"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.Policy.FinalityTag = "finalized" })
			tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
			r.Chain.Mine(3)
			cursor := r.Cursor()
			r.Chain.Fail(method, 1)
			_, err := r.Watcher.Step(t.Context())
			require.ErrorIs(t, err, chaintest.ErrScripted)
			require.Equal(t, cursor, r.Cursor())
			require.EqualValues(t, 1, r.Watcher.Health().Failures)
			r.Settle()
			r.WantSteps(tx, "credit")
		})
	}
	t.Run("address book", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
		r.Chain.Mine(3)
		r.Users.Break(chaintest.ErrScripted)
		_, err := r.Watcher.Step(t.Context())
		require.ErrorIs(t, err, chaintest.ErrScripted)
		r.Users.Break(nil)
		r.Settle()
		r.WantSteps(tx, "credit")
	})
}

func TestWatcher_oneFactThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Pay(chaintest.USDT, chaintest.Bob, 20)
	r.Chain.Mine(3)
	r.Books.FailBefore(deposit.FactConfirmed, 1)
	_, err := r.Watcher.Step(t.Context())
	require.ErrorIs(t, err, chaintest.ErrScripted)
	all, err := r.Books.Postings(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "the other credit is booked")
	r.Settle()
	r.WantBalance("alice:USDT", 10)
	r.WantBalance("bob:USDT", 20)
}

func TestWatcher_replayFromHeightZeroAndAResyncOfAYearNotifyNothing(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	for range 60 {
		r.Pay(chaintest.USDT, chaintest.Alice, 1)
		r.Pay(chaintest.Fake, chaintest.Bob, 1)
		r.Chain.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Alice, To: chaintest.Treasury, Raw: chaintest.Raw(chaintest.USDT, 1)})
		r.Mine(100)
	}
	r.Settle()
	r.WantBalance("alice:USDT", 60)
	open := r.Pay(chaintest.USDT, chaintest.Bob, 5)
	r.Mine(3)
	r.WantSteps(open, "credit")
	r.Books.Facts()

	r.SetCursor(func(c *deposit.Cursor) {
		c.Height, c.Hash, c.Since, c.Marks = 0, r.Chain.Hash(0), 0, []deposit.Mark{{Hash: r.Chain.Hash(0)}}
	})
	r.Restart("after the replay")
	r.Settle()
	require.Equal(t, r.Chain.Height(), r.Cursor().Height)
	require.Empty(t, r.Books.Facts())
	require.Empty(t, r.Bell.Rung())
}

func TestWatcher_startsAtTheHeadLessTheOverlapOrWhereItIsTold(t *testing.T) {
	t.Parallel()
	t.Run("head less the overlap", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Chain.Mine(99) })
		require.EqualValues(t, 91, r.Cursor().Since)
		require.EqualValues(t, 100, r.Cursor().Height)
	})
	t.Run("the block of the time when the first address was allotted, less an hour", func(t *testing.T) {
		t.Parallel()
		var before, after string
		var first deposit.Block
		r := chaintest.NewRig(t, func(r *chaintest.Rig) {
			before = r.Pay(chaintest.USDT, chaintest.Alice, 1)
			r.Chain.Mine(4000)
			var found bool
			var err error
			first, found, err = r.Chain.BlockAt(r.T.Context(), r.Chain.Height())
			require.NoError(r.T, err)
			require.True(r.T, found)
			r.Users.OldestIs(first.Time.Add(time.Hour))
			after = r.Pay(chaintest.USDT, chaintest.Alice, 1)
			r.Chain.Mine(5000)
		})
		require.Equal(t, first.Number, r.Cursor().Since)
		r.WantSteps(after, "credit")
		r.WantSteps(before)
	})
	t.Run("a height", func(t *testing.T) {
		t.Parallel()
		start := int64(30)
		var tx string
		r := chaintest.NewRig(t, func(r *chaintest.Rig) {
			r.Config.Start = &start
			r.Chain.Mine(40)
			tx = r.Pay(chaintest.USDT, chaintest.Alice, 1)
			r.Chain.Mine(60)
		})
		require.EqualValues(t, 30, r.Cursor().Since)
		r.WantSteps(tx, "credit")
	})
	t.Run("a height that is not mined yet", func(t *testing.T) {
		t.Parallel()
		start := int64(30)
		r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.Start = &start; r.Chain.Mine(28) })
		early := r.Pay(chaintest.USDT, chaintest.Alice, 1)
		require.EqualValues(t, 29, r.Chain.Height())
		r.Chain.Mine(1)
		r.Poll()
		late := r.Pay(chaintest.USDT, chaintest.Alice, 1)
		r.Mine(5)
		r.WantSteps(early, "credit")
		r.WantSteps(late, "credit")
	})
}

func TestWatcher_aLongCatchUpCommitsItsProgress(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.MaxBlocks = 50 })
	tx := r.Pay(chaintest.USDT, chaintest.Alice, 10)
	r.Chain.Mine(500)
	worked, err := r.Watcher.Step(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	require.EqualValues(t, 51, r.Cursor().Height)
	r.WantSteps(tx, "credit")
	r.Poll()
	require.Equal(t, r.Chain.Height(), r.Cursor().Height)
	require.Less(t, len(r.Cursor().Marks), 40)
}

func TestWatcher_pollsNoMoreOftenThanItIsTold(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.Poll = 4 * time.Second })
	heads := r.Chain.Calls("Head")
	r.Clock.Advance(2999 * time.Millisecond)
	r.Poll()
	require.Equal(t, heads, r.Chain.Calls("Head"))
	r.Clock.Advance(time.Millisecond)
	r.Poll()
	require.Equal(t, heads+1, r.Chain.Calls("Head"))
}

func TestWatcher_releasedLeaseIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	second := r.NewWatcher("second")
	require.NoError(t, second.Release(t.Context()), "the lease of another is left alone")
	_, err := second.Step(t.Context())
	require.NoError(t, err)
	require.False(t, second.Health().Leading)
	require.NoError(t, r.Watcher.Release(t.Context()))
	_, err = second.Step(t.Context())
	require.NoError(t, err)
	require.True(t, second.Health().Leading)
}

func TestWatcher_aLongPollRenewsItsLease(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Config.Chunk = 10 })
	r.Chain.Mine(100)
	r.Chain.OnCall(func(method string) {
		if method == "Transfers" {
			r.Clock.Advance(5 * time.Second)
		}
	})
	r.Poll()
	require.Equal(t, r.Chain.Height(), r.Cursor().Height)
	var lease deposit.Lease
	require.NoError(t, r.Engine.View(t.Context(), func(_ context.Context, reader store.Reader) error {
		return reader.Get(store.Leases, deposit.LeaseID("testnet"), &lease)
	}))
	require.True(t, lease.Until.After(r.Clock.Now()))
}

func TestNew_refusesWhatCouldLoseMoney(t *testing.T) {
	t.Parallel()
	r := chaintest.NewRig(t)
	deps := deposit.Deps{Source: r.Chain, Engine: r.Engine, Addresses: r.Users, Applier: r.Books, Alarms: r.Bell, Now: r.Clock.Now}
	good := r.Config
	tests := []struct {
		name   string
		change func(*deposit.Deps, *deposit.Config)
		want   string
	}{
		{"no source", func(d *deposit.Deps, _ *deposit.Config) { d.Source = nil }, "Source is nil"},
		{"no engine", func(d *deposit.Deps, _ *deposit.Config) { d.Engine = nil }, "Engine is nil"},
		{"no addresses", func(d *deposit.Deps, _ *deposit.Config) { d.Addresses = nil }, "Addresses is nil"},
		{"no applier", func(d *deposit.Deps, _ *deposit.Config) { d.Applier = nil }, "Applier is nil"},
		{"no alarms", func(d *deposit.Deps, _ *deposit.Config) { d.Alarms = nil }, "Alarms is nil"},
		{"no clock", func(d *deposit.Deps, _ *deposit.Config) { d.Now = nil }, "Now is nil"},
		{"no holder", func(_ *deposit.Deps, c *deposit.Config) { c.Holder = "" }, "Holder is empty"},
		{"an overlap below the window", func(_ *deposit.Deps, c *deposit.Config) { c.Overlap = 9 }, "Overlap must reach"},
		{"a lease of seconds", func(_ *deposit.Deps, c *deposit.Config) { c.Lease = 4 * time.Second }, "Lease must be longer"},
		{"a treasury address as wallets show it", func(_ *deposit.Deps, c *deposit.Config) {
			c.Treasury = []string{"0xDAC17F958D2ee523a2206206994597C13D831ec7"}
		}, "not in canonical form"},
		{"another chain's source", func(_ *deposit.Deps, c *deposit.Config) { c.Policy.Chain = "base" }, "source of chain testnet"},
		{"a window below a depth", func(_ *deposit.Deps, c *deposit.Config) { c.Policy.Window = 4; c.Overlap = 4 }, "below the deepest depth 5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, c := deps, good
			tt.change(&d, &c)
			_, err := deposit.New(d, c)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := deposit.New(deps, good)
	require.NoError(t, err)
}
