// Package outbox carries out recorded operations, at least once each (R34–R40). A worker serves one kind with its own
// slots, so that a slow provider never starves messages: it claims a due operation under a lease, lets the handler work
// while a heartbeat keeps the lease, and judges what comes back.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/loop"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// ErrTooLong is the cause with which a handler is ended that works longer than HandleTimeout.
var ErrTooLong = errors.New("operation took too long")

// reasonLength is how much of an error is kept as a reason, in bytes.
const reasonLength = 300

// Deps are what a Worker needs. Parker may be nil: then operations are parked and nothing is raised, which is right for
// everything that holds no money.
type Deps struct {
	Engine  store.Engine
	Handler Handler
	Parker  Parker
	Log     *slog.Logger
	Now     func() time.Time
}

// Config describes a Worker.
type Config struct {
	// Kind of the operations it serves.
	Kind operation.Kind
	// Owner names this process in leases. The worker adds a number per claim.
	Owner string
	// Lease is OUTBOX_LEASE; provider time-out plus store deadline must be less. Zero: 30 s.
	Lease time.Duration
	// Ordered keeps operations of one lane in order (messages).
	Ordered bool
	// Concurrency is how many operations are worked on at once; a user holds one of the slots at most. Zero: 4.
	Concurrency int
	// MaxTries is how many tries without progress park an operation. Zero: 10.
	MaxTries int
	// BackoffMin doubles with every try up to BackoffMax, jittered by half. Zero: 1 s and 5 min.
	BackoffMin, BackoffMax time.Duration
	// HandleTimeout bounds one try, heartbeats and all. Zero: 2 min.
	HandleTimeout time.Duration
	// StoreTimeout bounds the worker's own transactions. Zero: 5 s.
	StoreTimeout time.Duration
	// Loop tunes Run; Name and Slots are filled in.
	Loop loop.Config
	// MonotonicFunc returns the time since some start, by a clock that nobody sets. Nil: derived from Now.
	MonotonicFunc func() time.Duration
	// JitterFunc returns a random number in [0, n). Nil: the system's.
	JitterFunc func(n int64) int64
}

func (c Config) withDefaults(now func() time.Time) Config {
	for _, d := range []struct {
		at   *time.Duration
		zero time.Duration
	}{
		{&c.Lease, 30 * time.Second}, {&c.BackoffMin, time.Second}, {&c.BackoffMax, 5 * time.Minute},
		{&c.HandleTimeout, 2 * time.Minute}, {&c.StoreTimeout, 5 * time.Second},
	} {
		if *d.at == 0 {
			*d.at = d.zero
		}
	}
	if c.Concurrency == 0 {
		c.Concurrency = 4
	}
	if c.MaxTries == 0 {
		c.MaxTries = 10
	}
	if c.MonotonicFunc == nil {
		start := now()
		c.MonotonicFunc = func() time.Duration { return now().Sub(start) }
	}
	if c.JitterFunc == nil {
		c.JitterFunc = rand.Int64N
	}
	c.Loop.Name, c.Loop.Slots = "outbox "+string(c.Kind), c.Concurrency
	return c
}

func (c Config) validate() error {
	var problems []error
	for _, check := range []struct {
		bad  bool
		text string
	}{
		{c.Kind == "", "Kind is missing"},
		{c.Owner == "", "Owner is missing"},
		{c.Lease < 3*time.Millisecond, "Lease cannot be less than 3 ms"},
		{c.Concurrency < 0, "Concurrency cannot be less than zero"},
		{c.MaxTries < 0, "MaxTries cannot be less than zero"},
		{c.BackoffMin < 0 || c.BackoffMax < c.BackoffMin, "BackoffMax cannot be less than BackoffMin"},
	} {
		if check.bad {
			problems = append(problems, errors.New(check.text))
		}
	}
	return errors.Join(problems...)
}

// Worker carries out the operations of one kind.
type Worker struct {
	engine  store.Engine
	handler Handler
	parker  Parker
	log     *slog.Logger
	now     func() time.Time
	cfg     Config
	wake    <-chan struct{}
	claims  atomic.Int64

	claiming sync.Mutex // one claim at a time, so that the slots of one process never race for one operation
	mu       sync.Mutex
	busy     map[string]bool // users with a slot
}

// New returns a Worker.
func New(deps Deps, cfg Config) (*Worker, error) {
	missing := ""
	switch {
	case deps.Engine == nil:
		missing = "Engine"
	case deps.Handler == nil:
		missing = "Handler"
	case deps.Log == nil:
		missing = "Log"
	case deps.Now == nil:
		missing = "Now"
	}
	if missing != "" {
		return nil, fmt.Errorf("make outbox worker: %s is missing", missing)
	}
	cfg = cfg.withDefaults(deps.Now)
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make outbox worker: %w", err)
	}
	w := &Worker{
		engine: deps.Engine, handler: deps.Handler, parker: deps.Parker, log: deps.Log, now: deps.Now, cfg: cfg,
		wake: deps.Engine.Watch(store.Outbox), busy: make(map[string]bool),
	}
	if w.parker == nil {
		w.parker = parking{w}
	}
	return w, nil
}

// Name says which worker this is.
func (w *Worker) Name() string { return w.cfg.Loop.Name }

// Run works until ctx ends, see package loop.
func (w *Worker) Run(ctx context.Context) error {
	l, err := w.Loop()
	if err != nil {
		return err
	}
	return l.Run(ctx)
}

// Loop returns the loop that drives this worker, for callers that watch its turns.
func (w *Worker) Loop() (*loop.Loop, error) {
	return loop.New(w.take, w.wake, w.now, w.log, w.cfg.Loop)
}

// Step claims and carries out one operation, and says whether there was one. The error is the store's; what a handler
// returns is judged here.
func (w *Worker) Step(ctx context.Context) (worked bool, err error) {
	t, _, err := w.claim(ctx)
	if t == nil {
		return false, err
	}
	return true, w.carryOut(ctx, t)
}

// take is Step in two halves, for the loop.
func (w *Worker) take(ctx context.Context) (work func(context.Context), next time.Time, err error) {
	t, next, err := w.claim(ctx)
	if t == nil {
		return nil, next, err
	}
	return func(ctx context.Context) {
		if err := w.carryOut(ctx, t); err != nil {
			w.log.ErrorContext(ctx, "operation was not settled; its lease will run out",
				"operation_id", t.op.ID, "error", err)
		}
	}, time.Time{}, nil
}

// task is one claimed operation.
type task struct {
	op    *operation.Operation
	lease operation.Lease
	since time.Duration // when the lease began, by the monotonic clock
}

// claim takes the next operation of a user who has no slot.
func (w *Worker) claim(ctx context.Context) (*task, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.StoreTimeout)
	defer cancel()
	w.claiming.Lock()
	defer w.claiming.Unlock()
	owner := fmt.Sprintf("%s#%d", w.cfg.Owner, w.claims.Add(1))
	since := w.cfg.MonotonicFunc() // before the claim, so that the lease never seems longer than it is
	op, next, err := operation.Claimer{
		Kind: w.cfg.Kind, Lease: w.cfg.Lease, Ordered: w.cfg.Ordered, SkipFunc: w.isBusy,
	}.Next(ctx, w.engine, owner, w.now())
	if op == nil {
		return nil, next, err
	}
	w.setBusy(op.User, true)
	return &task{op: op, lease: *op.Lease, since: since}, time.Time{}, nil
}

func (w *Worker) isBusy(op *operation.Operation) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return op.User != "" && w.busy[op.User]
}

func (w *Worker) setBusy(user string, busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if busy {
		w.busy[user] = true
	} else {
		delete(w.busy, user)
	}
}

// carryOut runs the handler under the lease and settles what it left.
func (w *Worker) carryOut(ctx context.Context, t *task) error {
	defer w.setBusy(t.op.User, false)
	if t.op.Tries > w.cfg.MaxTries { // the tries before this one ended the process
		return w.park(ctx, t, fmt.Sprintf("gave up after %d tries", w.cfg.MaxTries))
	}
	held, release := w.keep(ctx, t)
	op := *t.op
	err := w.handle(held, &op, t.lease)
	cause := context.Cause(held)
	release()
	if err == nil {
		return nil
	}
	return w.settle(ctx, t, err, cause)
}

// handle calls the handler and turns a panic into an error; its stack is logged here, once.
func (w *Worker) handle(ctx context.Context, op *operation.Operation, lease operation.Lease) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.ErrorContext(ctx, "operation handler panicked",
				"operation_id", op.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("handler panicked")
		}
	}()
	return w.handler.Handle(ctx, op, lease)
}

// settle decides about an operation whose handler returned an error.
func (w *Worker) settle(ctx context.Context, t *task, err, cause error) error {
	log := w.log.With("operation_id", t.op.ID, "order_id", t.op.Order, "tries", t.op.Tries)
	switch {
	case errors.Is(err, operation.ErrLeaseLost), errors.Is(cause, operation.ErrLeaseLost):
		log.WarnContext(ctx, "operation was lost to another worker", "error", err)
		return nil
	case errors.Is(cause, loop.ErrStop), ctx.Err() != nil:
		return w.write(ctx, t, operation.GiveBack)
	case t.op.Tries >= w.cfg.MaxTries:
		log.ErrorContext(ctx, "operation was parked", "error", err)
		return w.park(ctx, t, reason(err))
	}
	wait := w.backoff(t.op.Tries, err)
	log.WarnContext(ctx, "operation will be tried again", "error", err, "wait_ms", wait.Milliseconds())
	return w.write(ctx, t, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return operation.Retry(tx, op, now.Add(wait), reason(err))
	})
}

// park hands the operation to the parker, and tries again later when even that does not work: it is never left behind.
func (w *Worker) park(ctx context.Context, t *task, why string) error {
	parkCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StoreTimeout)
	defer cancel()
	err := w.parker.OnPark(parkCtx, t.op, why)
	if err == nil || errors.Is(err, operation.ErrLeaseLost) {
		return nil
	}
	w.log.ErrorContext(ctx, "operation could not be parked", "operation_id", t.op.ID, "error", err)
	return w.write(ctx, t, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return operation.Retry(tx, op, now.Add(w.cfg.BackoffMax), why)
	})
}

// write changes the operation under its lease, also while the process stops. A lease that is gone needs no writing: the
// handler has closed the operation, or somebody else has it.
func (w *Worker) write(
	ctx context.Context, t *task, change func(tx store.Tx, op *operation.Operation, now time.Time) error,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StoreTimeout)
	defer cancel()
	now := w.now()
	err := w.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op, err := operation.Hold(tx, t.op.ID, t.lease, now)
		if err != nil {
			return err
		}
		return change(tx, op, now)
	})
	if errors.Is(err, operation.ErrLeaseLost) {
		return nil
	}
	return err
}

// backoff doubles with each try, keeps half of it and draws the rest, so that many operations do not return together. A
// provider's own "retry after" is the least.
func (w *Worker) backoff(tries int, err error) time.Duration {
	wait := w.cfg.BackoffMax
	if shift := max(0, tries-1); shift < 32 {
		wait = min(wait, w.cfg.BackoffMin<<shift)
	}
	wait = wait/2 + time.Duration(w.cfg.JitterFunc(int64(wait/2)+1))
	var f *fault.Error
	if errors.As(err, &f) {
		wait = max(wait, f.RetryAfter)
	}
	return wait
}

// parking is the parker of operations that hold no money.
type parking struct{ w *Worker }

// OnPark implements Parker.
func (p parking) OnPark(ctx context.Context, op *operation.Operation, reason string) error {
	now := p.w.now()
	return p.w.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, err := operation.Hold(tx, op.ID, *op.Lease, now)
		if err != nil {
			return err
		}
		return operation.Park(tx, held, reason, now)
	})
}

// reason is an error as it is stored.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(reasonLength, len(text))], "")
}
