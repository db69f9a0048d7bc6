package chaintest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/store"
)

// Run checks what must hold for a deposit on any chain, over its real JSON-RPC. newWorld makes a chain for each sub-test.
// Sub-tests run one after the other: a real node may be shared.
func Run(t *testing.T, newWorld func(t *testing.T) *World, setup Setup) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.test(t, newSession(t, newWorld(t), setup)) })
	}
	runFaults(t, newWorld, setup)
}

// RunSeveral checks what must hold beside Run on a chain that makes several transfers in one transaction: its World has
// PayMany.
func RunSeveral(t *testing.T, newWorld func(t *testing.T) *World, setup Setup) {
	t.Helper()
	t.Run("several transfers of one transaction are several deposits", func(t *testing.T) {
		severalPerTransaction(newSession(t, newWorld(t), setup))
	})
}

type suiteCase struct {
	name string
	test func(t *testing.T, s *session)
}

func cases() []suiteCase {
	return []suiteCase{
		{"a deposit waits for its depth and is settled below the window", waitsForDepth},
		{"a deposit is never credited twice", neverTwice},
		{"a reorganisation while pending restarts the count", restartsTheCount},
		{"a pending deposit that is dropped leaves no credit", droppedWhilePending},
		{"mined again after a reorganisation it is reversed and credited again", minedAgain},
		{"dropped for good it is reversed only", droppedForGood},
		{"a token that is not in the registry is never credited", wrongToken},
		{"a token with 18 decimals is credited in micro-units", manyDecimals},
		{"a restart after every poll changes nothing", restartsMidWay},
		{"deposits of a long downtime are found", longDowntime},
		{"the cursor follows the chain and two watchers never poll together", cursorAndLease},
		{"a stalled chain changes nothing", stalledChain},
		{"a node that refuses long ranges is asked for shorter ones", rangeLimits},
		{"a replay from the start gives nothing new", replays},
	}
}

func waitsForDepth(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.poll()
	_, found := s.find(tx, 0)
	require.False(s.t, found, "what is not mined is not seen")
	s.mine(1)
	s.wantState(tx, deposit.Pending)
	s.mine(1)
	s.wantState(tx, deposit.Pending)
	s.wantSteps(tx)
	s.mine(1)
	s.wantState(tx, deposit.Reported)
	s.wantSteps(tx, "credit")
	s.wantHeld("alice", "USDT", 25)
	s.mine(int(s.Policy.Window))
	s.settle()
	s.wantState(tx, deposit.Settled)
	s.wantSteps(tx, "credit")
}

func neverTwice(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.mine(5)
	for range 3 {
		s.settle()
		s.restart()
		s.settle()
		s.mine(2)
	}
	s.wantSteps(tx, "credit")
	s.wantHeld("alice", "USDT", 25)
}

func restartsTheCount(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.mine(2)
	before, _ := s.find(tx, 0)
	s.Reorg(2)
	s.settle()
	after, _ := s.find(tx, 0)
	require.Equal(s.t, before.ID, after.ID, "no block is in the ref")
	require.NotEqual(s.t, before.BlockHash, after.BlockHash)
	s.wantSteps(tx)
	s.mine(3)
	s.wantSteps(tx, "credit")
	s.wantHeld("alice", "USDT", 25)
}

func droppedWhilePending(_ *testing.T, s *session) {
	gone, stays := s.Pay(s.alice, "USDT", 25), s.Pay(s.bob, "USDT", 5)
	s.mine(2)
	s.Reorg(2, gone)
	s.settle()
	s.wantState(gone, deposit.Reverted)
	s.mine(int(s.Policy.Window) + 2)
	s.settle()
	s.wantSteps(gone)
	s.wantSteps(stays, "credit")
	s.wantHeld("alice", "USDT", 0)
	s.wantHeld("bob", "USDT", 5)
}

func minedAgain(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.mine(4)
	s.wantSteps(tx, "credit")
	first, _ := s.find(tx, 0)
	s.Reorg(4)
	s.settle()
	s.mine(3)
	s.settle()
	s.wantSteps(tx, "credit", "reverse", "credit")
	s.wantHeld("alice", "USDT", 25)
	d, _ := s.find(tx, 0)
	require.Equal(s.t, first.Epoch+1, d.Epoch)
	s.mine(int(s.Policy.Window))
	s.settle()
	s.wantState(tx, deposit.Settled)
	s.wantSteps(tx, "credit", "reverse", "credit")
}

func droppedForGood(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.mine(4)
	s.wantSteps(tx, "credit")
	s.Reorg(4, tx)
	s.settle()
	s.wantSteps(tx, "credit", "reverse")
	s.wantHeld("alice", "USDT", 0)
	s.mine(int(s.Policy.Window) + 2)
	s.settle()
	s.wantSteps(tx, "credit", "reverse")
	s.wantState(tx, deposit.Reverted)
}

func severalPerTransaction(s *session) {
	tx := s.PayMany([]string{s.alice, s.bob, s.alice}, "USDT", 4)
	s.mine(4)
	s.wantHeld("alice", "USDT", 8)
	s.wantHeld("bob", "USDT", 4)
	ordinals := 0
	for ordinal := range 10 {
		if d, found := s.find(tx, ordinal); found {
			require.Equal(s.t, deposit.Reported, d.State)
			ordinals++
		}
	}
	require.Equal(s.t, 3, ordinals)
	s.Reorg(4)
	s.settle()
	s.mine(4)
	s.settle()
	s.wantHeld("alice", "USDT", 8)
	s.wantHeld("bob", "USDT", 4)
}

func wrongToken(_ *testing.T, s *session) {
	tx := s.PayFake(s.alice)
	s.mine(int(s.Policy.Window) + 2)
	s.settle()
	d, found := s.find(tx, 0)
	require.True(s.t, found, "it is on the operator's list")
	require.Equal(s.t, deposit.Parked, d.State)
	require.Equal(s.t, deposit.ReasonUnknownContract, d.Reason)
	s.wantSteps(tx)
	s.wantHeld("alice", "USDT", 0)
}

func manyDecimals(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDC", 12)
	s.mine(2)
	s.wantSteps(tx, "credit")
	s.wantHeld("alice", "USDC", 12)
	d, _ := s.find(tx, 0)
	require.EqualValues(s.t, 12_000_000, d.Micro)
}

func restartsMidWay(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	for range 4 {
		s.Mine(1)
		s.restart()
		s.poll()
	}
	s.Reorg(4)
	for range 6 {
		s.restart()
		s.poll()
		s.Mine(1)
	}
	s.settle()
	s.wantSteps(tx, "credit", "reverse", "credit")
}

func longDowntime(_ *testing.T, s *session) {
	var txs []string
	for range 6 {
		txs = append(txs, s.Pay(s.alice, "USDT", 1))
		s.Mine(int(s.Policy.Window))
	}
	s.restart()
	s.settle()
	for _, tx := range txs {
		s.wantSteps(tx, "credit")
	}
	s.wantHeld("alice", "USDT", 6)
}

func cursorAndLease(_ *testing.T, s *session) {
	s.mine(3)
	head, err := s.Source.Head(s.t.Context())
	require.NoError(s.t, err)
	require.Equal(s.t, head.Number, s.cursor().Height)
	require.Equal(s.t, head.Hash, s.cursor().Hash)

	second := s.another()
	tx := s.Pay(s.alice, "USDT", 25)
	s.Mine(3)
	worked, err := second.Step(s.t.Context())
	require.NoError(s.t, err)
	require.False(s.t, worked)
	s.wantSteps(tx)
	require.False(s.t, second.Health().Leading)

	s.clock.Advance(time.Minute)
	_, err = second.Step(s.t.Context())
	require.NoError(s.t, err)
	s.wantSteps(tx, "credit")
	s.poll() // the first has lost its lease and does nothing
	require.False(s.t, s.watcher.Health().Leading)
	s.wantSteps(tx, "credit")
}

func stalledChain(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.mine(2)
	for range 5 {
		s.clock.Advance(10 * time.Second)
		s.poll()
	}
	s.wantState(tx, deposit.Pending)
	s.mine(1)
	s.wantSteps(tx, "credit")
}

func rangeLimits(_ *testing.T, s *session) {
	tx := s.Pay(s.alice, "USDT", 25)
	s.Mine(20)
	s.Node.MaxRange(3)
	s.settle()
	s.wantSteps(tx, "credit")
	s.Node.MaxRange(1)
	late := s.Pay(s.alice, "USDT", 5)
	s.Mine(10)
	s.settle()
	s.wantSteps(late, "credit")
	s.wantHeld("alice", "USDT", 30)
}

func replays(_ *testing.T, s *session) {
	first := s.cursor()
	tx := s.Pay(s.alice, "USDT", 25)
	for range int(s.Policy.Window) + 4 {
		s.mine(1)
	}
	open := s.Pay(s.bob, "USDT", 5)
	s.mine(3)
	require.NoError(s.t, s.engine.Update(s.t.Context(), func(_ context.Context, tx store.Tx) error {
		var now deposit.Cursor
		if err := tx.Get(store.Cursors, s.Policy.Chain, &now); err != nil {
			return err
		}
		back := first
		back.Meta = now.Meta
		return tx.Replace(store.Cursors, &back)
	}))
	s.restart()
	s.settle()
	s.wantSteps(tx, "credit")
	s.wantSteps(open, "credit")
	s.wantState(tx, deposit.Settled)
}
