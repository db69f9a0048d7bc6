package inbox_test

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

	"offrampbot/services/delivery"
	"offrampbot/services/inbox"
	"offrampbot/services/loop"
	"offrampbot/services/store"
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
}

func TestStore_isOneReceiptPerDelivery(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		first := h.message("ann", 1)
		require.Equal(t, []bool{true, true, false}, h.store(first, h.message("ann", 2), h.message("ann", 1)))
		require.Equal(t, "body of 1", string(first.Body), "what was passed in stays as it is")
		stored := h.load("wa:ann-001")
		require.NotContains(t, string(stored.Body), "body of 1", "sealed")

		h.clock.Advance(8 * 24 * time.Hour)
		require.Equal(t, []bool{false}, h.store(h.message("ann", 1)), "and a week later")
		require.Equal(t, stored, h.load("wa:ann-001"), "a repeat changes nothing")
		require.Empty(t, h.metrics.conflicts)
	})
}

func TestStore_concurrentCopiesAreOneReceipt(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		var fresh atomic.Int32
		var wg sync.WaitGroup
		for range 25 {
			wg.Go(func() {
				isNew, err := h.inbox.Store(t.Context(), []*delivery.Receipt{h.message("ann", 1)})
				if err == nil && isNew[0] {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, fresh.Load())
	})
}

func TestStore_neverRedefinesWhatIsStored(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		h.store(h.message("ann", 1))
		stored := h.load("wa:ann-001")
		forged := h.message("ann", 1)
		forged.Fingerprint, forged.Body = "another print", []byte("pay somebody else")
		require.Equal(t, []bool{false}, h.store(forged))
		require.Equal(t, stored, h.load("wa:ann-001"))
		require.Equal(t, map[string]int{"message": 1}, h.metrics.conflicts)
		require.Contains(t, h.log.String(), "delivery came again with other content and was ignored")
		require.NotContains(t, h.log.String(), "pay somebody else")
	})
}

func TestStore_refusesWhatCannotBeTold(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, delivery.Indexes), inbox.Config{})
	for name, without := range map[string]func(*delivery.Receipt){
		"id":          func(r *delivery.Receipt) { r.ID = "" },
		"source":      func(r *delivery.Receipt) { r.Source = "" },
		"partition":   func(r *delivery.Receipt) { r.Partition = "" },
		"fingerprint": func(r *delivery.Receipt) { r.Fingerprint = "" },
	} {
		bad := h.message("ann", 1)
		without(bad)
		_, err := h.inbox.Store(t.Context(), []*delivery.Receipt{h.message("ann", 2), bad})
		require.ErrorContains(t, err, name)
	}
	require.False(t, h.step(), "nothing of such a batch is stored")
}

func TestStep_handlesABatchInItsOrder(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		batch := []*delivery.Receipt{h.message("ann", 3), h.message("ann", 1), h.message("ann", 2)} // sent within one second
		h.store(batch...)
		var got []string
		h.handle = func(ctx context.Context, r *delivery.Receipt, body []byte) error {
			got = append(got, string(body))
			return h.finish(ctx, r, body)
		}
		for h.step() {
		}
		require.Equal(t, []string{"body of 3", "body of 1", "body of 2"}, got)
		require.Equal(t, delivery.Done, h.load("wa:ann-001").State)
	})
}

func TestStep_poisonIsParkedAndBlocksNobody(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		h.store(h.message("ann", 1), h.message("ann", 2))
		tries := map[string]int{}
		h.handle = func(ctx context.Context, r *delivery.Receipt, body []byte) error {
			tries[r.ID]++
			if r.ID == "wa:ann-001" {
				if tries[r.ID]%2 == 0 {
					panic("defect")
				}
				return errors.New("cannot be understood")
			}
			return h.finish(ctx, r, body)
		}
		for range 20 {
			if !h.step() {
				h.clock.Advance(10 * time.Second)
			}
		}
		require.Equal(t, map[string]int{"wa:ann-001": 5, "wa:ann-002": 1}, tries)
		parked := h.load("wa:ann-001")
		require.Equal(t, delivery.Parked, parked.State)
		require.Equal(t, "cannot be understood", parked.Reason)
		require.Equal(t, map[string]int{"message": 1}, h.metrics.parked)
		require.Contains(t, h.log.String(), "inbox_test.go", "the stack of a panic is kept")

		require.NoError(t, h.engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			_, err := delivery.Redrive(tx, "wa:ann-001", h.clock.Now())
			return err
		}))
		h.handle = h.finish
		require.True(t, h.step())
		require.Equal(t, delivery.Done, h.load("wa:ann-001").State)
	})
}

func TestStep_whatKeepsEndingItsProcessIsParked(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, delivery.Indexes), inbox.Config{})
	h.store(h.message("ann", 1))
	for n := range delivery.MaxTries { // five processes die with it in hand
		c, _, err := delivery.Claimer{Lease: time.Second}.Next(t.Context(), h.engine, fmt.Sprint("dead#", n), h.clock.Now())
		require.NoError(t, err)
		require.NotNil(t, c)
		h.clock.Advance(time.Minute)
	}
	h.handle = func(context.Context, *delivery.Receipt, []byte) error {
		t.Error("handled once more")
		return nil
	}
	require.True(t, h.step())
	require.Equal(t, delivery.Parked, h.load("wa:ann-001").State)
}

func TestStep_aStoreThatIsAwayIsNoFaultOfTheReceipt(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, delivery.Indexes), inbox.Config{})
	h.store(h.message("ann", 1))
	h.handle = func(context.Context, *delivery.Receipt, []byte) error {
		return fmt.Errorf("handle: %w", store.ErrUnavailable)
	}
	for range 3 * delivery.MaxTries {
		require.True(t, h.step())
		h.clock.Advance(time.Minute)
	}
	require.Equal(t, delivery.Received, h.load("wa:ann-001").State)
	h.handle = h.finish
	require.True(t, h.step())
	require.Equal(t, delivery.Done, h.load("wa:ann-001").State)
}

func TestStep_unknownSourcesAndKindsAreKept(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		source := h.message("provider", 1)
		source.Source = delivery.Payout
		kind := h.message("ann", 1)
		kind.Kind = "hologram"
		h.store(source, kind)
		h.handle = func(_ context.Context, r *delivery.Receipt, _ []byte) error {
			return fmt.Errorf("kind %s: %w", r.Kind, delivery.ErrUnhandled)
		}
		for h.step() {
		}
		for _, r := range []*delivery.Receipt{source, kind} {
			got := h.load(r.ID)
			require.Equal(t, delivery.Unhandled, got.State)
			require.NotEmpty(t, got.Reason)
			require.Equal(t, 1, got.Tries)
		}
	})
}

func TestStep_aBodyOfAnotherRecordIsNotHandled(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, delivery.Indexes), inbox.Config{})
	moved := h.message("ann", 1)
	moved.Body = []byte("wa:ann-002|sealed")
	_, err := h.engine.Append(t.Context(), store.Inbox, []store.Document{moved})
	require.NoError(t, err)
	for range 10 {
		h.step()
		h.clock.Advance(time.Minute)
	}
	require.Equal(t, delivery.Parked, h.load("wa:ann-001").State)
}

func TestStep_aLongBacklogGetsOneReply(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		var replies []string
		h.handle = func(ctx context.Context, r *delivery.Receipt, body []byte) error {
			if !delivery.BacklogFrom(ctx).Silent() {
				replies = append(replies, r.ID)
			}
			return h.finish(ctx, r, body)
		}
		send := func(from, n int) {
			for i := range n {
				h.store(h.message("ann", from+i))
			}
			for h.step() {
			}
		}
		send(0, delivery.CollapseAbove+5)
		require.Equal(t, []string{fmt.Sprintf("wa:ann-%03d", delivery.CollapseAbove+4)}, replies)
		replies = nil
		send(100, delivery.CollapseAbove)
		require.Len(t, replies, delivery.CollapseAbove, "up to 30 are answered one by one, after a burst too")
	})
}

func TestRun_inOrderPerPartitionInParallelAcross(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		const users, each = 6, 15
		h := newHarness(t, engine, inbox.Config{Concurrency: 4})
		var mu sync.Mutex
		got, want := map[string][]string{}, map[string][]string{}
		inHand, twice, left := map[string]bool{}, false, users*each
		over := make(chan struct{})
		h.handle = func(ctx context.Context, r *delivery.Receipt, body []byte) error {
			mu.Lock()
			twice = twice || inHand[r.Partition]
			inHand[r.Partition] = true
			got[r.Partition] = append(got[r.Partition], r.ID)
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				if left--; left == 0 {
					close(over)
				}
			}()
			mu.Lock()
			inHand[r.Partition] = false // before the commit that lets the next one in
			mu.Unlock()
			return h.finish(ctx, r, body)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, w := range []*inbox.Worker{h.worker, h.another(inbox.Config{Owner: "process-2", Concurrency: 4})} {
			wg.Go(func() { _ = w.Run(ctx) })
		}
		for n := range each {
			var batch []*delivery.Receipt
			for u := range users {
				r := h.message(fmt.Sprint("user-", u), n)
				want[r.Partition] = append(want[r.Partition], r.ID)
				batch = append(batch, r)
			}
			h.store(batch...)
			h.clock.Advance(time.Second)
		}
		<-over
		cancel()
		wg.Wait()
		require.Equal(t, want, got)
		require.False(t, twice)
	})
}

func TestRun_wakesOnADelivery(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{Loop: loop.Config{Idle: time.Hour}})
		done := make(chan struct{})
		h.handle = func(ctx context.Context, r *delivery.Receipt, body []byte) error {
			defer close(done)
			return h.finish(ctx, r, body)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.worker.Run(ctx) }()
		h.store(h.message("ann", 1))
		<-done // with an idle time of an hour, only the commit can have woken it
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestAge_isThatOfTheOldestWaiting(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		age := func() time.Duration {
			d, err := h.inbox.Age(t.Context(), h.clock.Now())
			require.NoError(t, err)
			return d
		}
		require.Zero(t, age())
		h.store(h.message("ann", 1))
		h.clock.Advance(3 * time.Second)
		h.store(h.message("bob", 1))
		require.Equal(t, 3*time.Second, age())
		h.handle = func(context.Context, *delivery.Receipt, []byte) error { return errors.New("not yet") }
		require.True(t, h.step())
		h.clock.Advance(time.Millisecond)
		require.Equal(t, 3001*time.Millisecond, age(), "one that waits for another try still waits")
		h.handle = h.finish
		h.clock.Advance(time.Minute)
		for h.step() {
		}
		require.Zero(t, age())
	})
}

func TestSweeper_emptiesThenDeletesWhatIsDone(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		for n := range 12 {
			h.store(h.message(fmt.Sprint("user-", n), 1))
		}
		unknown := h.message("provider", 1)
		unknown.Source = delivery.Payout
		h.store(unknown)
		for h.step() {
		}
		h.store(h.message("waiting", 1))
		sweeper, err := inbox.NewSweeper(engine, h.clock.Now)
		require.NoError(t, err)
		sweep := func() (batches int) {
			for worked := true; worked; batches++ {
				worked, err = sweeper.Step(t.Context())
				require.NoError(t, err)
			}
			return batches - 1
		}
		h.clock.Advance(delivery.KeepBody - time.Millisecond)
		require.Zero(t, sweep())
		h.clock.Advance(time.Millisecond)
		require.Equal(t, 2, sweep())
		require.Empty(t, h.load("wa:user-0-001").Body)
		require.Equal(t, delivery.Done, h.load("wa:user-0-001").State)
		require.Equal(t, []bool{false}, h.store(h.message("user-0", 1)), "still known")

		h.clock.Advance(delivery.KeepDone - delivery.KeepBody)
		require.Equal(t, 2, sweep())
		require.ErrorIs(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			_, err := delivery.Load(r, "wa:user-0-001")
			return err
		}), store.ErrNotFound)
		h.clock.Advance(10 * delivery.KeepDone)
		require.Zero(t, sweep())
		require.NotEmpty(t, h.load("wa:provider-001").Body, "what is set aside stays")
		require.NotEmpty(t, h.load("wa:waiting-001").Body, "what waits stays")
	})
}

func TestNew_refusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	engine, log := testkit.Bolt(t, delivery.Indexes), slog.New(slog.DiscardHandler)
	_, err := inbox.New(engine, nil, &metrics{}, log)
	require.ErrorContains(t, err, "sealer")
	deps := inbox.Deps{
		Engine: engine, Sealer: sealer{}, Handlers: map[delivery.Source]inbox.Handler{}, Metrics: &metrics{},
		Log: log, Now: testkit.Noon().Now,
	}
	for name, without := range map[string]func(*inbox.Deps){
		"Engine": func(d *inbox.Deps) { d.Engine = nil }, "Sealer": func(d *inbox.Deps) { d.Sealer = nil },
		"Handlers": func(d *inbox.Deps) { d.Handlers = nil }, "Metrics": func(d *inbox.Deps) { d.Metrics = nil },
		"Log": func(d *inbox.Deps) { d.Log = nil }, "Now": func(d *inbox.Deps) { d.Now = nil },
	} {
		broken := deps
		without(&broken)
		_, err := inbox.NewWorker(broken, inbox.Config{Owner: "p"})
		require.ErrorContains(t, err, name)
	}
	_, err = inbox.NewWorker(deps, inbox.Config{Lease: time.Second, HandleTimeout: time.Second, BackoffMin: time.Hour})
	for _, name := range []string{"Owner", "HandleTimeout", "BackoffMax"} {
		require.ErrorContains(t, err, name)
	}
	_, err = inbox.NewSweeper(nil, nil)
	require.Error(t, err)
}
