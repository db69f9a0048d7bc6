package inbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
)

// settle decides about a receipt whose handler returned an error.
func (w *Worker) settle(ctx context.Context, r *delivery.Receipt, err error) error {
	log := w.deps.Log.With("delivery_id", r.ID, "source", string(r.Source), "tries", r.Tries)
	now := w.deps.Now()
	wait := w.backoff(r.Tries)
	switch {
	case errors.Is(err, delivery.ErrLeaseLost):
		log.WarnContext(ctx, "receipt was lost to another worker", "error", err)
		return nil
	case ctx.Err() != nil: // the process stops
		return w.write(ctx, func(tx store.Tx) error { return delivery.GiveBack(tx, r, now) })
	case errors.Is(err, delivery.ErrUnhandled):
		log.WarnContext(ctx, "receipt of an unknown kind was kept", "kind", r.Kind)
		return w.setAside(ctx, r, delivery.MarkUnhandled, reason(err))
	case errors.Is(err, delivery.ErrBusy):
		wait = w.backoff(1)
		log.DebugContext(ctx, "receipt waits for somebody else", "error", err, "wait_ms", wait.Milliseconds())
		return w.write(ctx, func(tx store.Tx) error { return delivery.GiveBack(tx, r, now.Add(wait)) })
	case isDown(err): // no fault of the receipt
		log.WarnContext(ctx, "receipt waits for the store", "error", err, "wait_ms", wait.Milliseconds())
		return w.write(ctx, func(tx store.Tx) error { return delivery.GiveBack(tx, r, now.Add(wait)) })
	case r.Tries >= delivery.MaxTries:
		log.ErrorContext(ctx, "receipt was parked", "error", err)
		return w.setAside(ctx, r, delivery.Park, reason(err))
	}
	log.WarnContext(ctx, "receipt will be tried again", "error", err, "wait_ms", wait.Milliseconds())
	return w.write(ctx, func(tx store.Tx) error { return delivery.Retry(tx, r, now.Add(wait), reason(err)) })
}

// isDown reports whether the store is away, rather than the receipt bad. Nothing else is excused: a receipt that fails
// for ever must not hold its partition for ever.
func isDown(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrCommitUnknown)
}

func (w *Worker) setAside(
	ctx context.Context, r *delivery.Receipt,
	how func(tx store.Tx, r *delivery.Receipt, reason string, now time.Time) error, why string,
) error {
	now := w.deps.Now()
	w.deps.Metrics.DeliveryParked(string(r.Source))
	return w.write(ctx, func(tx store.Tx) error { return how(tx, r, why, now) })
}

// write changes the receipt under its lease, also while the process stops. A lease that is gone needs no writing.
func (w *Worker) write(ctx context.Context, change func(tx store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StoreTimeout)
	defer cancel()
	err := w.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error { return change(tx) })
	if errors.Is(err, delivery.ErrLeaseLost) {
		return nil
	}
	return err
}

// backoff doubles with each try, keeps half of it and draws the rest.
func (w *Worker) backoff(tries int) time.Duration {
	wait := min(w.cfg.BackoffMax, w.cfg.BackoffMin<<min(max(0, tries-1), 16))
	return wait/2 + time.Duration(w.cfg.JitterFunc(int64(wait/2)+1))
}

// reason is an error as it is stored.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(reasonLength, len(text))], "")
}
