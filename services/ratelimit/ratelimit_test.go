package ratelimit_test

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/ratelimit"
	"offrampbot/services/redishook/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// clock is a wall clock that a test moves.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func newLimiter(t require.TestingT, client redis.UniversalClient, c *clock, cfg ratelimit.Config) *ratelimit.Limiter {
	l, err := ratelimit.New(ratelimit.Deps{Client: client, Now: c.now, Log: slog.New(slog.DiscardHandler)}, cfg)
	require.NoError(t, err)
	return l
}

func TestAllow_countsOverAllProcesses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		cfg := ratelimit.Config{Prefix: s.Prefix}
		one, two := newLimiter(t, s.Client, &clock{}, cfg), newLimiter(t, s.Client, &clock{}, cfg)
		limit := ratelimit.Limit{Rate: 10, Period: time.Hour}
		var let atomic.Int32
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				l := []*ratelimit.Limiter{one, two}[i%2]
				if ok, _ := l.Allow(t.Context(), "user", "digest", limit); ok {
					let.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 10, let.Load())
		ok, retryAfter := one.Allow(t.Context(), "user", "digest", limit)
		require.False(t, ok)
		require.Positive(t, retryAfter)
		require.LessOrEqual(t, retryAfter, 6*time.Minute)
		ok, _ = one.Allow(t.Context(), "user", "another", limit)
		require.True(t, ok, "ids do not share a limit")
		ok, _ = one.Allow(t.Context(), "number", "digest", limit)
		require.True(t, ok, "scopes do not share a limit")
		for _, key := range s.Client.Keys(t.Context(), "rate:"+s.Prefix+"*").Val() {
			require.Positive(t, s.Client.TTL(t.Context(), key).Val(), "every key has a life")
		}
	})
}

func TestAllow_countsLocallyWithoutRedis(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*redis.Client{
		"stopped": redistest.Stopped(t), "hanging": redistest.Hanging(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{}
			l := newLimiter(t, client, c, ratelimit.Config{Prefix: "test:"})
			limit := ratelimit.Limit{Rate: 6, Burst: 2, Period: time.Minute}
			for i, want := range []bool{true, true, false} {
				ok, _ := l.Allow(t.Context(), "user", "digest", limit)
				require.Equal(t, want, ok, "event %d", i)
			}
			_, retryAfter := l.Allow(t.Context(), "user", "digest", limit)
			require.Equal(t, 10*time.Second, retryAfter)
			c.advance(retryAfter)
			ok, _ := l.Allow(t.Context(), "user", "digest", limit)
			require.True(t, ok, "a refused event is not counted")
			ok, _ = l.Allow(t.Context(), "user", "digest", limit)
			require.False(t, ok)
		})
	}
}

func TestAllow_localMemoryIsBounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Stopped(t), &clock{}, ratelimit.Config{Prefix: "test:", LocalKeys: 4})
	limit := ratelimit.Limit{Rate: 1, Period: time.Hour}
	for i := range 5 {
		ok, _ := l.Allow(t.Context(), "user", fmt.Sprint(i), limit)
		require.True(t, ok)
	}
	ok, _ := l.Allow(t.Context(), "user", "0", limit)
	require.True(t, ok, "the fifth key made room by forgetting the first")
	ok, _ = l.Allow(t.Context(), "user", "4", limit)
	require.False(t, ok)
}

func TestAllow_neverMoreThanTheLimitLocally(t *testing.T) {
	t.Parallel()
	client := redistest.Stopped(t)
	rapid.Check(t, func(rt *rapid.T) {
		c := &clock{}
		l := newLimiter(rt, client, c, ratelimit.Config{Prefix: "test:"})
		limit := ratelimit.Limit{
			Rate:   rapid.IntRange(1, 20).Draw(rt, "rate"),
			Burst:  rapid.IntRange(1, 5).Draw(rt, "burst"),
			Period: time.Duration(rapid.IntRange(1, 60).Draw(rt, "seconds")) * time.Second,
		}
		let := 0
		for range rapid.IntRange(1, 40).Draw(rt, "events") {
			if ok, _ := l.Allow(t.Context(), "user", "digest", limit); ok {
				let++
			}
			c.advance(time.Duration(rapid.IntRange(0, 2000).Draw(rt, "pause")) * time.Millisecond)
		}
		most := limit.Burst + int(c.now().Sub(time.UnixMilli(0))*time.Duration(limit.Rate)/limit.Period) + 1
		require.LessOrEqual(rt, let, most)
		require.Positive(rt, let)
	})
}

func TestAllow_aLimitOfNothingRefuses(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, redistest.Mini(t).Client, &clock{}, ratelimit.Config{})
	for _, limit := range []ratelimit.Limit{{}, {Rate: 1}, {Period: time.Second}, {Rate: -1, Period: time.Second}} {
		ok, retryAfter := l.Allow(t.Context(), "user", "digest", limit)
		require.False(t, ok)
		require.Positive(t, retryAfter)
	}
}

func TestNew_refusesMissingDependencies(t *testing.T) {
	t.Parallel()
	_, err := ratelimit.New(ratelimit.Deps{}, ratelimit.Config{})
	require.ErrorContains(t, err, "Client")
	_, err = ratelimit.New(ratelimit.Deps{Client: redistest.Stopped(t)}, ratelimit.Config{})
	require.ErrorContains(t, err, "Now")
	_, err = ratelimit.New(ratelimit.Deps{Client: redistest.Stopped(t), Now: (&clock{}).now}, ratelimit.Config{})
	require.ErrorContains(t, err, "Log")
}
