package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"offrampbot/services/fault"
	"offrampbot/services/loop"
	"offrampbot/services/operation"
	"offrampbot/services/outbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// harness is a worker over an engine, with a clock that stands still.
type harness struct {
	t      *testing.T
	engine store.Engine
	clock  *testkit.Clock
	log    *syncBuffer
	worker *outbox.Worker
	handle func(ctx context.Context, op *operation.Operation, lease operation.Lease) error
}

func newHarness(t *testing.T, engine store.Engine, cfg outbox.Config) *harness {
	t.Helper()
	h := &harness{t: t, engine: engine, clock: testkit.Noon(), log: &syncBuffer{}}
	h.handle = h.finish
	h.worker = h.another(cfg)
	return h
}

// another returns one more worker over the same engine, as another process would have.
func (h *harness) another(cfg outbox.Config) *outbox.Worker {
	h.t.Helper()
	if cfg.Kind == "" {
		cfg.Kind = operation.Payout
	}
	if cfg.Owner == "" {
		cfg.Owner = "process-1"
	}
	if cfg.JitterFunc == nil {
		cfg.JitterFunc = func(n int64) int64 { return n - 1 } // the whole wait
	}
	w, err := outbox.New(outbox.Deps{
		Engine: h.engine, Log: slog.New(slog.NewJSONHandler(h.log, nil)), Now: h.clock.Now,
		Handler: outbox.HandlerFunc(func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			return h.handle(ctx, op, lease)
		}),
	}, cfg)
	require.NoError(h.t, err)
	return w
}

// finish is the handler of a good day.
func (h *harness) finish(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	return h.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, err := operation.Hold(tx, op.ID, lease, h.clock.Now())
		if err != nil {
			return err
		}
		return operation.Finish(tx, held, "done", h.clock.Now())
	})
}

func (h *harness) record(ops ...*operation.Operation) {
	h.t.Helper()
	require.NoError(h.t, h.engine.Update(h.t.Context(), func(_ context.Context, tx store.Tx) error {
		for _, op := range ops {
			c := *op
			if _, err := operation.Record(tx, &c); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (h *harness) payout(id, user string) *operation.Operation {
	return operation.New(operation.Payout, id, "order-1", user, "order:"+id, h.clock.Now(), h.clock.Now())
}

func (h *harness) load(id string) *operation.Operation {
	h.t.Helper()
	var op *operation.Operation
	require.NoError(h.t, h.engine.View(h.t.Context(), func(_ context.Context, r store.Reader) error {
		var err error
		op, err = operation.Load(r, id)
		return err
	}))
	return op
}

func (h *harness) step() bool {
	h.t.Helper()
	worked, err := h.worker.Step(h.t.Context())
	require.NoError(h.t, err)
	return worked
}

func onEngines(t *testing.T, test func(t *testing.T, engine store.Engine)) {
	t.Helper()
	testkit.Engines(t, operation.Indexes, test)
}

func TestStep_carriesOutWhatIsDue(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, outbox.Config{})
		require.False(t, h.step())
		h.record(h.payout("payout:a", "ann"))
		h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			require.Equal(t, "payout:a", op.ID)
			require.Equal(t, 30*time.Second, operation.Left(ctx))
			h.clock.Advance(10 * time.Second)
			require.Equal(t, 20*time.Second, operation.Left(ctx))
			return h.finish(ctx, op, lease)
		}
		require.True(t, h.step())
		require.Equal(t, operation.Done, h.load("payout:a").State)
		require.False(t, h.step())
	})
}

func TestStep_triesAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, outbox.Config{MaxTries: 10, BackoffMax: 20 * time.Second})
		h.record(h.payout("payout:a", "ann"))
		h.handle = func(context.Context, *operation.Operation, operation.Lease) error {
			return errors.New("provider is away")
		}
		for _, wait := range []time.Duration{1, 2, 4, 8, 16, 20, 20} {
			require.True(t, h.step())
			require.False(t, h.step())
			op := h.load("payout:a")
			require.Equal(t, wait*time.Second, op.Due.Sub(h.clock.Now()))
			require.Nil(t, op.Lease)
			require.Equal(t, "provider is away", op.Reason)
			h.clock.Set(*op.Due)
		}
		h.handle = func(context.Context, *operation.Operation, operation.Lease) error {
			f := fault.New("too_many_requests", nil)
			f.RetryAfter = time.Hour
			return fmt.Errorf("send: %w", f)
		}
		require.True(t, h.step())
		require.Equal(t, time.Hour, h.load("payout:a").Due.Sub(h.clock.Now()), "a provider's own word is the least")
	})
}

func TestStep_parksAfterABoundedNumberOfTries(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, outbox.Config{MaxTries: 3})
		h.record(h.payout("payout:a", "ann"))
		tries := 0
		h.handle = func(context.Context, *operation.Operation, operation.Lease) error {
			tries++
			return errors.New("always 500")
		}
		for h.step() {
			h.clock.Advance(time.Hour)
		}
		require.Equal(t, 3, tries)
		op := h.load("payout:a")
		require.Equal(t, operation.Parked, op.State)
		require.Equal(t, "always 500", op.Reason)
		require.Nil(t, op.Due)
	})
}

func TestStep_aPanicIsATryAndKeepsItsStack(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, operation.Indexes), outbox.Config{MaxTries: 2})
	h.record(h.payout("payout:a", "ann"))
	h.handle = func(context.Context, *operation.Operation, operation.Lease) error { panic("defect") }
	require.True(t, h.step())
	h.clock.Advance(time.Hour)
	require.True(t, h.step())
	require.Equal(t, operation.Parked, h.load("payout:a").State)
	require.Contains(t, h.log.String(), `"panic":"defect"`)
	require.Contains(t, h.log.String(), "outbox_test.go")
}

// An operation that ends its process is parked before it is worked on once more.
func TestStep_parksWhatKeepsEndingItsProcess(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, operation.Indexes), outbox.Config{MaxTries: 2})
	h.record(h.payout("payout:a", "ann"))
	for n := range 2 { // two processes die with it in hand
		op, err := operation.Claim(t.Context(), h.engine, operation.Payout, fmt.Sprint("dead#", n), time.Minute, h.clock.Now())
		require.NoError(t, err)
		require.NotNil(t, op)
		h.clock.Advance(time.Hour)
	}
	h.handle = func(context.Context, *operation.Operation, operation.Lease) error {
		t.Error("handled once more")
		return nil
	}
	require.True(t, h.step())
	require.Equal(t, operation.Parked, h.load("payout:a").State)
}

// parker is the order service's part: it parks and raises, or fails.
type parker struct {
	calls []string
	err   error
}

func (p *parker) OnPark(_ context.Context, op *operation.Operation, reason string) error {
	p.calls = append(p.calls, op.ID+": "+reason)
	return p.err
}

func TestStep_parkingRaisesAnEventAndIsNeverForgotten(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, operation.Indexes)
	h := newHarness(t, engine, outbox.Config{})
	p := &parker{err: errors.New("store is away")}
	w, err := outbox.New(outbox.Deps{
		Engine: engine, Parker: p, Now: h.clock.Now, Log: slog.New(slog.DiscardHandler),
		Handler: outbox.HandlerFunc(func(context.Context, *operation.Operation, operation.Lease) error {
			return errors.New("refused")
		}),
	}, outbox.Config{Kind: operation.Payout, Owner: "p", MaxTries: 1})
	require.NoError(t, err)
	h.record(h.payout("payout:a", "ann"))
	worked, err := w.Step(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	op := h.load("payout:a")
	require.Equal(t, operation.Pending, op.State, "not parked without its event")
	require.Nil(t, op.Lease)
	h.clock.Set(*op.Due)
	p.err = nil
	_, err = w.Step(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"payout:a: refused", "payout:a: gave up after 1 tries"}, p.calls)
}

func TestStep_aLostLeaseEndsTheHandlerAndWritesNothing(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, outbox.Config{Lease: 300 * time.Millisecond})
		h.record(h.payout("payout:a", "ann"))
		h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			h.clock.Advance(time.Hour) // this process slept; another one takes over
			other, err := operation.Claim(ctx, h.engine, operation.Payout, "other#1", time.Minute, h.clock.Now())
			require.NoError(t, err)
			require.Equal(t, op.ID, other.ID)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), operation.ErrLeaseLost)
			require.ErrorIs(t, h.finish(context.WithoutCancel(ctx), op, lease), operation.ErrLeaseLost)
			return ctx.Err()
		}
		require.True(t, h.step())
		op := h.load("payout:a")
		require.Equal(t, "other#1", op.Lease.Owner)
		require.Equal(t, operation.Pending, op.State)
		require.Empty(t, op.Reason)
	})
}

func TestStep_theHeartbeatKeepsTheLease(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, outbox.Config{Lease: 300 * time.Millisecond})
		h.record(h.payout("payout:a", "ann"))
		h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			for range 3 {
				h.clock.Advance(200 * time.Millisecond)
				require.Eventually(t, func() bool { return operation.Left(ctx) > 250*time.Millisecond },
					10*time.Second, time.Millisecond)
			}
			require.NoError(t, ctx.Err())
			return h.finish(ctx, op, lease)
		}
		require.True(t, h.step())
		require.Equal(t, operation.Done, h.load("payout:a").State)
	})
}

func TestStep_aHandlerThatTakesTooLongIsATry(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, operation.Indexes), outbox.Config{HandleTimeout: 10 * time.Millisecond})
	h.record(h.payout("payout:a", "ann"))
	h.handle = func(ctx context.Context, _ *operation.Operation, _ operation.Lease) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	require.True(t, h.step())
	op := h.load("payout:a")
	require.Equal(t, outbox.ErrTooLong.Error(), op.Reason)
	require.Equal(t, 1, op.Tries)
}

// 8 workers of two processes, 200 operations, each executed once (R35).
func TestRun_executesEachOperationOnce(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		const all = 200
		var mu sync.Mutex
		executed := map[string]int{}
		finished := make(chan struct{})
		h := newHarness(t, engine, outbox.Config{Concurrency: 4})
		h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			mu.Lock()
			executed[op.ID]++
			last := len(executed) == all
			mu.Unlock()
			err := h.finish(ctx, op, lease)
			if last {
				close(finished)
			}
			return err
		}
		for i := range all {
			h.record(h.payout(fmt.Sprint("payout:", i), fmt.Sprint("user-", i)))
		}
		stop := run(t, h.worker, h.another(outbox.Config{Owner: "process-2", Concurrency: 4}))
		<-finished
		stop()
		require.Len(t, executed, all)
		for id, n := range executed {
			require.Equal(t, 1, n, id)
			require.Equal(t, operation.Done, h.load(id).State)
		}
	})
}

func TestRun_wakesOnACommit(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		done := make(chan struct{})
		h := newHarness(t, engine, outbox.Config{Loop: loop.Config{Idle: time.Hour}})
		h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			defer close(done)
			return h.finish(ctx, op, lease)
		}
		stop := run(t, h.worker)
		h.record(h.payout("payout:a", "ann"))
		<-done // with an idle time of an hour, only the commit can have woken it
		stop()
	})
}

func TestRun_aUserHoldsAtMostOneSlot(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, operation.Indexes), outbox.Config{Concurrency: 4})
	var ann, most, left atomic.Int32
	left.Store(11)
	bobRan, over := make(chan struct{}), make(chan struct{})
	h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
		if op.User == "bob" {
			close(bobRan)
		} else {
			most.Store(max(most.Load(), ann.Add(1)))
			<-bobRan // ann's first holds its slot until bob had one
			ann.Add(-1)
		}
		err := h.finish(ctx, op, lease)
		if left.Add(-1) == 0 {
			close(over)
		}
		return err
	}
	for i := range 10 {
		h.record(h.payout(fmt.Sprint("payout:ann:", i), "ann"))
	}
	h.clock.Advance(time.Second)
	h.record(h.payout("payout:bob", "bob"))
	stop := run(t, h.worker)
	<-over
	stop()
	require.EqualValues(t, 1, most.Load())
}

func TestRun_messagesOfALaneGoInOrder(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		cfg := outbox.Config{Kind: operation.Notify, Ordered: true, Concurrency: 4}
		h := newHarness(t, engine, cfg)
		var mu sync.Mutex
		sent := map[string][]string{}
		failed := map[string]bool{}
		var left atomic.Int32
		left.Store(30)
		over := make(chan struct{})
		h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
			mu.Lock()
			first := !failed[op.ID]
			failed[op.ID] = true
			mu.Unlock()
			if first && op.ID[len(op.ID)-1] == '3' { // the third message of each lane fails once
				return errors.New("not now")
			}
			mu.Lock()
			sent[op.Lane] = append(sent[op.Lane], op.ID)
			mu.Unlock()
			err := h.finish(ctx, op, lease)
			if left.Add(-1) == 0 {
				close(over)
			}
			return err
		}
		want := map[string][]string{}
		for _, user := range []string{"ann", "bob", "eve"} {
			for seq := range 10 {
				op := operation.New(operation.Notify, fmt.Sprintf("notify:%s:%d", user, seq), "", user, "user:"+user,
					h.clock.Now(), h.clock.Now())
				h.record(op)
				want[op.Lane] = append(want[op.Lane], op.ID)
			}
		}
		stop := run(t, h.worker, h.another(outbox.Config{
			Kind: operation.Notify, Owner: "process-2", Ordered: true, Concurrency: 4,
		}))
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for done := false; !done; { // back-offs end ten times as fast, leases do not run out
			select {
			case <-over:
				done = true
			case <-tick.C:
				h.clock.Advance(100 * time.Millisecond)
			}
		}
		stop()
		require.Equal(t, want, sent)
	})
}

func TestRun_stoppingGivesBackWhatIsInHand(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, operation.Indexes), outbox.Config{
		Loop: loop.Config{SoftStop: 10 * time.Millisecond},
	})
	h.record(h.payout("payout:a", "ann"))
	started := make(chan struct{})
	h.handle = func(ctx context.Context, _ *operation.Operation, _ operation.Lease) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}
	stop := run(t, h.worker)
	<-started
	stop()
	op := h.load("payout:a")
	require.Nil(t, op.Lease)
	require.Zero(t, op.Tries, "stopping is no try")
	require.Equal(t, h.clock.Now(), op.Due.UTC())
}

func TestNew_refusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, operation.Indexes)
	deps := outbox.Deps{
		Engine: engine, Log: slog.New(slog.DiscardHandler), Now: testkit.Noon().Now,
		Handler: outbox.HandlerFunc(func(context.Context, *operation.Operation, operation.Lease) error { return nil }),
	}
	for name, without := range map[string]func(*outbox.Deps){
		"Engine": func(d *outbox.Deps) { d.Engine = nil }, "Handler": func(d *outbox.Deps) { d.Handler = nil },
		"Log": func(d *outbox.Deps) { d.Log = nil }, "Now": func(d *outbox.Deps) { d.Now = nil },
	} {
		broken := deps
		without(&broken)
		_, err := outbox.New(broken, outbox.Config{Kind: operation.Payout, Owner: "p"})
		require.ErrorContains(t, err, name)
	}
	_, err := outbox.New(deps, outbox.Config{Lease: time.Nanosecond, BackoffMin: time.Hour})
	for _, name := range []string{"Kind", "Owner", "Lease", "BackoffMax"} {
		require.ErrorContains(t, err, name, "all problems are told together")
	}
}

// run starts workers and returns a function that stops them and checks that they stopped well.
func run(t *testing.T, workers ...*outbox.Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	errs := make(chan error, len(workers))
	for _, w := range workers {
		wg.Go(func() { errs <- w.Run(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
	}
}
