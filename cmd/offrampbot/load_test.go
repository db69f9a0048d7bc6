package main

import (
	"bytes"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/config"
	"offrampbot/services/invariant"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestLoad_sellsThroughTheWorldAndChecksTheBank(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		var out bytes.Buffer
		p := loadPlan{world: w.world, bot: w.bot, rate: 2, duration: 2 * time.Second, patience: time.Minute, blockSeconds: -1, bankSeconds: -1}
		require.NoError(t, runLoad(t.Context(), &out, p), out.String())
		require.Contains(t, out.String(), "correct: every sale was paid exactly once")
		require.Len(t, w.bank(), 4)
		w.holds()
		require.Len(t, w.orders(), 4)
	})
}

func TestLoad_saysWhenAWebhookFailed(t *testing.T) {
	t.Parallel()
	w := openWorld(t, "http://127.0.0.1:1")
	world := newLoadWorld(loadPlan{world: w.world, patience: time.Second})
	_, _ = w.try("POST", w.world+"/world/messages", map[string]any{"from": "2348030000000", "text": "hi"}, nil)
	report, err := world.judge(t.Context(), loadPlan{patience: time.Second}, nil, loadState{})
	require.NoError(t, err)
	require.False(t, report.OK)
	require.Positive(t, report.Failed)
}

func TestLoad_refusesEveryTargetButThisMachine(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"http://example.org:80", "http://localhost:9090", "http://127.0.0.2:9090", "https://127.0.0.1:9090", "http://127.0.0.1", "127.0.0.1:9090",
		"http://x@127.0.0.1:9090", "http://127.0.0.1.example.org:80", "http://[::1]:9090", "http://0.0.0.0:9090",
	} {
		require.Error(t, onlyLoopback(target), target)
		for _, p := range []loadPlan{
			{world: target, bot: "http://127.0.0.1:1", rate: 1, duration: time.Second, patience: time.Second},
			{world: "http://127.0.0.1:1", bot: target, rate: 1, duration: time.Second, patience: time.Second},
		} {
			var misuse *misuseError
			require.ErrorAs(t, runLoad(t.Context(), &bytes.Buffer{}, p), &misuse, target)
		}
	}
	require.NoError(t, onlyLoopback("http://127.0.0.1:9090"))
}

func TestLoad_refusesAWorldInFrontOfAnotherMachinesBot(t *testing.T) {
	t.Parallel()
	w := openWorld(t, "http://192.0.2.1:8080")
	err := runLoad(t.Context(), &bytes.Buffer{}, loadPlan{
		world: w.world, bot: "http://127.0.0.1:1", rate: 1, duration: time.Second, patience: time.Second,
	})
	require.ErrorContains(t, err, "the world's bot is http://192.0.2.1:8080")
}

func TestLoad_judgesWhatTheBankDid(t *testing.T) {
	t.Parallel()
	once := loadTransfer{AmountMinor: 893_000, Status: "success"}
	started := loadSale{started: true, accepted: true, net: "₦8,930.00"}
	tests := []struct {
		name      string
		sale      loadSale
		transfers []loadTransfer
		problem   string
	}{
		{"paid once", started, []loadTransfer{once}, ""},
		{"paid twice", started, []loadTransfer{once, once}, "the bank has 2 transfers"},
		{"never paid", started, nil, "was accepted and never paid"},
		{"another amount", started, []loadTransfer{{AmountMinor: 893_001, Status: "success"}}, "the bank moved 893001"},
		{"no quote", loadSale{started: true, accepted: true}, []loadTransfer{once}, "quoted was"},
		{"still pending", started, []loadTransfer{{AmountMinor: 893_000, Status: "pending"}}, "is pending"},
		{"paid without a PIN", loadSale{net: "₦8,930.00"}, []loadTransfer{once}, "without a PIN"},
		{"broke off", loadSale{err: store.ErrClosed}, nil, "store closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := loadReport{}
			r.judgeSale(&tt.sale, tt.transfers)
			if tt.problem == "" {
				require.Empty(t, r.Problems)
				require.Equal(t, 1, r.Paid)
				return
			}
			require.NotEmpty(t, r.Problems)
			require.Contains(t, r.Problems[0], tt.problem)
		})
	}
}

func TestLoad_readsAmountsAndQuantiles(t *testing.T) {
	t.Parallel()
	for shown, want := range map[string]int64{"₦8,930.00": 893_000, "₦37,262.50": 3_726_250, "₦0.05": 5} {
		got, ok := minorOf(shown)
		require.True(t, ok, shown)
		require.Equal(t, want, got, shown)
	}
	for _, shown := range []string{"", "₦8,930", "₦8,930.0", "₦8.930.00x", "25 USDT"} {
		_, ok := minorOf(shown)
		require.False(t, ok, shown)
	}
	var list []time.Duration
	for i := range 100 {
		list = append(list, time.Duration(100-i)*time.Millisecond)
	}
	require.Equal(t, loadQuantile{Count: 100, P50: 51, P90: 91, P99: 100, Max: 100}, quantilesOf(list))
	require.Zero(t, quantilesOf(nil))
}

func TestSeed_leavesAStoreThatHolds(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		w := openWorld(t, "http://127.0.0.1:1", map[string]string{"STORE": "embedded"})
		cfg, err := config.Load(environment(w.file), os.ReadFile, nil)
		require.NoError(t, err)
		a := &app{cfg: cfg, log: slog.New(slog.DiscardHandler), db: engine.(database)}
		require.NoError(t, a.openLeaves(t.Context(), tune{}))
		const orders = ordersApiece*peopleAtOnce + 7
		start := time.Now()
		require.NoError(t, seedStore(t.Context(), a, orders, start))
		require.NoError(t, seedStore(t.Context(), a, 1, start.Add(time.Second)), "a second run adds")
		c, err := invariant.New(engine, assets.Sandbox())
		require.NoError(t, err)
		report, err := c.Verify(t.Context())
		require.NoError(t, err)
		require.Empty(t, report.Differences)
		require.Equal(t, orders+1, report.Checked["orders"])
		w.db = a.db
		seen := w.orders()
		require.NotEmpty(t, seen)
		for _, o := range seen {
			require.Equal(t, offramp.Success, o.State)
			require.Nil(t, o.Due, "nothing of it is due")
		}
		require.Error(t, seedStore(t.Context(), a, 1, start), "the same run again would be the same people")
	})
}
