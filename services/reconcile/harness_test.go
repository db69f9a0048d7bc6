package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/exchange"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/offramp/offramptest"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/reconcile"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

const (
	oneUSDT  = money.Micro(1_000_000)
	ada      = "0x00000000000000000000000000000000000000ad"
	stranger = "0x0000000000000000000000000000000000000bad"
	treasury = "0x000000000000000000000000000000000000007e"
)

// world is the books beside a chain and a bank that have their own truth.
type world struct {
	t        *testing.T
	engine   store.Engine
	clock    *testkit.Clock
	registry *assets.Registry
	svc      *offramp.Service
	node     *node
	bank     *bank
	sut      *reconcile.Reconciler
}

func indexes() []store.Index {
	return slices.Concat(offramp.Indexes, ledger.Indexes, operation.Indexes, delivery.Indexes, deposit.Indexes, quote.Indexes,
		audit.Indexes, user.Indexes)
}

func newWorld(t *testing.T, engine store.Engine) *world {
	t.Helper()
	registry := assets.Sandbox()
	token, ok := registry.Token("USDT", "base")
	require.True(t, ok)
	w := &world{
		t: t, engine: engine, clock: testkit.Noon(), registry: registry, node: &node{token: token}, bank: &bank{listed: map[string]payout.Result{}},
	}
	var err error
	w.svc, err = offramp.New(offramp.Deps{
		Engine: engine, Registry: registry, Venues: offramp.Venues{"desk": venue{}}, Rails: offramp.Rails{"bank": w.bank}, Router: router{},
		Sealer: offramptest.Sealer{}, Screener: offramptest.Screener{}, Watcher: offramptest.Watcher{}, Now: w.clock.Now, LookupKey: []byte(strings.Repeat("k", 32)),
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: "desk", Treasury: map[string]bool{treasury: true}})
	require.NoError(t, err)
	w.sut, err = reconcile.New(reconcile.Deps{
		Engine: engine, Registry: registry, Addresses: addresses{}, Sources: map[string]deposit.Source{"base": w.node},
		Treasury: []string{treasury}, Statements: []reconcile.Statement{w.bank}, Now: w.clock.Now, Log: slog.New(slog.DiscardHandler),
	}, reconcile.Config{})
	require.NoError(t, err)
	w.update(func(tx store.Tx) error {
		u := &user.User{Name: "Ada Obi", Country: "NG", Status: user.Active, Tier: registry.Tiers()[0].ID, Address: ada}
		u.ID, u.Version = "ada", 1
		return tx.Insert(store.Users, u)
	})
	return w
}

func (w *world) update(fn func(tx store.Tx) error) {
	w.t.Helper()
	require.NoError(w.t, w.engine.Update(w.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) }))
}

// moved puts a transfer on the chain, in a block of its own, and returns its deposit.
func (w *world) moved(from, to string, micro money.Micro) deposit.Deposit {
	raw, err := money.MicroToRaw(micro, w.node.token.Decimals)
	require.NoError(w.t, err)
	w.node.height++
	t := deposit.Transfer{Tx: fmt.Sprintf("0x%064x", w.node.height), Contract: w.node.token.Contract, From: from, To: to, Raw: raw, Block: w.node.height}
	w.node.transfers = append(w.node.transfers, t)
	d := deposit.Deposit{
		Chain: "base", Tx: t.Tx, Asset: "USDT", From: from, To: to, Raw: raw.String(), Micro: micro, Block: t.Block, BlockHash: "h",
		Depth: 2, Fingerprint: "f", Contract: t.Contract, SeenAt: w.clock.Now(),
	}
	d.ID = deposit.Ref("base", t.Tx, 0)
	if to == ada {
		d.User = "ada"
	}
	return d
}

func (w *world) apply(kind deposit.FactKind, d deposit.Deposit) {
	w.t.Helper()
	require.NoError(w.t, w.svc.ApplyDeposit(w.t.Context(), deposit.Fact{Kind: kind, Deposit: d}))
}

// deposited is a transfer that was credited.
func (w *world) deposited(usdt int64) deposit.Deposit {
	w.t.Helper()
	d := w.moved(stranger, ada, money.Micro(usdt)*oneUSDT)
	w.apply(deposit.FactSeen, d)
	w.apply(deposit.FactConfirmed, d)
	return d
}

// polled moves the watcher's cursor to the head.
func (w *world) polled() {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		c := &deposit.Cursor{}
		err := tx.Get(store.Cursors, "base", c)
		if errors.Is(err, store.ErrNotFound) {
			*c = deposit.Cursor{Height: w.node.height}
			c.ID, c.Version = "base", 1
			return tx.Insert(store.Cursors, c)
		}
		c.Height = w.node.height
		return tx.Replace(store.Cursors, c)
	})
}

// sold is a sale that was paid.
func (w *world) sold(usdt int64) *offramp.Order {
	w.t.Helper()
	intent, err := ids.NewIntent()
	require.NoError(w.t, err)
	q, err := w.svc.Offer(w.t.Context(), offramp.Ask{
		Intent: intent, User: "ada", Asset: "USDT", Chain: "base", Amount: money.Micro(usdt) * oneUSDT, Fiat: "NGN", Content: intent,
		Beneficiary: quote.Beneficiary{
			BankCode: "058", BankName: "GTBank", Sealed: []byte("0123456789"), Last4: "6789", Name: "ADA OBI", Digest: "digest",
			Since: w.clock.Now().Add(-48 * time.Hour),
		},
	})
	require.NoError(w.t, err)
	o, err := w.svc.Place(w.t.Context(), offramp.Placing{Intent: q.ID, User: "ada", Delivery: "wa:test"})
	require.NoError(w.t, err)
	for range 2 {
		for kind, run := range map[operation.Kind]func(context.Context, *operation.Operation, operation.Lease) error{
			operation.StartExchange: w.svc.Exchange, operation.Payout: w.svc.Payout,
		} {
			op, err := operation.Claim(w.t.Context(), w.engine, kind, "worker", time.Minute, w.clock.Now())
			require.NoError(w.t, err)
			if op != nil {
				require.NoError(w.t, run(operation.WithLeft(w.t.Context(), func() time.Duration { return time.Minute }), op, *op.Lease))
			}
		}
	}
	o, err = w.svc.Order(w.t.Context(), o.ID)
	require.NoError(w.t, err)
	return o
}

func (w *world) report() reconcile.Report {
	w.t.Helper()
	r, err := w.sut.Reconcile(w.t.Context())
	require.NoError(w.t, err)
	return r
}

func (w *world) agrees() {
	w.t.Helper()
	r := w.report()
	require.Empty(w.t, r.Differences)
	require.True(w.t, r.OK)
}

// differs checks that a report has this one difference.
func (w *world) differs(id, rule, text string) {
	w.t.Helper()
	r := w.report()
	require.False(w.t, r.OK)
	require.True(w.t, slices.ContainsFunc(r.Differences, func(d reconcile.Difference) bool {
		return d.ID == id && d.Rule == rule && strings.Contains(d.Text, text)
	}), "%s %s %s not in %+v", id, rule, text, r.Differences)
}

type addresses struct{}

func (addresses) Since(context.Context) (time.Time, bool, error)    { return time.Time{}, false, nil }
func (addresses) Watched(context.Context) ([]string, error)         { return []string{ada}, nil }
func (addresses) Owner(_ context.Context, _ string) (string, error) { return "", nil }

// node is a chain with one token; what it holds follows from its transfers.
type node struct {
	token     assets.Token
	height    int64
	transfers []deposit.Transfer
	skim      int64 // raw units that are gone without an event
	err       error
}

func (*node) Chain() string { return "base" }
func (n *node) Head(context.Context) (deposit.Block, error) {
	return deposit.Block{Number: n.height}, n.err
}

func (*node) BlockAt(context.Context, int64) (deposit.Block, bool, error) {
	return deposit.Block{}, false, nil
}
func (*node) Final(context.Context, string) (int64, bool, error) { return 0, false, nil }
func (n *node) Transfers(_ context.Context, from, to int64, _ []string) ([]deposit.Transfer, error) {
	var out []deposit.Transfer
	for _, t := range n.transfers {
		if t.Block >= from && t.Block <= to {
			out = append(out, t)
		}
	}
	return out, nil
}

func (*node) Receipt(context.Context, string) (deposit.Receipt, bool, error) {
	return deposit.Receipt{}, false, nil
}

func (n *node) Balance(_ context.Context, contract, address string) (*big.Int, error) {
	sum := new(big.Int)
	for _, t := range n.transfers {
		if t.Contract == contract && t.To == address {
			sum.Add(sum, t.Raw)
		}
		if t.Contract == contract && t.From == address {
			sum.Sub(sum, t.Raw)
		}
	}
	if contract == n.token.Contract {
		sum.Sub(sum, big.NewInt(n.skim))
	}
	return sum, nil
}

// bank pays at once and lists what it did.
type bank struct {
	payout.Rail
	listed map[string]payout.Result
	hides  bool // loses its replies, and look-ups learn nothing
	err    error
}

func (*bank) Name() string               { return "bank" }
func (*bank) Currencies() map[string]int { return map[string]int{"NGN": 2} }
func (*bank) SameReferenceSafe() bool    { return false }

func (b *bank) Send(_ context.Context, q payout.Request) payout.Result {
	r := payout.Result{Outcome: payout.Success, Found: true, Reference: q.Reference, Amount: q.Amount, Currency: q.Currency}
	b.listed[q.Reference] = r
	if b.hides {
		return payout.Result{Outcome: payout.Unknown, Found: true}
	}
	return r
}

func (b *bank) LookUp(_ context.Context, reference string) payout.Result {
	if known, paid := b.listed[reference]; paid && !b.hides {
		return known
	}
	return payout.Result{Outcome: payout.Unknown, Found: true}
}

func (b *bank) Transfers(context.Context, time.Time, time.Time) ([]payout.Result, error) {
	var out []payout.Result
	for _, r := range b.listed {
		out = append(out, r)
	}
	return out, b.err
}

type venue struct{}

func (venue) Name() string            { return "desk" }
func (venue) SameReferenceSafe() bool { return true }
func (venue) Price(context.Context, string, string, string) (exchange.Price, error) {
	return exchange.Price{Rate: money.Rate{Num: 150_000, Den: 1_000_000}}, nil
}

func (venue) Execute(_ context.Context, o exchange.Order) exchange.Result {
	return exchange.Result{Outcome: exchange.Success, Found: true, Filled: o.Gross, VenueID: "v"}
}

func (venue) LookUp(context.Context, string) exchange.Result { return exchange.Result{} }

type router struct{}

func (router) Next(tried []string, _ string, _ func(string) bool) (string, bool) {
	return "bank", len(tried) == 0
}
