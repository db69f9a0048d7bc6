// Package offramp is the life of an order: one table of transitions, a pure Apply that turns an event into a new order
// with its postings and operations, and a service that commits each in one transaction. Nothing outside is called
// inside a transaction, and nothing about an order is decided outside the table (DESIGN §7).
package offramp

import (
	"strconv"
	"strings"
)

// State is where an order stands.
type State string

// The states, each with who moves it on.
const (
	// None is an order that does not exist yet; Placed makes it.
	None State = ""
	// Waiting was accepted with the PIN, but balance and seen deposits do not cover it; the user sends crypto, or the
	// window elapses.
	Waiting State = "waiting"
	// Deposit is covered once what is seen on chain is deep enough; the chain moves it on, or its own longer window.
	Deposit State = "deposit"
	// Overdue means that the window is over; late money credits the balance but the order does not start by itself. The
	// user renews or cancels it, or it lapses.
	Overdue State = "overdue"
	// Exchange is funded: the hold is placed and the exchange requested; the venue's outcome moves it on.
	Exchange State = "exchange"
	// Sending has its payout requested; the provider's outcome moves it on.
	Sending State = "sending"
	// Unclear means that the venue's or provider's answer is not known; look-ups move it on, never a release or a new
	// attempt.
	Unclear State = "unclear"
	// Review waits for a person's decision, with a second person.
	Review State = "review"
	// Success is conclusively paid; only the provider's own reversal or correction changes it.
	Success State = "success"
	// Failed is conclusively not paid; the hold is voided and the crypto back in the balance.
	Failed State = "failed"
	// Returned was paid, then reversed by the provider; the crypto is credited back.
	Returned State = "returned"
	// Cancelled ended before money moved.
	Cancelled State = "cancelled"
)

// States lists every state in the order of a sale's life.
func States() []State {
	return []State{Waiting, Deposit, Overdue, Exchange, Sending, Unclear, Review, Success, Failed, Returned, Cancelled}
}

// Final reports whether the state ends an order, but for the provider's own reversal or correction.
func (s State) Final() bool {
	return s == Success || s == Failed || s == Returned || s == Cancelled
}

// Unfunded reports whether an order of the state has no hold yet.
func (s State) Unfunded() bool { return s == Waiting || s == Deposit || s == Overdue }

// Counts reports whether an order of the state uses up limits: from Placed on, all but those given back (I12).
func (s State) Counts() bool { return s != None && s != Cancelled && s != Failed && s != Returned }

// Phase is which attempt is out at the outside: none, exchange:<n> or payout:<n>.
type Phase string

// NoPhase: nothing is out.
const NoPhase Phase = "none"

// ExchangePhase is exchange attempt n.
func ExchangePhase(n int) Phase { return Phase("exchange:" + strconv.Itoa(n)) }

// PayoutPhase is payout attempt n.
func PayoutPhase(n int) Phase { return Phase("payout:" + strconv.Itoa(n)) }

// Kind is the phase without its attempt.
func (p Phase) Kind() PhaseKind {
	kind, _, _ := strings.Cut(string(p), ":")
	return PhaseKind(kind)
}

// Attempt is the number of the attempt that is out, 0 for none.
func (p Phase) Attempt() int {
	_, n, _ := strings.Cut(string(p), ":")
	i, _ := strconv.Atoi(n) // none has no number
	return i
}

// PhaseKind is what a row asks of the phase.
type PhaseKind string

// The kinds of phase.
const (
	OnNone     PhaseKind = "none"
	OnExchange PhaseKind = "exchange"
	OnPayout   PhaseKind = "payout"
	OnAny      PhaseKind = "any"
)

// Event is what happened to an order.
type Event string

// The events, each with its source.
const (
	Placed           Event = "Placed"           // the user confirmed a quote with the PIN
	DepositSeen      Event = "DepositSeen"      // the watcher saw a transfer that is not deep enough yet
	DepositConfirmed Event = "DepositConfirmed" // a deposit was credited
	DepositDropped   Event = "DepositDropped"   // a seen or credited deposit is proven gone
	FundsFreed       Event = "FundsFreed"       // the available amount changed for another reason, or the user was unfrozen
	WindowElapsed    Event = "WindowElapsed"    // the due time of waiting or deposit passed
	UserCancelled    Event = "UserCancelled"    // the user cancelled
	QuoteRenewed     Event = "QuoteRenewed"     // the user confirmed a fresh quote for an overdue order
	Lapsed           Event = "Lapsed"           // nobody renewed an overdue order
	ExchangeDone     Event = "ExchangeDone"     // the venue bought the crypto
	ExchangeFailed   Event = "ExchangeFailed"   // the venue conclusively did not
	OutcomeUnknown   Event = "OutcomeUnknown"   // a call was made and its outcome is not known
	FundsReverted    Event = "FundsReverted"    // a reorganisation left a shortfall
	OperationParked  Event = "OperationParked"  // the current operation could not be carried out
	PayoutAccepted   Event = "PayoutAccepted"   // the provider has the payout
	PayoutPaid       Event = "PayoutPaid"       // the provider conclusively paid
	PayoutFailed     Event = "PayoutFailed"     // the provider conclusively did not pay
	PayoutReversed   Event = "PayoutReversed"   // the provider took a payout back after it was paid
	PendingTooLong   Event = "PendingTooLong"   // an accepted payout has not ended for too long
	LookupExhausted  Event = "LookupExhausted"  // look-ups gave no answer for too long
	AdminResumed     Event = "AdminResumed"     // two admins let the order go on
	AdminSettled     Event = "AdminSettled"     // two admins, with proof that it was paid
	AdminReleased    Event = "AdminReleased"    // two admins, with proof that it was not paid
)

// Events lists every event in the order of a sale's life.
func Events() []Event {
	return []Event{
		Placed, DepositSeen, DepositConfirmed, DepositDropped, FundsFreed, WindowElapsed, UserCancelled, QuoteRenewed,
		Lapsed, ExchangeDone, ExchangeFailed, OutcomeUnknown, FundsReverted, OperationParked, PayoutAccepted, PayoutPaid,
		PayoutFailed, PayoutReversed, PendingTooLong, LookupExhausted, AdminResumed, AdminSettled, AdminReleased,
	}
}

// Actor is who may cause a row.
type Actor string

// The actors.
const (
	ByUser      Actor = "user"
	ByChain     Actor = "chain"
	ByTimer     Actor = "timer"
	ByVenue     Actor = "venue"
	ByProvider  Actor = "provider"
	ByLookUp    Actor = "look-up"
	ByWorker    Actor = "worker"
	ByTwoAdmins Actor = "two admins"
)

// Guard is a named pure check on order, event and facts.
type Guard string

// The guards.
const (
	Covered           Guard = "covered"           // available covers the amount
	CoveredWithSeen   Guard = "covered with seen" // available does not, with what is seen on chain it does
	Short             Guard = "short"             // not even with what is seen
	MayStart          Guard = "may start"         // every placing check holds: window, limits, switches, screening, freeze
	Barred            Guard = "barred"            // one does not; the order stays and says why
	CurrentAttempt    Guard = "current attempt"   // the event names the attempt that is out
	OlderAttempt      Guard = "older attempt"     // it names an earlier one
	NoShortfall       Guard = "no shortfall"      // the user owes nothing
	ShortfallOpen     Guard = "shortfall open"    // the user owes crypto or fiat
	MayRetry          Guard = "route left, no shortfall"
	MayNotRetry       Guard = "no route or shortfall"
	NeverCalled       Guard = "never called" // the current operation was never called
	WasCalled         Guard = "called"       // it was
	NoCallInFlight    Guard = "no call in flight"
	WasAccepted       Guard = "accepted before"
	TimeIsDue         Guard = "due time current" // the timer's due time is still the order's
	FreshLookUp       Guard = "fresh look-up"    // our own authenticated look-up says so
	NoOlderPaid       Guard = "no older attempt paid"
	OlderPaid         Guard = "older attempt paid"
	PaidAttempt       Guard = "paid attempt"    // it names the attempt that was paid
	AnotherAttempt    Guard = "another attempt" // it names another one
	NotYetBooked      Guard = "not yet booked"  // once per attempt
	UnknownToVenue    Guard = "unknown to the venue"
	ProvenPaid        Guard = "proven paid"     // look-up shows the exact net
	ProvenNotPaid     Guard = "proven not paid" // look-ups show every attempt unpaid, and no call can be in flight
	VisibilityElapsed Guard = "visibility bound elapsed"
)

// Effect is something a row records in the same transaction.
type Effect string

// The effects.
const (
	PlaceHold         Effect = "place hold"
	StartExchange     Effect = "start-exchange"
	RearmExchange     Effect = "start-exchange again"
	PostExchange      Effect = "exchange entries"
	StartPayout       Effect = "payout"
	RearmPayout       Effect = "payout again"
	PostPayout        Effect = "post hold"
	VoidHold          Effect = "void hold" // and reverse the exchange entries if they were posted
	ReverseSale       Effect = "reverse sale"
	BookLatePayment   Effect = "late-payment entry"
	BookSecondPayment Effect = "second-payment entry"
	LookUp            Effect = "look-up"
	Watch             Effect = "look-ups at 1 h, 24 h, 72 h"
	Supersede         Effect = "supersede uncalled"
	Freeze            Effect = "freeze"
	Slip              Effect = "slip"
	Notify            Effect = "notify"
	NotifyOnChange    Effect = "notify on a change"
	Alert             Effect = "alert"
)
