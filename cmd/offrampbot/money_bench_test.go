//go:build bench

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/assets"
	"offrampbot/services/deposit"
	"offrampbot/services/exchange"
	"offrampbot/services/ids"
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

// teller is the order service on MongoDB in front of a venue and a bank that answer at once: what is measured is ours.
type teller struct {
	t   *testing.T
	db  *recorder
	svc *offramp.Service
}

const benchAmount = 25 * money.Micro(1_000_000)

func newTeller(t *testing.T) *teller {
	t.Helper()
	db := &recorder{Engine: testkit.OpenMongo(t, indexes())}
	svc, err := offramp.New(offramp.Deps{
		Engine: db, Registry: assets.Sandbox(), Venues: offramp.Venues{"desk": instantVenue{}}, Rails: offramp.Rails{"bank": instantRail{did: &sync.Map{}}},
		Router: oneRail{}, Sealer: offramptest.Sealer{}, Screener: offramptest.Screener{}, Watcher: offramptest.Watcher{}, Now: now,
		LookupKey: []byte(strings.Repeat("k", 32)),
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: "desk"})
	require.NoError(t, err)
	return &teller{t: t, db: db, svc: svc}
}

// person is somebody who has deposited what one sale takes when funded is set.
func (b *teller) person(n int, funded bool) (id string, err error) {
	id = fmt.Sprintf("u_%06d", n)
	u := &user.User{Name: "Ada Obi", Country: "NG", Status: user.Active, Tier: assets.Sandbox().Tiers()[0].ID, Address: "0xto" + id}
	u.ID, u.Version = id, 1
	if _, err := b.db.Append(b.t.Context(), store.Users, []store.Document{u}); err != nil || !funded {
		return id, err
	}
	return id, b.fact(deposit.FactSettled, id)
}

func (b *teller) fact(kind deposit.FactKind, id string) error {
	d := deposit.Deposit{
		Chain: "base", Tx: "0xtx" + id, Asset: "USDT", From: "0xsender", To: "0xto" + id, User: id, Raw: fmt.Sprint(int64(benchAmount)),
		Micro: benchAmount, Block: 7, BlockHash: "0xh7", Depth: 2, Fingerprint: "f" + id, Contract: "0xusdt", SeenAt: now(),
	}
	d.ID = deposit.Ref("base", d.Tx, 0)
	return b.svc.ApplyDeposit(b.t.Context(), deposit.Fact{Kind: kind, Deposit: d})
}

func (b *teller) offer(id string) (*quote.Quote, error) {
	intent, err := ids.NewIntent()
	if err != nil {
		return nil, err
	}
	return b.svc.Offer(b.t.Context(), offramp.Ask{
		Intent: intent, User: id, Asset: "USDT", Chain: "base", Amount: benchAmount, Fiat: "NGN", Content: "content " + intent,
		Beneficiary: quote.Beneficiary{
			BankCode: "058", BankName: "GTBank", Sealed: []byte("sealed"), Last4: "6789", Name: "ADA OBI", Digest: "digest",
			Since: now().Add(-48 * time.Hour),
		},
	})
}

func (b *teller) place(q *quote.Quote) (*offramp.Order, error) {
	return b.svc.Place(b.t.Context(), offramp.Placing{Intent: q.ID, User: q.User, Delivery: "wa:bench"})
}

// each runs n calls by so many callers at once.
func each(t *testing.T, callers, n int, call func(i int) error) time.Duration {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(callers)
	start := time.Now()
	for i := range n {
		g.Go(func() error { return call(i) })
	}
	require.NoError(t, g.Wait())
	return time.Since(start)
}

// benchConfirm confirms deposits whose orders wait for them, beside a transaction that only stores a receipt, replaces the
// order and inserts the operation.
func benchConfirm(t *testing.T) {
	t.Helper()
	b := newTeller(t)
	for _, callers := range []int{1, 8, 32} {
		n, rounds := 128, 3
		confirmations := b.awaiting(callers*10_000, n*rounds)
		b.db.record(true)
		_, err := b.svc.Confirm(t.Context(), b.awaiting(callers*10_000+9_000, 1)[0])
		require.NoError(t, err)
		played := newReplay(t, b.db.record(false), onlyThree)
		var ratios []float64
		var ours, bare time.Duration
		for round := range rounds {
			mine := confirmations[round*n : (round+1)*n]
			ours = each(t, callers, n, func(i int) error { _, err := b.svc.Confirm(t.Context(), mine[i]); return err })
			played.prepare(round*n, n)
			bare = each(t, callers, n, func(i int) error { return played.play(t.Context(), round*n+i) })
			ratios = append(ratios, bare.Seconds()/ours.Seconds())
		}
		row("confirm", perSecond(n, bare), perSecond(n, ours), middle(ratios), 0.7, atLeast, fmt.Sprintf("%d callers", callers))
	}
}

// awaiting are the confirmations that as many orders wait for.
func (b *teller) awaiting(first, n int) []offramp.Confirmation {
	b.t.Helper()
	out := make([]offramp.Confirmation, n)
	each(b.t, 16, n, func(i int) error {
		id, err := b.person(first+i, false)
		if err != nil {
			return err
		}
		q, err := b.offer(id)
		if err != nil {
			return err
		}
		o, err := b.place(q)
		if err != nil {
			return err
		}
		out[i] = offramp.Confirmation{
			EventID: "evt-" + id, Order: o.ID, Ref: deposit.Ref("base", "0xtx"+id, 0), Amount: fmt.Sprint(int64(benchAmount)),
		}
		return b.fact(deposit.FactSeen, id)
	})
	return out
}

// benchOrder takes orders from Placed to success, beside the same writes in the same number of transactions.
func benchOrder(t *testing.T) {
	t.Helper()
	b := newTeller(t)
	first := b.offers(0, 1)[0]
	before := b.dump()
	b.db.record(true)
	require.NoError(t, b.sell(first, 0))
	played := newReplay(t, b.db.record(false), everything)
	played.base = before
	for _, callers := range []int{1, 8} {
		n, rounds := 64, 3
		offers := b.offers(callers*10_000, n*rounds)
		var ratios []float64
		var ours, bare time.Duration
		for round := range rounds {
			mine := offers[round*n : (round+1)*n]
			ours = each(t, callers, n, func(i int) error { return b.sell(mine[i], i) })
			b.allSold(mine)
			played.prepare(callers*10_000+round*n, n)
			bare = each(t, callers, n, func(i int) error { return played.play(t.Context(), callers*10_000+round*n+i) })
			ratios = append(ratios, bare.Seconds()/ours.Seconds())
		}
		row("order", perSecond(n, bare), perSecond(n, ours), middle(ratios), 0.6, atLeast,
			fmt.Sprintf("Placed to success, %d callers, %d transactions each", callers, len(played.units)))
	}
}

func (b *teller) offers(first, n int) []*quote.Quote {
	b.t.Helper()
	out := make([]*quote.Quote, n)
	each(b.t, 16, n, func(i int) error {
		id, err := b.person(first+i, true)
		if err == nil {
			out[i], err = b.offer(id)
		}
		return err
	})
	return out
}

// sell places an order and carries out one exchange and one payout: of whom does not matter, in the end all are done.
func (b *teller) sell(q *quote.Quote, caller int) error {
	if _, err := b.place(q); err != nil {
		return err
	}
	for _, step := range []struct {
		kind operation.Kind
		do   func(ctx context.Context, op *operation.Operation, lease operation.Lease) error
	}{{operation.StartExchange, b.svc.Exchange}, {operation.Payout, b.svc.Payout}} {
		for op := (*operation.Operation)(nil); op == nil; {
			ctx := operation.WithLeft(b.t.Context(), func() time.Duration { return time.Minute })
			owner, err := ids.NewIntent()
			if err != nil {
				return err
			}
			if op, err = operation.Claim(ctx, b.db, step.kind, fmt.Sprint(owner, caller), time.Minute, now()); err != nil {
				return err
			}
			if op == nil {
				continue
			}
			if err := step.do(ctx, op, *op.Lease); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *teller) allSold(offers []*quote.Quote) {
	b.t.Helper()
	for _, q := range offers {
		o, err := b.svc.Order(b.t.Context(), q.ID)
		require.NoError(b.t, err)
		require.Equal(b.t, offramp.Success, o.State)
	}
}

// dump is every stored document.
func (b *teller) dump() []write {
	b.t.Helper()
	var out []write
	for _, c := range []store.Collection{
		store.Users, store.Quotes, store.Accounts, store.Limits, store.Deposits, store.Heads, store.Links, store.Postings, store.Audit, store.Outbox,
	} {
		require.NoError(b.t, b.db.View(b.t.Context(), func(_ context.Context, r store.Reader) error {
			return r.Find(store.Query{Collection: c, Index: store.ByID}, func(decode store.Decode) (bool, error) {
				var d anything
				if err := decode(&d); err != nil {
					return false, err
				}
				raw, err := bson.Marshal(&d)
				out = append(out, write{"insert", c, d.ID, 0, raw})
				return true, err
			})
		}))
	}
	return out
}

func perSecond(n int, took time.Duration) string {
	return fmt.Sprintf("%.0f/s", float64(n)/took.Seconds())
}

func middle(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// instantVenue buys at 1,500 naira.
type instantVenue struct{ exchange.Venue }

func (instantVenue) Name() string            { return "desk" }
func (instantVenue) SameReferenceSafe() bool { return true }
func (instantVenue) Price(context.Context, string, string, string) (exchange.Price, error) {
	return exchange.Price{Rate: money.Rate{Num: 150_000, Den: 1_000_000}}, nil
}

func (instantVenue) Execute(_ context.Context, o exchange.Order) exchange.Result {
	return exchange.Result{Outcome: exchange.Success, Found: true, Filled: o.Gross, VenueID: "v-" + o.Reference}
}

// instantRail pays at once and remembers what it did.
type instantRail struct {
	payout.Rail
	did *sync.Map
}

func (instantRail) Name() string               { return "bank" }
func (instantRail) Currencies() map[string]int { return map[string]int{"NGN": 2} }
func (instantRail) SameReferenceSafe() bool    { return true }
func (b instantRail) Send(_ context.Context, r payout.Request) payout.Result {
	done := payout.Result{Outcome: payout.Success, Found: true, Reference: r.Reference, Amount: r.Amount, Currency: r.Currency, SessionID: "s-" + r.Reference}
	b.did.Store(r.Reference, done)
	return done
}

func (b instantRail) LookUp(_ context.Context, reference string) payout.Result {
	done, _ := b.did.Load(reference)
	result, _ := done.(payout.Result)
	return result
}

type oneRail struct{}

func (oneRail) Next(tried []string, _ string, _ func(string) bool) (string, bool) {
	return "bank", len(tried) == 0
}
