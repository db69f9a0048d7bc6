package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/lock"
	"offrampbot/services/redishook/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func newLocker(t *testing.T, client redis.UniversalClient, prefix string, life time.Duration) *lock.Locker {
	t.Helper()
	l, err := lock.New(client, lock.Config{Prefix: prefix, Life: life})
	require.NoError(t, err)
	return l
}

func TestDo_letsOneOf25CallersIn(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		l := newLocker(t, s.Client, s.Prefix, time.Minute)
		for round := range 5 {
			var in, out atomic.Int32
			everyoneAsked := make(chan struct{})
			var wg sync.WaitGroup
			errs := make(chan error, 25)
			for range 25 {
				wg.Go(func() {
					err := l.Do(t.Context(), "order:1", func(context.Context) error {
						in.Add(1)
						<-everyoneAsked
						return nil
					})
					if errors.Is(err, lock.ErrHeld) && out.Add(1) == 24 {
						close(everyoneAsked)
					}
					errs <- err
				})
			}
			wg.Wait()
			close(errs)
			require.EqualValues(t, 1, in.Load(), "round %d", round)
			require.EqualValues(t, 24, out.Load())
			for err := range errs {
				require.True(t, err == nil || errors.Is(err, lock.ErrHeld), "%v", err)
			}
		}
	})
}

func TestDo_givesTheLockBackAndReturnsTheError(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		l := newLocker(t, s.Client, s.Prefix, time.Minute)
		broken := errors.New("broken")
		require.ErrorIs(t, l.Do(t.Context(), "user:1", func(context.Context) error { return broken }), broken)
		require.Panics(t, func() {
			_ = l.Do(t.Context(), "user:1", func(context.Context) error { panic("defect") })
		})
		ran := false
		require.NoError(t, l.Do(t.Context(), "user:1", func(context.Context) error { ran = true; return nil }))
		require.True(t, ran)
		n, err := s.Client.Exists(t.Context(), s.Prefix+"user:1").Result()
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

func TestDo_noticesAStolenLockAndLeavesItToTheThief(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		l := newLocker(t, s.Client, s.Prefix, 120*time.Millisecond)
		err := l.Do(t.Context(), "user:1", func(ctx context.Context) error {
			require.NoError(t, s.Client.Set(ctx, s.Prefix+"user:1", "thief", time.Minute).Err())
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), lock.ErrLost)
			return ctx.Err()
		})
		require.ErrorIs(t, err, lock.ErrLost)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "thief", s.Client.Get(t.Context(), s.Prefix+"user:1").Val())
	})
}

func TestDo_renewsWhileTheWorkLasts(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	l := newLocker(t, s.Client, s.Prefix, 1200*time.Millisecond)
	require.NoError(t, l.Do(t.Context(), "user:1", func(ctx context.Context) error {
		for range 3 { // each time the server's clock eats most of the life, a renewal gives it back
			s.AdvanceFunc(1100 * time.Millisecond)
			require.Eventually(t, func() bool {
				return s.Client.PTTL(ctx, s.Prefix+"user:1").Val() > 1100*time.Millisecond
			}, 10*time.Second, 5*time.Millisecond)
		}
		return ctx.Err()
	}))
}

func TestDo_endsTheWorkWhenRedisGoesSilent(t *testing.T) {
	t.Parallel()
	s := redistest.Mini(t)
	silent := &silence{}
	s.Client.AddHook(silent)
	l := newLocker(t, s.Client, s.Prefix, 90*time.Millisecond)
	err := l.Do(t.Context(), "user:1", func(ctx context.Context) error {
		silent.on.Store(true)
		<-ctx.Done()
		return nil
	})
	require.ErrorIs(t, err, lock.ErrLost, "work that outlived its lock is reported even when it thinks it is fine")
}

func TestDo_anErrorNeverMeansFree(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*redis.Client{
		"stopped": redistest.Stopped(t), "hanging": redistest.Hanging(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocker(t, client, "test:", time.Second)
			ran := false
			err := l.Do(t.Context(), "user:1", func(context.Context) error { ran = true; return nil })
			require.ErrorIs(t, err, lock.ErrUnavailable)
			require.NotErrorIs(t, err, lock.ErrHeld)
			require.False(t, ran)
		})
	}
}

func TestDo_everyKeyHasALife(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		l := newLocker(t, s.Client, s.Prefix, time.Minute)
		require.NoError(t, l.Do(t.Context(), "user:1", func(ctx context.Context) error {
			ttl := s.Client.PTTL(ctx, s.Prefix+"user:1").Val()
			require.Positive(t, ttl)
			require.LessOrEqual(t, ttl, time.Minute)
			return nil
		}))
	})
}

func TestNew_refusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, err := lock.New(nil, lock.Config{})
	require.ErrorContains(t, err, "client")
	_, err = lock.New(redistest.Stopped(t), lock.Config{Life: time.Millisecond})
	require.ErrorContains(t, err, "Life")
}

// silence makes every call fail once it is on, as a server that stopped would.
type silence struct{ on atomic.Bool }

func (s *silence) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *silence) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if s.on.Load() {
			err := errors.New("no answer")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (s *silence) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
