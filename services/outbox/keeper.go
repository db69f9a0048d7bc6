package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// keep returns the context of a handler: it knows how long the lease lasts, a heartbeat renews the lease at a third of
// its life, and it ends with cause operation.ErrLeaseLost when that does not succeed in time. release ends the
// heartbeat and waits for it.
func (w *Worker) keep(ctx context.Context, t *claimed) (held context.Context, release func()) {
	ctx, lose := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.HandleTimeout, ErrTooLong)
	var ends atomic.Int64 // when the lease runs out, by the monotonic clock
	ends.Store(int64(t.since + w.cfg.Lease))
	left := func() time.Duration { return time.Duration(ends.Load()) - w.cfg.MonotonicFunc() }

	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(w.cfg.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			since := w.cfg.MonotonicFunc()
			err := w.renew(ctx, t)
			switch {
			case err == nil:
				ends.Store(int64(since + w.cfg.Lease))
			case errors.Is(err, operation.ErrLeaseLost), left() <= 0:
				lose(operation.ErrLeaseLost)
				return
			}
		}
	}()
	return operation.WithLeft(ctx, left), func() {
		close(done)
		cancel()
		<-stopped
		lose(nil)
	}
}

// renew is one heartbeat. It takes no longer than until the next one.
func (w *Worker) renew(ctx context.Context, t *claimed) error {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Lease/3)
	defer cancel()
	now := w.now()
	return w.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		_, err := operation.Renew(tx, t.op.ID, t.lease, w.cfg.Lease, now)
		return err
	})
}
