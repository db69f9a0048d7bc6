package offramp

import (
	"context"
	"errors"

	"offrampbot/services/fault"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// Gather makes a fresh look-up of every attempt that was ever called, raises what is conclusive, and returns the
// evidence with the order as it stands afterwards (rule 3). Release, settle and resume need it.
func (s *Service) Gather(ctx context.Context, orderID string) (Evidence, *Order, error) {
	o, err := s.Order(ctx, orderID)
	if err != nil {
		return Evidence{}, nil, err
	}
	v := Evidence{OlderNotPaid: true, CurrentNotPaid: true, VenueUnknown: true, At: s.now()}
	phases := []Phase{ExchangePhase(1)}
	for _, a := range o.Attempts {
		phases = append(phases, PayoutPhase(a.N))
	}
	for _, p := range phases {
		if err := s.gather(ctx, o, p, &v); err != nil {
			return Evidence{}, nil, err
		}
	}
	o, err = s.Order(ctx, orderID)
	return v, o, err
}

// gather asks about one attempt. An attempt that was never called is conclusively not paid.
func (s *Service) gather(ctx context.Context, o *Order, p Phase, v *Evidence) error {
	var op *operation.Operation
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		op, err = operation.Load(r, o.operationOf(p))
		return err
	})
	if err != nil {
		return err
	}
	if op.Calls == 0 {
		return nil
	}
	f := s.ask(ctx, o, op)
	paid := f.On == PayoutPaid
	notPaid := f.unknown || f.On == PayoutFailed || f.On == PayoutReversed
	switch {
	case p.Kind() == OnExchange:
		v.VenueUnknown = f.unknown || f.On == ExchangeFailed
	case p.Attempt() == o.Attempt:
		v.CurrentPaid, v.CurrentNotPaid, v.CurrentFee = paid, notPaid, f.Fee
	default:
		if paid {
			v.OlderPaid = append(v.OlderPaid, p.Attempt())
		}
		v.OlderNotPaid = v.OlderNotPaid && notPaid
	}
	if f.On == "" || p.Kind() == OnExchange && o.Exchanged {
		return nil
	}
	f.ID = op.ID + ":gathered"
	if _, _, err := s.Raise(ctx, o.ID, f.Occurrence); err != nil && !refused(err) {
		return err
	}
	return nil
}

// Act is what two admins decided, with its evidence.
type Act struct {
	Order    string
	On       Event // AdminSettled, AdminReleased or AdminResumed
	Approval string
	Who      string // staff:<id> of the second person
	Why      string
	Evidence Evidence
}

// Decide raises an admin's event; with runs first in the same transaction, on the order as it stands, and marks the
// approval, which binds the order's revision. Fault codes: evidence_missing, and what with returns.
func (s *Service) Decide(ctx context.Context, a Act, with func(tx store.Tx, o *Order) error) (*Order, error) {
	var done *Order
	err := s.ofOrder(ctx, a.Order, func(u *unit, o *Order) error {
		if err := with(u.tx, o); err != nil {
			return err
		}
		u.evidence[o.ID] = a.Evidence
		err := u.raise(o, Occurrence{
			On: a.On, ID: a.Approval, Key: a.Approval, Attempt: o.Phase.Attempt(), By: ByTwoAdmins, Who: a.Who, Why: a.Why, At: u.now,
		})
		done = u.orders[o.ID]
		if errors.Is(err, ErrApplied) { // the same approval again, as after a commit whose answer was lost
			return nil
		}
		if refused(err) {
			return fault.New("evidence_missing", err).With("state", string(o.State)).With("action", string(a.On))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}
