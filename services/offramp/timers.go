package offramp

import (
	"context"
	"errors"
	"time"

	"offrampbot/services/store"
)

// timerRetry is when a timer whose event may not happen yet is tried again.
const timerRetry = 30 * time.Second

// SweepTimers raises the event of one order whose due time has passed. It is a worker's step: worked says whether there
// was one. A restart needs no special path, because due times are in the documents.
func (s *Service) SweepTimers(ctx context.Context) (worked bool, err error) {
	now := s.now()
	var o *Order
	err = s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		o, err = store.First[Order](r, store.Query{Collection: store.Orders, Index: "due", Until: now.Add(time.Millisecond)})
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	due := *o.Due
	return true, s.ofOrder(ctx, o.ID, func(u *unit, o *Order) error {
		if o.Due == nil || !o.Due.Equal(due) {
			return nil
		}
		e := Occurrence{On: o.DueFor, ID: "timer:" + o.ID, By: ByTimer, At: u.now, Due: o.Due}
		err := u.raise(o, e)
		if !refused(err) {
			return err
		}
		// Not yet: a call may still be in flight. The timer stays, later.
		c := o.clone()
		later := u.now.Add(timerRetry)
		c.Due = &later
		u.orders[c.ID], u.dirty[c.ID] = c, true
		return nil
	})
}

// NextTimer is when the next order's timer is due; ok is false when none is.
func (s *Service) NextTimer(ctx context.Context) (at time.Time, ok bool, err error) {
	err = s.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		o, err := store.First[Order](r, store.Query{Collection: store.Orders, Index: "due"})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err == nil {
			at, ok = *o.Due, true
		}
		return err
	})
	return at, ok, err
}
