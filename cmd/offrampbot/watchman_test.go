package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/invariant"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// TestWatchman_pagesAboutADifferenceAndAboutNothingElse follows the trail of good orders, and then of one whose document
// was changed by somebody.
func TestWatchman_pagesAboutADifferenceAndAboutNothingElse(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		db, ok := engine.(database)
		require.True(t, ok)
		seed(t, db, 30)
		clock, raised := time.Now().UTC().Add(-2*seedAge), map[string]string{}
		checker, err := invariant.New(db, assets.Sandbox())
		require.NoError(t, err)
		w, err := invariant.NewWatchman(checker, func(_ context.Context, d invariant.Difference) error {
			raised[d.ID] = d.Rule
			return nil
		}, func() time.Time { return clock })
		require.NoError(t, err)
		follow := func() (steps int) {
			for {
				worked, err := w.Step(t.Context())
				require.NoError(t, err)
				if !worked {
					return steps
				}
				steps++
			}
		}
		require.Zero(t, follow(), "it begins with what comes after its start")
		clock = time.Now().UTC()
		require.Positive(t, follow())
		require.Empty(t, raised)
		require.Zero(t, follow(), "nothing is looked at twice")

		bad := (&town{t: t, db: db}).orders()[7]
		touch := func(change func(o *offramp.Order)) {
			require.NoError(t, db.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
				var o offramp.Order
				if err := tx.Get(store.Orders, bad.ID, &o); err != nil {
					return err
				}
				change(&o)
				if err := audit.Append(tx, audit.Entry{Stream: "order:" + o.ID, At: clock, Actor: "staff:x", Action: "looked at"}); err != nil {
					return err
				}
				return tx.Replace(store.Orders, &o)
			}))
		}
		touch(func(o *offramp.Order) { o.Net++ })
		follow()
		require.Empty(t, raised, "an entry may still be followed by an older one")
		clock = clock.Add(2 * time.Minute)
		require.Positive(t, follow())
		require.Contains(t, raised, bad.ID)
		clear(raised)
		touch(func(o *offramp.Order) { o.Net-- })
		clock = clock.Add(2 * time.Minute)
		require.Positive(t, follow())
		require.Empty(t, raised, "it was put right")
	})
}

// TestTurn_isOneProcessesAtATime lets many ask at once, twice.
func TestTurn_isOneProcessesAtATime(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		began := func(at time.Time) {
			require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
				var last taken
				if err := tx.Get(store.Leases, "turn:x", &last); err != nil {
					return err
				}
				last.At = at
				return tx.Replace(store.Leases, &last)
			}))
		}
		for i, want := range []int{0, 1, 0} {
			if i == 1 {
				began(nowMillis().Add(-2 * time.Hour))
			}
			got := make(chan bool, 20)
			var g errgroup.Group
			for range 20 {
				g.Go(func() error {
					mine, err := (&turn{db: engine, id: "turn:x", every: time.Hour}).take(t.Context())
					got <- mine
					return err
				})
			}
			require.NoError(t, g.Wait())
			close(got)
			n := 0
			for mine := range got {
				if mine {
					n++
				}
			}
			require.Equal(t, want, n)
		}
	})
}
