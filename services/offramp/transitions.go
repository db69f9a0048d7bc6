package offramp

import "slices"

// Transition is one row of the table.
type Transition struct {
	From    State
	Phase   PhaseKind // what must be out at the outside
	On      Event
	To      State
	By      []Actor  // who may cause it
	Guards  []Guard  // all must hold; rows that share a key exclude each other by them
	Effects []Effect // all recorded in the same transaction
}

// row is a Transition of several states at once.
type row struct {
	from    []State
	phase   PhaseKind
	on      Event
	to      State // Same: stays where it is
	by      []Actor
	guards  []Guard
	effects []Effect
}

// same is the target of rows that leave the state as it is.
const same State = "same"

func in(s ...State) []State     { return s }
func by(a ...Actor) []Actor     { return a }
func when(g ...Guard) []Guard   { return g }
func then(e ...Effect) []Effect { return e }

// funding are the rows of one event by which an unfunded order follows the user's level of funds (rule 5).
func funding(on Event, actor Actor) []row {
	return []row{
		{in(Waiting, Deposit), OnNone, on, Exchange, by(actor), when(Covered, MayStart), then(PlaceHold, StartExchange, Notify)},
		{in(Waiting, Deposit), OnNone, on, same, by(actor), when(Covered, Barred), then(NotifyOnChange)},
		{in(Waiting, Deposit), OnNone, on, Deposit, by(actor), when(CoveredWithSeen), then(NotifyOnChange)},
		{in(Waiting, Deposit), OnNone, on, Waiting, by(actor), when(Short), then(NotifyOnChange)},
	}
}

// transitions is the whole life of an order. No other code changes a state.
var transitions = expand(slices.Concat(
	[]row{
		{in(None), OnAny, Placed, Exchange, by(ByUser), when(MayStart, Covered), then(PlaceHold, StartExchange, Notify)},
		{in(None), OnAny, Placed, Deposit, by(ByUser), when(MayStart, CoveredWithSeen), then(Notify)},
		{in(None), OnAny, Placed, Waiting, by(ByUser), when(MayStart, Short), then(Notify)},
	},
	funding(DepositSeen, ByChain),
	funding(DepositConfirmed, ByChain),
	funding(DepositDropped, ByChain),
	funding(FundsFreed, ByWorker),
	[]row{
		{in(Waiting, Deposit), OnNone, WindowElapsed, Overdue, by(ByTimer), when(TimeIsDue), then(Notify)},
		{in(Waiting, Deposit, Overdue), OnNone, UserCancelled, Cancelled, by(ByUser), nil, then(Notify)},

		{in(Overdue), OnNone, QuoteRenewed, Exchange, by(ByUser), when(MayStart, Covered), then(PlaceHold, StartExchange, Notify)},
		{in(Overdue), OnNone, QuoteRenewed, Deposit, by(ByUser), when(MayStart, CoveredWithSeen), then(Notify)},
		{in(Overdue), OnNone, QuoteRenewed, Waiting, by(ByUser), when(MayStart, Short), then(Notify)},
		{in(Overdue), OnNone, Lapsed, Cancelled, by(ByTimer), when(TimeIsDue), then(Notify)},

		{in(Exchange, Unclear), OnExchange, ExchangeDone, Sending, by(ByVenue, ByLookUp), when(CurrentAttempt, NoShortfall), then(PostExchange, StartPayout)},
		{in(Exchange, Unclear), OnExchange, ExchangeDone, Review, by(ByVenue, ByLookUp), when(CurrentAttempt, ShortfallOpen), then(PostExchange, Alert)},
		{in(Exchange, Unclear), OnExchange, ExchangeFailed, Failed, by(ByVenue, ByLookUp), when(CurrentAttempt), then(VoidHold, Notify)},
		{in(Exchange), OnExchange, OutcomeUnknown, Unclear, by(ByWorker), when(CurrentAttempt), then(LookUp, Notify)},
		{in(Exchange, Unclear), OnExchange, FundsReverted, Review, by(ByChain), nil, then(Supersede, Alert)},

		{in(Exchange), OnExchange, OperationParked, Review, by(ByWorker), when(CurrentAttempt, NeverCalled), then(Alert)},
		{in(Exchange), OnExchange, OperationParked, Unclear, by(ByWorker), when(CurrentAttempt, WasCalled, NoCallInFlight), then(LookUp, Alert)},
		{in(Sending), OnPayout, OperationParked, Review, by(ByWorker), when(CurrentAttempt, NeverCalled), then(Alert)},
		{in(Sending), OnPayout, OperationParked, Unclear, by(ByWorker), when(CurrentAttempt, WasCalled, NoCallInFlight), then(LookUp, Alert)},

		{in(Sending), OnPayout, PayoutAccepted, Sending, by(ByProvider), when(CurrentAttempt), then(LookUp)},
		{in(Sending, Unclear), OnPayout, PayoutPaid, Success, by(ByProvider, ByLookUp), when(CurrentAttempt), then(PostPayout, Notify, Slip, Watch)},
		{in(Sending, Unclear), OnPayout, PayoutFailed, Sending, by(ByProvider, ByLookUp), when(CurrentAttempt, MayRetry), then(StartPayout, Watch)},
		{in(Sending, Unclear), OnPayout, PayoutFailed, Failed, by(ByProvider, ByLookUp), when(CurrentAttempt, MayNotRetry), then(VoidHold, Notify, Watch)},
		{in(Sending), OnPayout, OutcomeUnknown, Unclear, by(ByWorker), when(CurrentAttempt), then(LookUp, Notify)},
		{in(Sending), OnPayout, PendingTooLong, Unclear, by(ByTimer), when(WasAccepted, TimeIsDue), then(LookUp, Notify)},

		{in(Sending), OnPayout, FundsReverted, Review, by(ByChain), when(NeverCalled), then(Supersede, Alert)},
		{in(Sending), OnPayout, FundsReverted, Sending, by(ByChain), when(WasCalled), then(Alert)},
		{in(Unclear), OnPayout, FundsReverted, Unclear, by(ByChain), nil, then(Alert)},
		{in(Review), OnAny, FundsReverted, Review, by(ByChain), nil, then(Alert)},

		{in(Unclear), OnAny, LookupExhausted, Review, by(ByTimer), when(TimeIsDue, NoCallInFlight, VisibilityElapsed), then(Alert)},

		{in(Review), OnPayout, PayoutPaid, Success, by(ByLookUp), when(CurrentAttempt, NoOlderPaid), then(PostPayout, Notify, Slip, Watch)},
		{in(Review), OnPayout, PayoutFailed, Failed, by(ByLookUp), when(CurrentAttempt, NoOlderPaid), then(VoidHold, Notify, Watch)},
		{in(Review), OnExchange, ExchangeDone, Review, by(ByLookUp), when(CurrentAttempt), then(PostExchange, Alert)},
		{in(Review), OnExchange, ExchangeFailed, Failed, by(ByLookUp), when(CurrentAttempt), then(VoidHold, Notify)},

		{in(Review), OnExchange, AdminResumed, Exchange, by(ByTwoAdmins), when(NoShortfall, UnknownToVenue), then(RearmExchange)},
		{in(Review), OnNone, AdminResumed, Sending, by(ByTwoAdmins), when(NoShortfall, NoOlderPaid), then(RearmPayout)},
		{in(Review), OnPayout, AdminResumed, Unclear, by(ByTwoAdmins), when(NoShortfall, NoOlderPaid), then(LookUp)},
		{in(Review), OnPayout, AdminSettled, Success, by(ByTwoAdmins), when(ProvenPaid), then(PostPayout, Notify, Slip, Watch)},
		{in(Review), OnNone, AdminSettled, Success, by(ByTwoAdmins), when(OlderPaid, ProvenPaid), then(PostPayout, Notify, Slip, Watch)},
		{in(Review), OnAny, AdminReleased, Failed, by(ByTwoAdmins), when(ProvenNotPaid, NoOlderPaid), then(VoidHold, Notify)},

		{in(Sending, Unclear, Review), OnPayout, PayoutPaid, Review, by(ByLookUp), when(OlderAttempt, FreshLookUp, NotYetBooked), then(Supersede, Alert)},
		{in(Review), OnNone, PayoutPaid, Review, by(ByLookUp), when(OlderAttempt, FreshLookUp, NotYetBooked), then(Supersede, Alert)},
		{in(Success), OnAny, PayoutReversed, Returned, by(ByLookUp), when(PaidAttempt, FreshLookUp, NotYetBooked), then(ReverseSale, Notify, Alert)},
		{in(Success), OnAny, PayoutFailed, Returned, by(ByLookUp), when(PaidAttempt, FreshLookUp, NotYetBooked), then(ReverseSale, Notify, Alert)},
		{in(Failed, Returned), OnAny, PayoutPaid, same, by(ByLookUp), when(FreshLookUp, NotYetBooked), then(BookLatePayment, Freeze, Alert)},
		{in(Success), OnAny, PayoutPaid, Success, by(ByLookUp), when(AnotherAttempt, FreshLookUp, NotYetBooked), then(BookSecondPayment, Freeze, Alert)},
	},
))

// expand writes each row once per state.
func expand(rows []row) []Transition {
	var out []Transition
	for _, r := range rows {
		for _, from := range r.from {
			to := r.to
			if to == same {
				to = from
			}
			out = append(out, Transition{from, r.phase, r.on, to, r.by, r.guards, r.effects})
		}
	}
	return out
}

// Table returns every row, in order.
func Table() []Transition { return slices.Clone(transitions) }

// Next returns the rows for a state, phase and event; their guards decide which one applies. No row means that the
// event is refused.
func Next(state State, phase Phase, on Event) []Transition {
	var out []Transition
	for _, t := range transitions {
		if t.From == state && t.On == on && (t.Phase == OnAny || t.Phase == phase.Kind()) {
			out = append(out, t)
		}
	}
	return out
}
