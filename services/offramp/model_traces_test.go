package offramp_test

import (
	_ "embed"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

//go:embed testdata/model_traces.txt
var modelTraces string

var traceMongo = flag.Int("trace-mongo", 6, "play every n-th trace of the model on MongoDB too; 1: all, as make torture does")

// modelTrace is one way in which the first draft of the order table went wrong.
type modelTrace struct {
	name        string
	sales       []int64 // USDT
	transfers   []int64 // USDT
	balance     int64   // USDT
	contradicts bool
	steps       []string
}

var traceHead = regexp.MustCompile(`^sales (\S+) transfers (\S+) balance (\d+) contradicts (yes|no)$`)

// unit is one unit of the model's money, in USDT.
const unit = 10

func readTraces(t *testing.T) (out []modelTrace) {
	t.Helper()
	units := func(list string) (usdt []int64) {
		if list == "-" {
			return nil
		}
		for _, s := range strings.Split(list, ",") {
			n, err := strconv.ParseInt(s, 10, 64)
			require.NoError(t, err)
			usdt = append(usdt, n*unit)
		}
		return usdt
	}
	for _, section := range strings.Split(modelTraces, "\n== ")[1:] {
		lines := strings.Split(strings.TrimSpace(section), "\n")
		head := traceHead.FindStringSubmatch(lines[1])
		require.NotNil(t, head, lines[1])
		out = append(out, modelTrace{
			name: lines[0], sales: units(head[1]), transfers: units(head[2]), balance: units(head[3])[0], contradicts: head[4] == "yes", steps: lines[2:],
		})
	}
	return out
}

// TestModel_noTraceOfTheFirstDraftHappensAgain plays each trace of the model against the real service: the same events,
// attempts, crashes and answers in the same order, as far as today's table lets them happen. After every step the books,
// the orders and the outside world's truth agree, and in the end workers, timers and two admins bring every order to an
// end in which each payment that stands is booked once.
func TestModel_noTraceOfTheFirstDraftHappensAgain(t *testing.T) {
	t.Parallel()
	traces := readTraces(t)
	require.Len(t, traces, 66)
	for i, tr := range traces {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			t.Run("bolt", func(t *testing.T) {
				t.Parallel()
				playTrace(t, testkit.Bolt(t, indexes()), tr)
			})
			if i%*traceMongo == 0 {
				t.Run("mongo", func(t *testing.T) {
					t.Parallel()
					playTrace(t, testkit.OpenMongo(t, indexes()), tr)
				})
			}
		})
	}
}

func playTrace(t *testing.T, engine store.Engine, tr modelTrace) {
	t.Helper()
	p := newPlay(t, engine, tr)
	for i, step := range tr.steps {
		p.steps = i
		p.later(time.Second)
		p.note("· %s", step)
		p.take(step)
		p.verify()
		p.nothingStartedWhileFrozen()
	}
	p.script = nil
	p.settleDown()
}

// play is a walk that takes the steps of a trace.
type play struct {
	*walk
	trace    modelTrace
	crew     []*laborer // who is at a call, or has its outcome and has not stored it; the oldest first
	proposed map[int]*proposal
}

func newPlay(t *testing.T, engine store.Engine, tr modelTrace) *play {
	t.Helper()
	p := &play{walk: newWalkOn(t, engine, 1), trace: tr, proposed: map[int]*proposal{}}
	p.contradicts = tr.contradicts
	for n, usdt := range tr.transfers {
		p.deposits = append(p.deposits, transferOf(p.walk, n, usdt))
	}
	if tr.balance > 0 {
		funds := transferOf(p.walk, 100, tr.balance)
		p.must(p.svc.ApplyDeposit(t.Context(), funds.fact(deposit.FactConfirmed)))
		p.must(p.svc.ApplyDeposit(t.Context(), funds.fact(deposit.FactSettled)))
	}
	p.script = func(*deed) bool { return true } // not reached
	return p
}

// traceStep is a form of step and what it does with the numbers in it.
type traceStep struct {
	form *regexp.Regexp
	do   func(p *play, m []string)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// jobOf is which operation a step speaks of: "start-exchange" of an order, or "payout" of an order and an attempt.
const jobOf = `(start-exchange|exchange|payout)\((\d)(?::(\d))?\)`

func traceSteps() []traceStep {
	form := func(pattern string, do func(p *play, m []string)) traceStep {
		return traceStep{regexp.MustCompile("^" + pattern + "( => transaction aborts)?$"), do}
	}
	ignored := func(*play, []string) {}
	return []traceStep{
		form(`user: Place\((\d)\) transaction reads snapshot`, ignored), // our transactions meet at their commit
		form(`user: Placed\((\d)\) (?:covered|short|short commits)`, func(p *play, m []string) { p.sell(p.trace.sales[number(m[1])], "") }),
		form(`user: QuoteRenewed\((\d)\)`, func(p *play, m []string) {
			if id, ok := p.orderAt(number(m[1])); ok {
				p.sell(p.trace.sales[number(m[1])], id)
			}
		}),
		form(`chain: .*`, ignored), // what the chain does is seen when the watcher tells of it
		form(`watcher: DepositSeen\((\d)\)`, func(p *play, m []string) { p.tells(number(m[1]), deposit.FactSeen) }),
		form(`watcher: DepositConfirmed\((\d)\), credit`, func(p *play, m []string) { p.tells(number(m[1]), deposit.FactConfirmed) }),
		form(`watcher: DepositDropped\((\d)\)`, func(p *play, m []string) { p.tells(number(m[1]), deposit.FactDropped) }),
		form(`watcher: credit (\d) reverted`, func(p *play, m []string) { p.tells(number(m[1]), deposit.FactReverted) }),
		form(`watcher: deposit (\d) parked \(screening hit\)`, func(p *play, m []string) { p.tells(number(m[1]), deposit.FactParked) }),
		form(`worker: `+jobOf+` stores "about to call"`, func(p *play, m []string) { p.calls(m[1], m[2], m[3]) }),
		form(`(?:provider|venue): `+jobOf+` (.*?)`, func(p *play, m []string) { p.outside(m[1], m[2], m[3], m[4]) }),
		form(`worker: `+jobOf+` commits outcome .*`, func(p *play, m []string) { p.commits(m[1], m[2], m[3]) }),
		form(`worker: restart of `+jobOf+` looks .*`, func(p *play, m []string) { p.restart(m[1], m[2], m[3]) }),
		form(`outbox: `+jobOf+` parked after bounded tries`, func(p *play, m []string) { p.parks(m[1], m[2], m[3]) }),
		form(`webhook of (x|p(\d)) = .*`, func(p *play, m []string) { p.hints(m[2]) }),
		form(`look-up of (?:x|p\d) = .*`, func(p *play, _ []string) { p.later(10 * time.Second); p.looksUp() }),
		form(`timer: LookupExhausted\((\d)\) -> review`, func(p *play, _ []string) { p.later(25 * time.Hour); p.looksUp(); p.sweep() }),
		form(`timer: WindowElapsed\((\d)\)`, func(p *play, _ []string) { p.later(31 * time.Minute); p.sweep() }),
		form(`admin \d: proposes (Settle|Release)\((\d)\)`, func(p *play, m []string) { p.proposes(number(m[2]), m[1]) }),
		form(`admin \d: Admin(?:Settled|Released)\((\d)\)`, func(p *play, m []string) { p.decides(number(m[1])) }),
		form(`admin: freeze user`, func(p *play, _ []string) {
			p.must(p.svc.FreezeUser(p.t.Context(), "ada", "because", "staff:one"))
		}),
	}
}

func (p *play) take(step string) {
	p.t.Helper()
	for _, form := range traceSteps() {
		if m := form.form.FindStringSubmatch(step); m != nil {
			form.do(p, m)
			return
		}
	}
	p.fail("nobody knows the step %q", step)
}

// nothingStartedWhileFrozen checks that no order was funded after its user's money was stopped (rule 6).
func (p *play) nothingStartedWhileFrozen() {
	p.t.Helper()
	_, u := p.books()
	for _, id := range p.walk.orders {
		for _, f := range p.order(id).History {
			if u.Frozen != nil && f.To == offramp.Exchange && f.From.Unfunded() && !f.At.Before(u.Frozen.Since) {
				p.fail("%s started although the user is frozen", id)
			}
		}
	}
}

// orderAt is the order of a number; one that today's table refused is not there.
func (p *play) orderAt(i int) (id string, ok bool) {
	if i >= len(p.walk.orders) {
		return "", false
	}
	return p.walk.orders[i], true
}

// tells lets the watcher report a fact about a transfer. One that was taken back and is mined again is seen anew.
func (p *play) tells(n int, kind deposit.FactKind) {
	p.must(p.svc.ApplyDeposit(p.t.Context(), p.deposits[n].fact(kind)))
}

// later moves the clock, and nobody does anything meanwhile. Nothing stays hidden longer than the visibility bound.
func (p *play) later(d time.Duration) {
	p.clock.Advance(d)
	for _, b := range p.banks {
		show(b.did, p.clock.Now(), offramp.DefaultPolicy().VisibilityBound)
	}
	show(p.market.did, p.clock.Now(), offramp.DefaultPolicy().VisibilityBound)
}

func kindOf(job string) operation.Kind {
	if job == "payout" {
		return operation.Payout
	}
	return operation.StartExchange
}

// hired are the laborers that have an operation in hand, the one that took it first in front.
func (p *play) hired(job, order, attempt string) (out []*laborer) {
	id, ok := p.orderAt(number(order))
	if !ok {
		return nil
	}
	for _, l := range p.crew {
		if l.op != nil && l.op.Order == id && l.op.Kind == kindOf(job) && (attempt == "" || fmt.Sprint(l.op.Attempt) == attempt) {
			out = append(out, l)
		}
	}
	return out
}

// calls lets a worker take the operation and come to the point where its call is out. Where there is nothing to take, or
// the worker finds that it must not call, today's table has kept the draft's mistake from happening.
func (p *play) calls(job, order, attempt string) bool {
	l := &laborer{w: p.walk, name: fmt.Sprint("worker ", len(p.crew))}
	if !l.begin(kindOf(job)) {
		p.note("… there is nothing to do")
		return false
	}
	p.crew, p.hands = append(p.crew, l), append(p.hands, l)
	for l.op != nil && l.at.what != "send" && l.at.what != "sell" {
		l.turn()
	}
	return l.op != nil
}

// outside lets the bank or the venue do something: carry out a call that is out, or change its mind.
func (p *play) outside(job, order, attempt, what string) {
	for _, l := range p.hired(job, order, attempt) {
		if l.at.what == "send" || l.at.what == "sell" {
			p.script = scripted(what, p.clock.Now())
			l.turn()
			return
		}
	}
	if d := p.deedOf(job, order, attempt); d != nil {
		p.changes(d, what)
	}
}

// deedOf is what the outside world knows of an operation.
func (p *play) deedOf(job, order, attempt string) *deed {
	id, ok := p.orderAt(number(order))
	if !ok {
		return nil
	}
	if kindOf(job) == operation.StartExchange {
		for _, d := range p.market.did {
			return d // one sale is at the venue at a time in every trace
		}
		return nil
	}
	deeds := p.attempts(p.order(id))
	n := number(attempt)
	if n > len(deeds) || deeds[n-1].is == nothing {
		return nil
	}
	return deeds[n-1]
}

// scripted is what a call does, and whether its reply is lost.
func scripted(what string, now time.Time) func(d *deed) bool {
	return func(d *deed) (lost bool) {
		switch lost = strings.HasSuffix(what, "reply lost"); {
		case strings.HasPrefix(what, "done"), strings.HasPrefix(what, "pays"):
			d.is, d.wasOut = isPaid, true
		case strings.HasPrefix(what, "accepts"):
			d.is = isPending
		case what == "fails", what == "refuses":
			d.is = isFailed
		default: // not reached, or a reference that the provider says it does not know
			return true
		}
		if lost {
			d.hidden = &now
		}
		return lost
	}
}

// changes is what becomes of something that was done before.
func (p *play) changes(d *deed, what string) {
	switch {
	case strings.HasPrefix(what, "becomes visible"):
		d.hidden = nil
	case what == "settles: failed" && d.is == isPending:
		d.is = isFailed
	case what == "settles: paid" && d.is == isPending:
		d.is, d.wasOut = isPaid, true
	case what == "reversed by the bank" && d.is == isPaid:
		d.is = isReversed
	case strings.HasPrefix(what, "CONTRADICTS") && d.is == isFailed:
		d.is, d.wasOut, d.lied = isPaid, true, true
	}
}

// commits lets the first worker that has the operation go on to its end.
func (p *play) commits(job, order, attempt string) {
	if l := p.hired(job, order, attempt); len(l) > 0 {
		p.script = scripted("not reached", p.clock.Now())
		for l[0].op != nil {
			l[0].turn()
		}
	}
}

// restart lets another worker have the operation once the lease has run out. A worker that stands in its call for so long
// has died with its process; one that came back from it may still wake up.
func (p *play) restart(job, order, attempt string) {
	for _, l := range p.hired(job, order, attempt) {
		if l.at.calling() {
			l.die()
		}
	}
	p.later(leaseLife + time.Second)
	if !p.calls(job, order, attempt) {
		return
	}
	if l := p.crew[len(p.crew)-1]; l.at.what != "send" && l.at.what != "sell" {
		for l.op != nil {
			l.turn()
		}
	}
}

// parks lets the worker give up.
func (p *play) parks(job, order, attempt string) {
	l := p.hired(job, order, attempt)
	if len(l) > 0 {
		l[0].die()
		p.later(leaseLife + time.Second)
	}
	op, err := operation.Claim(p.t.Context(), p.engine, kindOf(job), "gives up", leaseLife, p.clock.Now())
	p.must(err)
	if op != nil {
		p.must(p.svc.OnPark(p.t.Context(), op, "gave up"))
	}
}

// hints is a webhook: it makes the bot look up what it speaks of, and then the answer counts.
func (p *play) hints(attempt string) {
	for _, id := range p.walk.orders {
		o := p.order(id)
		if attempt == "" || number(attempt) > len(o.Attempts) {
			continue
		}
		reference := o.Attempts[number(attempt)-1].Reference
		p.refused(p.svc.Hint(p.t.Context(), reference, func(store.Tx, *offramp.Order) error { return nil }))
	}
	p.looksUp()
}

// looksUp carries out every look-up that is due.
func (p *play) looksUp() {
	for range 20 {
		l := &laborer{w: p.walk, name: "looker"}
		if !l.begin(operation.LookUp) {
			return
		}
		for l.op != nil {
			l.turn()
		}
	}
}

func (p *play) proposes(order int, what string) {
	id, ok := p.orderAt(order)
	if !ok {
		return
	}
	on := map[string]offramp.Event{"Settle": offramp.AdminSettled, "Release": offramp.AdminReleased}[what]
	p.proposed[order] = &proposal{order: id, revision: p.order(id).Revision, on: on}
}

func (p *play) decides(order int) {
	asked := p.proposed[order]
	if asked == nil {
		return
	}
	v, _, err := p.svc.Gather(p.t.Context(), asked.order)
	p.must(err)
	asked.evidence = &v
	p.refused(p.act(asked))
}

// TestModel_everyStepIsKnown fails when a trace has a step that the player would pass over.
func TestModel_everyStepIsKnown(t *testing.T) {
	t.Parallel()
	for _, tr := range readTraces(t) {
		require.NotEmpty(t, tr.steps, tr.name)
		for _, step := range tr.steps {
			require.True(t, slices.ContainsFunc(traceSteps(), func(s traceStep) bool { return s.form.MatchString(step) }), step)
		}
	}
}
