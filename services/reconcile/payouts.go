package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/store"
)

// orderAge is how long before its payout an order may have been placed: deposits and people take their time.
const orderAge = 30 * 24 * time.Hour

// clockSlack is how far a provider's clock may be ahead of ours.
const clockSlack = 10 * time.Minute

// ours is how our references at providers begin.
const ours = "ofr-"

// payouts compares the paid orders of the window with the ledger and with each provider's statement, in both directions.
func (r *Reconciler) payouts(ctx context.Context, out *Report) error {
	now := r.d.Now().UTC()
	from := now.Add(-r.window)
	paid, err := r.paid(ctx, from, out) // before the statement is read: what is paid here must be in there
	if err != nil {
		return err
	}
	for _, s := range r.d.Statements {
		transfers, err := s.Transfers(ctx, from, now.Add(clockSlack))
		if err != nil {
			out.differs("statement:"+s.Name(), "statement", "the provider does not list its transfers, nothing is proven: %v", err)
			continue
		}
		listed := map[string]payout.Result{}
		for _, t := range transfers {
			if before, twice := listed[t.Reference]; twice && before.Outcome == payout.Success && t.Outcome == payout.Success {
				out.differs(t.Reference, "I1", "%s lists two paid transfers under one reference", s.Name())
			}
			listed[t.Reference] = t
			if err := r.transfer(ctx, s.Name(), t, out); err != nil {
				return err
			}
		}
		out.Checked["transfers"] += len(transfers)
		for _, p := range paid {
			if _, there := listed[p.attempt.Reference]; !there && p.attempt.Rail == s.Name() {
				out.differs(p.order, "statement", "attempt %d is paid, and %s does not list its reference", p.attempt.N, s.Name())
			}
		}
	}
	return nil
}

// paidAttempt is one payout that we believe paid.
type paidAttempt struct {
	order   string
	attempt offramp.Attempt
}

// paid walks the orders that may have been paid in the window, checks each against its postings, and lists the attempts
// that were made in the window and are paid.
func (r *Reconciler) paid(ctx context.Context, from time.Time, out *Report) ([]paidAttempt, error) {
	var list []paidAttempt
	q := store.Query{Collection: store.Orders, Index: "created", From: from.Add(-orderAge), Limit: perView}
	for {
		var all []*offramp.Order
		err := r.view(ctx, func(rd store.Reader) (err error) {
			all, err = store.All[offramp.Order](rd, q)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		for _, o := range all {
			found, err := r.checker.One(ctx, o.ID)
			if err != nil {
				return nil, fmt.Errorf("check order %s: %w", o.ID, err)
			}
			for _, d := range found {
				out.Differences = append(out.Differences, Difference{d.ID, d.Rule, d.Text})
			}
			out.Checked["orders"]++
			for _, a := range o.Attempts {
				if a.State == offramp.AttemptPaid && !a.At.Before(from) {
					list = append(list, paidAttempt{o.ID, a})
				}
			}
		}
		if len(all) < perView {
			return list, nil
		}
		last := all[len(all)-1]
		q.After = store.CursorOf(last, last.CreatedAt)
	}
}

// transfer compares one line of a statement with its order.
func (r *Reconciler) transfer(ctx context.Context, provider string, t payout.Result, out *Report) error {
	o, err := r.orderOf(ctx, t.Reference)
	if fault.Is(err, "order_unknown") {
		if strings.HasPrefix(t.Reference, ours) {
			out.differs(t.Reference, "statement", "%s lists a transfer of ours that no order knows, %s", provider, t.Outcome)
		} else {
			out.explains(t.Reference, "statement", "%s lists a transfer that was not made by this bot", provider)
		}
		return nil
	}
	if err != nil {
		return err
	}
	a, _ := o.AttemptOf(t.Reference)
	isPaid := a.State == offramp.AttemptPaid
	switch {
	case t.Outcome == payout.Success && (t.Amount != o.Net || t.Currency != o.Fiat):
		out.differs(o.ID, "I10", "%s paid %d %s for attempt %d, quoted are %d %s", provider, t.Amount, t.Currency, a.N, o.Net, o.Fiat)
	case t.Outcome == payout.Success && isPaid:
	case t.Outcome == payout.Success && !o.State.Final():
		out.explains(o.ID, "statement", "%s paid attempt %d, the order is %s and still being looked up", provider, a.N, o.State)
	case t.Outcome == payout.Success:
		out.differs(o.ID, "I1", "%s paid attempt %d, which is %s, and the order is %s", provider, a.N, a.State, o.State)
	case isPaid && t.Outcome == payout.Unknown:
		out.differs(o.ID, "statement", "attempt %d is paid, and what %s lists is not recognised: %s", a.N, provider, t.RawStatus)
	case isPaid:
		out.differs(o.ID, "I14", "attempt %d is paid, and %s lists it as %s", a.N, provider, t.Outcome)
	}
	return nil
}

// orderOf finds the order of a provider's reference. Fault code: order_unknown.
func (r *Reconciler) orderOf(ctx context.Context, reference string) (*offramp.Order, error) {
	var o *offramp.Order
	err := r.view(ctx, func(rd store.Reader) (err error) {
		o, err = store.First[offramp.Order](rd, store.Query{Collection: store.Orders, Index: "attempt", Equal: []any{reference}})
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New("order_unknown", err)
	}
	if err != nil {
		return nil, fmt.Errorf("find order of %s: %w", reference, err)
	}
	return o, nil
}
