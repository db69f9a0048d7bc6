package offramp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/store"
)

// Occurrence is one event with its payload. Exchange and payout events name their attempt.
type Occurrence struct {
	On      Event
	ID      string // the delivery, operation, approval or timer that brought it
	Attempt int
	Key     string // what makes it the same fact again where that is not the attempt
	By      Actor
	Who     string // for the audit trail: user:<id>, staff:<id>; empty: the actor
	Why     string
	At      time.Time
	Fresh   bool       // our own look-up said so just now
	Due     *time.Time // a timer's due time
	Quote   *quote.Quote

	Provider   string // what venue or provider said
	ProviderID string
	SessionID  string
	Fee        money.Minor
	Reason     string
	Received   money.Micro // a deposit's amount, for the notice
}

// key is what makes the occurrence the same fact again (rule 1).
func (e Occurrence) key() string {
	if e.Key != "" {
		return e.Key
	}
	if e.Due != nil {
		return strconv.FormatInt(e.Due.UnixMilli(), 10)
	}
	return strconv.Itoa(e.Attempt)
}

// Evidence is what fresh look-ups said about an order's attempts, and whether a call may still be in flight.
type Evidence struct {
	CurrentPaid    bool // the current attempt is paid with the exact net
	CurrentFee     money.Minor
	CurrentNotPaid bool  // it failed, is unknown to the provider, or was never called
	OlderPaid      []int // the older attempts that are paid
	OlderNotPaid   bool  // every older attempt is conclusively not paid
	VenueUnknown   bool  // the venue does not know the exchange, or says that it failed
	NoCallInFlight bool
	Visible        bool // the visibility bound has passed since the last call could end
	Approved       bool // the provider was told that it may release the current attempt

	// At is when the look-ups began. What they say holds for calls that had to be visible by then: evidence never proves
	// anything about a call that could still come to light after it was gathered.
	At time.Time
}

// Facts is what the same transaction read about the world around the order.
type Facts struct {
	Account  *ledger.Account
	Owes     bool                 // the user owes something of another asset
	Bar      error                // why it may not start, nil if it may
	Rail     string               // the route of the next payout attempt, "" if none is left
	Venue    string               // where the crypto is sold
	Current  *operation.Operation // of the phase's attempt
	Subject  *operation.Operation // of the attempt that the event names, when that is another one
	LookUp   *operation.Operation // the latest look-up
	Kept     *operation.Operation // in phase none: the payout operation that was superseded
	Address  string               // the user's deposit address
	Chain    string               // the name of the order's chain, for people
	Exponent int                  // of the fiat's minor unit
	Symbol   string               // of the fiat
	Evidence Evidence
}

// shortfall reports whether the user owes anything, of this asset or another: then no new attempt is made (rule 8).
func (f Facts) shortfall() bool { return f.Owes || f.Account.Shortfall() }

// Change is what one event does: everything here is stored in one transaction, or nothing is.
type Change struct {
	Row        Transition
	Order      *Order
	Account    *ledger.Account
	Postings   []*ledger.Posting
	Insert     []*operation.Operation
	Replace    []*operation.Operation
	Audit      []audit.Entry
	References []string // provider references learnt
	Freeze     string   // why the user is frozen, "" if not
	Told       bool     // the user is told something
}

// ErrApplied: the order already went through this very fact; nothing changes.
var ErrApplied = errors.New("already applied")

// Apply is the order's life as a pure function: it finds the row, checks its guards and builds the whole change. It
// does no I/O and reads no clock, and never changes its arguments.
//
// It returns ErrApplied for a fact that is already in the history, and the fault event_refused where no row applies; a
// placing check that fails is returned as it is.
func Apply(o *Order, e Occurrence, f Facts, p Policy) (*Change, error) {
	row, err := choose(o, e, f)
	if err != nil {
		return nil, err
	}
	c := &Change{Row: row, Order: o.clone(), Account: cloneAccount(f.Account)}
	if e.On == QuoteRenewed {
		c.Order.takeQuote(e.Quote)
	}
	if e.On == Placed || e.On == QuoteRenewed {
		c.Order.WaitingUntil, c.Order.DepositUntil = e.At.Add(p.DepositWindow), e.At.Add(p.ConfirmWindow)
	}
	b := builder{Change: c, before: o, e: e, f: f, p: p,
		steps: &ledger.Steps{Account: c.Account, At: e.At}}
	for _, effect := range row.Effects {
		if err := b.do(effect); err != nil {
			return nil, fmt.Errorf("%s on %s: %w", effect, o.ID, err)
		}
	}
	b.close()
	b.settle()
	return c, nil
}

// choose finds the one row whose guards hold.
func choose(o *Order, e Occurrence, f Facts) (Transition, error) {
	rows := Next(o.State, o.Phase, e.On)
	var bar error
	var failed []Guard
	for _, t := range rows {
		if !slices.Contains(t.By, e.By) {
			failed = append(failed, Guard("by "+string(e.By)))
			continue
		}
		g, ok := firstFailing(t.Guards, o, e, f)
		if ok {
			return t, nil
		}
		if g == MayStart {
			bar = f.Bar
		}
		failed = append(failed, g)
	}
	if o.State != None && o.knows(e.On, e.key()) {
		return Transition{}, ErrApplied
	}
	if bar != nil {
		return Transition{}, bar
	}
	return Transition{}, fault.New("event_refused", fmt.Errorf("%s in %s, phase %s: no row (%v)", e.On, o.State, o.Phase, failed)).
		With("state", string(o.State)).With("event", string(e.On))
}

func firstFailing(guards []Guard, o *Order, e Occurrence, f Facts) (Guard, bool) {
	for _, g := range guards {
		if !holds(g, o, e, f) {
			return g, false
		}
	}
	return "", true
}

// holds evaluates one guard.
func holds(g Guard, o *Order, e Occurrence, f Facts) bool {
	a, amount := f.Account, o.Amount
	switch g {
	case Covered:
		return a.Available >= amount
	case CoveredWithSeen:
		return a.Available < amount && a.Available+a.Incoming >= amount
	case Short:
		return a.Available+a.Incoming < amount
	case MayStart:
		return f.Bar == nil
	case Barred:
		return f.Bar != nil
	case NoShortfall:
		return !f.shortfall()
	case ShortfallOpen:
		return f.shortfall()
	case MayRetry:
		return f.Rail != "" && !f.shortfall()
	case MayNotRetry:
		return f.Rail == "" || f.shortfall()
	case CurrentAttempt, OlderAttempt, PaidAttempt, AnotherAttempt, NotYetBooked, FreshLookUp, TimeIsDue, WasAccepted:
		return holdsForEvent(g, o, e)
	default:
		return holdsByEvidence(g, o, f)
	}
}

// holdsForEvent evaluates the guards on which attempt or due time an event names.
func holdsForEvent(g Guard, o *Order, e Occurrence) bool {
	switch g {
	case CurrentAttempt:
		return e.Attempt == o.Phase.Attempt()
	case OlderAttempt:
		return o.attempt(e.Attempt) != nil && e.Attempt < o.Attempt
	case PaidAttempt:
		return e.Attempt == o.Paid
	case AnotherAttempt:
		return o.attempt(e.Attempt) != nil && e.Attempt != o.Paid
	case NotYetBooked:
		return o.attempt(e.Attempt) != nil && !o.booked(bookingOf(o.State, e.On), e.Attempt)
	case FreshLookUp:
		return e.Fresh
	case TimeIsDue:
		return e.Due != nil && o.Due != nil && e.Due.Equal(*o.Due) && o.DueFor == e.On && !e.At.Before(*o.Due)
	default: // WasAccepted
		return o.AcceptedAt != nil
	}
}

// bookingOf names what the rows that apply once per attempt book.
func bookingOf(s State, on Event) string {
	switch {
	case on == PayoutPaid && (s == Failed || s == Returned):
		return "late"
	case on == PayoutPaid && s == Success:
		return "second"
	case on == PayoutPaid:
		return "older"
	default:
		return "returned"
	}
}

// holdsByEvidence evaluates the guards that need operations or look-ups.
func holdsByEvidence(g Guard, o *Order, f Facts) bool {
	v := f.Evidence
	switch g {
	case NeverCalled:
		return f.Current != nil && f.Current.Calls == 0
	case WasCalled:
		return f.Current != nil && f.Current.Calls > 0
	case NoCallInFlight:
		return v.NoCallInFlight
	case VisibilityElapsed:
		return v.Visible
	case NoOlderPaid:
		return o.Older == 0 || len(v.OlderPaid) == 0 && v.OlderNotPaid
	case OlderPaid:
		return o.Older != 0 && len(v.OlderPaid) > 0
	case UnknownToVenue:
		return v.VenueUnknown && v.NoCallInFlight && v.Visible
	case ProvenPaid:
		return v.CurrentPaid || o.Older != 0 && len(v.OlderPaid) > 0 && v.CurrentNotPaid && v.NoCallInFlight
	case ProvenNotPaid:
		return provenNotPaid(o, v)
	default:
		return false
	}
}

// provenNotPaid holds a release back until nothing can be paid any more (rule 3).
func provenNotPaid(o *Order, v Evidence) bool {
	if !v.NoCallInFlight || !v.Visible || !v.OlderNotPaid {
		return false
	}
	switch o.Phase.Kind() {
	case OnExchange:
		return v.VenueUnknown
	case OnPayout:
		return v.CurrentNotPaid && !v.Approved
	default:
		return true
	}
}

// newMeta is the head of a new document.
func newMeta(id string) store.Meta { return store.Meta{ID: id, Version: 1} }
