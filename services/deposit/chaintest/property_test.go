package chaintest_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
)

// TestWatcher_overRandomChains lets a chain do anything that the window allows, and the node, the applier and the process
// fail at any time, and checks that
//   - credit and reversal of a ref strictly alternate (R109): the books refuse anything else,
//   - nothing is credited without its depth on the true chain,
//   - in the end every payment on the chain is credited once and nothing else is (R123),
//   - a replay from height zero gives no fact at all (R115, R116).
func TestWatcher_overRandomChains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := chaintest.NewRig(t, func(r *chaintest.Rig) {
			// The log index may lag for as long as it likes within the time of a sweep (B47).
			r.Config.MaxBlocks, r.Config.Chunk, r.Config.Sweep = 30, 8, 2*time.Hour
		})
		w := &world{Rig: r, rt: rt}
		r.Books.OnFact(w.checkDepth)
		steps := rapid.IntRange(5, 60).Draw(rt, "steps")
		for range steps {
			w.act()
		}
		w.heal()
		w.compare()
		w.replay()
	})
}

// world is a rig under random actions.
type world struct {
	*chaintest.Rig
	rt      *rapid.T
	txs     []string
	born    int
	highest int64 // the chain ever was
}

func (w *world) act() {
	switch rapid.SampledFrom([]string{
		"pay", "pay", "mine", "mine", "mine", "poll", "poll", "poll", "reorg", "rollback", "fault", "empty", "lag", "unready", "hide",
		"restart", "applier", "finalise",
	}).Draw(w.rt, "action") {
	case "pay":
		w.pay()
	case "mine":
		w.Chain.Mine(rapid.IntRange(1, 4).Draw(w.rt, "blocks"))
	case "poll":
		w.step()
	case "reorg":
		depth := rapid.IntRange(1, int(w.Config.Policy.Window)).Draw(w.rt, "depth")
		w.Chain.Reorg(w.bounded(depth), w.some()...)
	case "rollback":
		w.Chain.Rollback(w.bounded(rapid.IntRange(1, 3).Draw(w.rt, "depth")))
	case "fault":
		w.Chain.Fail(rapid.SampledFrom([]string{"Head", "BlockAt", "Transfers", "Receipt", "Final"}).Draw(w.rt, "method"), 1)
	case "empty":
		w.Chain.Empty(rapid.IntRange(1, 2).Draw(w.rt, "answers"))
	case "lag":
		w.Chain.Lag(rapid.Int64Range(0, 3).Draw(w.rt, "behind"))
	case "unready":
		for _, tx := range w.some() {
			w.Chain.Unready(tx, rapid.Bool().Draw(w.rt, "unready"))
		}
	case "hide":
		for _, tx := range w.some() {
			w.Chain.Hide(tx, rapid.Bool().Draw(w.rt, "hidden"))
		}
	case "restart":
		w.born++
		w.Restart("holder " + big.NewInt(int64(w.born)).String())
	case "applier":
		kind := rapid.SampledFrom([]deposit.FactKind{deposit.FactSeen, deposit.FactConfirmed, deposit.FactReverted, deposit.FactSettled}).Draw(w.rt, "kind")
		if rapid.Bool().Draw(w.rt, "after") {
			w.Books.FailAfter(kind, 1)
		} else {
			w.Books.FailBefore(kind, 1)
		}
	case "finalise":
		// Final is only what lies below every reorganisation to come.
		w.Chain.Finalise(w.Chain.Height() - w.Config.Policy.Window - 3)
	}
}

// bounded keeps every block that was ever below the window: the policy says that no reorganisation reaches it.
func (w *world) bounded(depth int) int {
	w.highest = max(w.highest, w.Chain.Height())
	return int(max(0, min(int64(depth), w.Chain.Height()-(w.highest-w.Config.Policy.Window))))
}

func (w *world) pay() {
	contract := rapid.SampledFrom([]string{chaintest.USDT, chaintest.USDT, chaintest.USDC, chaintest.Fake}).Draw(w.rt, "contract")
	var logs []chaintest.Log
	for range rapid.IntRange(1, 3).Draw(w.rt, "logs") {
		logs = append(logs, chaintest.Log{
			Contract: contract,
			From:     chaintest.Stranger,
			To:       rapid.SampledFrom([]string{chaintest.Alice, chaintest.Bob, chaintest.Stranger}).Draw(w.rt, "to"),
			Raw:      chaintest.Raw(contract, rapid.SampledFrom([]int64{0, 1, 20, 1000}).Draw(w.rt, "amount")),
		})
	}
	w.txs = append(w.txs, w.Chain.Send(logs...))
}

// some picks a few of the transactions so far.
func (w *world) some() []string {
	var out []string
	for _, tx := range w.txs {
		if rapid.IntRange(0, 3).Draw(w.rt, "pick") == 0 {
			out = append(out, tx)
		}
	}
	return out
}

func (w *world) step() {
	_, err := w.Watcher.Step(w.T.Context())
	if err != nil {
		require.NotErrorIs(w.T, err, chaintest.ErrBroken)
	}
}

// checkDepth compares a credit with the true chain: the transfer is in that block, deep enough, and not in a dropped one.
func (w *world) checkDepth(f deposit.Fact) {
	d := f.Deposit
	depth := w.Chain.Height() - d.Block + 1
	switch f.Kind {
	case deposit.FactConfirmed:
		want := int64(3)
		switch {
		case d.Asset == "USDC":
			want = 2
		case d.Micro >= 1000*chaintest.Whole:
			want = 5
		}
		require.GreaterOrEqual(w.rt, depth, want, "credit without depth")
		require.Equal(w.rt, w.Chain.Hash(d.Block), d.BlockHash, "credit of a block that is not on the chain")
		require.NotEmpty(w.rt, d.Asset)
	case deposit.FactSettled:
		require.Greater(w.rt, depth, w.Config.Policy.Window)
		require.Equal(w.rt, w.Chain.Hash(d.Block), d.BlockHash)
	case deposit.FactReverted, deposit.FactDropped:
		require.NotEqual(w.rt, w.Chain.Hash(d.Block), d.BlockHash, "%s of a block that stands", f.Kind)
	case deposit.FactSeen, deposit.FactMissing, deposit.FactParked, deposit.FactOutgoing:
	}
}

// heal ends every fault and lets the chain run past the window.
func (w *world) heal() {
	for _, method := range []string{"Head", "BlockAt", "Transfers", "Receipt", "Final"} {
		w.Chain.Fail(method, 0)
	}
	for _, kind := range []deposit.FactKind{deposit.FactSeen, deposit.FactConfirmed, deposit.FactReverted, deposit.FactSettled} {
		w.Books.FailBefore(kind, 0)
		w.Books.FailAfter(kind, 0)
	}
	w.Chain.Lag(0)
	w.Chain.Empty(0)
	for _, tx := range w.txs {
		w.Chain.Unready(tx, false)
		w.Chain.Hide(tx, false)
	}
	w.Chain.Mine(4) // a chain that was rolled back must be longer than the cursor again
	for range 4 {
		w.Poll()
		w.Chain.Mine(int(w.Config.Policy.Window))
	}
	for range 12 {
		w.Clock.Advance(2 * time.Hour)
		w.Poll()
	}
	w.Settle()
}

// compare holds the books against the chain.
func (w *world) compare() {
	for _, contract := range []string{chaintest.USDT, chaintest.USDC} {
		for address, user := range map[string]string{chaintest.Alice: "alice", chaintest.Bob: "bob"} {
			want, err := w.Chain.Balance(w.T.Context(), contract, address)
			require.NoError(w.rt, err)
			asset, unit := "USDT", chaintest.Raw(contract, 1)
			if contract == chaintest.USDC {
				asset = "USDC"
			}
			got, err := w.Books.Balance(w.T.Context(), user+":"+asset)
			require.NoError(w.rt, err)
			require.Equal(w.rt, new(big.Int).Div(want, unit).Int64(), int64(got/chaintest.Whole), "%s of %s", asset, user)
		}
	}
}

// replay reads everything again.
func (w *world) replay() {
	w.Books.Facts()
	w.SetCursor(func(c *deposit.Cursor) {
		c.Height, c.Hash, c.Since, c.Marks = 0, w.Chain.Hash(0), 0, []deposit.Mark{{Hash: w.Chain.Hash(0)}}
	})
	w.Restart("replay")
	w.Settle()
	require.Empty(w.rt, w.Books.Facts())
}
