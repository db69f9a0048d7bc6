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

// timerPage is how many due orders are read at once.
const timerPage = 16

// SweepTimers raises the event of one order whose due time has passed. It is a worker's step: worked says whether there
// was one. Orders whose event cannot be raised are passed over, so that they never hold the others up; their errors are
// returned as well. A restart needs no special path, because due times are in the documents.
func (s *Service) SweepTimers(ctx context.Context) (worked bool, err error) {
	q := store.Query{Collection: store.Orders, Index: "due", Until: s.now().Add(time.Millisecond), Limit: timerPage}
	var problems []error
	for {
		var due []*Order
		err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
			due, err = store.All[Order](r, q)
			return err
		})
		if err != nil {
			return false, errors.Join(append(problems, err)...)
		}
		for _, o := range due {
			if err := s.elapse(ctx, o.ID, *o.Due); err != nil {
				problems = append(problems, fmt.Errorf("raise timer of order %s: %w", o.ID, err))
				continue
			}
			return true, errors.Join(problems...)
		}
		if len(due) < timerPage || ctx.Err() != nil {
			return false, errors.Join(problems...)
		}
		last := due[len(due)-1]
		q.After = store.CursorOf(last, *last.Due)
	}
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
