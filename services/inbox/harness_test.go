package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"offrampbot/services/delivery"
	"offrampbot/services/inbox"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sealer turns a body round and binds it to its record.
type sealer struct{}

func (sealer) Seal(plain []byte, record string) ([]byte, error) {
	return append([]byte(record+"|"), reversed(plain)...), nil
}

func (sealer) Open(sealed []byte, record string) ([]byte, error) {
	body, ok := bytes.CutPrefix(sealed, []byte(record+"|"))
	if !ok {
		return nil, errors.New("sealed for another record")
	}
	return reversed(body), nil
}

func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[len(b)-1-i] = b[i]
	}
	return out
}

type metrics struct {
	mu                sync.Mutex
	conflicts, parked map[string]int
}

func (m *metrics) DeliveryConflict(source string) { m.count(m.conflicts, source) }
func (m *metrics) DeliveryParked(source string)   { m.count(m.parked, source) }

func (m *metrics) count(in map[string]int, source string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in[source]++
}

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

// harness is an intake and a worker over an engine, with a clock that stands still.
type harness struct {
	t       *testing.T
	engine  store.Engine
	clock   *testkit.Clock
	metrics *metrics
	log     *syncBuffer
	inbox   *inbox.Inbox
	worker  *inbox.Worker
	handle  func(ctx context.Context, r *delivery.Receipt, body []byte) error
}

func newHarness(t *testing.T, engine store.Engine, cfg inbox.Config) *harness {
	t.Helper()
	h := &harness{
		t: t, engine: engine, clock: testkit.Noon(), log: &syncBuffer{},
		metrics: &metrics{conflicts: map[string]int{}, parked: map[string]int{}},
	}
	h.handle = h.finish
	var err error
	h.inbox, err = inbox.New(engine, sealer{}, h.metrics, slog.New(slog.NewJSONHandler(h.log, nil)))
	require.NoError(t, err)
	h.worker = h.another(cfg)
	return h
}

// another returns one more worker over the same engine, as another process would have.
func (h *harness) another(cfg inbox.Config) *inbox.Worker {
	h.t.Helper()
	if cfg.Owner == "" {
		cfg.Owner = "process-1"
	}
	cfg.JitterFunc = func(n int64) int64 { return n - 1 }
	w, err := inbox.NewWorker(inbox.Deps{
		Engine: h.engine, Sealer: sealer{}, Metrics: h.metrics, Now: h.clock.Now,
		Log: slog.New(slog.NewJSONHandler(h.log, nil)),
		Handlers: map[delivery.Source]inbox.Handler{
			delivery.Message: inbox.HandlerFunc(func(ctx context.Context, r *delivery.Receipt, body []byte) error {
				return h.handle(ctx, r, body)
			}),
		},
	}, cfg)
	require.NoError(h.t, err)
	return w
}

// finish is the handler of a good day.
func (h *harness) finish(ctx context.Context, r *delivery.Receipt, _ []byte) error {
	return h.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		return delivery.Finish(tx, r, "done", h.clock.Now())
	})
}

func (h *harness) message(partition string, n int) *delivery.Receipt {
	return delivery.New(fmt.Sprintf("wa:%s-%03d", partition, n), delivery.Message, "text", partition,
		fmt.Sprint("print ", n), fmt.Appendf(nil, "body of %d", n), h.clock.Now(), h.clock.Now())
}

func (h *harness) store(receipts ...*delivery.Receipt) []bool {
	h.t.Helper()
	isNew, err := h.inbox.Store(h.t.Context(), receipts)
	require.NoError(h.t, err)
	return isNew
}

func (h *harness) load(id string) *delivery.Receipt {
	h.t.Helper()
	var r *delivery.Receipt
	require.NoError(h.t, h.engine.View(h.t.Context(), func(_ context.Context, reader store.Reader) error {
		var err error
		r, err = delivery.Load(reader, id)
		return err
	}))
	return r
}

func (h *harness) step() bool {
	h.t.Helper()
	worked, err := h.worker.Step(h.t.Context())
	require.NoError(h.t, err)
	return worked
}

func onEngines(t *testing.T, test func(t *testing.T, engine store.Engine)) {
	t.Helper()
	testkit.Engines(t, delivery.Indexes, test)
	t.Run("bolt, every transaction twice", func(t *testing.T) {
		t.Parallel()
		test(t, storetest.Twice(testkit.Bolt(t, delivery.Indexes)))
	})
}
