package offramp

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/store"
)

// HoldState says what became of an order's hold: it is posted or voided, once (I2).
type HoldState string

// The states of a hold.
const (
	NotHeld HoldState = "none"
	OnHold  HoldState = "held"
	Posted  HoldState = "posted"
	Voided  HoldState = "voided"
)

// AttemptState is what is known about one payout attempt.
type AttemptState string

// The states of an attempt. Only Failed and Reversed are conclusively not paid; Withdrawn was never called.
const (
	Planned         AttemptState = "planned"
	WithProvider    AttemptState = "accepted"
	AttemptPaid     AttemptState = "paid"
	AttemptFailed   AttemptState = "failed"
	AttemptReversed AttemptState = "reversed"
	Withdrawn       AttemptState = "withdrawn"
)

// Attempt is one numbered try to pay the fiat, on one rail, under one reference.
type Attempt struct {
	N          int          `bson:"n" json:"n"`
	Rail       string       `bson:"rail" json:"rail"`
	Reference  string       `bson:"reference" json:"reference"` // at the provider; stored before the first call
	State      AttemptState `bson:"state" json:"state"`
	ProviderID string       `bson:"provider_id,omitempty" json:"provider_id,omitempty"`
	SessionID  string       `bson:"session_id,omitempty" json:"session_id,omitempty"` // the bank's own
	Fee        money.Minor  `bson:"fee,omitempty" json:"fee,omitempty"`               // charged by the provider
	Reason     string       `bson:"reason,omitempty" json:"reason,omitempty"`
	At         time.Time    `bson:"at" json:"at"`
}

// Fact is one line of an order's history: which event, made the same by what, brought it from where to where.
type Fact struct {
	Event   Event     `bson:"event" json:"event"`
	Key     string    `bson:"key" json:"key"` // attempt, deposit ref and epoch, quote, approval or due time
	EventID string    `bson:"event_id" json:"event_id"`
	From    State     `bson:"from" json:"from"`
	To      State     `bson:"to" json:"to"`
	Phase   Phase     `bson:"phase" json:"phase"` // after it
	By      Actor     `bson:"by" json:"by"`
	At      time.Time `bson:"at" json:"at"`
}

// Order is one sale of crypto for fiat. Its id is the intent id, the first quote's id.
type Order struct {
	store.Meta  `bson:",inline"`
	Reference   string            `bson:"reference" json:"reference"` // for people
	User        string            `bson:"user" json:"user"`
	State       State             `bson:"state" json:"state"`
	Phase       Phase             `bson:"phase" json:"phase"`
	Quote       string            `bson:"quote" json:"quote"` // the one in force
	Asset       string            `bson:"asset" json:"asset"`
	Chain       string            `bson:"chain" json:"chain"`
	Amount      money.Micro       `bson:"amount" json:"amount"`
	Fiat        string            `bson:"fiat" json:"fiat"`
	Rate        money.Rate        `bson:"rate" json:"rate"`
	Gross       money.Minor       `bson:"gross" json:"gross"`
	Remainder   money.Fraction    `bson:"remainder" json:"remainder"`
	Fee         money.Minor       `bson:"fee" json:"fee"`
	Net         money.Minor       `bson:"net" json:"net"`
	Beneficiary quote.Beneficiary `bson:"beneficiary" json:"beneficiary"`
	Content     string            `bson:"content" json:"content"` // the guard's digest

	Hold      HoldState `bson:"hold" json:"hold"`
	Exchanged bool      `bson:"exchanged" json:"exchanged"` // the exchange entries are posted
	Venue     string    `bson:"venue,omitempty" json:"venue,omitempty"`
	VenueID   string    `bson:"venue_id,omitempty" json:"venue_id,omitempty"`
	Attempt   int       `bson:"attempt" json:"attempt"` // number of the latest payout attempt
	Attempts  []Attempt `bson:"attempts,omitempty" json:"attempts,omitempty"`
	Paid      int       `bson:"paid,omitempty" json:"paid,omitempty"`                 // the attempt that made it a success
	Older     int       `bson:"paid_attempt,omitempty" json:"paid_attempt,omitempty"` // the older attempt last found paid (rule 4)
	Booked    []string  `bson:"booked,omitempty" json:"booked,omitempty"`             // the rows that apply once per attempt

	WaitingUntil time.Time  `bson:"waiting_until" json:"waiting_until"` // absolute from Placed or QuoteRenewed
	DepositUntil time.Time  `bson:"deposit_until" json:"deposit_until"`
	Due          *time.Time `bson:"due,omitempty" json:"due,omitempty"` // when the timer of the state is due
	DueFor       Event      `bson:"due_for,omitempty" json:"due_for,omitempty"`
	AcceptedAt   *time.Time `bson:"accepted_at,omitempty" json:"accepted_at,omitempty"`
	GiveUpAt     *time.Time `bson:"give_up_at,omitempty" json:"give_up_at,omitempty"` // in unclear: nothing is sent again from here on

	History []Fact      `bson:"history" json:"history"`
	Notices int         `bson:"notices" json:"notices"`
	LookUps int         `bson:"look_ups" json:"look_ups"`
	LookUp  string      `bson:"look_up,omitempty" json:"look_up,omitempty"` // the latest look-up operation
	Said    string      `bson:"said,omitempty" json:"said,omitempty"`       // what the last notice told, so that only changes are told
	Tail    ledger.Tail `bson:"tail" json:"tail"`
	Reason  string      `bson:"reason,omitempty" json:"reason,omitempty"` // why it is in review, failed or barred

	CreatedAt time.Time  `bson:"created_at" json:"created_at"`
	UpdatedAt time.Time  `bson:"updated_at" json:"updated_at"`
	FundedAt  *time.Time `bson:"funded_at,omitempty" json:"funded_at,omitempty"`
	EndedAt   *time.Time `bson:"ended_at,omitempty" json:"ended_at,omitempty"`
}

// Indexes declares what the collection is searched by.
var Indexes = []store.Index{
	{Collection: store.Orders, Name: "reference", Fields: []string{"reference"}, Unique: true},
	{Collection: store.Orders, Name: "attempt", Fields: []string{"attempts.reference"}, Unique: true},
	{Collection: store.Orders, Name: "user", Fields: []string{"user", "created_at"}},
	{Collection: store.Orders, Name: "state", Fields: []string{"state", "created_at"}},
	{Collection: store.Orders, Name: "due", Fields: []string{"due"}},
	{Collection: store.Orders, Name: "content", Fields: []string{"content", "created_at"}},
	{Collection: store.Orders, Name: "created", Fields: []string{"created_at"}},
}

// clone copies the order deeply enough that Apply never changes its argument.
func (o *Order) clone() *Order {
	c := *o
	c.Attempts = slices.Clone(o.Attempts)
	c.History = slices.Clone(o.History)
	c.Booked = slices.Clone(o.Booked)
	return &c
}

// attempt returns the attempt of a number, or nil.
func (o *Order) attempt(n int) *Attempt {
	for i := range o.Attempts {
		if o.Attempts[i].N == n {
			return &o.Attempts[i]
		}
	}
	return nil
}

// notPaidAnyMore takes back what a look-up said about an older attempt, because a later one says otherwise.
func (o *Order) notPaidAnyMore(n int) {
	o.attempt(n).State = AttemptReversed
	o.Booked = slices.DeleteFunc(o.Booked, func(what string) bool { return what == "older:"+strconv.Itoa(n) })
}

// AttemptOf returns the attempt with a provider reference.
func (o *Order) AttemptOf(reference string) (Attempt, bool) {
	for _, a := range o.Attempts {
		if a.Reference == reference {
			return a, true
		}
	}
	return Attempt{}, false
}

// OperationID is the id of the operation that carries the phase's attempt, "" where nothing is out.
func (o *Order) OperationID() string { return o.operationOf(o.Phase) }

func (o *Order) operationOf(p Phase) string {
	switch p.Kind() {
	case OnExchange:
		return ids.Operation(string(operation.StartExchange), o.ID, p.Attempt())
	case OnPayout:
		return ids.Operation(string(operation.Payout), o.ID, p.Attempt())
	default:
		return ""
	}
}

// sale is what the ledger needs to know.
func (o *Order) sale(source string) ledger.Sale {
	return ledger.Sale{
		Order: o.ID, Asset: o.Asset, Fiat: o.Fiat, Amount: o.Amount, Net: o.Net, Fee: o.Fee, Operation: source,
	}
}

// knows reports whether the fact is already in the order's history.
func (o *Order) knows(on Event, key string) bool {
	return slices.ContainsFunc(o.History, func(f Fact) bool { return f.Event == on && f.Key == key })
}

func (o *Order) booked(what string, attempt int) bool {
	return slices.Contains(o.Booked, what+":"+strconv.Itoa(attempt))
}

// olderPaid lists the older attempts that are known paid while nothing is settled (rule 4).
func (o *Order) olderPaid() []int {
	var out []int
	for _, a := range o.Attempts {
		if o.booked("older", a.N) {
			out = append(out, a.N)
		}
	}
	return out
}

func (o *Order) book(what string, attempt int) {
	o.Booked = append(o.Booked, what+":"+strconv.Itoa(attempt))
}

// cloneAccount copies an account deeply.
func cloneAccount(a *ledger.Account) *ledger.Account {
	c := *a
	c.Holds = maps.Clone(a.Holds)
	c.OwedFiat = maps.Clone(a.OwedFiat)
	return &c
}

// takeQuote puts a quote's numbers into force.
func (o *Order) takeQuote(q *quote.Quote) {
	o.Quote, o.Rate, o.Gross, o.Remainder, o.Fee, o.Net = q.ID, q.Rate, q.Gross, q.Remainder, q.Fee, q.Net
	o.Beneficiary = q.Beneficiary
}

// fromQuote is the order that a quote asks for, not yet placed.
func fromQuote(q *quote.Quote, reference string, at time.Time) *Order {
	o := &Order{
		Meta: newMeta(q.ID), Reference: reference, User: q.User, Phase: NoPhase, Asset: q.Asset, Chain: q.Chain,
		Amount: q.Amount, Fiat: q.Fiat, Content: q.Content, Hold: NotHeld, CreatedAt: at, UpdatedAt: at,
	}
	o.takeQuote(q)
	return o
}
