package loop_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"offrampbot/services/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start runs a loop until the returned function stops it.
func start(t *testing.T, l *loop.Loop) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func newLoop(t *testing.T, take loop.Take, wake <-chan struct{}, cfg loop.Config) *loop.Loop {
	t.Helper()
	l, err := loop.New(take, wake, time.Now, quiet(), cfg) //nolint:forbidigo // synctest's clock
	require.NoError(t, err)
	return l
}

func TestRun_wakesAtOnceAndPollsWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := make(chan time.Time, 100)
		wake := make(chan struct{}, 1)
		l := newLoop(t, func(context.Context) (func(context.Context), time.Time, error) {
			looks <- time.Now() //nolint:forbidigo // synctest's clock
			return nil, time.Time{}, nil
		}, wake, loop.Config{})
		stop := start(t, l)
		first := <-looks
		wake <- struct{}{}
		require.Zero(t, (<-looks).Sub(first), "a commit wakes the worker without delay")
		before := <-looks
		for range 10 {
			next := <-looks
			require.LessOrEqual(t, next.Sub(before), time.Second+time.Millisecond)
			require.GreaterOrEqual(t, next.Sub(before), 500*time.Millisecond)
			before = next
		}
		require.False(t, l.LastTurn().IsZero())
		require.NoError(t, stop())
	})
}

func TestRun_wakesAtTheNextDueTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := make(chan time.Time, 10)
		l := newLoop(t, func(context.Context) (func(context.Context), time.Time, error) {
			now := time.Now() //nolint:forbidigo // synctest's clock
			looks <- now
			return nil, now.Add(120 * time.Millisecond), nil
		}, nil, loop.Config{})
		stop := start(t, l)
		require.Equal(t, 120*time.Millisecond, -(<-looks).Sub(<-looks))
		require.NoError(t, stop())
	})
}

func TestRun_neverMoreThanItsSlots(t *testing.T) {
	t.Parallel()
	var running, most, done atomic.Int32
	finished := make(chan struct{})
	l := newLoop(t, func(context.Context) (func(context.Context), time.Time, error) {
		return func(context.Context) {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			running.Add(-1)
			if done.Add(1) == 200 {
				close(finished)
			}
		}, time.Time{}, nil
	}, nil, loop.Config{Slots: 3})
	stop := start(t, l)
	<-finished
	require.NoError(t, stop())
	require.LessOrEqual(t, most.Load(), int32(3))
}

func TestRun_aFreedSlotMakesItLookAgainWhenSomethingWasLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		left  func() bool
		again time.Duration // at most, after the slot was freed
	}{
		{"it may have been", nil, 0},
		{"it was", func() bool { return true }, 0},
		{"it was not", func() bool { return false }, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				looks := make(chan time.Time, 10)
				release := make(chan struct{})
				given := false
				l := newLoop(t, func(context.Context) (func(context.Context), time.Time, error) {
					looks <- time.Now() //nolint:forbidigo // synctest's clock
					if given {
						return nil, time.Time{}, nil
					}
					given = true
					return func(context.Context) { <-release }, time.Time{}, nil
				}, nil, loop.Config{Slots: 2, Idle: 2 * time.Hour, LeftFunc: tt.left, JitterFunc: func(int64) int64 { return 0 }})
				stop := start(t, l)
				at := <-looks
				<-looks
				release <- struct{}{}
				require.Equal(t, at.Add(tt.again), <-looks)
				require.NoError(t, stop())
			})
		})
	}
}

func TestRun_takesNothingWhileItIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Bool
		held.Store(true)
		looks := make(chan time.Time, 100)
		wake := make(chan struct{}, 1)
		wake <- struct{}{}
		l := newLoop(t, func(context.Context) (func(context.Context), time.Time, error) {
			looks <- time.Now() //nolint:forbidigo // synctest's clock
			return nil, time.Time{}, nil
		}, wake, loop.Config{HoldFunc: held.Load})
		stop := start(t, l)
		time.Sleep(10 * time.Second) //nolint:forbidigo // synctest's clock
		require.Empty(t, looks, "neither a wake-up nor time makes it look")
		turn := l.LastTurn()
		require.WithinDuration(t, time.Now(), turn, time.Second+time.Millisecond, "it is alive all the same") //nolint:forbidigo // synctest's clock
		held.Store(false)
		require.LessOrEqual(t, (<-looks).Sub(turn), time.Second+time.Millisecond)
		require.NoError(t, stop())
	})
}

func TestRun_survivesErrorsAndPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		n := 0
		over := make(chan struct{})
		l, err := loop.New(func(context.Context) (func(context.Context), time.Time, error) {
			n++
			switch n {
			case 1:
				return nil, time.Time{}, errors.New("store is down")
			case 2:
				panic("defect in take")
			case 3:
				return func(context.Context) { panic("defect in work") }, time.Time{}, nil
			case 4:
				close(over)
			}
			return nil, time.Time{}, nil
		}, nil, time.Now, slog.New(slog.NewJSONHandler(&log, nil)), loop.Config{Name: "tester"}) //nolint:forbidigo // synctest's clock
		require.NoError(t, err)
		stop := start(t, l)
		<-over
		require.NoError(t, stop())
		for _, text := range []string{"store is down", "defect in take", "defect in work", "tester"} {
			require.Contains(t, log.String(), text)
		}
	})
}

func TestRun_stopsSoftlyThenHard(t *testing.T) {
	t.Parallel()
	once := func(work func(context.Context)) loop.Take {
		given := false
		return func(context.Context) (func(context.Context), time.Time, error) {
			if given {
				return nil, time.Time{}, nil
			}
			given = true
			return work, time.Time{}, nil
		}
	}
	t.Run("work in hand ends by itself", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			started, ended := make(chan struct{}), false
			l := newLoop(t, once(func(ctx context.Context) {
				close(started)
				select {
				case <-time.After(9 * time.Second):
					ended = true
				case <-ctx.Done():
				}
			}), nil, loop.Config{Slots: 2})
			stop := start(t, l)
			<-started
			require.NoError(t, stop())
			require.True(t, ended, "the end of the loop's context does not end the work")
		})
	})
	t.Run("work in hand is ended with ErrStop", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			started := make(chan struct{})
			var cause error
			l := newLoop(t, once(func(ctx context.Context) {
				close(started)
				<-ctx.Done()
				cause = context.Cause(ctx)
			}), nil, loop.Config{Slots: 2})
			stop := start(t, l)
			<-started
			before := time.Now() //nolint:forbidigo // synctest's clock
			require.NoError(t, stop())
			require.ErrorIs(t, cause, loop.ErrStop)
			require.Equal(t, 10*time.Second, time.Since(before))
		})
	})
	t.Run("work that does not end is given up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			started, release := make(chan struct{}), make(chan struct{})
			l := newLoop(t, once(func(context.Context) {
				close(started)
				<-release
			}), nil, loop.Config{Slots: 2})
			stop := start(t, l)
			<-started
			require.ErrorIs(t, stop(), loop.ErrStuck)
			close(release)
		})
	})
}

func TestOfStep_runsAgainAtOnceWhileItWorks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := 5
		drained := make(chan time.Time, 10)
		before := time.Now() //nolint:forbidigo // synctest's clock
		l, err := loop.OfStep(func(context.Context) (bool, error) {
			if left == 0 {
				drained <- time.Now() //nolint:forbidigo // synctest's clock
				return false, nil
			}
			left--
			return true, nil
		}, nil, time.Now, quiet(), loop.Config{Idle: time.Minute}) //nolint:forbidigo // synctest's clock
		require.NoError(t, err)
		stop := start(t, l)
		require.Equal(t, before, <-drained)
		require.LessOrEqual(t, (<-drained).Sub(before), time.Minute+time.Millisecond)
		require.NoError(t, stop())
	})
}

func TestOfStep_stopsLikeAnyWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		var cause error
		l, err := loop.OfStep(func(ctx context.Context) (bool, error) {
			close(started)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return false, cause
		}, nil, time.Now, quiet(), loop.Config{}) //nolint:forbidigo // synctest's clock
		require.NoError(t, err)
		stop := start(t, l)
		<-started
		before := time.Now() //nolint:forbidigo // synctest's clock
		require.NoError(t, stop())
		require.ErrorIs(t, cause, loop.ErrStop)
		require.Equal(t, 10*time.Second, time.Since(before))
	})
}

func TestOfStep_restsAfterErrorsAndPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var at []time.Time
		done := make(chan struct{})
		l, err := loop.OfStep(func(context.Context) (bool, error) {
			at = append(at, time.Now()) //nolint:forbidigo // synctest's clock
			switch len(at) {
			case 1:
				return true, errors.New("store is down")
			case 2:
				panic("defect in step")
			case 3:
				close(done)
			default:
			}
			return false, nil
		}, nil, time.Now, slog.New(slog.NewTextHandler(&log, nil)), loop.Config{Idle: time.Minute}) //nolint:forbidigo // synctest's clock
		require.NoError(t, err)
		stop := start(t, l)
		<-done
		require.NoError(t, stop())
		require.GreaterOrEqual(t, at[1].Sub(at[0]), 30*time.Second)
		require.GreaterOrEqual(t, at[2].Sub(at[1]), 30*time.Second)
		require.Contains(t, log.String(), "store is down")
		require.Contains(t, log.String(), "defect in step")
	})
}

func TestNew_refusesMissingDependencies(t *testing.T) {
	t.Parallel()
	take := func(context.Context) (func(context.Context), time.Time, error) { return nil, time.Time{}, nil }
	_, err := loop.New(nil, nil, time.Now, quiet(), loop.Config{}) //nolint:forbidigo // not called
	require.ErrorContains(t, err, "take")
	_, err = loop.New(take, nil, nil, quiet(), loop.Config{})
	require.ErrorContains(t, err, "now")
	_, err = loop.New(take, nil, time.Now, nil, loop.Config{}) //nolint:forbidigo // not called
	require.ErrorContains(t, err, "log")
	_, err = loop.OfStep(nil, nil, time.Now, quiet(), loop.Config{}) //nolint:forbidigo // not called
	require.ErrorContains(t, err, "step")
}
