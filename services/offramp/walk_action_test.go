package offramp_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/store"
)

// transfer is one on-chain transfer, as the chain and its watcher see it.
type transfer struct {
	d      deposit.Deposit
	block  int64
	credit bool // a credit of it stands
}

func newTransfer(w *walk, n int) *transfer {
	return transferOf(w, n, []int64{10, 25, 30}[w.r.IntN(3)])
}

func transferOf(w *walk, n int, usdt int64) *transfer {
	d := deposit.Deposit{
		Chain: "base", Tx: fmt.Sprintf("0x%d", n), Asset: "USDT", Contract: "0xusdt", From: "0xsender", To: "0xada", User: "ada",
		Raw: fmt.Sprint(usdt * int64(oneUSDT)), Micro: money.Micro(usdt) * oneUSDT, Depth: 2, Fingerprint: fmt.Sprintf("f%d", n),
		SeenAt: w.clock.Now(),
	}
	d.ID = deposit.Ref("base", d.Tx, 0)
	return &transfer{d: d}
}

// next lists the facts that a watcher may report about a transfer now.
func (x *transfer) next() []deposit.FactKind {
	switch {
	case x.d.State == deposit.Settled, x.d.State == deposit.Parked:
		return nil
	case x.d.State == "" || x.d.State == deposit.Reverted:
		return []deposit.FactKind{deposit.FactSeen}
	case x.d.State == deposit.Missing && x.credit:
		return []deposit.FactKind{deposit.FactReverted, deposit.FactSeen}
	case x.d.State == deposit.Missing:
		return []deposit.FactKind{deposit.FactDropped, deposit.FactSeen}
	case x.credit:
		return []deposit.FactKind{deposit.FactMissing, deposit.FactSettled, deposit.FactMissing}
	default:
		return []deposit.FactKind{
			deposit.FactConfirmed, deposit.FactConfirmed, deposit.FactConfirmed, deposit.FactDropped, deposit.FactMissing,
			deposit.FactParked,
		}
	}
}

// fact is a fact as the watcher would commit it, and what the transfer is after it.
func (x *transfer) fact(kind deposit.FactKind) deposit.Fact {
	x.block++
	d := x.d
	d.Block, d.BlockHash = x.block, fmt.Sprint("h", x.block)
	open := x.block
	d.Open = &open
	switch kind {
	case deposit.FactSeen:
		if d.State = deposit.Pending; x.credit {
			d.State = deposit.Reported
		}
	case deposit.FactConfirmed:
		d.State, x.credit = deposit.Reported, true
	case deposit.FactDropped, deposit.FactReverted:
		d.State, x.credit = deposit.Reverted, false
	case deposit.FactMissing:
		d.State = deposit.Missing
	case deposit.FactSettled:
		d.State, d.Open = deposit.Settled, nil
	case deposit.FactParked:
		d.State, d.Open, d.Reason = deposit.Parked, nil, deposit.ReasonFailedReceipt
	case deposit.FactOutgoing:
	}
	x.d = d
	return deposit.Fact{Kind: kind, Deposit: d}
}

// step does one random thing that can be done now.
func (w *walk) step() {
	w.t.Helper()
	do := []func() bool{
		w.place, w.place, w.place, w.cancel, w.renew,
		w.watch, w.watch, w.watch, w.watch, w.confirm,
		w.hire, w.hire, w.hire, w.hire, w.hire, w.hire, w.turn, w.turn, w.turn, w.turn, w.turn, w.turn, w.finish, w.finish, w.finish,
		w.die, w.beat,
		w.outside, w.outside, w.outside, w.webhook, w.webhook,
		w.time, w.time, w.time, w.sweep, w.sweep,
		w.propose, w.propose, w.decide, w.decide, w.decide,
		w.freeze,
	}
	for !do[w.r.IntN(len(do))]() {
	}
}

// refused passes over refusals and fails on anything else.
func (w *walk) refused(err error) {
	w.t.Helper()
	if err == nil {
		return
	}
	if f := fault.As(err); f.Kind == fault.Internal {
		w.fail("%v", err)
	}
	w.note("… refused: %s", fault.As(err).Code)
}

// place makes a quote and confirms it, or confirms an old one again.
func (w *walk) place() bool {
	if len(w.quotes) > 0 && w.r.IntN(4) == 0 {
		w.confirmQuote(w.quotes[w.r.IntN(len(w.quotes))])
		return true
	}
	if len(w.orders) == 4 || w.pick(func(o *offramp.Order) bool { return o.State.Unfunded() }) != nil && w.r.IntN(8) > 0 {
		return false
	}
	w.sell([]int64{10, 25}[w.r.IntN(2)], "")
	return true
}

// confirmQuote gives the PIN for a quote, for the first time or again.
func (w *walk) confirmQuote(intent string) {
	w.note("user confirms %s", intent)
	o, err := w.svc.Place(w.t.Context(), offramp.Placing{Intent: intent, User: "ada", Delivery: "wa:" + intent})
	w.refused(err)
	if err == nil && !slices.Contains(w.orders, o.ID) {
		w.orders = append(w.orders, o.ID)
	}
}

// sell offers and places; renews names an overdue order.
func (w *walk) sell(usdt int64, renews string) {
	intent := fmt.Sprintf("intent-%d", len(w.quotes)+1)
	q, err := w.svc.Offer(w.t.Context(), offramp.Ask{
		Intent: intent, User: "ada", Asset: "USDT", Chain: "base", Amount: money.Micro(usdt) * oneUSDT, Fiat: "NGN",
		Beneficiary: quote.Beneficiary{
			BankCode: "058", BankName: "GTBank", Sealed: []byte("0123456789"), Last4: "6789", Name: "ADA OBI", Digest: "digest",
			Since: w.clock.Now().Add(-48 * time.Hour),
		},
		Content: "content", Renews: renews,
	})
	if err != nil {
		w.refused(err)
		return
	}
	w.quotes = append(w.quotes, q.ID)
	w.note("user sells %d USDT by %s, renews %q", usdt, intent, renews)
	w.confirmQuote(intent)
}

func (w *walk) cancel() bool {
	o := w.pick(func(o *offramp.Order) bool { return o.State.Unfunded() || w.r.IntN(4) == 0 })
	if o == nil || w.r.IntN(3) > 0 {
		return false
	}
	w.note("user cancels %s", o.Reference)
	_, err := w.svc.Cancel(w.t.Context(), "ada", o.ID, "wa:cancel")
	w.refused(err)
	return true
}

func (w *walk) renew() bool {
	o := w.pick(func(o *offramp.Order) bool { return o.State == offramp.Overdue })
	if o == nil {
		return false
	}
	w.sell(int64(o.Amount/oneUSDT), o.ID)
	return true
}

// pick chooses one of the orders that fit, or nil.
func (w *walk) pick(fits func(o *offramp.Order) bool) *offramp.Order {
	var fit []*offramp.Order
	for _, id := range w.orders {
		if o := w.order(id); fits(o) {
			fit = append(fit, o)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[w.r.IntN(len(fit))]
}

// order reads an order, or remembers it while nothing was committed.
func (w *walk) order(id string) *offramp.Order {
	if w.known.at != w.commits {
		w.known.at, w.known.orders = w.commits, map[string]*offramp.Order{}
	}
	if o := w.known.orders[id]; o != nil {
		return o
	}
	o, err := w.svc.Order(w.t.Context(), id)
	w.must(err)
	w.known.orders[id] = o
	return o
}

// watch lets the watcher of the chain report something, sometimes twice.
func (w *walk) watch() bool {
	x := w.deposits[w.r.IntN(len(w.deposits))]
	kinds := x.next()
	if len(kinds) == 0 {
		return false
	}
	kind := kinds[w.r.IntN(len(kinds))]
	f := x.fact(kind)
	w.note("chain: %s %s of %d USDT", x.d.Tx, kind, x.d.Micro/oneUSDT)
	for range 1 + w.r.IntN(2) {
		w.must(w.svc.ApplyDeposit(w.t.Context(), f))
	}
	return true
}

// confirm is a trusted confirmation event from a separate verifier.
func (w *walk) confirm() bool {
	o := w.pick(func(o *offramp.Order) bool { return o.State == offramp.Deposit || w.r.IntN(4) == 0 })
	if o == nil {
		return false
	}
	x := w.deposits[w.r.IntN(len(w.deposits))]
	event := fmt.Sprintf("event-%d", w.r.IntN(6))
	got, err := w.svc.Confirm(w.t.Context(), offramp.Confirmation{EventID: event, Order: o.ID, Ref: x.d.ID, Amount: x.d.Raw})
	w.note("verifier: %s confirms %s for %s: %s", event, x.d.Tx, o.Reference, got.Outcome)
	w.refused(err)
	if got.Outcome == offramp.Applied {
		x.d.State, x.credit = deposit.Reported, true
	}
	return true
}

// hire lets a free hand take an operation.
func (w *walk) hire() bool {
	kind := []operation.Kind{operation.StartExchange, operation.Payout, operation.LookUp}[w.r.IntN(3)]
	for _, l := range w.hands {
		if l.op == nil {
			return l.begin(kind)
		}
	}
	return false
}

func (w *walk) busy() *laborer {
	l := w.hands[w.r.IntN(len(w.hands))]
	if l.op == nil {
		return nil
	}
	return l
}

func (w *walk) turn() bool {
	l := w.busy()
	if l != nil {
		l.turn()
	}
	return l != nil
}

// finish lets a worker go on without a pause until it is done.
func (w *walk) finish() bool {
	l := w.busy()
	if l == nil {
		return false
	}
	for l.op != nil {
		l.turn()
	}
	return true
}

func (w *walk) die() bool {
	l := w.busy()
	if l != nil {
		l.die()
	}
	return l != nil
}

func (w *walk) beat() bool {
	l := w.busy()
	if l != nil {
		l.beat()
	}
	return l != nil
}

// outside lets a bank or the venue move by itself.
func (w *walk) outside() bool {
	if w.r.IntN(4) == 0 {
		return len(w.market.did) > 0 && w.market.move(w.r, w.anyOf(w.market.did))
	}
	b := w.banks[w.r.IntN(len(w.banks))]
	return len(b.did) > 0 && b.move(w.r, w.anyOf(b.did))
}

func (w *walk) anyOf(did map[string]*deed) string {
	keys := slices.Sorted(maps.Keys(did))
	return keys[w.r.IntN(len(keys))]
}

// webhook is a hint about a reference, true or not.
func (w *walk) webhook() bool {
	b := w.banks[w.r.IntN(len(w.banks))]
	if len(b.did) == 0 {
		return false
	}
	reference := w.anyOf(b.did)
	w.note("webhook of %s", reference[:8])
	w.refused(w.svc.Hint(w.t.Context(), reference, func(store.Tx, *offramp.Order) error { return nil }))
	return true
}

// time moves the clock; what would time out before ends first.
func (w *walk) time() bool {
	steps := []time.Duration{
		time.Second, 5 * time.Second, 20 * time.Second, 40 * time.Second, 2 * time.Minute, 11 * time.Minute, time.Hour, 25 * time.Hour,
	}
	w.pass(steps[w.r.IntN(len(steps))])
	return true
}

// pass moves the clock. No outside call lasts longer than the provider's time-out, and nothing stays hidden longer than
// the visibility bound: that is what the two settings promise.
func (w *walk) pass(d time.Duration) {
	p := offramp.DefaultPolicy()
	to := w.clock.Now().Add(d)
	for _, l := range w.hands {
		for l.op != nil && l.at.calling() && !to.Before(l.at.since.Add(p.ProviderTimeout)) {
			if w.r.IntN(3) == 0 && !w.calm {
				l.die()
				break
			}
			l.turn()
		}
	}
	w.clock.Set(to)
	for _, b := range w.banks {
		show(b.did, to, p.VisibilityBound)
	}
	show(w.market.did, to, p.VisibilityBound)
	w.note("%s pass", d)
}

func (w *walk) sweep() (did bool) {
	for range 4 {
		worked, err := w.svc.SweepTimers(w.t.Context())
		w.must(err)
		if !worked {
			return did
		}
		did = true
	}
	return did
}

// proposal is what the first admin asked for, and the evidence that the second one gathered.
type proposal struct {
	order    string
	revision int64
	on       offramp.Event
	evidence *offramp.Evidence
}

var errMovedOn = errors.New("the order has moved on")

func (w *walk) propose() bool {
	o := w.pick(func(o *offramp.Order) bool { return o.State == offramp.Review })
	if o == nil || len(w.proposals) > 2 {
		return false
	}
	on := []offramp.Event{offramp.AdminSettled, offramp.AdminReleased, offramp.AdminResumed}[w.r.IntN(3)]
	w.note("first admin asks for %s of %s", on, o.Reference)
	w.proposals = append(w.proposals, &proposal{order: o.ID, revision: o.Revision, on: on})
	return true
}

// decide lets the second admin gather evidence, or decide on what was gathered, perhaps long ago.
func (w *walk) decide() bool {
	if len(w.proposals) == 0 {
		return false
	}
	i := w.r.IntN(len(w.proposals))
	p := w.proposals[i]
	if p.evidence == nil || w.r.IntN(4) == 0 {
		v, _, err := w.svc.Gather(w.t.Context(), p.order)
		w.must(err)
		p.evidence = &v
		return true
	}
	w.proposals = slices.Delete(w.proposals, i, i+1)
	w.note("second admin: %s, %+v", p.on, *p.evidence)
	w.refused(w.act(p))
	return true
}

func (w *walk) act(p *proposal) error {
	_, err := w.svc.Decide(w.t.Context(), offramp.Act{
		Order: p.order, On: p.on, Approval: fmt.Sprintf("approval-%d", w.claims), Who: "staff:two", Why: "because", Evidence: *p.evidence,
	}, func(_ store.Tx, o *offramp.Order) error {
		if o.Revision != p.revision {
			return fault.New("approval_refused", errMovedOn)
		}
		return nil
	})
	w.claims++
	return err
}

func (w *walk) freeze() bool {
	if w.r.IntN(3) > 0 {
		return false
	}
	if w.r.IntN(3) == 0 {
		w.note("admin freezes the user")
		w.must(w.svc.FreezeUser(w.t.Context(), "ada", "because", "staff:one"))
		return true
	}
	w.note("admin thaws the user")
	w.refused(w.svc.UnfreezeUser(w.t.Context(), "ada", "because", "staff:one"))
	return true
}

// aboutToPay checks that a bank is only asked for what its order still waits for, to the minor unit (I10).
func (w *walk) aboutToPay(reference string, amount money.Minor) {
	for _, id := range w.orders {
		o := w.order(id)
		a, ok := o.AttemptOf(reference)
		if !ok {
			continue
		}
		if amount != o.Net {
			w.fail("asked to pay %d instead of %d", amount, o.Net)
		}
		waits := (o.State == offramp.Sending || o.State == offramp.Unclear) && o.Phase == offramp.PayoutPhase(a.N)
		if !waits && !w.contradicts {
			w.fail("attempt %d of %s is called while the order is %s (%s)", a.N, o.Reference, o.State, o.Phase)
		}
		return
	}
	w.fail("a bank is asked to pay reference %s that no order has", reference)
}
