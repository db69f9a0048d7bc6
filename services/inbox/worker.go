package inbox

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

// Config describes a Worker.
type Config struct {
	// Owner names this process in leases. The worker adds a number per claim.
	Owner string
	// Concurrency is how many partitions are worked on at once. Zero: 8.
	Concurrency int
	// Lease is how long one receipt may be in hand, HandleTimeout how long its handler may work. Zero: 30 s and two
	// thirds of the lease.
	Lease, HandleTimeout time.Duration
	// BackoffMin doubles with every try up to BackoffMax, jittered by half. Zero: 500 ms and 10 s.
	BackoffMin, BackoffMax time.Duration
	// StoreTimeout bounds the worker's own transactions. Zero: 5 s.
	StoreTimeout time.Duration
	// Loop tunes Run; Name and Slots are filled in.
	Loop loop.Config
	// JitterFunc returns a random number in [0, n). Nil: the system's.
	JitterFunc func(n int64) int64
}

func (c Config) withDefaults() Config {
	if c.Lease == 0 {
		c.Lease = 30 * time.Second
	}
	if c.HandleTimeout == 0 {
		c.HandleTimeout = c.Lease * 2 / 3
	}
	if c.BackoffMin == 0 {
		c.BackoffMin = 500 * time.Millisecond
	}
	if c.BackoffMax == 0 {
		c.BackoffMax = 10 * time.Second
	}
	if c.StoreTimeout == 0 {
		c.StoreTimeout = 5 * time.Second
	}
	if c.Concurrency == 0 {
		c.Concurrency = 8
	}
	if c.JitterFunc == nil {
		c.JitterFunc = rand.Int64N
	}
	c.Loop.Name, c.Loop.Slots = "inbox", c.Concurrency
	return c
}

func (c Config) validate() error {
	var problems []error
	if c.Owner == "" {
		problems = append(problems, errors.New("Owner is missing"))
	}
	if c.HandleTimeout >= c.Lease {
		problems = append(problems, errors.New("HandleTimeout must be less than Lease"))
	}
	if c.BackoffMax < c.BackoffMin {
		problems = append(problems, errors.New("BackoffMax cannot be less than BackoffMin"))
	}
	return errors.Join(problems...)
}

// Worker handles waiting receipts.
type Worker struct {
	deps   Deps
	cfg    Config
	wake   <-chan struct{}
	claims atomic.Int64

	claiming sync.Mutex
	mu       sync.Mutex
	busy     map[string]bool // partitions with a slot
	bursts   map[string]bool // partitions whose backlog is collapsed until it is drained
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
	return &Worker{
		deps: deps, cfg: cfg, wake: deps.Engine.Watch(store.Inbox),
		busy: make(map[string]bool), bursts: make(map[string]bool),
	}, nil
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
	return loop.New(w.take, w.wake, w.deps.Now, w.deps.Log, w.cfg.Loop)
}

// Step claims and handles one receipt, and says whether there was one. The error is the store's; what a handler returns
// is judged here.
func (w *Worker) Step(ctx context.Context) (worked bool, err error) {
	c, backlog, _, err := w.claim(ctx)
	if c == nil {
		return false, err
	}
	return true, w.handleOne(ctx, c.Receipt, backlog)
}

// take is Step in two halves, for the loop.
func (w *Worker) take(ctx context.Context) (work func(context.Context), next time.Time, err error) {
	c, backlog, next, err := w.claim(ctx)
	if c == nil {
		return nil, next, err
	}
	return func(ctx context.Context) {
		if err := w.handleOne(ctx, c.Receipt, backlog); err != nil {
			w.deps.Log.ErrorContext(ctx, "receipt was not settled; its lease will run out",
				"delivery_id", c.Receipt.ID, "error", err)
		}
	}, time.Time{}, nil
}

// claim takes the next receipt of a partition without a slot.
func (w *Worker) claim(ctx context.Context) (*delivery.Claim, delivery.Backlog, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.StoreTimeout)
	defer cancel()
	w.claiming.Lock()
	defer w.claiming.Unlock()
	owner := fmt.Sprintf("%s#%d", w.cfg.Owner, w.claims.Add(1))
	c, next, err := delivery.Claimer{Lease: w.cfg.Lease, SkipFunc: w.isBusy}.
		Next(ctx, w.deps.Engine, owner, w.deps.Now())
	if c == nil {
		return nil, delivery.Backlog{}, next, err
	}
	return c, w.begin(c), time.Time{}, nil
}

func (w *Worker) isBusy(partition string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy[partition]
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
func (w *Worker) handleOne(ctx context.Context, r *delivery.Receipt, backlog delivery.Backlog) error {
	defer w.end(r.Partition)
	if r.Tries > delivery.MaxTries { // the tries before this one ended the process
		return w.setAside(ctx, r, delivery.Park, fmt.Sprintf("gave up after %d tries", delivery.MaxTries))
	}
	held, cancel := context.WithTimeoutCause(delivery.WithBacklog(ctx, backlog), w.cfg.HandleTimeout, ErrTooLong)
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

// settle decides about a receipt whose handler returned an error.
func (w *Worker) settle(ctx context.Context, r *delivery.Receipt, err error) error {
	log := w.deps.Log.With("delivery_id", r.ID, "source", string(r.Source), "tries", r.Tries)
	now := w.deps.Now()
	wait := w.backoff(r.Tries)
	switch {
	case errors.Is(err, delivery.ErrLeaseLost):
		log.WarnContext(ctx, "receipt was lost to another worker", "error", err)
		return nil
	case ctx.Err() != nil: // the process stops
		return w.write(ctx, func(tx store.Tx) error { return delivery.GiveBack(tx, r, now) })
	case errors.Is(err, delivery.ErrUnhandled):
		log.WarnContext(ctx, "receipt of an unknown kind was kept", "kind", r.Kind)
		return w.setAside(ctx, r, delivery.MarkUnhandled, reason(err))
	case isDown(err): // no fault of the receipt
		log.WarnContext(ctx, "receipt waits for the store", "error", err, "wait_ms", wait.Milliseconds())
		return w.write(ctx, func(tx store.Tx) error { return delivery.GiveBack(tx, r, now.Add(wait)) })
	case r.Tries >= delivery.MaxTries:
		log.ErrorContext(ctx, "receipt was parked", "error", err)
		return w.setAside(ctx, r, delivery.Park, reason(err))
	}
	log.WarnContext(ctx, "receipt will be tried again", "error", err, "wait_ms", wait.Milliseconds())
	return w.write(ctx, func(tx store.Tx) error { return delivery.Retry(tx, r, now.Add(wait), reason(err)) })
}

// isDown reports whether the store is away, rather than the receipt bad. Nothing else is excused: a receipt that fails
// for ever must not hold its partition for ever.
func isDown(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrCommitUnknown)
}

func (w *Worker) setAside(
	ctx context.Context, r *delivery.Receipt,
	how func(tx store.Tx, r *delivery.Receipt, reason string, now time.Time) error, why string,
) error {
	now := w.deps.Now()
	w.deps.Metrics.DeliveryParked(string(r.Source))
	return w.write(ctx, func(tx store.Tx) error { return how(tx, r, why, now) })
}

// write changes the receipt under its lease, also while the process stops. A lease that is gone needs no writing.
func (w *Worker) write(ctx context.Context, change func(tx store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StoreTimeout)
	defer cancel()
	err := w.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error { return change(tx) })
	if errors.Is(err, delivery.ErrLeaseLost) {
		return nil
	}
	return err
}

// backoff doubles with each try, keeps half of it and draws the rest.
func (w *Worker) backoff(tries int) time.Duration {
	wait := min(w.cfg.BackoffMax, w.cfg.BackoffMin<<min(max(0, tries-1), 16))
	return wait/2 + time.Duration(w.cfg.JitterFunc(int64(wait/2)+1))
}

// reason is an error as it is stored.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(reasonLength, len(text))], "")
}
