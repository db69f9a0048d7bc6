//go:build bench

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/figures"
	"offrampbot/services/invariant"
	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
	"offrampbot/services/store"
)

// benchGrowth asks the same questions of a small and a large store. BENCH_ORDERS is how large.
func benchGrowth(t *testing.T) {
	t.Helper()
	large := 20_000
	if n, err := strconv.Atoi(os.Getenv("BENCH_ORDERS")); err == nil {
		large = n
	}
	small, big := grown(t, 1000), grown(t, large)
	for _, name := range slices.Sorted(maps.Keys(small)) {
		row("growth", ms(small[name]), ms(big[name]), big[name]/small[name], 1.3, atMost, fmt.Sprintf("%s, median of three p99, 1,000 and %d orders", name, large))
	}
}

func grown(t *testing.T, orders int) map[string]float64 {
	t.Helper()
	_, _, db, a := seededMongo(t, orders)
	rollUp(t, db)
	known := someOrders(t, db)
	checker, err := invariant.New(db, a.registry)
	require.NoError(t, err)
	for _, o := range known[:10] {
		differences, err := checker.One(t.Context(), o.ID)
		require.NoError(t, err)
		require.Empty(t, differences)
	}
	questions := map[string]func(r store.Reader, o *offramp.Order) error{
		"order by id": func(r store.Reader, o *offramp.Order) error { return r.Get(store.Orders, o.ID, &offramp.Order{}) },
		"history of a user": func(r store.Reader, o *offramp.Order) error {
			_, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "user", Equal: []any{o.User}, Descending: true, Limit: 5})
			return err
		},
		"due operations": func(r store.Reader, _ *offramp.Order) error {
			return r.Find(store.Query{Collection: store.Outbox, Index: "due", Equal: []any{"payout"}, Limit: 10}, func(store.Decode) (bool, error) { return true, nil })
		},
		"page of the admin's list": func(r store.Reader, _ *offramp.Order) error {
			_, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "created", Descending: true, Limit: 50})
			return err
		},
		"search": func(r store.Reader, o *offramp.Order) error {
			_, err := store.Related(r, strings.ToLower(o.Reference))
			return err
		},
	}
	out := map[string]float64{}
	for name, ask := range questions {
		var three []float64
		for range 3 {
			var took []time.Duration
			for i := range 500 {
				start := time.Now()
				require.NoError(t, db.View(t.Context(), func(_ context.Context, r store.Reader) error { return ask(r, known[i%len(known)]) }))
				took = append(took, time.Since(start))
			}
			three = append(three, quantilesOf(took).P99)
		}
		out[name] = middle(three)
	}
	pagesOf(t, db, known, out)
	return out
}

// rollUp folds the figures of what was seeded: a store that had come to its orders one by one would have them.
func rollUp(t *testing.T, db store.Engine) {
	t.Helper()
	f, err := figures.New(db, now)
	require.NoError(t, err)
	for worked := true; worked; {
		worked, err = f.Step(t.Context())
		require.NoError(t, err)
	}
}

// someOrders are the oldest and the youngest few hundred.
func someOrders(t *testing.T, db store.Engine) (known []*offramp.Order) {
	t.Helper()
	for _, descending := range []bool{false, true} {
		require.NoError(t, db.View(t.Context(), func(_ context.Context, r store.Reader) error {
			some, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "created", Descending: descending, Limit: 250})
			known = append(known, some...)
			return err
		}))
	}
	return known
}

// pagesOf asks the operator's pages of a store, each a hundred times.
func pagesOf(t *testing.T, db database, known []*offramp.Order, out map[string]float64) {
	t.Helper()
	limits := miniredis.RunT(t)
	d := newTown(t, db, "redis://"+limits.Addr(), map[string]string{"STORE": "embedded"}).desk(sandbox.DefaultOperator())
	d.logsIn()
	for name, path := range map[string]func(o *offramp.Order) string{
		"overview":        func(*offramp.Order) string { return "/admin/" },
		"orders":          func(*offramp.Order) string { return "/admin/orders" },
		"orders by state": func(*offramp.Order) string { return "/admin/orders?state=success" },
		"orders by id":    func(o *offramp.Order) string { return "/admin/orders?q=" + o.Reference },
		"an order":        func(o *offramp.Order) string { return "/admin/orders/" + o.ID },
		"a user":          func(o *offramp.Order) string { return "/admin/users/" + o.User },
		"audit":           func(*offramp.Order) string { return "/admin/audit" },
		"deposits":        func(*offramp.Order) string { return "/admin/deposits" },
		"review":          func(*offramp.Order) string { return "/admin/review" },
		"parked":          func(*offramp.Order) string { return "/admin/parked" },
	} {
		var took []time.Duration
		for i := range 100 {
			limits.FlushAll() // nobody may open so many pages a minute
			start := time.Now()
			d.page(path(known[(i*37)%len(known)]))
			took = append(took, time.Since(start))
		}
		out["page of "+name] = quantilesOf(took).P99
	}
}
