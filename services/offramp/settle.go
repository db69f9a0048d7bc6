package offramp

import (
	"slices"
	"strconv"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/ledger"
	"offrampbot/services/operation"
)

// outcomes are the events that say how an attempt ended, and so close its operation.
var outcomes = map[Event]AttemptState{
	PayoutPaid: AttemptPaid, PayoutFailed: AttemptFailed, PayoutReversed: AttemptReversed,
}

// close updates the attempt and the operation that the event is about.
func (b *builder) close() {
	o := b.Order
	if state, ok := outcomes[b.e.On]; ok {
		b.learn(state)
	}
	switch b.e.On {
	case PayoutAccepted:
		b.mark(operation.Accepted, false)
		at := b.e.At
		o.AcceptedAt = &at
		if a := o.attempt(b.e.Attempt); a != nil {
			a.State, a.ProviderID = WithProvider, b.e.ProviderID
			b.findable(a.ProviderID)
		}
	case OutcomeUnknown:
		b.mark(operation.Called, false)
	case ExchangeDone, ExchangeFailed, PayoutPaid, PayoutFailed, PayoutReversed:
		b.mark(operation.Done, true)
	case AdminSettled, AdminReleased:
		if b.f.Current != nil && !b.f.Current.State.Closed() {
			b.mark(operation.Done, true)
		}
	default:
	}
	if b.Row.To == Review && b.e.On == PayoutPaid {
		o.book("older", b.e.Attempt)
		o.Older = b.e.Attempt
	}
	if b.e.On == AdminResumed || b.Row.To.Final() && o.Hold == Voided {
		b.forgetOlder()
	}
}

// forgetOlder goes on without the older attempts that were known paid: fresh look-ups say that none is any more. Should one
// be paid once again, that is news.
func (b *builder) forgetOlder() {
	for _, n := range b.Order.olderPaid() {
		b.Order.notPaidAnyMore(n)
	}
	b.Order.Older = 0
}

// learn stores what the provider said about an attempt.
func (b *builder) learn(state AttemptState) {
	a := b.Order.attempt(b.e.Attempt)
	if a == nil {
		return
	}
	a.State, a.Fee, a.Reason = state, b.e.Fee, b.e.Reason
	if b.e.ProviderID != "" {
		a.ProviderID = b.e.ProviderID
		b.findable(a.ProviderID)
	}
	if b.e.SessionID != "" {
		a.SessionID = b.e.SessionID
		b.findable(a.SessionID)
	}
}

// findable lets admins find the order by an id that the provider gave it (DESIGN §12).
func (b *builder) findable(id string) {
	if id != "" {
		b.References = append(b.References, id)
	}
}

// mark moves the operation of the event's attempt on. A row that re-arms or supersedes it has written it already.
func (b *builder) mark(state operation.State, closed bool) {
	op := b.subject()
	if op == nil || op.State == operation.Done || op.State == operation.Superseded ||
		slices.ContainsFunc(b.Replace, func(r *operation.Operation) bool { return r.ID == op.ID }) {
		return
	}
	c := *op
	c.State, c.Due, c.Lease, c.Tries, c.Outcome = state, nil, nil, 0, string(b.e.On)
	if closed {
		c.DoneAt = &b.e.At
	}
	b.replace(&c)
}

// subject is the operation that the event is about.
func (b *builder) subject() *operation.Operation {
	if b.f.Subject != nil {
		return b.f.Subject
	}
	return b.f.Current
}

// settle finishes the change: state, due time, history, audit entry and the chain of postings.
func (b *builder) settle() {
	o, e := b.Order, b.e
	o.State, o.UpdatedAt = b.Row.To, e.At
	switch {
	case b.Row.To == Review, b.Row.To == Failed:
		o.Reason = reasonOf(e)
	case slices.Contains(b.Row.Guards, Barred): // what fails stays where it is and says why (rule 5)
		o.Reason = errorCode(b.f.Bar)
	case b.before.State == None, b.before.State.Unfunded():
		o.Reason = ""
	default: // what was wrong once stays told
	}
	if b.Row.To.Final() && o.EndedAt == nil {
		o.EndedAt = &e.At
	}
	b.timers()
	if changes := o.State != b.before.State || o.Phase != b.before.Phase; changes || len(o.History) < mostFacts {
		o.History = append(o.History, Fact{
			Event: e.On, Key: e.key(), EventID: e.ID, From: b.before.State, To: o.State, Phase: o.Phase, By: e.By, At: e.At,
		})
	}
	b.Postings = b.steps.Postings
	o.Tail = ledger.Seal("order:"+o.ID, o.Tail, b.Postings)
	who := e.Who
	if who == "" {
		who = string(e.By)
	}
	b.Audit = append(b.Audit, audit.Entry{
		Stream: "order:" + o.ID, At: e.At, Actor: who, Action: string(e.On), Why: e.Why,
		Before: label(b.before), After: label(o),
		Data: map[string]string{"event_id": e.ID, "key": e.key(), "attempt": strconv.Itoa(e.Attempt), "reason": e.Reason},
	})
}

// mostFacts is how long a history grows by facts that left the order where it was: anybody can send dust to an address.
// The trail has them all.
const mostFacts = 100

// label is a state with its phase, for the trail.
func label(o *Order) string {
	if o.State == None {
		return ""
	}
	return string(o.State) + " (" + string(o.Phase) + ")"
}

func reasonOf(e Occurrence) string {
	switch {
	case e.Reason != "":
		return e.Reason
	case e.Why != "":
		return e.Why
	default:
		return string(e.On)
	}
}

// timers sets when the state's own timer is due. Both windows are absolute from Placed or QuoteRenewed and never restart
// between waiting and deposit (rule 5).
func (b *builder) timers() {
	o, at := b.Order, b.e.At
	switch {
	case o.State == Waiting:
		o.due(o.WaitingUntil, WindowElapsed)
	case o.State == Deposit:
		o.due(o.DepositUntil, WindowElapsed)
	case o.State == Overdue && b.before.State != Overdue:
		o.due(at.Add(b.p.LapseAfter), Lapsed)
	case o.State == Sending && b.e.On == PayoutAccepted:
		o.due(at.Add(b.p.PendingTooLong), PendingTooLong)
	case o.State == Unclear && b.before.State != Unclear:
		giveUp := at.Add(b.p.LookUpGiveUp)
		o.GiveUpAt = &giveUp
		o.due(giveUp, LookupExhausted)
	case o.State == b.before.State && (o.State == Overdue || o.State == Sending && b.e.On != PayoutFailed || o.State == Unclear):
		// the timer that runs goes on
	default:
		o.Due, o.DueFor = nil, ""
	}
}

func (o *Order) due(at time.Time, on Event) { o.Due, o.DueFor = &at, on }
