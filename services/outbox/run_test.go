package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/loop"
	"offrampbot/services/operation"
	"offrampbot/services/outbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

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

// What a worker has claimed ahead of its slots is not kept from others: neither when it stops nor when its one slot is
// busy for long.
func TestRun_whatIsClaimedAheadIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprint("slow ", slow), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, testkit.Bolt(t, operation.Indexes), outbox.Config{Concurrency: 2})
			for n := range 8 {
				h.record(h.payout(fmt.Sprint("payout:", n), fmt.Sprint("user-", n)))
			}
			started := make(chan string, 8)
			release := make(chan struct{})
			h.handle = func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
				started <- op.ID
				<-release
				return h.finish(ctx, op, lease)
			}
			stop := run(t, h.worker)
			first := []string{<-started, <-started}
			if slow {
				h.clock.Advance(20 * time.Second)
				close(release)
				for range 6 {
					op := h.load(<-started)
					require.True(t, op.State == operation.Done || op.Lease.Until.After(h.clock.Now().Add(25*time.Second)))
				}
				stop()
				return
			}
			go close(release)
			stop()
			for n := range 8 {
				op := h.load(fmt.Sprint("payout:", n))
				if op.State == operation.Done {
					continue
				}
				require.NotContains(t, first, op.ID)
				require.Nil(t, op.Lease)
				require.Zero(t, op.Tries)
			}
		})
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
