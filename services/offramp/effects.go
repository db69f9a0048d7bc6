package offramp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/operation"
)

// builder carries out the effects of one row on a Change.
type builder struct {
	*Change
	before *Order
	e      Occurrence
	f      Facts
	p      Policy
	steps  *ledger.Steps
}

// do carries out one effect.
func (b *builder) do(effect Effect) error {
	switch effect {
	case PlaceHold, PostExchange, PostPayout, VoidHold, ReverseSale, BookLatePayment, BookSecondPayment:
		return b.post(effect)
	case StartExchange:
		b.Order.Phase, b.Order.Venue = ExchangePhase(1), b.f.Venue
		b.start(operation.StartExchange, 1, b.f.Venue, ids.ProviderReference(b.Order.OperationID()))
	case StartPayout:
		return b.startPayout()
	case RearmExchange:
		return b.rearm(b.f.Current)
	case RearmPayout:
		return b.resumePayout()
	case LookUp:
		if b.e.On == AdminResumed {
			b.reopen()
		}
		b.lookUp(b.p.lookUpAfter(0))
	case Watch:
		b.lookUp(watchEnded[0])
	case Supersede:
		b.supersede()
	case Freeze:
		b.Change.Freeze = "a payment contradicts order " + b.Order.Reference
	case Slip:
		op := b.message(b.next("slip"), slipMessage(b.Order))
		op.Lane += ":slip" // a picture that cannot be drawn never holds messages up
		b.insert(op)
	case Notify, NotifyOnChange:
		b.notify(effect)
	case Alert:
		b.alert()
	}
	return nil
}

// post books the ledger steps and keeps the order's own record of them.
func (b *builder) post(effect Effect) error {
	o := b.Order
	switch effect {
	case PlaceHold:
		o.Hold, o.FundedAt = OnHold, &b.e.At
		return b.steps.Funded(o.sale(ids.Operation(string(operation.StartExchange), o.ID, 1)))
	case PostExchange:
		if o.Exchanged {
			return errors.New("exchange entries are posted already")
		}
		o.Exchanged, o.VenueID = true, b.e.ProviderID
		b.steps.ExchangeDone(o.sale(b.source()))
		if b.Row.To == Review {
			o.Phase = NoPhase
		}
	case PostPayout:
		return b.postPayout()
	case VoidHold:
		if err := b.steps.Voided(o.sale(b.source()), o.Exchanged); err != nil {
			return err
		}
		o.Hold, o.Exchanged = Voided, false
	case ReverseSale:
		o.book("returned", b.e.Attempt)
		b.steps.SaleReversed(o.sale(b.ofAttempt()), o.attempt(b.e.Attempt).Rail)
		o.Exchanged = false
	case BookLatePayment:
		fee := b.e.Fee
		if o.booked("returned", b.e.Attempt) { // its charge was booked when it was paid first, and not given back
			fee = 0
		}
		o.book("late", b.e.Attempt)
		b.steps.LatePaid(o.sale(b.ofAttempt()), o.attempt(b.e.Attempt).Rail, fee)
	case BookSecondPayment:
		b.second(b.e.Attempt)
	default:
	}
	return nil
}

// postPayout books the paid attempt. When several attempts are paid it settles the current one, or the oldest, and books
// each other one as a second payment, in the same commit (rule 4).
func (b *builder) postPayout() error {
	o, n := b.Order, b.e.Attempt
	if b.e.On == AdminSettled {
		n = o.Attempt
		if older := b.f.Evidence.OlderPaid; len(older) > 0 && !b.f.Evidence.CurrentPaid {
			n = older[0]
		}
	}
	a := o.attempt(n)
	if a == nil {
		return fmt.Errorf("no attempt %d", n)
	}
	switch {
	case b.e.On == PayoutPaid:
		a.Fee = b.e.Fee
	case n == o.Attempt && b.f.Evidence.CurrentPaid: // an older one told its fee when it was found
		a.Fee = b.f.Evidence.CurrentFee
	}
	o.Hold, o.Paid, a.State = Posted, n, AttemptPaid
	if err := b.steps.PayoutPaid(o.sale(b.source()), a.Rail, a.Fee); err != nil {
		return err
	}
	for _, older := range o.olderPaid() {
		switch {
		case older == n:
		case slices.Contains(b.f.Evidence.OlderPaid, older):
			b.second(older)
			b.Change.Freeze = "more than one payout of order " + o.Reference
		default:
			o.notPaidAnyMore(older)
		}
	}
	return nil
}

func (b *builder) second(attempt int) {
	b.Order.book("second", attempt)
	sale := b.Order.sale(ids.Operation(string(operation.Payout), b.Order.ID, attempt))
	a := b.Order.attempt(attempt)
	if b.e.On == PayoutPaid && b.e.Attempt == attempt { // an older one told its fee when it was found
		a.Fee = b.e.Fee
	}
	b.steps.PaidTwice(sale, a.Rail, a.Fee)
}

// source is the id under which this row's postings are booked: the operation it is about, or the event.
func (b *builder) source() string {
	if op := b.before.OperationID(); op != "" {
		return op
	}
	return ids.Operation("review", b.Order.ID, 1)
}

// ofAttempt is the source of postings that happen once per attempt.
func (b *builder) ofAttempt() string {
	return ids.Operation(string(operation.Payout), b.Order.ID, b.e.Attempt)
}

// start records a new exchange or payout operation.
func (b *builder) start(kind operation.Kind, attempt int, rail, reference string) {
	o := b.Order
	due := b.e.At
	op := &operation.Operation{
		Meta: newMeta(ids.Operation(string(kind), o.ID, attempt)), Kind: kind, Lane: "order:" + o.ID, Order: o.ID, User: o.User,
		Attempt: attempt, Rail: rail, Reference: reference, State: operation.Pending, Due: &due, CreatedAt: b.e.At,
	}
	b.insert(op)
}

// startPayout makes the next attempt. Its reference derives from the operation and is stored before the first call
// (D6); the number rises only after a conclusive failure, which is what brought us here.
func (b *builder) startPayout() error {
	if b.f.Rail == "" {
		return errors.New("no rail for the payout")
	}
	o := b.Order
	o.Attempt++
	o.Phase, o.AcceptedAt = PayoutPhase(o.Attempt), nil
	reference := ids.ProviderReference(o.OperationID())
	o.Attempts = append(o.Attempts, Attempt{N: o.Attempt, Rail: b.f.Rail, Reference: reference, State: Planned, At: b.e.At})
	b.References = append(b.References, reference)
	b.start(operation.Payout, o.Attempt, b.f.Rail, reference)
	return nil
}

// resumePayout re-arms the payout that was superseded before it was called, or makes the first one.
func (b *builder) resumePayout() error {
	if b.f.Kept == nil {
		return b.startPayout()
	}
	b.Order.Phase = PayoutPhase(b.f.Kept.Attempt)
	b.Order.attempt(b.f.Kept.Attempt).State = Planned
	return b.rearm(b.f.Kept)
}

// rearm makes an operation due again under the same reference; one that was called is looked up first.
func (b *builder) rearm(op *operation.Operation) error {
	if op == nil {
		return errors.New("no operation to arm again")
	}
	c := *op
	due := b.e.At
	c.State, c.Due, c.Lease, c.Tries, c.Reason, c.DoneAt = operation.Pending, &due, nil, 0, "", nil
	c.CreatedAt = b.e.At
	b.replace(&c)
	return nil
}

// reopen makes a current operation that was parked or withdrawn one that a look-up may send again, under its reference.
func (b *builder) reopen() {
	op := b.f.Current
	if op == nil || op.State != operation.Parked && op.State != operation.Superseded {
		return
	}
	c := *op
	c.State, c.Due, c.Lease, c.Tries, c.Reason, c.DoneAt, c.CreatedAt = operation.Called, nil, nil, 0, "", nil, b.e.At
	b.replace(&c)
	if a := b.Order.attempt(op.Attempt); a != nil && a.State == Withdrawn {
		a.State = Planned
	}
}

// supersede closes the current operation unless it was called; one that was called is closed by its outcome, and a
// worker that meets it finds that the order has left (rule 2).
func (b *builder) supersede() {
	op := b.f.Current
	if op == nil || op.Calls > 0 || op.State.Closed() {
		return
	}
	c := *op
	c.State, c.Due, c.Lease, c.DoneAt, c.Outcome = operation.Superseded, nil, nil, &b.e.At, string(b.e.On)
	b.replace(&c)
	if a := b.Order.attempt(op.Attempt); a != nil && op.Kind == operation.Payout {
		a.State = Withdrawn
	}
	if b.before.State == Sending && b.e.On == FundsReverted {
		b.Order.Phase = NoPhase
	}
}

// lookUp makes sure that a look-up of the attempt is due, one at a time.
func (b *builder) lookUp(after time.Duration) {
	o, due, attempt := b.Order, b.e.At.Add(after), b.Order.Phase.Attempt()
	target := o.operationOf(o.Phase)
	switch {
	case b.Row.To == Success:
		attempt = o.Paid
		target = o.operationOf(PayoutPhase(attempt))
	case b.e.On == PayoutFailed:
		attempt = b.e.Attempt
		target = o.operationOf(PayoutPhase(attempt))
	}
	if l := b.f.LookUp; l != nil && !l.State.Closed() && l.Target == target {
		c := *l
		c.Due, c.Tries, c.Calls, c.Lease, c.FirstCall = &due, 0, 0, nil, nil
		b.replace(&c)
		return
	}
	o.LookUps++
	o.LookUp = ids.LookUp(target, o.LookUps)
	b.insert(&operation.Operation{
		Meta: newMeta(o.LookUp), Kind: operation.LookUp, Lane: "order:" + o.ID, Order: o.ID, User: o.User,
		Attempt: attempt, Target: target, State: operation.Pending, Due: &due, CreatedAt: b.e.At,
	})
}

// notify tells the user, in one message per step; NotifyOnChange only when there is something new to tell.
func (b *builder) notify(effect Effect) {
	m, said := notice(b.before, b.Order, b.Row.To, b.e, b.f)
	if m == nil || effect == NotifyOnChange && said == b.before.Said {
		return
	}
	b.Order.Said = said
	b.insert(b.message(b.next("notify"), m))
	b.Told = true
}

// next is the id of the order's next message.
func (b *builder) next(kind string) string {
	b.Order.Notices++
	if kind == "slip" {
		return "slip:" + b.Order.ID + ":" + strconv.Itoa(b.Order.Notices)
	}
	return ids.Notify(b.Order.ID, b.Order.Notices)
}

func (b *builder) message(id string, m *operation.Message) *operation.Operation {
	due := b.e.At
	return &operation.Operation{
		Meta: newMeta(id), Kind: operation.Notify, Lane: "user:" + b.Order.User, Order: b.Order.ID, User: b.Order.User,
		State: operation.Pending, Due: &due, CreatedAt: b.e.At, Message: m,
	}
}

// alert records that a person must look: an audit entry and an operation that tells the operator.
func (b *builder) alert() {
	o := b.Order
	o.Notices++
	due := b.e.At
	why := alertReason(b.before, b.e)
	b.insert(&operation.Operation{
		Meta: newMeta("alert:" + o.ID + ":" + strconv.Itoa(o.Notices)), Kind: operation.Alert, Lane: "alerts", Order: o.ID,
		User: o.User, State: operation.Pending, Due: &due, CreatedAt: b.e.At, Reason: why, Outcome: string(b.e.On),
	})
	b.Audit = append(b.Audit, audit.Entry{
		Stream: "order:" + o.ID, At: b.e.At, Actor: string(b.e.By), Action: "alert", Why: why,
		Data: map[string]string{"kind": string(b.e.On)},
	})
}

func (b *builder) insert(op *operation.Operation)  { b.Insert = append(b.Insert, op) }
func (b *builder) replace(op *operation.Operation) { b.Replace = append(b.Replace, op) }
