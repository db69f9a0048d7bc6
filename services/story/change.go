package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"offrampbot/services/admin"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// HTTP statuses of answers: a changed record, and a new one.
const (
	statusOK      = 200
	statusCreated = 201
)

// once runs a mutation at most once per request and returns its answer. The answer is stored with the effect.
func (s *Story) once(
	ctx context.Context, c admin.Change, status int, fn func(tx store.Tx) (answer any, err error),
) (admin.Changed, error) {
	stored, repeated, err := s.staff.Once(ctx, c.Request, func(_ context.Context, tx store.Tx) (int, []byte, error) {
		answer, err := fn(tx)
		if err != nil {
			return 0, nil, err
		}
		body, err := json.Marshal(answer)
		if _, waits := answer.(accepted); waits {
			return statusAccepted, body, err
		}
		return status, body, err
	})
	if err != nil {
		return admin.Changed{}, err
	}
	return admin.Changed{Status: stored.Status, Body: stored.Body, Repeated: repeated}, nil
}

// PutSettings changes settings, all or none. Where one of them needs a second person (setting.Second) nothing is changed:
// all wait, and the answer is 202 with the {id} of the approval. Fault codes: forbidden, setting_invalid,
// approval_invalid (the reason), approval_refused (another change waits), idempotency_conflict.
func (s *Story) PutSettings(ctx context.Context, c admin.Change, settings map[string]string) (admin.Changed, error) {
	if !admin.Can(c.Who.Role, admin.ChangeSetting) {
		return admin.Changed{}, fault.New("forbidden", nil)
	}
	at := s.now()
	return s.once(ctx, c, statusOK, func(tx store.Tx) (any, error) {
		wanted, needed, err := s.settings.Second(tx, settings)
		if err != nil {
			return nil, err
		}
		if needed {
			ask := admin.Ask{ID: c.Request.Scope.ApprovalID(), Reason: c.Reason, By: c.Who, At: at}
			a, err := admin.OpenSettings(tx, ask, wanted)
			if err != nil {
				return nil, err
			}
			return accepted{ID: a.ID}, nil
		}
		return s.settings.Change(tx, c.Who.Actor(), strings.TrimSpace(c.Reason), settings, at)
	})
}

// AskApproval asks a second person to settle, release or resume an order, which must be in review; the request binds the
// order's revision as it is now. The order may be given by any id that leads to it. The answer is {id}. Fault codes:
// forbidden, order_unknown, approval_invalid, approval_refused, idempotency_conflict.
func (s *Story) AskApproval(ctx context.Context, c admin.Change, action admin.Action, order string) (admin.Changed, error) {
	if !admin.Can(c.Who.Role, admin.AskApproval) {
		return admin.Changed{}, fault.New("forbidden", nil)
	}
	if order == "" {
		return admin.Changed{}, fault.New("approval_invalid", nil).With("what", "the order")
	}
	at := s.now()
	return s.once(ctx, c, statusCreated, func(tx store.Tx) (any, error) {
		o, err := s.order(tx, order)
		if err != nil {
			return nil, err
		}
		a, err := admin.OpenApproval(tx, admin.Ask{
			ID: c.Request.Scope.ApprovalID(), Action: action, Order: o.ID, Revision: o.Revision, Reason: c.Reason, By: c.Who, At: at,
		})
		if err != nil {
			return nil, err
		}
		if o.State != offramp.Review {
			return nil, fault.New("approval_refused", nil).With("why", "the order is "+string(o.State)+", not in review")
		}
		return map[string]string{"id": a.ID}, nil
	})
}

// Redrive makes a parked record due again, with its audit entry in the same transaction. Receipts and messages are
// tried again; a money operation goes on only by its order's resume. Fault codes: forbidden, approval_invalid (the
// reason), parked_unknown, redrive_refused, idempotency_conflict.
func (s *Story) Redrive(ctx context.Context, c admin.Change, record string) (admin.Changed, error) {
	if !admin.Can(c.Who.Role, admin.Redrive) {
		return admin.Changed{}, fault.New("forbidden", nil)
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(c.Reason)); n < 3 || n > 500 {
		return admin.Changed{}, fault.New("approval_invalid", nil).With("what", "the reason (3 to 500 characters)")
	}
	return s.once(ctx, c, statusOK, func(tx store.Tx) (any, error) {
		p, err := s.redrive(tx, record, c)
		if err != nil {
			return nil, err
		}
		return map[string]string{"id": p.ID, "record": p.Record, "state": p.State}, nil
	})
}

func (s *Story) redrive(tx store.Tx, record string, c admin.Change) (*ParkedRow, error) {
	at := s.now()
	p, err := known(tx, record)
	if err != nil {
		return nil, err
	}
	before := p.State
	if p.Record == "receipt" {
		rec, err := delivery.Redrive(tx, record, at)
		if err != nil {
			return nil, err
		}
		p.State = string(rec.State)
	} else {
		op, err := operation.Load(tx, record)
		if err != nil {
			return nil, err
		}
		if err := operation.Rearm(tx, op, at, "driven again by staff"); err != nil {
			return nil, err
		}
		p.State = string(op.State)
	}
	stream := c.Who.Actor()
	if p.Order != "" {
		stream = "order:" + p.Order
	}
	return p, audit.Append(tx, audit.Entry{
		Stream: stream, At: at, Actor: c.Who.Actor(), Action: "record driven again", Why: strings.TrimSpace(c.Reason), Before: before,
		After: p.State, Data: map[string]string{"id": p.ID, "record": p.Record, "kind": p.Kind, "reason": p.Reason},
	})
}

// known is the parked record of an id, or the refusal that says why it cannot be driven again.
func known(tx store.Tx, record string) (*ParkedRow, error) {
	p, err := parked(tx, record)
	if err != nil {
		return nil, err
	}
	refused := func(why string) error { return fault.New("redrive_refused", nil).With("why", why) }
	switch {
	case p == nil:
		for _, c := range []store.Collection{store.Inbox, store.Outbox} {
			var h head
			if err := tx.Get(c, record, &h); err == nil {
				return nil, refused("it does not wait for a person any more")
			} else if !errors.Is(err, store.ErrNotFound) {
				return nil, fmt.Errorf("look up record: %w", err)
			}
		}
		return nil, fault.New("parked_unknown", nil)
	case !p.Redrive:
		return nil, refused("it moves money: ask for an approval to resume its order instead")
	}
	return p, nil
}
