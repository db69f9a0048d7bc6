package offramp

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"offrampbot/services/audit"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/testkit"
)

// TestApply_anyEventsInAnyOrder gives one order any events, with any payload, evidence and facts, and folds the changes
// as the store would. Whatever is said to it, the order keeps to its table and its books.
func TestApply_anyEventsInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t, rapid.Uint64().Draw(t, "seed"))
		for range 150 {
			l.step()
		}
	})
	applied := map[Event]int{}
	for seed := range uint64(250) {
		l := newLife(t, seed)
		for range 150 {
			applied[l.step()]++
		}
	}
	for _, on := range Events() {
		if applied[on] == 0 {
			t.Errorf("%s was never applied", on)
		}
	}
}

// failer is a test or a property.
type failer interface {
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// life is one order with its user's account and its operations.
type life struct {
	t        failer
	r        *rand.Rand
	now      time.Time
	order    *Order
	account  *ledger.Account
	ops      map[string]*operation.Operation
	postings map[string]bool
	sums     map[string]int64
}

func newLife(t failer, seed uint64) *life {
	at := testkit.Noon().Now()
	q := &quote.Quote{
		User: "ada", Asset: "USDT", Chain: "base", Amount: 25_000_000, Fiat: "NGN", Rate: money.Rate{Num: 3, Den: 20},
		Gross: 3_750_000, Fee: 50_000, Net: 3_700_000, Content: "c",
	}
	q.ID = "order"
	return &life{
		t: t, r: rand.New(rand.NewPCG(seed, 3)), now: at, order: fromQuote(q, "REF", at),
		account: &ledger.Account{User: "ada", Asset: "USDT", Holds: map[string]money.Micro{}, OwedFiat: map[string]money.Minor{}},
		ops:     map[string]*operation.Operation{}, postings: map[string]bool{}, sums: map[string]int64{},
	}
}

// step lets the world change a little and raises one event; it returns the event if it was applied.
func (l *life) step() Event {
	l.now = l.now.Add(time.Duration(l.r.IntN(40)) * time.Minute)
	l.money()
	e := l.event()
	f := l.facts(e)
	before := l.picture(f, e)
	c, err := Apply(l.order, e, f, DefaultPolicy())
	if after := l.picture(f, e); after != before {
		l.t.Fatalf("%s in %s changed its arguments:\n%s\n%s", e.On, l.order.State, before, after)
	}
	again, errAgain := Apply(l.order, e, f, DefaultPolicy())
	if (err == nil) != (errAgain == nil) || err == nil && text(l.t, again) != text(l.t, c) {
		l.t.Fatalf("%s in %s: the same arguments gave two changes", e.On, l.order.State)
	}
	switch {
	case errors.Is(err, ErrApplied):
		if !l.order.knows(e.On, e.key()) {
			l.t.Fatalf("%s in %s was never applied before", e.On, l.order.State)
		}
		return ""
	case err != nil && !refused(err) && !errors.Is(err, errBarred):
		l.t.Fatalf("%s in %s: %v", e.On, l.order.State, err)
	case err != nil:
		return ""
	}
	l.check(c, e)
	l.fold(c)
	return e.On
}

// money lets the user's balance change outside the order.
func (l *life) money() {
	a := l.account
	switch l.r.IntN(8) {
	case 0:
		a.Available += max(0, 25_000_000-a.Owed)
		l.sums["outside"] -= int64(25_000_000)
		l.sums["available"] += int64(max(0, 25_000_000-a.Owed))
		a.Owed = max(0, a.Owed-25_000_000)
	case 1:
		a.Available = 0
	case 2:
		a.Incoming = money.Micro(l.r.IntN(2)) * 25_000_000
	}
}

func (l *life) event() Occurrence {
	rows := slices.DeleteFunc(Table(), func(row Transition) bool {
		return row.From != l.order.State || row.Phase != OnAny && row.Phase != l.order.Phase.Kind()
	})
	on, by := Events()[l.r.IntN(len(Events()))], ByUser
	if len(rows) > 0 && l.r.IntN(4) > 0 {
		row := rows[l.r.IntN(len(rows))]
		if row.On == UserCancelled { // it would end most lives early
			row = rows[l.r.IntN(len(rows))]
		}
		on, by = row.On, row.By[l.r.IntN(len(row.By))]
	}
	e := Occurrence{
		On: on, ID: "event", By: by, At: l.now, Fresh: coin(l.r), Attempt: l.order.Phase.Attempt(), Fee: money.Minor(l.r.IntN(3)),
		ProviderID: "p", Reason: "because",
	}
	if l.r.IntN(3) == 0 {
		e.Attempt = l.r.IntN(4)
	}
	if due := l.order.Due; due != nil && (on == l.order.DueFor || coin(l.r)) {
		l.now = *due
		e.At, e.Due = l.now, due
	}
	if on == Placed || on == QuoteRenewed {
		e.Quote = &quote.Quote{
			User: "ada", Rate: l.order.Rate, Gross: l.order.Gross, Fee: l.order.Fee, Net: l.order.Net, Beneficiary: l.order.Beneficiary,
		}
		e.Quote.ID, e.Key = "quote", "quote"
	}
	return e
}

func (l *life) facts(e Occurrence) Facts {
	f := drawFacts(l.r, l.order)
	f.Account, f.Current, f.Kept, f.Owes = l.account, l.ops[l.order.OperationID()], nil, l.r.IntN(8) == 0
	f.LookUp = l.ops[l.order.LookUp]
	if l.r.IntN(3) > 0 { // quiet most of the time, so that reviews are reached and left
		f.Evidence.NoCallInFlight, f.Evidence.Visible = true, true
	}
	if e.Attempt != l.order.Phase.Attempt() && l.order.attempt(e.Attempt) != nil {
		f.Subject = l.ops[l.order.operationOf(PayoutPhase(e.Attempt))]
	}
	if l.order.State == Review && l.order.Phase == NoPhase && l.order.Attempt > 0 {
		f.Kept = l.ops[l.order.operationOf(PayoutPhase(l.order.Attempt))]
	}
	if (e.On == ExchangeDone || e.On == AdminResumed) && l.order.Attempt == 0 {
		f.Rail = "bank" // the router always has a first route
	}
	if f.Current != nil && l.order.State != Review && coin(l.r) {
		f.Current.Calls++ // a worker called it meanwhile
		f.Current.State = operation.Called
	}
	return f
}

// picture is everything that Apply is given.
func (l *life) picture(f Facts, e Occurrence) string {
	f.Bar = nil // an error has no fields
	return text(l.t, l.order) + text(l.t, f) + text(l.t, e)
}

func text(t failer, v any) string {
	if c, ok := v.(*Change); ok {
		c := *c
		c.Row = Transition{}
		v = c
	}
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// check compares one change with the table and the rules.
func (l *life) check(c *Change, e Occurrence) {
	o, n := l.order, c.Order
	fail := func(why string) {
		l.t.Fatalf("%s in %s (%s) → %s (%s): %s", e.On, o.State, o.Phase, n.State, n.Phase, why)
	}
	switch {
	case n.State != c.Row.To || n.Phase.Kind() != phaseAfter(c.Row, o.Phase.Kind()):
		fail("not where its row leads")
	case o.State.Final() && n.State != o.State && (o.State != Success || n.State != Returned):
		fail("a final state was left")
	case o.Hold != n.Hold && (o.Hold == Posted || o.Hold == Voided):
		fail("the hold was resolved twice")
	case n.Attempt < o.Attempt || n.Attempt > o.Attempt+1:
		fail("attempts are not counted one by one")
	case n.State == Success && (n.Paid == 0 || n.Hold != Posted):
		fail("a success that nothing was paid for")
	case n.State == Failed && n.Hold != Voided:
		fail("a failure that keeps its hold")
	case n.State.Unfunded() && n.Hold != NotHeld:
		fail("a hold before it is funded")
	case len(n.History) != len(o.History)+1 && len(o.History) < mostFacts:
		fail("the history does not say it")
	case !slices.ContainsFunc(c.Audit, func(a audit.Entry) bool { return a.Action == string(e.On) }):
		fail("the trail does not say it")
	}
	if n.Attempt == o.Attempt+1 && o.Attempt > 0 {
		last := n.attempt(o.Attempt).State
		if last != AttemptFailed && last != AttemptReversed {
			fail("a new attempt although the last one is " + string(last))
		}
	}
	if err := c.Account.Check(); err != nil {
		fail(err.Error())
	}
}

// fold stores a change.
func (l *life) fold(c *Change) {
	for _, p := range c.Postings {
		if p.Amount <= 0 || l.postings[p.ID] {
			l.t.Fatalf("posting %s of %d, twice: %v", p.ID, p.Amount, l.postings[p.ID])
		}
		l.postings[p.ID] = true
		l.sums[p.Debit] -= p.Amount
		l.sums[p.Credit] += p.Amount
	}
	if due := l.sums["due:NGN"]; due < 0 || due > int64(c.Order.Net) {
		l.t.Fatalf("%d is due", due)
	}
	for _, op := range c.Insert {
		if l.ops[op.ID] != nil {
			l.t.Fatalf("operation %s twice", op.ID)
		}
		l.ops[op.ID] = op
	}
	for _, op := range c.Replace {
		if l.ops[op.ID] == nil {
			l.t.Fatalf("operation %s is replaced and does not exist", op.ID)
		}
		if op.Calls > 0 && op.State == operation.Superseded && !strings.HasPrefix(op.ID, "look-up") {
			l.t.Fatalf("operation %s was called and is superseded", op.ID)
		}
		l.ops[op.ID] = op
	}
	l.order, l.account = c.Order, c.Account
}
