package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/loop"
	"offrampbot/services/store"
)

// ErrTooLong is the cause with which a handler is ended that works longer than HandleTimeout.
var ErrTooLong = errors.New("receipt took too long")

// reasonLength is how much of an error is kept as a reason, in bytes.
const reasonLength = 300

// Deps are what a Worker needs; all are required. A source without a handler is kept as unhandled.
type Deps struct {
	Engine   store.Engine
	Sealer   Sealer
	Handlers map[delivery.Source]Handler
	Metrics  Metrics
	Log      *slog.Logger
	Now      func() time.Time
}

// Worker handles waiting receipts.
type Worker struct {
	deps   Deps
	cfg    Config
	loop   *loop.Loop
	claims atomic.Int64

	claiming sync.Mutex // one claim at a time, so that the slots of one process never race for one receipt
	queue    []*claimed // claimed and not yet handed out, a few
	mu       sync.Mutex
	busy     map[string]bool // partitions with a slot
	bursts   map[string]bool // partitions whose backlog is collapsed until it is drained
	left     bool            // the last look passed over a receipt because its partition was busy
}

// claimed is a receipt that this process holds.
type claimed struct {
	receipt *delivery.Receipt
	backlog delivery.Backlog
}

// NewWorker returns a Worker.
func NewWorker(deps Deps, cfg Config) (*Worker, error) {
	missing := ""
	switch {
	case deps.Engine == nil:
		missing = "Engine"
	case deps.Sealer == nil:
		missing = "Sealer"
	case deps.Handlers == nil:
		missing = "Handlers"
	case deps.Metrics == nil:
		missing = "Metrics"
	case deps.Log == nil:
		missing = "Log"
	case deps.Now == nil:
		missing = "Now"
	}
	if missing != "" {
		return nil, fmt.Errorf("make inbox worker: %s is missing", missing)
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make inbox worker: %w", err)
	}
	w := &Worker{deps: deps, cfg: cfg, busy: make(map[string]bool), bursts: make(map[string]bool)}
	w.cfg.Loop.LeftFunc = w.hasLeft
	var err error
	w.loop, err = loop.New(w.take, deps.Engine.Watch(store.Inbox, string(delivery.Received)), deps.Now, deps.Log, w.cfg.Loop)
	if err != nil {
		return nil, fmt.Errorf("make inbox worker: %w", err)
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

// Step claims and handles one receipt, and says whether there was one. The error is the store's; what a handler returns
// is judged here.
func (w *Worker) Step(ctx context.Context) (worked bool, err error) {
	t, _, err := w.next(ctx, 1)
	if t == nil {
		return false, err
	}
	return true, w.handleOne(ctx, t)
}

// take is Step in two halves, for the loop. It claims several at once.
func (w *Worker) take(ctx context.Context) (work func(context.Context), next time.Time, err error) {
	t, next, err := w.next(ctx, w.cfg.Concurrency)
	if t == nil {
		return nil, next, err
	}
	return func(ctx context.Context) {
		if err := w.handleOne(ctx, t); err != nil {
			w.deps.Log.ErrorContext(ctx, "receipt was not settled; its lease will run out",
				"delivery_id", t.receipt.ID, "error", err)
		}
	}, time.Time{}, nil
}

// next returns the next receipt of a partition without a slot, out of the queue or by a claim for up to most.
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
		if fresh || t.receipt.LeaseUntil.Sub(w.deps.Now()) >= w.cfg.HandleTimeout {
			return t, time.Time{}, nil
		}
		if err := w.giveBack(ctx, t); err != nil { // it waited so long for a slot that its lease might run out
			return nil, time.Time{}, err
		}
	}
}

// fill claims receipts for slots that are free or will soon be: one transaction for several costs hardly more than for
// one.
func (w *Worker) fill(ctx context.Context, most int) (next time.Time, err error) {
	owner := fmt.Sprintf("%s#%d", w.cfg.Owner, w.claims.Add(1))
	w.look()
	claims, next, err := delivery.Claimer{Lease: w.cfg.Lease, Most: most, SkipFunc: w.isBusy}.
		Some(ctx, w.deps.Engine, owner, w.deps.Now())
	for _, c := range claims {
		w.queue = append(w.queue, &claimed{receipt: c.Receipt, backlog: w.begin(c)})
	}
	return next, err
}

// giveBack returns a receipt that was claimed and not begun.
func (w *Worker) giveBack(ctx context.Context, t *claimed) error {
	w.end(t.receipt.Partition)
	now := w.deps.Now()
	return w.write(ctx, func(tx store.Tx) error { return delivery.GiveBack(tx, t.receipt, now) })
}

// look begins a look for work, isBusy passes over what a slot of this process is at, and hasLeft says whether it did: the
// end of that slot's work is then a reason to look again.
func (w *Worker) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = false
}

func (w *Worker) isBusy(partition string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = w.left || w.busy[partition]
	return w.busy[partition]
}

func (w *Worker) hasLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

// begin takes the partition's slot and tells about its backlog. A burst lasts from the moment when more than
// delivery.CollapseAbove wait until nothing waits behind the one in hand.
func (w *Worker) begin(c *delivery.Claim) delivery.Backlog {
	w.mu.Lock()
	defer w.mu.Unlock()
	partition := c.Receipt.Partition
	w.busy[partition] = true
	if c.Waiting > delivery.CollapseAbove {
		w.bursts[partition] = true
	}
	b := delivery.Backlog{Waiting: c.Waiting, Collapse: w.bursts[partition], Last: c.Waiting <= 1}
	if b.Last {
		delete(w.bursts, partition)
	}
	return b
}

func (w *Worker) end(partition string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.busy, partition)
}

// handleOne handles one claimed receipt and settles what the handler left.
func (w *Worker) handleOne(ctx context.Context, t *claimed) error {
	r := t.receipt
	defer w.end(r.Partition)
	if r.Tries > delivery.MaxTries { // the tries before this one ended the process
		return w.setAside(ctx, r, delivery.Park, fmt.Sprintf("gave up after %d tries", delivery.MaxTries))
	}
	held, cancel := context.WithTimeoutCause(delivery.WithBacklog(ctx, t.backlog), w.cfg.HandleTimeout, ErrTooLong)
	defer cancel()
	err := w.handle(held, r)
	if err == nil {
		return nil
	}
	return w.settle(ctx, r, err)
}

// handle opens the body and calls the handler; a panic becomes an error, and its stack is logged here, once.
func (w *Worker) handle(ctx context.Context, r *delivery.Receipt) (err error) {
	handler, ok := w.deps.Handlers[r.Source]
	if !ok {
		return fmt.Errorf("handle source %s: %w", r.Source, delivery.ErrUnhandled)
	}
	var body []byte
	if len(r.Body) > 0 { // a receipt driven again after its body was overwritten has none
		if body, err = w.deps.Sealer.Open(r.Body, r.ID); err != nil {
			return fmt.Errorf("open body: %w", err)
		}
	}
	defer func() {
		if p := recover(); p != nil {
			w.deps.Log.ErrorContext(ctx, "receipt handler panicked",
				"delivery_id", r.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errors.New("handler panicked")
		}
	}()
	mine := *r
	return handler.Handle(ctx, &mine, body)
}
