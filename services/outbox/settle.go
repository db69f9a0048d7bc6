package outbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/loop"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// settle decides about an operation whose handler returned an error.
func (w *Worker) settle(ctx context.Context, t *claimed, err, cause error) error {
	log := w.log.With("operation_id", t.op.ID, "order_id", t.op.Order, "tries", t.op.Tries)
	switch {
	case errors.Is(err, operation.ErrLeaseLost), errors.Is(cause, operation.ErrLeaseLost):
		log.WarnContext(ctx, "operation was lost to another worker", "error", err)
		return nil
	case errors.Is(cause, loop.ErrStop), ctx.Err() != nil:
		return w.write(ctx, t, operation.GiveBack)
	case errors.Is(err, operation.ErrBusy):
		wait := w.backoff(1, nil)
		log.DebugContext(ctx, "operation waits for somebody else", "error", err, "wait_ms", wait.Milliseconds())
		return w.write(ctx, t, func(tx store.Tx, op *operation.Operation, now time.Time) error {
			return operation.GiveBack(tx, op, now.Add(wait))
		})
	case t.op.Tries >= w.cfg.MaxTries:
		log.ErrorContext(ctx, "operation was parked", "error", err)
		return w.park(ctx, t, reason(err))
	}
	wait := w.backoff(t.op.Tries, err)
	log.WarnContext(ctx, "operation will be tried again", "error", err, "wait_ms", wait.Milliseconds())
	return w.write(ctx, t, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return operation.Retry(tx, op, now.Add(wait), reason(err))
	})
}

// park hands the operation to the parker, and tries again later when even that does not work: it is never left behind.
func (w *Worker) park(ctx context.Context, t *claimed, why string) error {
	parkCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StoreTimeout)
	defer cancel()
	err := w.parker.OnPark(parkCtx, t.op, why)
	if err == nil || errors.Is(err, operation.ErrLeaseLost) {
		return nil
	}
	w.log.ErrorContext(ctx, "operation could not be parked", "operation_id", t.op.ID, "error", err)
	return w.write(ctx, t, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return operation.Retry(tx, op, now.Add(w.cfg.BackoffMax), why)
	})
}

// write changes the operation under its lease, also while the process stops. A lease that is gone needs no writing: the
// handler has closed the operation, or somebody else has it.
func (w *Worker) write(
	ctx context.Context, t *claimed, change func(tx store.Tx, op *operation.Operation, now time.Time) error,
) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StoreTimeout)
	defer cancel()
	now := w.now()
	err := w.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op, err := operation.Hold(tx, t.op.ID, t.lease, now)
		if err != nil {
			return err
		}
		return change(tx, op, now)
	})
	if errors.Is(err, operation.ErrLeaseLost) {
		return nil
	}
	return err
}

// backoff doubles with each try, keeps half of it and draws the rest, so that many operations do not return together. A
// provider's own "retry after" is the least.
func (w *Worker) backoff(tries int, err error) time.Duration {
	wait := w.cfg.BackoffMax
	if shift := max(0, tries-1); shift < 32 {
		wait = min(wait, w.cfg.BackoffMin<<shift)
	}
	wait = wait/2 + time.Duration(w.cfg.JitterFunc(int64(wait/2)+1))
	var f *fault.Error
	if errors.As(err, &f) {
		wait = max(wait, f.RetryAfter)
	}
	return wait
}

// parking is the parker of operations that hold no money.
type parking struct{ w *Worker }

// OnPark implements Parker.
func (p parking) OnPark(ctx context.Context, op *operation.Operation, reason string) error {
	now := p.w.now()
	return p.w.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, err := operation.Hold(tx, op.ID, *op.Lease, now)
		if err != nil {
			return err
		}
		return operation.Park(tx, held, reason, now)
	})
}

// reason is an error as it is stored.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(reasonLength, len(text))], "")
}
