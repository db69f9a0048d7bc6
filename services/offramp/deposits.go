package offramp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// ApplyDeposit commits one fact about one deposit: the deposit document, its postings, and the events it raises on the
// user's orders, in one transaction (rule 7). A repeat changes nothing. A credit or reversal is unconditional: an order
// event that is refused is recorded in the same commit and never stops it.
func (s *Service) ApplyDeposit(ctx context.Context, f deposit.Fact) error {
	if f.Deposit.User == "" {
		return s.applyUnowned(ctx, f)
	}
	return s.ofUser(ctx, f.Deposit.User, func(u *unit) error { return u.deposit(f) })
}

var _ deposit.Applier = (*Service)(nil)

// stored reads what is recorded of a deposit; a new one has revision 0.
func stored(tx store.Tx, f deposit.Fact) (*deposit.Deposit, error) {
	var d deposit.Deposit
	err := tx.Get(store.Deposits, f.Deposit.ID, &d)
	if errors.Is(err, store.ErrNotFound) {
		d = f.Deposit
		d.Meta = newMeta(f.Deposit.ID)
		d.State, d.Epoch, d.Credited, d.Counted = "", 1, false, false
		return &d, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read deposit %s: %w", f.Deposit.ID, err)
	}
	return &d, nil
}

// observe copies what the chain says now, and keeps what we booked.
func observe(d *deposit.Deposit, seen deposit.Deposit) {
	d.Block, d.BlockHash, d.Depth, d.Open, d.Reason = seen.Block, seen.BlockHash, seen.Depth, seen.Open, seen.Reason
}

func saveDeposit(tx store.Tx, d *deposit.Deposit) error {
	if d.Revision == 0 {
		return tx.Insert(store.Deposits, d)
	}
	return tx.Replace(store.Deposits, d)
}

// deposit applies one fact of an owned deposit.
func (u *unit) deposit(f deposit.Fact) error {
	d, err := stored(u.tx, f)
	if err != nil {
		return err
	}
	if closedDeposit(d, f) {
		return nil
	}
	e := Occurrence{
		ID: f.Deposit.ID, Key: ids.DepositSource(d.ID, d.Epoch), By: ByChain, At: u.now, Received: d.Micro,
	}
	switch {
	case d.Revision == 0:
		u.link(d.Tx, "deposit", d.ID)
		u.link(d.ID, "deposit", d.ID)
	case d.Fingerprint != f.Deposit.Fingerprint:
		d.Open, d.Reason = nil, otherTransfer(f)
		if err := u.park(d, e, "deposit_contradicted"); err != nil {
			return err
		}
		return saveDeposit(u.tx, d)
	}
	observe(d, f.Deposit)
	if err := u.happened(d, e, f.Kind); err != nil {
		return err
	}
	return saveDeposit(u.tx, d)
}

// closedDeposit reports whether a fact comes too late: money that was parked, or that went to suspense before its address
// had a user, is a person's to decide about. Only a credit that stands is still taken back.
func closedDeposit(d *deposit.Deposit, f deposit.Fact) bool {
	if d.Revision > 0 && d.User != f.Deposit.User {
		return true
	}
	return d.State == deposit.Parked && (!d.Credited || f.Kind != deposit.FactReverted)
}

// happened books what a fact says.
func (u *unit) happened(d *deposit.Deposit, e Occurrence, kind deposit.FactKind) error {
	switch kind {
	case deposit.FactSeen:
		e.On = DepositSeen
		return u.seenDeposit(d, e)
	case deposit.FactConfirmed:
		e.On = DepositConfirmed
		return u.credit(d, e)
	case deposit.FactDropped, deposit.FactReverted: // whichever it is: a trusted confirmation may have come in between
		return u.gone(d, e)
	case deposit.FactMissing:
		d.State = deposit.Missing
	case deposit.FactSettled:
		e.On = DepositConfirmed
		if err := u.credit(d, e); err != nil { // Invariant: no deposit is final without its credit.
			return err
		}
		d.State = deposit.Settled
	case deposit.FactParked:
		if err := u.park(d, e, "deposit_parked"); err != nil {
			return err
		}
		return u.tellParked(d)
	case deposit.FactOutgoing:
		return errors.New("an outgoing transfer has no user")
	default:
		return fmt.Errorf("unknown deposit fact %q", kind)
	}
	return nil
}

// park puts a deposit on the operator's list, once; it no longer counts as incoming, what was booked stays booked.
func (u *unit) park(d *deposit.Deposit, e Occurrence, kind string) error {
	d.State = deposit.Parked
	u.alert(kind, ids.DepositSource(d.ID, d.Epoch), d.Reason)
	if !d.Counted {
		return nil
	}
	if err := u.uncount(d); err != nil {
		return err
	}
	e.On = DepositDropped
	return u.follow(d, e, "")
}

// tellParked tells the user. Anybody can send worthless tokens to an address, so it is once a day at most.
func (u *unit) tellParked(d *deposit.Deposit) error {
	id := "notify:parked:" + u.user.ID + ":" + u.now.Format(time.DateOnly)
	if told, err := u.operation(id); err != nil || told != nil {
		return err
	}
	chain := d.Chain
	if c, ok := u.s.registry.Chain(d.Chain); ok {
		chain = c.Name
	}
	u.notice(id, &operation.Message{Type: "text", Key: "deposit.parked", Args: map[string]string{"chain": chain}})
	return nil
}

// otherTransfer is why a deposit is parked whose ref now shows another amount, token or party (G8).
func otherTransfer(f deposit.Fact) string {
	return "the chain shows another transfer under this ref: " + f.Deposit.Raw + " of " + f.Deposit.Contract
}

// seenDeposit counts a deposit as incoming, once.
func (u *unit) seenDeposit(d *deposit.Deposit, e Occurrence) error {
	if d.Credited {
		d.State = deposit.Reported
		return nil
	}
	d.State = deposit.Pending
	if d.Counted {
		return nil
	}
	a, err := u.account(d.Asset)
	if err != nil {
		return err
	}
	a.Incoming += d.Micro
	d.Counted = true
	u.touched[d.Asset] = true
	return u.follow(d, e, "")
}

// uncount takes a deposit out of the incoming amount.
func (u *unit) uncount(d *deposit.Deposit) error {
	if !d.Counted {
		return nil
	}
	a, err := u.account(d.Asset)
	if err != nil {
		return err
	}
	a.Incoming -= d.Micro
	d.Counted = false
	u.touched[d.Asset] = true
	return nil
}

// gone takes a deposit that is proven gone out of the incoming amount, or takes its credit back.
func (u *unit) gone(d *deposit.Deposit, e Occurrence) error {
	if d.Credited {
		return u.revert(d, e)
	}
	d.State = deposit.Reverted
	if !d.Counted {
		return nil
	}
	if err := u.uncount(d); err != nil {
		return err
	}
	e.On = DepositDropped
	return u.follow(d, e, "deposit.dropped")
}

// credit books a confirmed deposit. Invariant: per ref, credit and reversal strictly alternate (I5).
func (u *unit) credit(d *deposit.Deposit, e Occurrence) error {
	if d.Credited {
		d.State = deposit.Reported
		return nil
	}
	a, err := u.account(d.Asset)
	if err != nil {
		return err
	}
	if err := u.uncount(d); err != nil {
		return err
	}
	a = u.accounts[a.Asset]
	source := ids.DepositSource(d.ID, d.Epoch)
	steps := &ledger.Steps{Account: a, At: u.now}
	if d.Micro > 0 {
		if err := steps.DepositConfirmed(source, d.Chain, d.Micro); err != nil {
			return fmt.Errorf("credit %s: %w", d.ID, err)
		}
	}
	d.State, d.Credited, d.CreditedAt = deposit.Reported, true, &u.now
	d.Tail = ledger.Seal("deposit:"+d.ID, d.Tail, steps.Postings)
	u.postings = append(u.postings, steps.Postings...)
	u.touched[d.Asset] = true
	u.entries = append(u.entries, audit.Entry{
		Stream: "user:" + u.user.ID, At: u.now, Actor: "chain", Action: "deposit credited",
		After: money.FormatMicro(d.Micro) + " " + d.Asset, Data: map[string]string{"deposit": d.ID, "epoch": fmt.Sprint(d.Epoch)},
	})
	if err := u.s.screener.Address(d.From); err != nil {
		d.Reason = errorCode(err)
		if err := u.freeze("the sender of deposit " + d.ID + " is on the screening list"); err != nil {
			return err
		}
		u.alert("screening", ids.DepositSource(d.ID, d.Epoch), "sender of a deposit")
	}
	return u.follow(d, e, "deposit.credited")
}

// revert takes a credit back after a proven reorganisation. Only a shortfall concerns the orders that are funded: the
// event itself posts nothing (rule 8).
func (u *unit) revert(d *deposit.Deposit, e Occurrence) error {
	a, err := u.account(d.Asset)
	if err != nil {
		return err
	}
	steps := &ledger.Steps{Account: a, At: u.now}
	var shortfall money.Micro
	if d.Micro > 0 {
		if shortfall, err = steps.DepositReverted(ids.DepositSource(d.ID, d.Epoch), d.Chain, d.Micro); err != nil {
			return fmt.Errorf("reverse %s: %w", d.ID, err)
		}
	}
	d.State, d.Credited, d.CreditedAt = deposit.Reverted, false, nil
	d.Epoch++
	d.Tail = ledger.Seal("deposit:"+d.ID, d.Tail, steps.Postings)
	u.postings = append(u.postings, steps.Postings...)
	u.touched[d.Asset] = true
	u.entries = append(u.entries, audit.Entry{
		Stream: "user:" + u.user.ID, At: u.now, Actor: "chain", Action: "deposit reverted",
		Before: money.FormatMicro(d.Micro) + " " + d.Asset, After: "owed " + money.FormatMicro(a.Owed) + " " + d.Asset,
		Data: map[string]string{"deposit": d.ID},
	})
	if shortfall > 0 {
		if err := u.shortfall(d, e); err != nil {
			return err
		}
	}
	e.On = DepositDropped
	return u.follow(d, e, "deposit.reverted")
}

// shortfall freezes the user and raises FundsReverted on each of the asset's orders whose money is on its way.
func (u *unit) shortfall(d *deposit.Deposit, e Occurrence) error {
	if err := u.freeze(user.Shortfall); err != nil {
		return err
	}
	a, err := u.account(d.Asset)
	if err != nil {
		return err
	}
	for _, id := range sortedHolds(a) {
		o, err := u.order(id)
		if err != nil {
			return err
		}
		e := e
		e.On = FundsReverted
		if err := u.raise(o, e); refused(err) {
			u.refusal(o, e, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func sortedHolds(a *ledger.Account) []string {
	keys := make(map[string]bool, len(a.Holds))
	for id := range a.Holds {
		keys[id] = true
	}
	return sorted(keys)
}

// follow lets the unfunded order react to a deposit fact, and tells the user what happened unless the order did.
func (u *unit) follow(d *deposit.Deposit, e Occurrence, key string) error {
	u.told = false
	if err := u.reevaluate(d.Asset, e); err != nil {
		return err
	}
	if u.told || key == "" || d.Micro == 0 {
		return nil
	}
	a, err := u.account(d.Asset)
	if err != nil {
		return err
	}
	chain := d.Chain
	if c, ok := u.s.registry.Chain(d.Chain); ok {
		chain = c.Name
	}
	// A transfer may come and go any number of times in one epoch; the revision tells the messages apart.
	id := fmt.Sprintf("notify:%s:%s:%d", ids.DepositSource(d.ID, d.Epoch), e.On, d.Revision)
	u.notice(id, &operation.Message{
		Type: "buttons", Key: key, Template: depositTemplates[key],
		Args: map[string]string{
			"received": money.FormatMicro(d.Micro) + " " + d.Asset, "chain": chain,
			"available": money.FormatMicro(a.Available) + " " + d.Asset, "owed": money.FormatMicro(a.Owed) + " " + d.Asset,
		},
		Buttons: []operation.Button{{ID: "sell", Title: "button.sell"}, {ID: "balance", Title: "button.balance"}},
	})
	return nil
}

var depositTemplates = map[string]string{"deposit.credited": "deposit_credited", "deposit.reverted": "deposit_reverted"}

// notice records a message to the unit's user that belongs to no order.
func (u *unit) notice(id string, m *operation.Message) {
	op := operation.New(operation.Notify, id, "", u.user.ID, "user:"+u.user.ID, u.now, u.now)
	op.Message = m
	u.ops[op.ID], u.fresh[op.ID] = op, true
}

// alert records that a person must look at something that belongs to no order. The same alarm again is one entry more in
// the trail and no second message.
func (u *unit) alert(kind, id, why string) {
	op := operation.New(operation.Alert, "alert:"+id+":"+kind, "", u.user.ID, "alerts", u.now, u.now)
	op.Reason, op.Outcome = why, kind
	u.ops[op.ID], u.fresh[op.ID] = op, true
	u.entries = append(u.entries, audit.Entry{
		Stream: "user:" + u.user.ID, At: u.now, Actor: "system", Action: "alert", Why: why,
		Data: map[string]string{"kind": kind, "subject": id},
	})
}

// applyUnowned commits facts about transfers that belong to no user: unknown tokens, suspense, and what leaves us.
func (s *Service) applyUnowned(ctx context.Context, f deposit.Fact) error {
	return s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		d, err := stored(tx, f)
		if err != nil {
			return err
		}
		if d.Revision > 0 && d.Fingerprint != f.Deposit.Fingerprint {
			return s.alertOutside(tx, d.ID+":conflict", otherTransfer(f)) // what was booked stays booked
		}
		observe(d, f.Deposit)
		now := s.now()
		var p *ledger.Posting
		source := ids.DepositSource(d.ID, d.Epoch)
		known := d.Asset != "" && d.Micro > 0
		alert := ""
		switch {
		case f.Kind == deposit.FactOutgoing && s.treasury[d.To] && known && !d.Credited:
			p, d.State, d.Credited = ledger.ToTreasury(source, d.Chain, d.Asset, d.Micro, now), deposit.Settled, true
		case f.Kind == deposit.FactOutgoing && !d.Credited:
			d.State, alert = deposit.Parked, "a transfer left one of our addresses for an unknown one"
		case (f.Kind == deposit.FactConfirmed || f.Kind == deposit.FactParked) && known && !d.Credited:
			p = ledger.ToSuspense(source, d.Chain, d.Asset, d.Micro, now)
			d.State, d.Credited, d.Suspense, alert = deposit.Parked, true, true, "money of nobody we know is in suspense"
		case f.Kind == deposit.FactReverted && d.Suspense && d.Credited:
			p = ledger.FromSuspense(source, d.Chain, d.Asset, d.Micro, now)
			d.State, d.Credited = deposit.Reverted, false
			d.Epoch++
		case d.Revision == 0:
			d.State = deposit.Parked
		default:
			return nil
		}
		if p != nil {
			d.Tail = ledger.Seal("deposit:"+d.ID, d.Tail, []*ledger.Posting{p})
			if err := tx.Insert(store.Postings, p); err != nil {
				return err
			}
		}
		if alert != "" {
			if err := s.alertOutside(tx, d.ID, alert); err != nil {
				return err
			}
		}
		return saveDeposit(tx, d)
	})
}

// alertOutside records an alert that belongs to no user, once.
func (s *Service) alertOutside(tx store.Tx, id, why string) error {
	now := s.now()
	op := operation.New(operation.Alert, "alert:"+id+":deposit", "", "", "alerts", now, now)
	op.Reason, op.Outcome = why, "deposit"
	if isNew, err := operation.Record(tx, op); err != nil || !isNew {
		return err
	}
	return audit.Append(tx, audit.Entry{
		Stream: "system:deposits", At: now, Actor: "chain", Action: "alert", Why: why,
		Data: map[string]string{"kind": "deposit", "subject": id},
	})
}
