package offramp_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"offrampbot/services/exchange"
	"offrampbot/services/money"
	"offrampbot/services/payout"
)

// The outside world of a random walk has its own truth: what it really did, what it shows, and what it says.

// happened is what really became of a reference.
type happened string

const (
	nothing    happened = ""
	isPending  happened = "pending"
	wantsYes   happened = "waits for our approval"
	isPaid     happened = "paid"
	isFailed   happened = "failed"
	isReversed happened = "reversed"
)

// deed is one reference at the bank or the venue.
type deed struct {
	is     happened
	hidden *time.Time // not shown to look-ups until the visibility bound after this time
	amount money.Minor
	lied   bool // was shown as failed and paid afterwards
	wasOut bool // was ever paid
}

// bank is a payout provider. Everything random is drawn from the walk.
type bank struct {
	w    *walk
	name string
	did  map[string]*deed
}

func (b *bank) Name() string               { return b.name }
func (b *bank) Currencies() map[string]int { return map[string]int{"NGN": 2} }
func (b *bank) SameReferenceSafe() bool    { return true }
func (b *bank) Banks(context.Context, string) ([]payout.Bank, error) {
	return nil, nil
}

func (b *bank) ResolveAccount(context.Context, string, string, payout.AccountNumber) (string, error) {
	return "", nil
}

func (b *bank) ParseWebhook([]byte, func(string) string) (payout.Callback, error) {
	return payout.Callback{}, nil
}

func (b *bank) ParseApproval([]byte, func(string) string) (string, money.Minor, error) {
	return "", 0, nil
}
func (b *bank) Balance(context.Context, string) (money.Minor, error) { return 0, nil }

// Send is one call: it may reach the bank or not, and its reply may come back or not.
func (b *bank) Send(ctx context.Context, q payout.Request) payout.Result {
	pauseAt(ctx, gate{what: "send", since: b.w.clock.Now()})
	lost := payout.Result{Outcome: payout.Unknown, Found: true, Reason: "reply lost"}
	d := b.did[q.Reference]
	if d != nil && d.is != nothing { // the same reference is never carried out twice
		if d.hidden != nil || b.w.script == nil && b.w.r.IntN(4) == 0 {
			return lost
		}
		return b.shown(q.Reference)
	}
	d = &deed{amount: q.Amount}
	b.did[q.Reference] = d
	b.w.aboutToPay(q.Reference, q.Amount)
	now := b.w.clock.Now()
	if b.w.script != nil {
		if b.w.script(d) {
			return lost
		}
		return b.shown(q.Reference)
	}
	switch n := b.w.r.IntN(12); n {
	case 0: // not reached
		return lost
	case 1:
		return payout.Result{Outcome: payout.NotNow, Found: true, Reason: "float is empty"}
	case 2, 3:
		d.is = isFailed
	case 4, 5:
		d.is = isPending
	case 6:
		d.is = wantsYes
	case 7, 8:
		d.is, d.wasOut = isPaid, true
	case 9:
		d.is, d.wasOut, d.hidden = isPaid, true, &now
	case 10:
		d.is, d.hidden = isPending, &now
	default:
		d.is, d.wasOut = isPaid, true
		return payout.Result{Outcome: payout.Success, Found: true, Reference: q.Reference, Amount: q.Amount - 1, Currency: "NGN"}
	}
	b.w.note("%s: %s is %s", b.name, q.Reference[:8], d.is)
	if d.hidden != nil || b.w.r.IntN(3) == 0 {
		return lost
	}
	return b.shown(q.Reference)
}

// LookUp answers truthfully, unless the reference is still hidden or the answer is lost.
func (b *bank) LookUp(ctx context.Context, reference string) payout.Result {
	pauseAt(ctx, gate{what: "look-up", since: b.w.clock.Now()})
	if b.w.calm || b.w.script != nil || b.w.r.IntN(6) > 0 {
		return b.shown(reference)
	}
	return payout.Result{Outcome: payout.Unknown, Found: true, Reason: "no answer"}
}

func (b *bank) shown(reference string) payout.Result {
	d := b.did[reference]
	r := payout.Result{Outcome: payout.Unknown, Reference: reference, Currency: "NGN"}
	if d == nil || d.is == nothing || d.hidden != nil {
		return r
	}
	r.Found, r.Amount = true, d.amount
	switch d.is {
	case isPaid:
		r.Outcome, r.FeeMinor, r.SessionID = payout.Success, 1_000, "s-"+reference
	case isFailed:
		r.Outcome = payout.Failed
	case isReversed:
		r.Outcome = payout.Reversed
	default:
		r.Outcome = payout.Accepted
	}
	return r
}

// move lets the bank do something by itself with one of its references.
func (b *bank) move(r *rand.Rand, reference string) bool {
	d := b.did[reference]
	before, hidden := d.is, d.hidden != nil
	switch {
	case d.hidden != nil && r.IntN(2) == 0:
		d.hidden = nil
		b.w.note("%s: %s is shown", b.name, reference[:8])
	case d.is == isPending:
		if d.is = isPaid; r.IntN(3) == 0 {
			d.is = isFailed
		}
	case d.is == wantsYes:
		yes, err := b.w.svc.Approve(b.w.t.Context(), reference, d.amount)
		b.w.must(err)
		if d.is = isFailed; yes {
			d.is = isPaid
		}
	case d.is == isPaid && !b.w.calm && r.IntN(3) == 0:
		d.is = isReversed
	case d.is == isFailed && b.w.contradicts && !b.w.calm && r.IntN(2) == 0:
		d.is, d.lied = isPaid, true
	}
	d.wasOut = d.wasOut || d.is == isPaid
	if d.is != before {
		b.w.note("%s: %s is %s", b.name, reference[:8], d.is)
	}
	return d.is != before || hidden && d.hidden == nil
}

// market is a venue.
type market struct {
	w   *walk
	did map[string]*deed
}

func (m *market) Name() string            { return "desk" }
func (m *market) SameReferenceSafe() bool { return true }
func (m *market) Price(context.Context, string, string, string) (exchange.Price, error) {
	return exchange.Price{Rate: money.Rate{Num: 150_000, Den: 1_000_000}}, nil
}

func (m *market) Execute(ctx context.Context, o exchange.Order) exchange.Result {
	pauseAt(ctx, gate{what: "sell", since: m.w.clock.Now()})
	lost := exchange.Result{Outcome: exchange.Unknown, Found: true}
	if d := m.did[o.Reference]; d != nil && d.is != nothing {
		if d.hidden != nil {
			return lost
		}
		return m.shown(o.Reference)
	}
	d := &deed{amount: o.Gross}
	m.did[o.Reference] = d
	now := m.w.clock.Now()
	if m.w.script != nil {
		if m.w.script(d) {
			return lost
		}
		return m.shown(o.Reference)
	}
	switch m.w.r.IntN(9) {
	case 0:
		return lost
	case 1:
		return exchange.Result{Outcome: exchange.NotNow, Found: true}
	case 2:
		d.is = isFailed
	case 3:
		d.is, d.hidden = isPaid, &now
		return lost
	case 4:
		d.is = isPending
		return exchange.Result{Outcome: exchange.Accepted, Found: true}
	default:
		d.is = isPaid
	}
	m.w.note("desk: %s is %s", o.Reference[:8], d.is)
	if m.w.r.IntN(4) == 0 {
		return lost
	}
	return m.shown(o.Reference)
}

func (m *market) LookUp(ctx context.Context, reference string) exchange.Result {
	pauseAt(ctx, gate{what: "look-up", since: m.w.clock.Now()})
	if !m.w.calm && m.w.script == nil && m.w.r.IntN(6) == 0 {
		return exchange.Result{Outcome: exchange.Unknown, Found: true}
	}
	return m.shown(reference)
}

func (m *market) shown(reference string) exchange.Result {
	d := m.did[reference]
	if d == nil || d.is == nothing || d.hidden != nil {
		return exchange.Result{Outcome: exchange.Unknown}
	}
	r := exchange.Result{Outcome: exchange.Accepted, Found: true, VenueID: fmt.Sprint("v-", reference)}
	switch d.is {
	case isPaid:
		r.Outcome, r.Filled = exchange.Success, d.amount
	case isFailed:
		r.Outcome = exchange.Failed
	}
	return r
}

// move lets the venue do something by itself.
func (m *market) move(r *rand.Rand, reference string) bool {
	d := m.did[reference]
	switch {
	case d.hidden != nil:
		d.hidden = nil
	case d.is == isPending:
		if d.is = isPaid; r.IntN(2) == 0 {
			d.is = isFailed
		}
	default:
		return false
	}
	return true
}

// show ends the hiding of everything that was done longer ago than the visibility bound.
func show(did map[string]*deed, now time.Time, bound time.Duration) {
	for _, d := range did {
		if d.hidden != nil && now.Sub(*d.hidden) >= bound {
			d.hidden = nil
		}
	}
}
