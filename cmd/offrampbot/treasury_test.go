package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/config"
	"offrampbot/services/deposit"
	"offrampbot/services/money"
	"offrampbot/services/obs"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// The operator's own money that comes to a person's address is nobody's deposit, however TREASURY_ADDRESSES is written.
func TestDeposits_moneyFromTheTreasuryIsNotThePersons(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.knowsAddress()
		treasury := w.secret("TREASURY_ADDRESSES")
		require.NotEqual(t, strings.ToLower(treasury), treasury, "written as wallets show it")
		p.call("POST", "/world/chains/base/transfers", map[string]any{"to": p.address, "token": "USDT", "amount": "40", "from": treasury})
		p.deposits("base", "USDT", "25")
		reference := p.sells("25 usdt on base", "0123456789")
		w.becomes(reference, "success")
		w.eventually("both transfers are stored", func() bool { return len(w.deposits()) == 2 })
		reasons := map[money.Micro]string{}
		for _, d := range w.deposits() {
			reasons[d.Micro] = d.Reason
			require.Equal(t, d.Reason == deposit.ReasonFromTreasury, d.User == "", "%s", d.ID)
		}
		require.Equal(t, deposit.ReasonFromTreasury, reasons[40_000_000])
	})
}

// deposits are all that were seen.
func (w *town) deposits() []*deposit.Deposit {
	w.t.Helper()
	var all []*deposit.Deposit
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		all, err = store.All[deposit.Deposit](r, store.Query{Collection: store.Deposits, Index: store.ByID, Limit: 100})
		return err
	}))
	return all
}

func TestServe_refusesAChainWithoutANode(t *testing.T) {
	t.Parallel()
	w := openWorld(t, "http://127.0.0.1:1", shortTimes)
	var lines []string
	for _, line := range environment(w.file) {
		if !strings.HasPrefix(line, "CHAIN_POLYGON_RPC_URLS=") {
			lines = append(lines, line)
		}
	}
	cfg, err := config.Load(lines, os.ReadFile, nil)
	require.NoError(t, err)
	_, err = newApp(t.Context(), cfg, tune{
		db: keepOpen{testkit.Bolt(t, indexes())}, redisURL: "redis://127.0.0.1:1", log: obs.NewLogger(w.log, slog.LevelInfo), registry: assets.Sandbox(),
	})
	require.ErrorContains(t, err, "chain polygon has no node: set CHAIN_POLYGON_RPC_URLS")
}

func TestServe_saysWhoHasTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	w := openWorld(t, "http://127.0.0.1:1", shortTimes, map[string]string{"DATA_DIR": t.TempDir()})
	cfg, err := config.Load(environment(w.file), os.ReadFile, nil)
	require.NoError(t, err)
	first, err := openStore(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, first.Close(t.Context())) }()
	_, err = newApp(t.Context(), cfg, tune{log: obs.NewLogger(w.log, slog.LevelInfo), registry: assets.Sandbox()})
	require.ErrorContains(t, err, "is in use by process")
}
