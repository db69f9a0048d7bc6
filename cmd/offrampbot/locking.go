package main

import (
	"context"
	"errors"
	"fmt"

	"offrampbot/services/delivery"
	"offrampbot/services/inbox"
	"offrampbot/services/lock"
	"offrampbot/services/operation"
	"offrampbot/services/outbox"
)

// The lock keeps two processes from doing one person's or one order's work at the same moment. It only saves work: what
// must not happen twice is refused by the store, so a Redis that is down is no reason to wait (DESIGN §9).

// lockedMessages serialises one person's messages over all processes.
func (a *app) lockedMessages(next inbox.Handler) inbox.Handler {
	return inbox.HandlerFunc(func(ctx context.Context, r *delivery.Receipt, body []byte) error {
		return a.locked(ctx, "person:"+r.Partition, delivery.ErrBusy, func(ctx context.Context) error { return next.Handle(ctx, r, body) })
	})
}

// lockedOrder serialises the workers of one order over all processes.
func (a *app) lockedOrder(next outbox.HandlerFunc) outbox.HandlerFunc {
	return func(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
		return a.locked(ctx, "order:"+op.Order, operation.ErrBusy, func(ctx context.Context) error { return next(ctx, op, lease) })
	}
}

// locked runs fn under a lock. Held elsewhere means: busy, a moment later; a holder that died or could not give it back
// blocks nobody longer than the lock's life. A Redis that does not answer means: without the lock, also when it falls silent
// meanwhile: a call to a bank is not cut off for that, and what fn says is what happened.
func (a *app) locked(ctx context.Context, key string, busy error, fn func(ctx context.Context) error) error {
	ran := false
	var said error
	err := a.locker.Do(ctx, key, func(context.Context) error {
		ran = true
		said = fn(ctx)
		return nil
	})
	switch {
	case ran:
		return said
	case errors.Is(err, lock.ErrHeld):
		return fmt.Errorf("%w: %w", busy, err)
	default:
		return fn(ctx)
	}
}
