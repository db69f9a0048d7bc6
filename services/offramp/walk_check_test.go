package offramp_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"offrampbot/services/deposit"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// verify compares the books, the orders and the outside world's truth.
func (w *walk) verify() {
	w.t.Helper()
	if w.commits == w.verified {
		return
	}
	w.verified = w.commits
	for _, id := range w.orders {
		found, err := w.check.One(w.t.Context(), id)
		w.must(err)
		if len(found) > 0 {
			w.fail("%v", found)
		}
		w.truth(w.order(id))
	}
	a, u := w.books()
	if err := a.Check(); err != nil {
		w.fail("I4: %v", err)
	}
	if a.Shortfall() && u.Frozen == nil {
		w.fail("the user owes something and is not frozen")
	}
	w.levels(a, u)
	if w.steps%15 == 14 {
		w.everything()
	}
}

func (w *walk) everything() {
	report, err := w.check.Verify(w.t.Context())
	w.must(err)
	if !report.OK {
		w.fail("verify: %v", report.Differences)
	}
}

// books reads the user and the account, and checks that the postings sum to zero (I3).
func (w *walk) books() (a *ledger.Account, u *user.User) {
	sums := map[string]int64{}
	w.must(w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		if a, err = ledger.Load(r, "ada", "USDT"); err != nil {
			return err
		}
		if u, err = user.Load(r, "ada"); err != nil {
			return err
		}
		all, err := store.All[ledger.Posting](r, store.Query{Collection: store.Postings, Index: store.ByID})
		for _, p := range all {
			if p.Amount <= 0 {
				w.fail("posting %s of %d", p.ID, p.Amount)
			}
			sums[p.Debit] -= p.Amount
			sums[p.Credit] += p.Amount
		}
		return err
	}))
	total := map[bool]int64{}
	for account, n := range sums {
		total[strings.Contains(account, "NGN")] += n
		if strings.HasPrefix(account, "due:") && n < 0 {
			w.fail("more fiat is paid than is due: %d", n)
		}
	}
	if total[true] != 0 || total[false] != 0 {
		w.fail("I3: the books do not balance: %v", total)
	}
	return a, u
}

// levels checks that no order waits for what is there already, and only one waits at all (rules 5 and 6).
func (w *walk) levels(a *ledger.Account, u *user.User) {
	unfunded := 0
	for _, id := range w.orders {
		o := w.order(id)
		if o.State.Unfunded() {
			unfunded++
		}
		if o.State != offramp.Waiting && o.State != offramp.Deposit {
			continue
		}
		late := o.Due != nil && !w.clock.Now().Before(*o.Due)
		want := offramp.Waiting
		if a.Available+a.Incoming >= o.Amount {
			want = offramp.Deposit
		}
		switch {
		case a.Available >= o.Amount:
			if u.Frozen == nil && !late {
				w.fail("%s is %s although the balance covers it", o.Reference, o.State)
			}
		case o.State != want:
			w.fail("%s is %s, available %d and incoming %d make it %s", o.Reference, o.State, a.Available, a.Incoming, want)
		}
	}
	if unfunded > 1 {
		w.fail("%d orders of one asset are unfunded", unfunded)
	}
}

// attempts returns what really became of each payout attempt, in order.
func (w *walk) attempts(o *offramp.Order) []*deed {
	var out []*deed
	for _, at := range o.Attempts {
		d := &deed{}
		for _, b := range w.banks {
			if known := b.did[at.Reference]; known != nil && b.name == at.Rail {
				d = known
			}
		}
		out = append(out, d)
	}
	return out
}

// truth checks an order against what really happened (I1, I2, I10).
func (w *walk) truth(o *offramp.Order) {
	deeds := w.attempts(o)
	lied := slices.ContainsFunc(deeds, func(d *deed) bool { return d.lied })
	paid := 0
	for i, d := range deeds {
		if d.is == isPaid {
			paid++
		}
		open := d.is == isPaid || d.is == isPending || d.is == wantsYes
		if open && !lied && o.Attempt > i+1 {
			w.fail("attempt %d of %s is out although attempt %d is %s", o.Attempt, o.Reference, i+1, d.is)
		}
		if open && !lied && o.Hold == offramp.Voided {
			w.fail("I1: the hold of %s is voided and attempt %d is %s", o.Reference, i+1, d.is)
		}
	}
	if paid > 1 && !lied {
		w.fail("I1: %s is paid %d times", o.Reference, paid)
	}
	if o.State == offramp.Success && !deeds[o.Paid-1].wasOut {
		w.fail("%s is a success and attempt %d was never paid", o.Reference, o.Paid)
	}
	if o.State == offramp.Failed && o.Attempt == 0 {
		d := w.market.did[ids.ProviderReference("start-exchange:"+o.ID)]
		booked := slices.ContainsFunc(o.History, func(f offramp.Fact) bool { return f.Event == offramp.ExchangeDone })
		if d != nil && d.is == isPaid && !booked {
			w.fail("%s failed and the venue has sold", o.Reference)
		}
	}
}

// settleDown ends the walk: the outside world tells the truth, workers, timers and admins do their work, and every
// order must come to an end.
func (w *walk) settleDown() {
	w.t.Helper()
	w.calm = true
	w.note("—— the walk is over")
	for round := range 400 {
		w.steps++
		if w.quiet() && round > 3 {
			break
		}
		if round == 399 {
			w.fail("stuck: %s", w.states())
		}
		w.calmRound(round)
		w.verify()
	}
	for range 8 { // hints, watches and every look-up come to an end
		w.pass(25 * time.Hour)
		w.drain()
	}
	w.verify()
	w.everything()
	w.ended()
}

func (w *walk) quiet() bool {
	return !slices.ContainsFunc(w.orders, func(id string) bool { return !w.order(id).State.Final() })
}

func (w *walk) states() string {
	var out []string
	for _, id := range w.orders {
		o := w.order(id)
		out = append(out, fmt.Sprintf("%s %s (%s) %s", o.Reference, o.State, o.Phase, o.Reason))
	}
	return strings.Join(out, ", ")
}

// calmRound lets everybody who has something to do do it.
func (w *walk) calmRound(round int) {
	for _, x := range w.deposits {
		if x.d.State == deposit.Pending || x.d.State == deposit.Missing {
			f := x.fact(deposit.FactSeen)
			w.must(w.svc.ApplyDeposit(w.t.Context(), f))
		}
	}
	for _, b := range w.banks {
		for _, reference := range slices.Sorted(maps.Keys(b.did)) {
			b.move(w.r, reference)
			if round%5 == 0 {
				w.must(w.svc.Hint(w.t.Context(), reference, func(store.Tx, *offramp.Order) error { return nil }))
			}
		}
	}
	for _, reference := range slices.Sorted(maps.Keys(w.market.did)) {
		w.market.move(w.r, reference)
	}
	w.drain()
	w.sweep()
	w.people()
	w.pass([]time.Duration{10 * time.Second, time.Minute, 11 * time.Minute, time.Hour}[round%4])
}

// drain lets the workers finish whatever is due.
func (w *walk) drain() {
	for n := range 2_000 {
		did := false
		for _, l := range w.hands {
			for l.op != nil {
				l.turn()
				did = true
			}
			for _, kind := range []operation.Kind{operation.StartExchange, operation.Payout, operation.LookUp} {
				if l.op == nil {
					did = l.begin(kind) || did
				}
			}
		}
		if !did {
			return
		}
		if n == 1_999 {
			w.fail("workers run in circles")
		}
	}
}

// people lets two admins try to settle, release and resume every order that is theirs, in this order.
func (w *walk) people() {
	for _, id := range w.orders {
		for _, on := range []offramp.Event{offramp.AdminSettled, offramp.AdminReleased, offramp.AdminResumed} {
			o := w.order(id)
			if o.State != offramp.Review {
				break
			}
			v, o, err := w.svc.Gather(w.t.Context(), id)
			w.must(err)
			if o.State != offramp.Review {
				break
			}
			if err := w.act(&proposal{order: id, revision: o.Revision, on: on, evidence: &v}); err == nil {
				w.note("admins: %s of %s", on, o.Reference)
			} else {
				w.refused(err)
			}
		}
	}
}

// ended checks what must hold once nothing moves any more.
func (w *walk) ended() {
	a, u := w.books()
	if a.Held != 0 {
		w.fail("%d is still held", a.Held)
	}
	for _, id := range w.orders {
		o := w.order(id)
		w.endedOrder(o, u)
		w.must(w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
			all, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "order", Equal: []any{id}})
			for _, op := range all {
				money := op.Kind == operation.StartExchange || op.Kind == operation.Payout || op.Kind == operation.LookUp
				if money && !op.State.Closed() {
					w.fail("I7: %s is still %s, order %s", op.ID, op.State, o.State)
				}
			}
			return err
		}))
	}
}

// endedOrder checks that every payment that really stands is booked, once.
func (w *walk) endedOrder(o *offramp.Order, u *user.User) {
	paid := 0
	for i, d := range w.attempts(o) {
		if d.is != isPaid {
			continue
		}
		paid++
		n := i + 1
		late := slices.Contains(o.Booked, fmt.Sprint("late:", n))
		second := slices.Contains(o.Booked, fmt.Sprint("second:", n))
		sold := o.State == offramp.Success && o.Paid == n
		if !late && !second && !sold {
			w.fail("attempt %d of %s is paid, the order is %s and nothing is booked (%v)", n, o.Reference, o.State, o.Booked)
		}
		if (late || second) && u.Frozen == nil {
			w.fail("a contradiction of %s is booked and the user is not frozen", o.Reference)
		}
	}
	if o.State == offramp.Success && paid == 0 {
		w.fail("%s is a success and no attempt is paid", o.Reference)
	}
}
