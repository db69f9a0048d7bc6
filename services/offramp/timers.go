package offramp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

// timerRetry is when a timer whose event may not happen yet is tried again.
const timerRetry = 30 * time.Second

// mostTimers is how many due orders one step looks at.
const mostTimers = 16

// SweepTimers raises the event of one order whose due time has passed. It is a worker's step: worked says whether there
// was one. An order whose event cannot be raised is passed over, so that it never holds the others up; its error is
// returned as well. A restart needs no special path, because due times are in the documents.
func (s *Service) SweepTimers(ctx context.Context) (worked bool, err error) {
	var due []*Order
	until := s.now().Add(time.Millisecond)
	err = s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		due, err = store.All[Order](r, store.Query{Collection: store.Orders, Index: "due", Until: until, Limit: mostTimers})
		return err
	})
	var problems []error
	for _, o := range due {
		if err := s.elapse(ctx, o.ID, *o.Due); err != nil {
			problems = append(problems, fmt.Errorf("raise timer of order %s: %w", o.ID, err))
			continue
		}
		return true, errors.Join(problems...)
	}
	return false, errors.Join(append(problems, err)...)
}

// elapse raises the event of an order's timer, if it is still the same one.
func (s *Service) elapse(ctx context.Context, id string, due time.Time) error {
	return s.ofOrder(ctx, id, func(u *unit, o *Order) error {
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
