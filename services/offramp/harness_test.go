package offramp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/exchange"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/offramp/offramptest"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// indexes are those of every collection that an order touches.
func indexes() []store.Index {
	return slices.Concat(offramp.Indexes, ledger.Indexes, operation.Indexes, delivery.Indexes, deposit.Indexes, quote.Indexes,
		audit.Indexes, user.Indexes)
}

// world is the order service with a provider and a venue that have their own truth.
type world struct {
	t      *testing.T
	engine store.Engine
	clock  *testkit.Clock
	svc    *offramp.Service
	rail   *rail
	venue  *venue
	seen   *watcher
	screen *list
	height atomic.Int64
	claims int
	most   int    // payout attempts of one sale
	during func() // runs in the next outside call, before it has an effect
}

func newWorld(t *testing.T, engine store.Engine) *world {
	t.Helper()
	w := &world{
		t: t, engine: engine, clock: testkit.Noon(), rail: newRail(), venue: newVenue(), seen: &watcher{}, screen: &list{}, most: 2,
	}
	w.rail.during, w.venue.during = w.inCall, w.inCall
	w.svc = w.service(engine)
	w.update(func(tx store.Tx) error {
		u := &user.User{Name: "Ada Obi", Country: "NG", Status: user.Active, Tier: assets.Sandbox().Tiers()[0].ID, Address: "0xada"}
		u.ID, u.Version = "ada", 1
		return tx.Insert(store.Users, u)
	})
	return w
}

// service is the order service over an engine, in front of the same venue and bank.
func (w *world) service(engine store.Engine) *offramp.Service {
	w.t.Helper()
	svc, err := offramp.New(offramp.Deps{
		Engine: engine, Registry: assets.Sandbox(), Venues: offramp.Venues{"desk": w.venue}, Rails: offramp.Rails{"bank": w.rail},
		Router: router{w}, Sealer: offramptest.Sealer{}, Screener: w.screen, Watcher: w.seen, Now: w.clock.Now,
		LookupKey: []byte(strings.Repeat("k", 32)),
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: "desk", Treasury: map[string]bool{"0xtreasury": true}})
	require.NoError(w.t, err)
	return svc
}

// inCall runs what a test wants to happen during a call, once.
func (w *world) inCall() {
	if during := w.during; during != nil {
		w.during = nil
		during()
	}
}

func (w *world) update(fn func(tx store.Tx) error) {
	w.t.Helper()
	require.NoError(w.t, w.engine.Update(w.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) }))
}

// deposits observes a transfer: seen, or confirmed at once.
func (w *world) fact(kind deposit.FactKind, tx string, amount money.Micro) error {
	height := w.height.Add(1)
	d := deposit.Deposit{
		Chain: "base", Tx: tx, Asset: "USDT", From: "0xsender", To: "0xada", User: "ada", Raw: fmt.Sprint(int64(amount)),
		Micro: amount, Block: height, BlockHash: fmt.Sprint("h", height), Depth: 2, Fingerprint: tx + fmt.Sprint(amount),
		Contract: "0xusdt", SeenAt: w.clock.Now(),
	}
	d.ID = deposit.Ref("base", tx, 0)
	return w.svc.ApplyDeposit(w.t.Context(), deposit.Fact{Kind: kind, Deposit: d})
}

func (w *world) deposited(tx string, amount money.Micro) {
	w.t.Helper()
	require.NoError(w.t, w.fact(deposit.FactSeen, tx, amount))
	require.NoError(w.t, w.fact(deposit.FactConfirmed, tx, amount))
}

const oneUSDT = money.Micro(1_000_000)

// offer makes a quote of a number of whole USDT.
func (w *world) offer(usdt int64) *quote.Quote {
	w.t.Helper()
	intent, err := ids.NewIntent()
	require.NoError(w.t, err)
	q, err := w.svc.Offer(w.t.Context(), w.ask(intent, usdt))
	require.NoError(w.t, err)
	return q
}

func (w *world) ask(intent string, usdt int64) offramp.Ask {
	return offramp.Ask{
		Intent: intent, User: "ada", Asset: "USDT", Chain: "base", Amount: money.Micro(usdt) * oneUSDT, Fiat: "NGN",
		Beneficiary: quote.Beneficiary{
			BankCode: "058", BankName: "GTBank", Sealed: []byte("0123456789"), Last4: "6789", Name: "ADA OBI", Digest: "digest",
			Since: w.clock.Now().Add(-48 * time.Hour),
		},
		Content: "content",
	}
}

func (w *world) place(q *quote.Quote) *offramp.Order {
	w.t.Helper()
	o, err := w.svc.Place(w.t.Context(), offramp.Placing{Intent: q.ID, User: "ada", Delivery: "wa:test"})
	require.NoError(w.t, err)
	return o
}

// order reads an order again.
func (w *world) order(id string) *offramp.Order {
	w.t.Helper()
	o, err := w.svc.Order(w.t.Context(), id)
	require.NoError(w.t, err)
	return o
}

// work leases and carries out due operations of the money kinds until none is left; it returns how many it did.
func (w *world) work() int {
	w.t.Helper()
	n := 0
	for done := true; done; {
		done = false
		for _, kind := range []operation.Kind{operation.StartExchange, operation.Payout, operation.LookUp} {
			op, err := operation.Claim(w.t.Context(), w.engine, kind, "worker", time.Minute, w.clock.Now())
			require.NoError(w.t, err)
			if op == nil {
				continue
			}
			require.NoError(w.t, w.run(op))
			n, done = n+1, true
			require.Less(w.t, n, 500, "workers run in circles")
		}
	}
	return n
}

func (w *world) run(op *operation.Operation) error {
	ctx := operation.WithLeft(w.t.Context(), func() time.Duration { return time.Minute })
	switch op.Kind {
	case operation.StartExchange:
		return w.svc.Exchange(ctx, op, *op.Lease)
	case operation.Payout:
		return w.svc.Payout(ctx, op, *op.Lease)
	default:
		return w.svc.LookUp(ctx, op, *op.Lease)
	}
}

// account reads the user's USDT.
func (w *world) account() *ledger.Account {
	w.t.Helper()
	var a *ledger.Account
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		a, err = ledger.Load(r, "ada", "USDT")
		return err
	}))
	return a
}

// user reads the user.
func (w *world) user() *user.User {
	w.t.Helper()
	var u *user.User
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		u, err = user.Load(r, "ada")
		return err
	}))
	return u
}

// balances sums the postings by account and checks that each asset's balances sum to zero (I3).
func (w *world) balances() map[string]int64 {
	w.t.Helper()
	sums, total := map[string]int64{}, map[string]int64{}
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		all, err := store.All[ledger.Posting](r, store.Query{Collection: store.Postings, Index: "_id"})
		for _, p := range all {
			sums[p.Debit] -= p.Amount
			sums[p.Credit] += p.Amount
			require.Positive(w.t, p.Amount)
		}
		for account, n := range sums {
			asset := "USDT"
			if strings.Contains(account, "NGN") {
				asset = "NGN"
			}
			total[asset] += n
		}
		return err
	}))
	for asset, n := range total {
		require.Zero(w.t, n, "sum of %s", asset)
	}
	return sums
}

// notices lists the keys of the messages to the user, in order.
func (w *world) notices() []string {
	w.t.Helper()
	var out []string
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		out = nil
		all, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "lane", Equal: []any{"user:ada"}})
		for _, op := range all {
			out = append(out, op.Message.Key)
		}
		return err
	}))
	return out
}

// alerts lists the reasons of the alerts to the operator, in order.
func (w *world) alerts() []string {
	w.t.Helper()
	var out []string
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		out = nil
		all, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "lane", Equal: []any{"alerts"}})
		for _, op := range all {
			out = append(out, op.Reason)
		}
		return err
	}))
	return out
}

// rail is a payout provider with its own truth: what it really did, and what it says.
type rail struct {
	mu    sync.Mutex
	did   map[string]payout.Result
	order []string
	send  func(r payout.Request) (effect bool, reply payout.Result) // nil: pays at once
	calls map[string]int

	during, after func()
	says          []payout.Outcome // of the next look-ups, whatever is true
	mute          bool             // look-ups get no answer
	asked         func()           // runs in a look-up
	lookUps       int
	net           money.Minor // of the latest request
}

func newRail() *rail { return &rail{did: map[string]payout.Result{}, calls: map[string]int{}} }

func (r *rail) paid(q payout.Request) payout.Result {
	return payout.Result{
		Outcome: payout.Success, Found: true, Reference: q.Reference, Amount: q.Amount, Currency: q.Currency, FeeMinor: 1000,
		SessionID: "session-" + q.Reference,
	}
}

func (r *rail) Name() string               { return "bank" }
func (r *rail) Currencies() map[string]int { return map[string]int{"NGN": 2} }
func (r *rail) SameReferenceSafe() bool    { return true }
func (r *rail) Banks(context.Context, string) ([]payout.Bank, error) {
	return []payout.Bank{{Code: "058", Name: "GTBank"}}, nil
}

func (r *rail) ResolveAccount(context.Context, string, string, payout.AccountNumber) (string, error) {
	return "ADA OBI", nil
}

func (r *rail) Send(_ context.Context, q payout.Request) payout.Result {
	r.during()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[q.Reference]++
	r.net = q.Amount
	if known, ok := r.did[q.Reference]; ok {
		return known
	}
	effect, reply := true, r.paid(q)
	if r.send != nil {
		effect, reply = r.send(q)
	}
	if effect {
		r.did[q.Reference] = r.paid(q)
		r.order = append(r.order, q.Reference)
	}
	if r.after != nil {
		r.after()
	}
	return reply
}

func (r *rail) LookUp(_ context.Context, reference string) payout.Result {
	if r.asked != nil {
		r.asked()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lookUps++
	if len(r.says) > 0 {
		said := r.says[0]
		r.says = r.says[1:]
		return payout.Result{Outcome: said, Found: true, Reference: reference, Amount: r.net, Currency: "NGN"}
	}
	if known, ok := r.did[reference]; ok && !r.mute {
		return known
	}
	return payout.Result{Outcome: payout.Unknown, Found: r.mute, Reference: reference}
}

// say changes what the provider says about a reference.
func (r *rail) say(reference string, o payout.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.did[reference]
	if known.Outcome == "" {
		known = payout.Result{Amount: r.net, Currency: "NGN"}
	}
	known.Outcome, known.Found, known.Reference = o, true, reference
	if o == payout.Success {
		known.FeeMinor = 1000 // as in paid
	}
	r.did[reference] = known
}

func (r *rail) ParseWebhook([]byte, func(string) string) (payout.Callback, error) {
	return payout.Callback{}, nil
}

func (r *rail) ParseApproval([]byte, func(string) string) (string, money.Minor, error) {
	return "", 0, nil
}
func (r *rail) Balance(context.Context, string) (money.Minor, error) { return 0, nil }

// venue buys at 1500 NGN and remembers.
type venue struct {
	mu      sync.Mutex
	did     map[string]exchange.Result
	execute func(o exchange.Order) (effect bool, reply exchange.Result)
	during  func()
	rate    money.Rate
	err     error
}

func newVenue() *venue {
	return &venue{did: map[string]exchange.Result{}, rate: money.Rate{Num: 150_000, Den: 1_000_000}}
}

func (v *venue) Name() string            { return "desk" }
func (v *venue) SameReferenceSafe() bool { return true }
func (v *venue) Price(context.Context, string, string, string) (exchange.Price, error) {
	return exchange.Price{Rate: v.rate}, v.err
}

func (v *venue) Execute(_ context.Context, o exchange.Order) exchange.Result {
	v.during()
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.did[o.Reference]; ok {
		return known
	}
	done := exchange.Result{Outcome: exchange.Success, Found: true, Filled: o.Gross, VenueID: "v-" + o.Reference}
	effect, reply := true, done
	if v.execute != nil {
		effect, reply = v.execute(o)
	}
	if effect {
		v.did[o.Reference] = done
	}
	return reply
}

func (v *venue) LookUp(_ context.Context, reference string) exchange.Result {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.did[reference]; ok {
		return known
	}
	return exchange.Result{Outcome: exchange.Unknown}
}

// router allows two attempts on the one rail.
// router sends every attempt to the one bank, as often as the test says.
type router struct{ w *world }

func (r router) Next(tried []string, _ string, off func(string) bool) (string, bool) {
	if len(tried) >= r.w.most || off("bank") {
		return "", false
	}
	return "bank", true
}

// list is a screening list.
type list struct{ addresses, names []string }

func (l *list) Address(a string) error {
	if slices.Contains(l.addresses, a) {
		return fault.New("screening_hit", nil)
	}
	return nil
}

func (l *list) Name(n string) error {
	if slices.Contains(l.names, n) {
		return fault.New("screening_hit", nil)
	}
	return nil
}

// watcher remembers what it was told.
type watcher struct {
	mu    sync.Mutex
	steps []string
}

func (w *watcher) Moved(_ context.Context, m offramp.Moved) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, string(m.From)+"→"+string(m.Order.State))
}
func (*watcher) Alerted(context.Context, string, string, string)                {}
func (*watcher) Refused(context.Context, string, offramp.Event, string)         {}
func (*watcher) Outcome(context.Context, string, string, string, time.Duration) {}
