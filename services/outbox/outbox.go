// Package outbox carries out recorded operations, at least once each (R34–R40). A worker serves one kind with its own
// slots, so that a slow provider never starves messages: it claims a due operation under a lease, lets the handler work
// while a heartbeat keeps the lease, and judges what comes back.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

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

// Worker carries out the operations of one kind.
type Worker struct {
	engine  store.Engine
	handler Handler
	parker  Parker
	log     *slog.Logger
	now     func() time.Time
	cfg     Config
	loop    *loop.Loop
	claims  atomic.Int64

	claiming sync.Mutex // one claim at a time, so that the slots of one process never race for one operation
	queue    []*claimed // claimed and not yet handed out, a few
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
		busy: make(map[string]bool),
	}
	var err error
	w.loop, err = loop.New(w.take, deps.Engine.Watch(store.Outbox, string(cfg.Kind)), deps.Now, deps.Log, cfg.Loop)
	if err != nil {
		return nil, fmt.Errorf("make outbox worker: %w", err)
	}
	if w.parker == nil {
		w.parker = parking{w}
	}
	return w, nil
}

// Name says which worker this is.
func (w *Worker) Name() string { return w.cfg.Loop.Name }

// LastTurn is when the worker last looked for work: liveness.
func (w *Worker) LastTurn() time.Time { return w.loop.LastTurn() }

// Run works until ctx ends, see package loop, and then gives back what it has claimed and not begun.
func (w *Worker) Run(ctx context.Context) error {
	err := w.loop.Run(ctx)
	w.claiming.Lock()
	defer w.claiming.Unlock()
	for _, t := range w.queue {
		err = errors.Join(err, w.giveBack(ctx, t))
	}
	w.queue = nil
	return err
}

// Step claims and carries out one operation, and says whether there was one. The error is the store's; what a handler
// returns is judged here.
func (w *Worker) Step(ctx context.Context) (worked bool, err error) {
	t, _, err := w.next(ctx, 1)
	if t == nil {
		return false, err
	}
	return true, w.carryOut(ctx, t)
}

// take is Step in two halves, for the loop. It claims several at once.
func (w *Worker) take(ctx context.Context) (work func(context.Context), next time.Time, err error) {
	t, next, err := w.next(ctx, w.cfg.Concurrency)
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

// claimed is an operation that this process holds.
type claimed struct {
	op    *operation.Operation
	lease operation.Lease
	since time.Duration // when the lease began, by the monotonic clock
}

// next returns the next operation of a user without a slot, out of the queue or by a claim for up to most.
func (w *Worker) next(ctx context.Context, most int) (*claimed, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.StoreTimeout)
	defer cancel()
	w.claiming.Lock()
	defer w.claiming.Unlock()
	for fresh := false; ; {
		if len(w.queue) == 0 {
			next, err := w.fill(ctx, most)
			if len(w.queue) == 0 {
				return nil, next, err
			}
			fresh = true
		}
		t := w.queue[0]
		w.queue = w.queue[1:]
		if waited := w.cfg.MonotonicFunc() - t.since; fresh || waited < w.cfg.Lease/queueShare {
			return t, time.Time{}, nil
		}
		if err := w.giveBack(ctx, t); err != nil { // it waited so long for a slot that too little of its lease is left
			return nil, time.Time{}, err
		}
	}
}

// queueShare is the part of a lease that may pass in the queue: a fifth.
const queueShare = 5

// fill claims operations for slots that are free or will soon be: one transaction for several costs hardly more than
// for one.
func (w *Worker) fill(ctx context.Context, most int) (next time.Time, err error) {
	owner := fmt.Sprintf("%s#%d", w.cfg.Owner, w.claims.Add(1))
	since := w.cfg.MonotonicFunc() // before the claim, so that the lease never seems longer than it is
	ops, next, err := operation.Claimer{
		Kind: w.cfg.Kind, Lease: w.cfg.Lease, Most: most, Ordered: w.cfg.Ordered, SkipFunc: w.isBusy,
	}.Some(ctx, w.engine, owner, w.now())
	for _, op := range ops {
		w.setBusy(op.User, true)
		w.queue = append(w.queue, &claimed{op: op, lease: *op.Lease, since: since})
	}
	return next, err
}

// giveBack returns an operation that was claimed and not begun.
func (w *Worker) giveBack(ctx context.Context, t *claimed) error {
	w.setBusy(t.op.User, false)
	return w.write(ctx, t, operation.GiveBack)
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
func (w *Worker) carryOut(ctx context.Context, t *claimed) error {
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
