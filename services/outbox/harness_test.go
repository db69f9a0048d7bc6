package outbox_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"offrampbot/services/operation"
	"offrampbot/services/outbox"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
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
	t.Run("bolt, every transaction twice", func(t *testing.T) {
		t.Parallel()
		test(t, storetest.Twice(testkit.Bolt(t, operation.Indexes)))
	})
}
