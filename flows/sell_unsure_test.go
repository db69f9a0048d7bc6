package flows

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

// errNotKnown is what placing says when a commit's end was not learnt and the retry found no store.
var errNotKnown = fmt.Errorf("%w, after it was tried: %w", store.ErrCommitUnknown, store.ErrUnavailable)

// unplacing says that it does not know, and has placed nothing.
type unplacing struct{ *offramp.Service }

func (unplacing) Place(context.Context, offramp.Placing) (*offramp.Order, error) {
	return nil, errNotKnown
}

// holding is a guard that counts the claims that were given up.
type holding struct {
	Guard
	freed atomic.Int64
}

func (g *holding) Free(ctx context.Context, digest, intent string) {
	g.freed.Add(1)
	g.Guard.Free(ctx, digest, intent)
}

// unsure is a person whose confirmation ended in an unknown commit, with the guard watched.
func unsure(t *testing.T, w *world, orders Orders) (p *person, c *client, g *holding) {
	t.Helper()
	p = w.person()
	p.deposits("USDT", 100*oneUSDT)
	c = p.atPIN("25")
	g = &holding{Guard: w.sell.d.Guard}
	w.sell.d.Guard, w.sell.d.Orders = g, orders
	a := c.submit(pin(rightPIN))
	require.Equal(t, CryptoReview, a.Screen)
	require.Contains(t, a.text("error_message"), "it counts once")
	require.NotContains(t, a.text("error_message"), "nothing was started")
	require.Contains(t, w.log.String(), "placing a sale did not end")
	require.Zero(t, g.freed.Load(), "the claim stays: the sale may be there")
	w.sell.d.Orders = w.orders
	return p, c, g
}

func TestConfirm_commitUnknownAndThenNoStore(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p, c, g := unsure(t, w, forgetful{w.orders, errNotKnown})
		require.Len(t, p.placed(), 1, "it was placed although nobody could say so")
		placed := p.placed()[0]

		second := p.atPIN("25").submit(pin(rightPIN))
		require.Equal(t, Refused, second.Screen, "another form of the same sale is a duplicate: %v", second.Data)
		require.Equal(t, inProgress, second.text("error_message"))

		compared := w.hasher.compared.Load()
		a := c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Equal(t, placed.Reference, a.text("reference"), "the same submission finds its sale")
		require.Equal(t, compared, w.hasher.compared.Load(), "the PIN is not counted again")
		require.Len(t, p.placed(), 1)
		require.Zero(t, g.freed.Load())
		w.wantsQuiet(c.token)
	})
}

func TestConfirm_commitUnknownThatPlacedNothing(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p, c, g := unsure(t, w, unplacing{w.orders})
		require.Empty(t, p.placed())

		second := p.atPIN("25").submit(pin(rightPIN))
		require.Equal(t, Refused, second.Screen, "meanwhile another form of the same sale is a duplicate: %v", second.Data)
		require.Empty(t, p.placed())
		a := c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 1)
		require.Zero(t, g.freed.Load())
	})
}
