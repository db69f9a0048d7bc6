package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

// Verdict is the answer to a decision.
type Verdict struct {
	ID    string              `json:"id"`
	State admin.ApprovalState `json:"state"`
	Order string              `json:"order"`
	Now   offramp.State       `json:"order_state"`
}

// events maps what two people decide to the order's event.
var events = map[admin.Action]offramp.Event{
	admin.Settle: offramp.AdminSettled, admin.Release: offramp.AdminReleased, admin.Resume: offramp.AdminResumed,
	admin.SetSettings: "", // concerns no order
}

// goal is the state that an action is asked for. Where the fresh look-up alone brings the order there, the outside world
// and both people agree. A resumed order has no such state: it goes on.
func goal(action admin.Action) (offramp.State, bool) {
	switch action {
	case admin.Settle:
		return offramp.Success, true
	case admin.Release:
		return offramp.Failed, true
	default:
		return "", false
	}
}

// lacking says what the look-ups did not show, for each action.
var lacking = map[admin.Action]string{
	admin.Settle: "No fresh look-up shows the exact amount as paid",
	admin.Release: "Fresh look-ups do not show every attempt as unpaid, one was approved or is known paid, or a call may " +
		"still be in flight or not yet visible at the provider",
	admin.Resume: "The user owes something, an older attempt is known paid, or a call may still be in flight or not yet " +
		"visible at the venue",
	admin.SetSettings: "", // asks nobody outside
}

// decideTime bounds one decision; it is less than the HTTP server's write time-out.
const decideTime = 75 * time.Second

// errDecideTime is why a decision's time ended.
var errDecideTime = errors.New("the look-ups of a decision took too long")

// errRepeated ends a transaction whose request was answered before.
var errRepeated = errors.New("request was answered before")

// Decide approves or rejects what another person asked for. Approving makes fresh look-ups first and raises what they
// find (rule 3); then the order's event and the approval are one commit, on condition of the order's revision as it was
// asked. An order that has moved on, also by the look-ups, voids the approval — unless they brought it exactly where the
// action would have. A refusal for missing evidence leaves the approval open. Fault codes: forbidden, second_person,
// approval_unknown, approval_refused, approval_invalid, evidence_missing, idempotency_conflict.
func (s *Story) Decide(ctx context.Context, c admin.Change, approval string, approve bool) (admin.Changed, error) {
	if !admin.Can(c.Who.Role, admin.Decide) {
		return admin.Changed{}, fault.New("forbidden", nil)
	}
	if a, err := s.approvalOf(ctx, approval); err != nil || a.Action == admin.SetSettings {
		if err != nil {
			return admin.Changed{}, err
		}
		return s.decideSettings(ctx, c, approval, approve)
	}
	if !approve {
		return s.reject(ctx, c, approval)
	}
	// The look-ups of all attempts, one after the other, may take longer than a request may.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), decideTime, errDecideTime)
	defer cancel()
	a, o, stored, err := s.askedFor(ctx, c, approval)
	if err != nil || stored != nil {
		return answerOf(stored), err
	}
	if o.Revision != a.OrderRevision {
		return admin.Changed{}, s.movedOn(ctx, c, a, errMoved())
	}
	evidence, o, err := s.orders.Gather(ctx, a.Order)
	if err != nil {
		return admin.Changed{}, fmt.Errorf("look up order %s: %w", a.Order, err)
	}
	if want, ok := goal(a.Action); ok && o.Revision != a.OrderRevision && o.State == want {
		return s.reached(ctx, c, a)
	}
	return s.carryOut(ctx, c, a, evidence)
}

// askedFor reads the approval and its order and checks that this person may decide, before anybody outside is asked. A
// repeat of the request gets its stored answer.
func (s *Story) askedFor(ctx context.Context, c admin.Change, approval string) (
	a *admin.Approval, o *offramp.Order, stored *admin.Answer, err error,
) {
	err = s.view(ctx, func(r store.Reader) error {
		if stored, err = admin.Recall(r, c.Request); err != nil || stored != nil {
			return err
		}
		if a, err = admin.LoadApproval(r, approval); err != nil {
			return err
		}
		if err := s.staff.MayDecide(a, s.decision(c, 0)); err != nil {
			return err
		}
		o = &offramp.Order{}
		return r.Get(store.Orders, a.Order, o)
	})
	return a, o, stored, err
}

func (s *Story) decision(c admin.Change, revision int64) admin.Decision {
	return admin.Decision{Reason: c.Reason, By: c.Who, At: s.now(), Revision: revision}
}

// answerOf is a stored answer given again.
func answerOf(a *admin.Answer) admin.Changed {
	if a == nil {
		return admin.Changed{}
	}
	return admin.Changed{Status: a.Status, Body: a.Body, Repeated: true}
}

// reject closes the approval; the order is not touched.
func (s *Story) reject(ctx context.Context, c admin.Change, approval string) (admin.Changed, error) {
	d := s.decision(c, 0)
	return s.once(ctx, c, statusOK, func(tx store.Tx) (any, error) {
		a, err := s.staff.Reject(tx, approval, d)
		if err != nil {
			return nil, err
		}
		var o offramp.Order
		if err := tx.Get(store.Orders, a.Order, &o); err != nil {
			return nil, fmt.Errorf("read order %s: %w", a.Order, err)
		}
		return Verdict{ID: a.ID, State: a.State, Order: a.Order, Now: o.State}, nil
	})
}

// carryOut raises the order's event and marks the approval in one commit, with the answer to the request.
func (s *Story) carryOut(ctx context.Context, c admin.Change, a *admin.Approval, v offramp.Evidence) (admin.Changed, error) {
	act := offramp.Act{
		Order: a.Order, On: events[a.Action], Approval: a.ID, Who: c.Who.Actor(), Why: c.Reason, Evidence: v,
	}
	var body []byte
	_, err := s.orders.Decide(ctx, act, func(tx store.Tx, o *offramp.Order) (err error) {
		body, err = s.approve(tx, c, a.ID, o.Revision, after(o, act.On))
		return err
	})
	switch {
	case err == nil:
		return admin.Changed{Status: statusOK, Body: body}, nil
	case errors.Is(err, errRepeated), errors.Is(err, &store.ErrDuplicate{Collection: store.Counters}):
		return s.recall(ctx, c, err)
	case admin.IsMoved(err):
		return admin.Changed{}, s.movedOn(ctx, c, a, err)
	case fault.Is(err, "evidence_missing"):
		return admin.Changed{}, fault.As(err).With("why", lacking[a.Action])
	default:
		return admin.Changed{}, err
	}
}

// after is the state to which an event brings an order, as far as its row tells: all rows of one key agree on it. An
// event without a row is refused in the same transaction.
func after(o *offramp.Order, on offramp.Event) offramp.State {
	if rows := offramp.Next(o.State, o.Phase, on); len(rows) > 0 {
		return rows[0].To
	}
	return o.State
}

// approve marks the approval in the transaction that carries it out and stores the answer to the request.
func (s *Story) approve(tx store.Tx, c admin.Change, approval string, revision int64, state offramp.State) ([]byte, error) {
	stored, err := admin.Recall(tx, c.Request)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		return nil, errRepeated
	}
	a, err := s.staff.Approve(tx, approval, s.decision(c, revision))
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(Verdict{ID: a.ID, State: a.State, Order: a.Order, Now: state})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return body, admin.Remember(tx, c.Request, statusOK, body, s.now())
}

// reached closes the approval as approved where the look-ups alone brought the order where the action would have: two
// people and the outside world agree, and there is nothing left to carry out.
func (s *Story) reached(ctx context.Context, c admin.Change, a *admin.Approval) (admin.Changed, error) {
	var body []byte
	err := s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		var o offramp.Order
		if err := tx.Get(store.Orders, a.Order, &o); err != nil {
			return fmt.Errorf("read order %s: %w", a.Order, err)
		}
		if want, _ := goal(a.Action); o.State != want {
			return errMoved()
		}
		var err error
		body, err = s.approve(tx, c, a.ID, a.OrderRevision, o.State)
		return err
	})
	if errors.Is(err, errRepeated) || errors.Is(err, &store.ErrDuplicate{Collection: store.Counters}) {
		return s.recall(ctx, c, err)
	}
	if err != nil {
		return admin.Changed{}, err
	}
	return admin.Changed{Status: statusOK, Body: body}, nil
}

// recall gives the answer that another copy of the request stored.
func (s *Story) recall(ctx context.Context, c admin.Change, cause error) (admin.Changed, error) {
	var stored *admin.Answer
	err := s.view(ctx, func(r store.Reader) (err error) {
		stored, err = admin.Recall(r, c.Request)
		return err
	})
	if err != nil {
		return admin.Changed{}, err
	}
	if stored == nil {
		return admin.Changed{}, fmt.Errorf("recall answer: %w", cause)
	}
	return answerOf(stored), nil
}

// errMoved is the refusal of an approval whose order is not the one that was asked about any more.
func errMoved() error {
	return fault.New("approval_refused", nil).With("why", "the order has moved on since it was asked")
}

// movedOn records that an approval could not be carried out, in a transaction of its own, and returns why.
func (s *Story) movedOn(ctx context.Context, c admin.Change, a *admin.Approval, why error) error {
	at := s.now()
	err := s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		return admin.Refuse(tx, a.ID, c.Who.ID, "the order has moved on since it was asked", at)
	})
	if err != nil {
		return fmt.Errorf("record refused approval: %w", err)
	}
	return why
}
