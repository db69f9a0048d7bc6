package offramp

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/testkit"
)

// errBarred is a placing check that fails.
var errBarred = errors.New("barred")

// drawCase makes an order that stands somewhere, an event with any payload, and any facts around them.
func drawCase(r *rand.Rand, at stand, on Event) (*Order, Occurrence, Facts) {
	now := testkit.Noon().Now()
	o := drawOrder(r, at, now)
	due := now.Add(time.Duration(r.IntN(3)-1) * time.Minute)
	e := Occurrence{On: on, ID: "event", Attempt: r.IntN(5), At: now, Fresh: coin(r), By: ByUser}
	if coin(r) {
		e.Due = &due
	}
	if coin(r) {
		o.Due, o.DueFor = &due, on
	}
	if coin(r) {
		o.AcceptedAt = &now
	}
	if on == QuoteRenewed {
		e.Quote = &quote.Quote{Amount: o.Amount, Rate: o.Rate, Gross: o.Gross, Net: o.Net, Fee: o.Fee}
		e.Quote.ID = "renewal"
	}
	return o, e, drawFacts(r, o)
}

func coin(r *rand.Rand) bool { return r.IntN(2) == 0 }

// older is none or some of the older attempts.
func older(r *rand.Rand) []int {
	return [][]int{nil, nil, {1}, {1, 2}}[r.IntN(4)]
}

func drawOrder(r *rand.Rand, at stand, now time.Time) *Order {
	o := &Order{
		Meta: newMeta("order"), User: "ada", State: at.state, Phase: NoPhase, Asset: "USDT", Fiat: "NGN", Amount: 25_000_000,
		Rate: money.Rate{Num: 3, Den: 20}, Gross: 3_750_000, Fee: 50_000, Net: 3_700_000, Hold: NotHeld, Quote: "order",
		WaitingUntil: now.Add(time.Hour), DepositUntil: now.Add(6 * time.Hour), CreatedAt: now, UpdatedAt: now,
	}
	if at.state != None && !at.state.Unfunded() && at.state != Cancelled {
		o.Hold = OnHold
	}
	switch {
	case at.phase == OnExchange:
		o.Phase = ExchangePhase(1)
	case at.phase == OnPayout, at.state == Sending, at.state == Success, at.state == Returned, coin(r) && o.Hold == OnHold:
		o.Exchanged = true
		drawAttempts(r, o, now)
		if at.phase == OnPayout {
			o.Phase = PayoutPhase(o.Attempt)
		}
	}
	switch at.state {
	case Success:
		o.Hold, o.Paid = Posted, 1+r.IntN(o.Attempt)
	case Returned:
		o.Hold, o.Paid, o.Exchanged = Posted, 1+r.IntN(o.Attempt), false
	case Failed:
		o.Hold, o.Exchanged = Voided, false
	case Review:
		if o.Attempt > 1 && coin(r) {
			o.Older = 1 + r.IntN(o.Attempt-1)
		}
	}
	return o
}

func drawAttempts(r *rand.Rand, o *Order, now time.Time) {
	o.Attempt = 1 + r.IntN(3)
	for n := 1; n <= o.Attempt; n++ {
		state := AttemptFailed
		if n == o.Attempt {
			state = Planned
		}
		o.Attempts = append(o.Attempts, Attempt{
			N: n, Rail: "bank", Reference: ids.ProviderReference(o.operationOf(PayoutPhase(n))), State: state, At: now,
		})
		for _, what := range []string{"late", "second", "older", "returned"} {
			if r.IntN(8) == 0 {
				o.Booked = append(o.Booked, what+":"+strconv.Itoa(n))
			}
		}
	}
}

func drawFacts(r *rand.Rand, o *Order) Facts {
	a := &ledger.Account{
		User: "ada", Asset: "USDT", Holds: map[string]money.Micro{}, OwedFiat: map[string]money.Minor{},
		Available: money.Micro(r.IntN(3)) * 20_000_000, Incoming: money.Micro(r.IntN(3)) * 20_000_000,
	}
	if r.IntN(4) == 0 {
		a.Owed, a.Available = 1_000_000, 0
	}
	if r.IntN(8) == 0 {
		a.OwedFiat["NGN"] = 1
	}
	if o.Hold == OnHold {
		a.Holds[o.ID], a.Held = o.Amount, o.Amount
	}
	f := Facts{
		Account: a, Venue: "desk", Address: "0xada", Chain: "Base", Exponent: 2, Symbol: "₦",
		Evidence: Evidence{
			CurrentPaid: coin(r), CurrentNotPaid: coin(r), OlderPaid: older(r), OlderNotPaid: coin(r), VenueUnknown: coin(r),
			NoCallInFlight: coin(r), Visible: coin(r), Approved: coin(r),
		},
	}
	if coin(r) {
		f.Rail = "bank"
	}
	if coin(r) {
		f.Bar = errBarred
	}
	if id := o.OperationID(); id != "" {
		f.Current = drawOperation(r, o, id, o.Phase)
	} else if o.Attempt > 0 && o.State == Review {
		f.Kept = drawOperation(r, o, o.operationOf(PayoutPhase(o.Attempt)), PayoutPhase(o.Attempt))
	}
	return f
}

func drawOperation(r *rand.Rand, o *Order, id string, p Phase) *operation.Operation {
	op := &operation.Operation{
		Meta: newMeta(id), Kind: operation.StartExchange, Order: o.ID, User: o.User, Attempt: p.Attempt(), Rail: "desk",
		Reference: ids.ProviderReference(id), State: operation.Pending, CreatedAt: o.CreatedAt, Calls: r.IntN(2),
	}
	op.Revision = 1
	if p.Kind() == OnPayout {
		op.Kind, op.Rail = operation.Payout, "bank"
	}
	if op.Calls > 0 {
		op.State, op.LastCall = operation.Called, &o.CreatedAt
	}
	return op
}
