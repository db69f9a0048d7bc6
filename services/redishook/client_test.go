package redishook_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/redishook"
	"offrampbot/services/redishook/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestNew_talksToBothServers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		key := s.Prefix + "key"
		require.NoError(t, s.Client.Set(t.Context(), key, "value", time.Minute).Err())
		require.Equal(t, "value", s.Client.Get(t.Context(), key).Val())
		require.ErrorIs(t, s.Client.Get(t.Context(), key+"none").Err(), redis.Nil, "absent is no failure")
		cmds, err := s.Client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.Get(t.Context(), key)
			p.Del(t.Context(), key)
			return nil
		})
		require.NoError(t, err)
		require.Len(t, cmds, 2)
	})
}

func TestNew_aSilentServerCostsTheTimeoutOnly(t *testing.T) {
	t.Parallel()
	client := redistest.Hanging(t)
	calls := map[string]func(ctx context.Context) error{
		"command": func(ctx context.Context) error { return client.Get(ctx, "key").Err() },
		"script":  func(ctx context.Context) error { return client.Eval(ctx, "return 1", nil).Err() },
		"pipeline": func(ctx context.Context) error {
			_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error { p.Get(ctx, "key"); return nil })
			return err
		},
	}
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := call(ctx)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, redis.Nil, name)
		require.NoError(t, ctx.Err(), "%s ended by its own deadline, not by the caller's", name)
		cancel()
	}
}

func TestNew_refusesAURLWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:6379", "http://user:hunter2@127.0.0.1", "redis://user:hunter2@[::1"} {
		_, err := redishook.New(url, redishook.Config{})
		require.ErrorContains(t, err, "REDIS_URL")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestNew_startsWithoutAServer(t *testing.T) {
	t.Parallel()
	client := redistest.Stopped(t)
	require.Error(t, client.Ping(t.Context()).Err())
}

// The library has one logger per process, so this test sets it for all tests of this package.
func TestLogTo_takesTheLibrarysMessages(t *testing.T) {
	var log bytes.Buffer
	redishook.LogTo(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.Error(t, redistest.Stopped(t).Ping(t.Context()).Err())
	redishook.LogTo(slog.New(slog.DiscardHandler))
	require.Contains(t, log.String(), "redis client reported")
}
