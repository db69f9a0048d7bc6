package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/operation"
	"offrampbot/services/outbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

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

func TestStep_somebodyElseAtTheOrderIsNoFaultOfTheOperation(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, outbox.Config{MaxTries: 3})
		h.record(h.payout("payout:a", "ann"))
		h.handle = func(context.Context, *operation.Operation, operation.Lease) error {
			return fmt.Errorf("take lock: %w", operation.ErrBusy)
		}
		for range 9 {
			require.True(t, h.step())
			require.False(t, h.step(), "not at once")
			h.clock.Advance(time.Second)
		}
		require.Zero(t, h.load("payout:a").Tries)
		h.handle = h.finish
		require.True(t, h.step())
		require.Equal(t, operation.Done, h.load("payout:a").State)
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
