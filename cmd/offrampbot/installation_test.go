package main

import (
	"context"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/config"
	"offrampbot/services/guard"
	"offrampbot/services/offramp"
	"offrampbot/services/ratelimit"
	"offrampbot/services/sandbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// sandboxConfig is the configuration of a bot whose providers nobody calls.
func sandboxConfig(t *testing.T) *config.Config {
	t.Helper()
	world, err := sandbox.New(sandbox.Config{
		Now: now, Log: slog.New(slog.DiscardHandler), BaseURL: "http://127.0.0.1:1", BotURL: "http://127.0.0.1:2",
		Chains: sandbox.ChainsOf(assets.Sandbox()), Env: map[string]string{"STORE": "embedded"},
	})
	require.NoError(t, err)
	cfg, err := config.Load(environment(world.EnvFile()), os.ReadFile, nil)
	require.NoError(t, err)
	return cfg
}

// wired is a bot that is made and not run.
func wired(t *testing.T, cfg *config.Config, db database, redisURL string) *app {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	a, err := newApp(ctx, cfg, tune{db: keepOpen{db}, redisURL: redisURL, log: slog.New(slog.DiscardHandler), registry: assets.Sandbox()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.close(ctx)) })
	return a
}

func readStamp(t *testing.T, db store.Engine) (s stamp) {
	t.Helper()
	require.NoError(t, db.View(t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Get(store.Migrations, stampID, &s)
	}))
	return s
}

func TestInstallation_ofAFreshDatabaseIgnoresAnOldRedis(t *testing.T) {
	t.Parallel()
	cfg, url := sandboxConfig(t), "redis://"+miniredis.RunT(t).Addr()
	oldDB := testkit.Bolt(t, indexes())
	old, fresh := wired(t, cfg, oldDB, url), wired(t, cfg, testkit.Bolt(t, indexes()), url)
	restarted := wired(t, cfg, oldDB, url)
	once := ratelimit.Limit{Rate: 1, Period: time.Hour}

	d, err := old.guard.Claim(t.Context(), "a content", guard.Flow, "intent-1", now())
	require.NoError(t, err)
	require.True(t, d.Allowed())
	old.guard.Completed(t.Context(), "a content", "intent-1")
	d, err = restarted.guard.Claim(t.Context(), "a content", guard.Flow, "intent-2", now())
	require.NoError(t, err)
	require.Equal(t, guard.Completed, d.State, "a restart keeps the claims")
	d, err = fresh.guard.Claim(t.Context(), "a content", guard.Flow, "intent-2", now())
	require.NoError(t, err)
	require.True(t, d.Allowed(), "nothing was sold in this database")

	ok, _ := old.limiter.Allow(t.Context(), "scope", "id", once)
	require.True(t, ok)
	ok, _ = restarted.limiter.Allow(t.Context(), "scope", "id", once)
	require.False(t, ok)
	ok, _ = fresh.limiter.Allow(t.Context(), "scope", "id", once)
	require.True(t, ok)

	ran := false
	require.NoError(t, old.locker.Do(t.Context(), "order:1", func(ctx context.Context) error {
		require.Error(t, restarted.locker.Do(ctx, "order:1", func(context.Context) error { return nil }))
		return fresh.locker.Do(ctx, "order:1", func(context.Context) error { ran = true; return nil })
	}))
	require.True(t, ran)
}

func TestInstallation_isInEveryKeyOfRedis(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+server.Addr(), nil)
	p := w.newPerson()
	p.signsUp()
	p.deposits("base", "USDT", "25")
	w.becomes(p.sells("25 usdt on base", "0123456789"), offramp.Success)
	p.says("sell")
	p.hears("offramp_flow")

	installation := readStamp(t, w.db).Installation
	require.NotEmpty(t, installation)
	bound := regexp.MustCompile(`^(rate:)?offramp:(lock|rate|session):` + regexp.QuoteMeta(installation) + `:.`)
	kinds := map[string]int{}
	for _, key := range server.Keys() {
		if digest, ok := strings.CutPrefix(key, "offramp:transaction:"); ok { // bound by its digest
			kinds["guard"]++
			require.NotContains(t, digest, w.orders()[0].Content)
			continue
		}
		m := bound.FindStringSubmatch(key)
		require.NotNil(t, m, "a key of no installation: %s", key)
		kinds[m[2]]++
	}
	for _, kind := range []string{"guard", "rate", "session"} {
		require.NotZero(t, kinds[kind], kind)
	}
}

func TestStamp_ofAnOlderReleaseGetsAnInstallationOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		db, ok := engine.(database)
		require.True(t, ok)
		cfg := sandboxConfig(t)
		a := &app{cfg: cfg}
		require.NoError(t, a.openLeaves(t.Context(), tune{}))
		require.NoError(t, db.EnsureIndexes(t.Context()))
		older := stamp{Environment: string(cfg.App.Env), Wallet: a.book.Fingerprint(), At: now().Truncate(time.Millisecond)}
		older.ID, older.Version = stampID, 1
		require.NoError(t, db.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			_, err := tx.Ensure(store.Migrations, &older)
			return err
		}))

		var mu sync.Mutex
		var wg sync.WaitGroup
		got, failures := map[string]bool{}, []error(nil)
		for range 4 { // four processes start at once
			wg.Go(func() {
				installation, err := prepare(t.Context(), db, cfg, a.book.Fingerprint())
				mu.Lock()
				defer mu.Unlock()
				got[installation] = true
				if err != nil {
					failures = append(failures, err)
				}
			})
		}
		wg.Wait()
		require.Empty(t, failures)
		require.Len(t, got, 1)
		s := readStamp(t, db)
		require.True(t, got[s.Installation])
		require.GreaterOrEqual(t, len(s.Installation), 26, "nobody guesses or repeats it")
		require.Equal(t, older.At, s.At.UTC())
		require.Equal(t, older.Wallet, s.Wallet)

		again, err := prepare(t.Context(), db, cfg, a.book.Fingerprint())
		require.NoError(t, err)
		require.Equal(t, s.Installation, again)
		require.EqualValues(t, 2, readStamp(t, db).Revision, "replaced once, by whoever came first")
	})
}
