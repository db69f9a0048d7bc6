package offramp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// ConfirmedType is the only type of a trusted confirmation event.
const ConfirmedType = "DEPOSIT_CONFIRMED"

// Confirmation is a trusted confirmation event (source article 000, R1–R46): a verifier has checked chain, destination,
// asset, amount and finality. Amount is the raw on-chain integer in decimal. The edge has validated the shape (R3–R5).
type Confirmation struct {
	EventID string
	Order   string // workflowId
	Ref     string
	Amount  string
}

// fingerprint covers what the event says, not how it was written (R7).
func (c Confirmation) fingerprint() string {
	body, err := json.Marshal([]string{ConfirmedType, c.Order, c.Ref, c.Amount})
	if err != nil { // strings always encode
		panic(err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// The outcomes of a confirmation.
const (
	Applied           = "applied"
	DuplicateDelivery = "duplicate-delivery"
	AlreadyApplied    = "already-applied"
)

// Confirmed is the answer to a confirmation.
type Confirmed struct {
	Outcome   string `json:"outcome"`
	Operation string `json:"operationId,omitempty"`
	State     State  `json:"state"`
}

// Confirm applies a trusted confirmation event, synchronously: nothing is acknowledged before it is applied. Checks run
// in the order event id, workflow, ref and amount, state; a refusal stores nothing, so that the same bytes are applied
// later when the state allows. Fault codes: event_conflict, workflow_unknown, mismatch, state_refused, operation_conflict.
func (s *Service) Confirm(ctx context.Context, c Confirmation) (Confirmed, error) {
	answer, err := s.confirm(ctx, c)
	if errors.Is(err, &store.ErrDuplicate{Collection: store.Inbox}) { // another delivery of the same event won (R32)
		answer, err = s.confirm(ctx, c)
	}
	if errors.Is(err, &store.ErrDuplicate{Collection: store.Outbox}) {
		return Confirmed{}, fault.New("operation_conflict", err)
	}
	return answer, err
}

func (s *Service) confirm(ctx context.Context, c Confirmation) (Confirmed, error) {
	var answer Confirmed
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		answer, err = knownEvent(r, c)
		return err
	})
	if err != nil || answer.Outcome != "" {
		return answer, err
	}
	err = s.ofOrder(ctx, c.Order, func(u *unit, o *Order) error {
		// Once more: a snapshot shows a receipt only when a majority of the store has it, a transaction shows it at once.
		if known, err := knownEvent(u.tx, c); err != nil || known.Outcome != "" {
			answer = known
			return err
		}
		answer = Confirmed{}
		d, err := u.confirmable(o, c)
		if err != nil {
			return err
		}
		if err := u.confirmed(o, d, &answer); err != nil {
			return err
		}
		answer.State = u.orders[o.ID].State
		return u.receipt(c, answer.Outcome)
	})
	if fault.Is(err, "order_unknown") {
		return Confirmed{}, fault.New("workflow_unknown", err)
	}
	if err != nil {
		return Confirmed{}, err
	}
	return answer, nil
}

// knownEvent answers from the receipt when the event id was handled before (R17, R18).
func knownEvent(r store.Reader, c Confirmation) (Confirmed, error) {
	var seen delivery.Receipt
	err := r.Get(store.Inbox, ids.ChainDelivery(c.EventID), &seen)
	if errors.Is(err, store.ErrNotFound) {
		return Confirmed{}, nil
	}
	if err != nil {
		return Confirmed{}, fmt.Errorf("read receipt: %w", err)
	}
	if seen.Fingerprint != c.fingerprint() {
		return Confirmed{}, fault.New("event_conflict", nil)
	}
	o, err := loadOrder(r, seen.Order)
	if err != nil {
		return Confirmed{}, err
	}
	return Confirmed{Outcome: DuplicateDelivery, State: o.State}, nil
}

// confirmable finds the deposit among those that count for the order: seen or credited, of its user and asset. One that is
// parked, or proven gone and not seen again, does not count.
func (u *unit) confirmable(o *Order, c Confirmation) (*deposit.Deposit, error) {
	var d deposit.Deposit
	err := u.tx.Get(store.Deposits, c.Ref, &d)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read deposit %s: %w", c.Ref, err)
	}
	counts := (d.Counted || d.Credited) && d.State != deposit.Parked
	if err != nil || !counts || d.User != o.User || d.Asset != o.Asset || d.Raw != c.Amount {
		return nil, fault.New("mismatch", nil)
	}
	return &d, nil
}

// confirmed credits the deposit where the state allows and lets the order follow. A fact that is in the history, or a
// deposit that is credited, was applied before, whatever became of the order (R13, R19).
func (u *unit) confirmed(o *Order, d *deposit.Deposit, answer *Confirmed) error {
	if o.knows(DepositConfirmed, ids.DepositSource(d.ID, d.Epoch)) ||
		d.Credited && o.State != Waiting && o.State != Overdue {
		answer.Outcome = AlreadyApplied
		return nil
	}
	if o.State != Deposit {
		return fault.New("state_refused", nil).With("state", string(o.State))
	}
	before := len(o.History)
	if err := u.deposit(deposit.Fact{Kind: deposit.FactConfirmed, Deposit: *d}); err != nil {
		return err
	}
	answer.Outcome = Applied
	if now := u.orders[o.ID]; now.State == Exchange && len(now.History) > before {
		answer.Operation = ids.Operation(string(operation.StartExchange), o.ID, 1)
	}
	return nil
}

// receipt records that the event was handled; its id is unique (R16, R28).
func (u *unit) receipt(c Confirmation, outcome string) error {
	r := &delivery.Receipt{
		Meta: newMeta(ids.ChainDelivery(c.EventID)), Source: delivery.Deposit, Kind: ConfirmedType, Reference: c.Ref,
		Partition: "order:" + c.Order, Fingerprint: c.fingerprint(), State: delivery.Done, Outcome: outcome, Order: c.Order,
		User: u.user.ID, SentAt: u.now, ReceivedAt: u.now, DoneAt: &u.now,
	}
	u.link(c.EventID, "receipt", r.ID)
	return u.tx.Insert(store.Inbox, r)
}
