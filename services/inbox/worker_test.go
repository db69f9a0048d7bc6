package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/inbox"
	"offrampbot/services/loop"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

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
		require.Contains(t, h.log.String(), "worker_test.go", "the stack of a panic is kept")

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

func TestStep_somebodyElseAtThePersonIsNoFaultOfTheReceipt(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, inbox.Config{})
		h.store(h.message("ann", 1))
		h.handle = func(context.Context, *delivery.Receipt, []byte) error {
			return fmt.Errorf("take lock: %w", delivery.ErrBusy)
		}
		for range 3 * delivery.MaxTries {
			require.True(t, h.step())
			require.False(t, h.step(), "not at once")
			h.clock.Advance(time.Second)
		}
		require.Equal(t, delivery.Received, h.load("wa:ann-001").State)
		h.handle = h.finish
		require.True(t, h.step())
		require.Equal(t, delivery.Done, h.load("wa:ann-001").State)
	})
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

func TestRun_stoppingGivesBackWhatIsInHandAndAhead(t *testing.T) {
	t.Parallel()
	h := newHarness(t, testkit.Bolt(t, delivery.Indexes), inbox.Config{
		Concurrency: 2, Loop: loop.Config{SoftStop: time.Millisecond},
	})
	for n := range 8 {
		h.store(h.message(fmt.Sprint("user-", n), 1))
	}
	started := make(chan struct{}, 8)
	h.handle = func(ctx context.Context, _ *delivery.Receipt, _ []byte) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.worker.Run(ctx) }()
	<-started
	<-started
	cancel()
	require.NoError(t, <-ended)
	for n := range 8 {
		r := h.load(fmt.Sprintf("wa:user-%d-001", n))
		require.Equal(t, delivery.Received, r.State)
		require.Nil(t, r.LeaseUntil)
		require.Zero(t, r.Tries)
	}
}
