package offramp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/exchange"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/money"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// hintGiveUp is how long a look-up goes on after the order itself no longer waits for it (DESIGN §8).
const hintGiveUp = 72 * time.Hour

// LookUp asks venue or provider what became of an attempt and raises the answer. Only this moves an unknown on.
func (s *Service) LookUp(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	var o *Order
	var target *operation.Operation
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		if o, err = loadOrder(r, op.Order); err != nil {
			return err
		}
		target, err = operation.Load(r, op.Target)
		return err
	})
	if err != nil {
		return err
	}
	a := s.ask(ctx, o, target)
	a.ID = op.ID
	return s.answer(ctx, op, lease, target.ID, a)
}

// found is what a look-up learnt: an event when the answer is conclusive (On is empty otherwise), and whether the other
// side conclusively does not know the reference.
type found struct {
	Occurrence
	unknown bool
	safe    bool // the same reference may be sent again
}

// ask makes the look-up.
func (s *Service) ask(ctx context.Context, o *Order, target *operation.Operation) found {
	if target.Kind != operation.StartExchange {
		rail, ok := s.rails[target.Rail]
		if !ok {
			return found{Occurrence: Occurrence{Reason: "rail is not configured"}}
		}
		r := s.consult(ctx, rail, o, target)
		f := found{payoutEvent(o, target.Attempt, r), unknownToProvider(r), rail.SameReferenceSafe()}
		f.Fresh, f.Provider = true, target.Rail
		return f
	}
	venue, ok := s.venues[target.Rail]
	if !ok {
		return found{Occurrence: Occurrence{Reason: "venue is not configured"}}
	}
	ask, cancel := s.bounded(ctx, "look-up")
	defer cancel()
	start := s.now()
	r := filled(venue.LookUp(ask, target.Reference), o)
	s.watcher.Outcome(ctx, target.Rail, "look-up", string(r.Outcome), s.now().Sub(start))
	e := Occurrence{
		Attempt: target.Attempt, By: ByLookUp, Fresh: true, Provider: target.Rail, ProviderID: r.VenueID, Reason: r.Reason,
	}
	switch r.Outcome {
	case exchange.Success:
		e.On = ExchangeDone
	case exchange.Failed:
		e.On = ExchangeFailed
	default:
	}
	return found{e, unknownToVenue(r), venue.SameReferenceSafe()}
}

// answer commits what a look-up learnt, on condition of its lease, and plans the next one.
func (s *Service) answer(ctx context.Context, op *operation.Operation, lease operation.Lease, target string, f found) error {
	return s.ofOrder(ctx, op.Order, func(u *unit, o *Order) error {
		held, err := operation.Hold(u.tx, op.ID, lease, u.now)
		if err != nil {
			return err
		}
		u.ops[held.ID] = held
		e := f.Occurrence
		e.At = u.now
		if e.On != "" {
			if err := u.learnt(o, target, e); err != nil {
				return err
			}
		} else if f.unknown && f.safe {
			if err := u.resend(o, target); err != nil {
				return err
			}
		}
		if u.changed[held.ID] { // the row planned it anew
			return nil
		}
		u.plan(u.orders[o.ID], held, e.On != "")
		return nil
	})
}

// learnt raises a conclusive answer; where it is refused or already applied it still closes the target (rule 1), and
// after a final state a contradiction is recorded and alarmed (DESIGN §8).
func (u *unit) learnt(o *Order, target string, e Occurrence) error {
	if e.On == PayoutFailed && o.watches(e.Attempt) { // nothing new
		return nil
	}
	err := u.raise(o, e)
	if !refused(err) {
		return err
	}
	u.refusal(o, e, err)
	if o.State.Final() && o.contradicts(e) {
		u.alert("contradiction", o.ID+":"+string(e.On)+":"+e.key(), alertReason(o, e))
	}
	op, err := u.operation(target)
	if err != nil || op == nil || op.State.Closed() || op.Calls == 0 {
		return err
	}
	u.end(op, e)
	return nil
}

// watches reports whether the order went on without an attempt that failed. It is asked about again, because a failure
// that the provider takes back is a second payment.
func (o *Order) watches(attempt int) bool {
	a := o.attempt(attempt)
	return a != nil && (a.State == AttemptFailed || a.State == AttemptReversed) &&
		(o.State.Final() || o.Phase != PayoutPhase(attempt))
}

// contradicts reports whether an answer that has no row is not what the order's record says.
func (o *Order) contradicts(e Occurrence) bool {
	a := o.attempt(e.Attempt)
	switch e.On {
	case PayoutFailed, PayoutReversed:
		return a != nil && a.State == AttemptPaid
	case PayoutPaid:
		return a == nil || a.State != AttemptPaid
	case ExchangeFailed:
		return o.knows(ExchangeDone, e.key())
	default:
		return !o.knows(e.On, e.key())
	}
}

// resend makes an unclear attempt due again under the same reference, once no earlier call can be in flight: the other
// side does not know it, and a repeat of the reference cannot happen twice there. It ends when the look-ups are given up,
// also while their timer still waits for the last call to come to light (rule 3).
func (u *unit) resend(o *Order, target string) error {
	op, err := u.operation(target)
	if err != nil || op == nil {
		return err
	}
	if !current(o, op) || o.State != Unclear || op.State.Closed() || op.Due != nil || op.Lease != nil ||
		o.GiveUpAt != nil && !u.now.Before(*o.GiveUpAt) {
		return nil
	}
	if op.LastCall != nil && u.now.Before(op.LastCall.Add(u.s.policy.ProviderTimeout)) {
		return nil
	}
	c := *op
	c.Due = &u.now
	u.ops[c.ID], u.changed[c.ID] = &c, true
	return nil
}

// plan says when the same look-up is made again. Without an answer it is made on the schedule while the order waits for
// one, and for 72 hours after its end; with one, where an ended attempt is watched, at 1, 24 and 72 hours. Somebody who
// hinted while it was made may have come after its answer: then it is made again at once.
func (u *unit) plan(o *Order, op *operation.Operation, conclusive bool) {
	hinted := op.Due != nil && !op.Due.After(u.now) // a lease moves it behind its own end
	c := *op
	c.Lease, c.Tries, c.Reason = nil, 0, ""
	due := o.nextWatch(op, u.now)
	if conclusive {
		c.Calls, c.FirstCall = 0, nil
	} else {
		c.Calls++
		if c.FirstCall == nil {
			c.FirstCall = &u.now
		}
		if !o.State.Final() || u.now.Sub(*c.FirstCall) < hintGiveUp {
			due = u.now.Add(u.s.policy.lookUpAfter(c.Calls))
		}
	}
	if hinted && (conclusive || due.IsZero()) {
		due = u.now
	}
	if due.IsZero() {
		c.State, c.Due, c.DoneAt, c.Outcome = operation.Done, nil, &u.now, "answered"
	} else {
		c.State, c.Due = operation.Pending, &due
	}
	u.ops[c.ID], u.changed[c.ID] = &c, true
}

// nextWatch is the next of the look-ups of an ended payout attempt: after a success from the end of the order on, after a
// failure from the look-up's own beginning. It is zero after the last, and for anything else.
func (o *Order) nextWatch(op *operation.Operation, now time.Time) time.Time {
	since := op.CreatedAt
	switch {
	case op.Target != o.operationOf(PayoutPhase(op.Attempt)):
		return time.Time{}
	case o.State == Success && op.Attempt == o.Paid:
		since = *o.EndedAt
	case !o.watches(op.Attempt):
		return time.Time{}
	}
	for _, after := range watchEnded {
		if at := since.Add(after); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// Hint makes sure that a look-up of an attempt is due now, because somebody says that something happened to it; then
// runs with in the same transaction. Fault code order_unknown when nobody has the reference.
func (s *Service) Hint(ctx context.Context, reference string, with func(tx store.Tx, o *Order) error) error {
	var id string
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		o, err := store.First[Order](r, store.Query{Collection: store.Orders, Index: "attempt", Equal: []any{reference}})
		if err == nil {
			id = o.ID
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return fault.New("order_unknown", err)
	}
	if err != nil {
		return err
	}
	return s.ofOrder(ctx, id, func(u *unit, o *Order) error {
		a, _ := o.AttemptOf(reference)
		if err := u.hint(o, a); err != nil {
			return err
		}
		return with(u.tx, o)
	})
}

func (u *unit) hint(o *Order, a Attempt) error {
	target, err := u.operation(o.operationOf(PayoutPhase(a.N)))
	if err != nil || target == nil {
		return err
	}
	return u.askAbout(o, target)
}

// askAbout makes sure that a look-up of an operation is due now. The order is replaced, so that its latest look-up is
// known and no two transactions make the same one.
func (u *unit) askAbout(o *Order, target *operation.Operation) error {
	open, err := u.openLookUp(o, target.ID)
	if err != nil {
		return err
	}
	if open != nil {
		if open.Due.After(u.now) || open.Tries > 0 {
			c := *open
			c.Due, c.Tries = &u.now, 0
			u.ops[c.ID], u.changed[c.ID] = &c, true
		}
		return nil
	}
	c := u.orders[o.ID].clone()
	c.LookUps++
	id := ids.LookUp(target.ID, c.LookUps)
	if target.ID == c.OperationID() {
		c.LookUp = id
	}
	op := operation.New(operation.LookUp, id, o.ID, o.User, "order:"+o.ID, u.now, u.now)
	op.Target, op.Attempt = target.ID, target.Attempt
	u.orders[o.ID], u.dirty[o.ID] = c, true
	u.ops[id], u.fresh[id] = op, true
	return nil
}

// openLookUp finds a look-up of an operation that is not closed; nil if there is none.
func (u *unit) openLookUp(o *Order, target string) (*operation.Operation, error) {
	last, err := u.operation(o.LookUp)
	if err != nil || last != nil && !last.State.Closed() && last.Target == target {
		return last, err
	}
	all, err := store.All[operation.Operation](u.tx, store.Query{
		Collection: store.Outbox, Index: "order", Equal: []any{o.ID}, Descending: true,
	})
	if err != nil {
		return nil, fmt.Errorf("find look-ups of %s: %w", o.ID, err)
	}
	for _, op := range all {
		if known := u.ops[op.ID]; known != nil {
			op = known
		}
		if op.Kind == operation.LookUp && op.Target == target && !op.State.Closed() {
			return op, nil
		}
	}
	return nil, nil
}

// Approve answers the provider's question whether a transfer may go out: yes only in a transaction that finds the attempt
// current and the amount exact, and that stores the approval on the operation (DESIGN §8).
func (s *Service) Approve(ctx context.Context, reference string, amount money.Minor) (bool, error) {
	approved := false
	var id string
	err := s.engine.View(ctx, func(_ context.Context, rd store.Reader) error {
		o, err := store.First[Order](rd, store.Query{Collection: store.Orders, Index: "attempt", Equal: []any{reference}})
		if err == nil {
			id = o.ID
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = s.ofOrder(ctx, id, func(u *unit, o *Order) error {
		approved = false
		op, err := u.operation(o.OperationID())
		if err != nil {
			return err
		}
		if op == nil || op.Reference != reference || !current(o, op) || op.Calls == 0 || amount != o.Net || u.user.Frozen != nil {
			return nil
		}
		c := *op
		c.Approved = true
		u.ops[c.ID], u.changed[c.ID] = &c, true
		approved = true
		return nil
	})
	return approved, err
}
