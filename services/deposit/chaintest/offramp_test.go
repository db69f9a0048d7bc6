package chaintest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
	"offrampbot/services/exchange"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/offramp/offramptest"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// realLedger is the order service as the applier.
type realLedger struct {
	*offramp.Service
	engine store.Engine
}

// Steps implements chaintest.Ledger.
func (l realLedger) Steps(ctx context.Context, ref string) ([]string, error) {
	var out []string
	err := l.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		out = nil
		rows, err := store.All[ledger.Posting](r, store.Query{Collection: store.Postings, Index: "chain", Equal: []any{"deposit:" + ref}})
		for _, p := range rows {
			step := "credit"
			if strings.HasPrefix(p.Credit, "chain:") {
				step = "reverse"
			}
			out = append(out, step)
		}
		return err
	})
	return out, err
}

// Held implements chaintest.Ledger.
func (l realLedger) Held(ctx context.Context, userID, asset string) (money.Micro, error) {
	var available money.Micro
	err := l.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		a, err := ledger.Load(r, userID, asset)
		if err == nil {
			available = a.Available - a.Owed
		}
		return err
	})
	return available, err
}

// withOfframp is the setup with the order service and its ledger.
func withOfframp(t *testing.T, owners map[string]string) (store.Engine, chaintest.Ledger) {
	t.Helper()
	engine := testkit.Bolt(t, slices.Concat(offramp.Indexes, ledger.Indexes, operation.Indexes, delivery.Indexes, deposit.Indexes,
		quote.Indexes, audit.Indexes, user.Indexes))
	service, err := offramp.New(offramp.Deps{
		Engine: engine, Registry: assets.Sandbox(), Venues: offramp.Venues{"desk": struct{ exchange.Venue }{}},
		Rails: offramp.Rails{"bank": struct{ payout.Rail }{}}, Router: noRoute{}, Sealer: struct{ offramp.Sealer }{},
		Screener: offramptest.Screener{}, Watcher: offramptest.Watcher{}, Now: testkit.Noon().Now, LookupKey: []byte(strings.Repeat("k", 32)),
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: "desk", Treasury: map[string]bool{chaintest.Treasury: true}})
	require.NoError(t, err)
	require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		for address, id := range owners {
			u := &user.User{Name: id, Country: "NG", Status: user.Active, Tier: assets.Sandbox().Tiers()[0].ID, Address: address}
			u.ID, u.Version = id, 1
			if err := tx.Insert(store.Users, u); err != nil {
				return err
			}
		}
		return nil
	}))
	return engine, realLedger{Service: service, engine: engine}
}

type noRoute struct{}

func (noRoute) Next([]string, string, func(string) bool) (string, bool) { return "", false }
