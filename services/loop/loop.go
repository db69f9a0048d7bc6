// Package loop drives workers. A worker says what to do next; the loop gives it slots, wakes it on a commit, polls when
// idle for what other processes committed, survives panics, and stops softly, then hard.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStop is the cause with which the work in hand is ended when the process stops and the soft stop took too long.
var ErrStop = errors.New("process is stopping")

// ErrStuck: work in hand ignored the end of its context, so the loop stopped without waiting for it any longer.
var ErrStuck = errors.New("work did not stop")

// Take claims the next piece of work, or returns nil and when something will be due (zero: not known). The loop calls
// it from one goroutine only, and the work it returns on another one. An error is logged and tried again.
type Take func(ctx context.Context) (work func(ctx context.Context), next time.Time, err error)

// Step is one unit of a worker that needs no slots: a sweep, a timer, a checkpoint.
type Step func(ctx context.Context) (worked bool, err error)

// Config describes a loop.
type Config struct {
	// Name of the worker, for logs.
	Name string
	// Slots is how many pieces of work run at once. Zero: 1.
	Slots int
	// Idle is the longest pause between two looks. Zero: 1 s.
	Idle time.Duration
	// SoftStop is how long work in hand may go on when the loop stops, HardStop how long it may take to return once its
	// context has ended. Zero: 10 s and 5 s.
	SoftStop, HardStop time.Duration
	// LeftFunc says whether the last look left something out because of work in hand: only then the end of that work is
	// a reason to look again. Nil: it always is.
	LeftFunc func() bool
	// HoldFunc says whether nothing may be taken now; it is asked again after Idle. Nil: never.
	HoldFunc func() bool
	// JitterFunc returns a random number in [0, n). Nil: the system's.
	JitterFunc func(n int64) int64
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		at   *time.Duration
		zero time.Duration
	}{{&c.Idle, time.Second}, {&c.SoftStop, 10 * time.Second}, {&c.HardStop, 5 * time.Second}} {
		if *d.at <= 0 {
			*d.at = d.zero
		}
	}
	if c.Slots <= 0 {
		c.Slots = 1
	}
	if c.JitterFunc == nil {
		c.JitterFunc = rand.Int64N
	}
	return c
}

// Loop is one worker's loop.
type Loop struct {
	take  Take
	wake  <-chan struct{}
	freed chan struct{}
	now   func() time.Time
	log   *slog.Logger
	cfg   Config
	turn  atomic.Int64
}

// New returns a loop. wake makes it look at once; nil: it only polls.
func New(take Take, wake <-chan struct{}, now func() time.Time, log *slog.Logger, cfg Config) (*Loop, error) {
	switch {
	case take == nil:
		return nil, errors.New("make loop: take is missing")
	case now == nil:
		return nil, errors.New("make loop: now is missing")
	case log == nil:
		return nil, errors.New("make loop: log is missing")
	}
	return &Loop{
		take: take, wake: wake, freed: make(chan struct{}, 1), now: now, log: log, cfg: cfg.withDefaults(),
	}, nil
}

// OfStep returns a loop that runs a step again at once while it works, and every idle time else.
func OfStep(step Step, wake <-chan struct{}, now func() time.Time, log *slog.Logger, cfg Config) (*Loop, error) {
	if step == nil {
		return nil, errors.New("make loop: step is missing")
	}
	cfg.Slots = 1 // and so a step and the next take never run at the same time
	var failure error
	rest := false
	take := func(context.Context) (func(context.Context), time.Time, error) {
		if rest {
			err := failure
			rest, failure = false, nil
			return nil, time.Time{}, err
		}
		return func(ctx context.Context) {
			rest = true // after a panic too
			worked, err := step(ctx)
			rest, failure = !worked || err != nil, err
		}, time.Time{}, nil
	}
	l, err := New(take, wake, now, log, cfg)
	if err != nil {
		return nil, err
	}
	l.freed = nil // the end of a step is no reason to look again
	return l, nil
}

// LastTurn is when the loop last went round: liveness. Zero before the first.
func (l *Loop) LastTurn() time.Time {
	if ms := l.turn.Load(); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

// Run loops until ctx ends. Then it takes nothing new, waits for the work in hand, ends its context with cause ErrStop
// after the soft stop, and returns nil, or ErrStuck when even that did not end it. Work runs under a context that does
// not end with ctx.
func (l *Loop) Run(ctx context.Context) error {
	hard, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	slots := make(chan struct{}, l.cfg.Slots)
	var running sync.WaitGroup
	for l.acquire(ctx, slots) {
		l.turn.Store(l.now().UnixMilli())
		if l.cfg.HoldFunc != nil && l.cfg.HoldFunc() {
			<-slots
			l.pause(ctx, time.Time{}, true)
			continue
		}
		work, next, err := l.guarded(hard)
		if work == nil {
			<-slots
			if err != nil {
				l.log.ErrorContext(ctx, "worker did not find its next work", "worker", l.cfg.Name, "error", err)
			}
			l.pause(ctx, next, err != nil)
			continue
		}
		running.Go(func() {
			defer l.free(slots)
			defer l.recovered(hard, nil)
			work(hard)
		})
	}
	return l.stop(&running, kill)
}

// acquire waits for a free slot, and reports false when the loop is to stop.
func (l *Loop) acquire(ctx context.Context, slots chan<- struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case slots <- struct{}{}:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// free gives a slot back and lets the loop look again: what was left out because of it may be taken now.
func (l *Loop) free(slots <-chan struct{}) {
	<-slots
	if l.cfg.LeftFunc != nil && !l.cfg.LeftFunc() {
		return
	}
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// guarded takes, and turns a panic into an error.
func (l *Loop) guarded(ctx context.Context) (work func(context.Context), next time.Time, err error) {
	defer l.recovered(ctx, &err)
	return l.take(ctx)
}

// recovered is deferred around everything that is not ours: a defect of one item never ends the loop.
func (l *Loop) recovered(ctx context.Context, err *error) {
	p := recover()
	if p == nil {
		return
	}
	l.log.ErrorContext(ctx, "worker panicked",
		"worker", l.cfg.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if err != nil {
		*err = errors.New("take next work: panicked")
	}
}

// pause waits for a commit, a free slot, the next due time or the idle time, whatever comes first. After an error only
// time helps.
func (l *Loop) pause(ctx context.Context, next time.Time, failed bool) {
	wait := l.cfg.Idle/2 + time.Duration(l.cfg.JitterFunc(int64(l.cfg.Idle/2)+1))
	wake, freed := l.wake, (<-chan struct{})(l.freed)
	if failed {
		wake, freed = nil, nil
	} else if !next.IsZero() {
		wait = min(wait, max(next.Sub(l.now()), time.Millisecond))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-freed:
	case <-timer.C:
	}
}

// stop waits for the work in hand, softly, then hard.
func (l *Loop) stop(running *sync.WaitGroup, kill context.CancelCauseFunc) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		running.Wait()
	}()
	if within(done, l.cfg.SoftStop) {
		return nil
	}
	kill(ErrStop)
	if within(done, l.cfg.HardStop) {
		return nil
	}
	return fmt.Errorf("stop worker %s: %w", l.cfg.Name, ErrStuck)
}

func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
