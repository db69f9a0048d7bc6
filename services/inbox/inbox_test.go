package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/inbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

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
