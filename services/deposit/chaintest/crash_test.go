package chaintest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// TestWatcher_aCrashAtAnyCommitEndsInTheSameBooks runs one story with a failure at every commit: before it, and after it
// with the answer lost.
func TestWatcher_aCrashAtAnyCommitEndsInTheSameBooks(t *testing.T) {
	t.Parallel()
	count := crashStory(t, -1, false)
	require.Greater(t, count, 20)
	for at := range count {
		crashStory(t, at, false)
		crashStory(t, at, true)
	}
}

// crashStory pays, credits, reorganises and settles, and returns the number of commits. At commit number at the process
// dies and another one takes over.
func crashStory(t *testing.T, at int, after bool) int {
	t.Helper()
	engine := &crashing{at: -1}
	r := chaintest.NewRig(t, func(r *chaintest.Rig) {
		engine.Engine = r.Engine
		r.Engine = engine
		r.Books = chaintest.NewBooks(engine)
	})
	engine.count, engine.at, engine.after = 0, at, after
	holder := 0
	poll := func() {
		for range 2 {
			if _, err := r.Watcher.Step(t.Context()); err != nil {
				require.ErrorIs(t, err, errCrash)
				holder++
				r.Restart("holder " + string(rune('a'+holder)))
			}
		}
	}
	kept, gone := r.Pay(chaintest.USDT, chaintest.Alice, 10), r.Pay(chaintest.USDT, chaintest.Bob, 20)
	for range 3 {
		r.Chain.Mine(1)
		poll()
	}
	r.Chain.Reorg(3, gone)
	for range 5 {
		poll()
		r.Chain.Mine(3)
	}
	poll()
	poll()
	r.WantSteps(kept, "credit", "reverse", "credit")
	r.WantSteps(gone, "credit", "reverse")
	r.WantBalance("alice:USDT", 10)
	r.WantBalance("bob:USDT", 0)
	r.WantState(kept, deposit.Settled)
	return engine.count
}

var errCrash = errors.New("crash")

// crashing fails one Update, before or after its commit.
type crashing struct {
	store.Engine
	count, at int
	after     bool
}

func (c *crashing) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	n := c.count
	c.count++
	if n == c.at && !c.after {
		return errCrash
	}
	err := c.Engine.Update(ctx, fn)
	if n == c.at && err == nil {
		return errCrash
	}
	return err
}

func TestWatcher_worksTheSameOnBothEngines(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, chaintest.Indexes(), func(t *testing.T, engine store.Engine) {
		r := chaintest.NewRig(t, func(r *chaintest.Rig) { r.Engine, r.Books = engine, chaintest.NewBooks(engine) })
		kept, gone := r.Pay(chaintest.USDT, chaintest.Alice, 10), r.Pay(chaintest.USDT, chaintest.Bob, 20)
		spam := r.Pay(chaintest.Fake, chaintest.Alice, 1)
		r.Mine(4)
		r.Chain.Reorg(4, gone)
		r.Settle()
		r.Restart("second")
		r.Mine(4)
		r.Settle()
		r.WantSteps(kept, "credit", "reverse", "credit")
		r.WantSteps(gone, "credit", "reverse")
		r.WantState(spam, deposit.Parked)
		r.Mine(12)
		r.Settle()
		r.WantState(kept, deposit.Settled)
		require.Equal(t, r.Chain.Height(), r.Cursor().Height)

		// Two processes at once: one leads, and both together book once.
		tx := r.Pay(chaintest.USDT, chaintest.Alice, 5)
		r.Chain.Mine(3)
		r.Clock.Advance(time.Minute)
		watchers := []*deposit.Watcher{r.NewWatcher("a"), r.NewWatcher("b"), r.NewWatcher("c")}
		results := make(chan error, len(watchers))
		for _, w := range watchers {
			go func() {
				_, err := w.Step(t.Context())
				results <- err
			}()
		}
		for range watchers {
			require.NoError(t, <-results)
		}
		leading := 0
		for _, w := range watchers {
			if w.Health().Leading {
				leading++
			}
		}
		require.Equal(t, 1, leading)
		r.WantSteps(tx, "credit")
	})
}
