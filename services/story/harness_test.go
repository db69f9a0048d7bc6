package story_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
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
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/story"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

const (
	oneUSDT       = money.Micro(1_000_000)
	accountNumber = "0123456789" // must be in no answer
	phoneNumber   = "2348012345678"
)

// txHash makes the n-th transaction hash.
func txHash(n int) string { return fmt.Sprintf("0x%064x", n) }

// desk is everything that staff see: a real order service with a bank and a venue that have their own truth, and people
// of each role.
type desk struct {
	t      *testing.T
	engine store.Engine
	clock  *testkit.Clock
	svc    *offramp.Service
	staff  *admin.Service
	sut    *story.Story
	rail   *rail
	keys   int

	viewer, operator, approver, second admin.Identity
}

func indexes() []store.Index {
	return slices.Concat(offramp.Indexes, ledger.Indexes, operation.Indexes, delivery.Indexes, deposit.Indexes, quote.Indexes,
		audit.Indexes, user.Indexes, admin.Indexes)
}

func newDesk(t *testing.T, engine store.Engine) *desk {
	t.Helper()
	if engine.Name() == "bolt" {
		engine = storetest.Twice(engine)
	}
	d := &desk{t: t, engine: engine, clock: testkit.Noon(), rail: &rail{truth: map[string]payout.Result{}}}
	registry := assets.Sandbox()
	svc, err := offramp.New(offramp.Deps{
		Engine: engine, Registry: registry, Venues: offramp.Venues{"desk": venue{}}, Rails: offramp.Rails{"bank": d.rail}, Router: router{},
		Sealer: offramptest.Sealer{}, Screener: offramptest.Screener{}, Watcher: offramptest.Watcher{}, Now: d.clock.Now, LookupKey: []byte(strings.Repeat("k", 32)),
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: "desk"})
	require.NoError(t, err)
	d.svc = svc
	catalogue, err := setting.NewCatalogue(registry, []string{"bank"}, []string{"desk"})
	require.NoError(t, err)
	d.staff, err = admin.New(admin.Deps{Engine: engine, Sealer: offramptest.Sealer{}, Now: d.clock.Now, Rand: rand.Reader}, admin.Config{
		Keys: []admin.Key{{ID: "k", Secret: []byte(strings.Repeat("s", 32))}},
	})
	require.NoError(t, err)
	digest := d.digest
	d.sut, err = story.New(story.Deps{
		Engine: engine, Settings: catalogue, Staff: d.staff, Orders: svc, People: people{}, Now: d.clock.Now, Log: slog.New(slog.DiscardHandler),
		PhoneDigest: digest,
	})
	require.NoError(t, err)
	for who, role := range map[*admin.Identity]admin.Role{
		&d.viewer: admin.Viewer, &d.operator: admin.Operator, &d.approver: admin.Approver, &d.second: admin.Approver,
	} {
		who.Role = role
	}
	d.viewer.ID, d.operator.ID, d.approver.ID, d.second.ID = "v@x.test", "o@x.test", "a@x.test", "b@x.test"
	d.update(func(tx store.Tx) error {
		for _, name := range []string{"ada", "bob"} {
			u := &user.User{Name: name, Country: "NG", Status: user.Active, Tier: registry.Tiers()[0].ID, Address: "0x" + name}
			u.ID, u.Version, u.WhatsAppID = name, 1, phoneNumber+name
			if err := tx.Insert(store.Users, u); err != nil {
				return err
			}
		}
		return store.Relate(tx, digest(phoneNumber), "user", "user:ada")
	})
	return d
}

// people is the part of the user service that unlocks PINs, without the rest.
type people struct{}

func (people) UnlockPIN(tx store.Tx, userID, why, actor string) error {
	u, err := user.Load(tx, userID)
	if err != nil {
		return err
	}
	if u.PIN == nil {
		return fault.New("user_not_active", nil)
	}
	free := *u.PIN
	free.Blocked, free.LockedUntil = false, nil
	u.PIN = &free
	if err := tx.Replace(store.Users, u); err != nil {
		return err
	}
	return audit.Append(tx, audit.Entry{Stream: user.Stream(userID), Actor: actor, Action: "pin.unlock", Why: why})
}

// digest stands for the keyed digest of a number.
func (*desk) digest(number string) string { return ids.Digest([]byte("key"), number) }

func (d *desk) update(fn func(tx store.Tx) error) {
	d.t.Helper()
	require.NoError(d.t, d.engine.Update(d.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) }))
}

// deposited credits crypto to a user, with a transaction of its own.
func (d *desk) deposited(who string, n int, usdt int64) {
	d.t.Helper()
	for _, kind := range []deposit.FactKind{deposit.FactSeen, deposit.FactConfirmed} {
		doc := deposit.Deposit{
			Chain: "base", Tx: txHash(n), Asset: "USDT", From: "0xsender", To: "0x" + who, User: who, Raw: fmt.Sprint(usdt * int64(oneUSDT)),
			Micro: money.Micro(usdt) * oneUSDT, Block: int64(n), BlockHash: "h", Depth: 2, Fingerprint: "f", Contract: "0xusdt", SeenAt: d.clock.Now(),
		}
		doc.ID = deposit.Ref("base", txHash(n), 0)
		require.NoError(d.t, d.svc.ApplyDeposit(d.t.Context(), deposit.Fact{Kind: kind, Deposit: doc}))
	}
}

// sell places an order of whole USDT and returns it.
func (d *desk) sell(who string, usdt int64) *offramp.Order {
	d.t.Helper()
	intent, err := ids.NewIntent()
	require.NoError(d.t, err)
	q, err := d.svc.Offer(d.t.Context(), offramp.Ask{
		Intent: intent, User: who, Asset: "USDT", Chain: "base", Amount: money.Micro(usdt) * oneUSDT, Fiat: "NGN", Content: intent,
		Beneficiary: quote.Beneficiary{
			BankCode: "058", BankName: "GTBank", Sealed: []byte(accountNumber), Last4: "6789", Name: "ADA OBI", Digest: "digest",
			Since: d.clock.Now().Add(-48 * time.Hour),
		},
	})
	require.NoError(d.t, err)
	o, err := d.svc.Place(d.t.Context(), offramp.Placing{Intent: q.ID, User: who, Delivery: "wa:test"})
	require.NoError(d.t, err)
	return o
}

// work carries out what is due until nothing is.
func (d *desk) work() {
	d.t.Helper()
	for done, n := true, 0; done; n++ {
		done = false
		require.Less(d.t, n, 200, "workers run in circles")
		for _, kind := range []operation.Kind{operation.StartExchange, operation.Payout, operation.LookUp} {
			op, err := operation.Claim(d.t.Context(), d.engine, kind, "worker", time.Minute, d.clock.Now())
			require.NoError(d.t, err)
			if op == nil {
				continue
			}
			done = true
			ctx := operation.WithLeft(d.t.Context(), func() time.Duration { return time.Minute })
			run := map[operation.Kind]func(context.Context, *operation.Operation, operation.Lease) error{
				operation.StartExchange: d.svc.Exchange, operation.Payout: d.svc.Payout, operation.LookUp: d.svc.LookUp,
			}[kind]
			require.NoError(d.t, run(ctx, op, *op.Lease))
		}
	}
}

// review brings an order into review: the bank's reply is lost and look-ups learn nothing until people must decide.
func (d *desk) review(who string, usdt int64) *offramp.Order {
	d.t.Helper()
	o := d.sell(who, usdt)
	d.work()
	require.Equal(d.t, offramp.Unclear, d.order(o.ID).State)
	d.clock.Advance(25 * time.Hour)
	for worked := true; worked; {
		var err error
		worked, err = d.svc.SweepTimers(d.t.Context())
		require.NoError(d.t, err)
	}
	o = d.order(o.ID)
	require.Equal(d.t, offramp.Review, o.State)
	return o
}

func (d *desk) order(id string) *offramp.Order {
	d.t.Helper()
	o, err := d.svc.Order(d.t.Context(), id)
	require.NoError(d.t, err)
	return o
}

// by is a new request of somebody; each has a key of its own.
func (d *desk) by(who admin.Identity, reason string) admin.Change {
	d.keys++
	return admin.Change{Who: who, Reason: reason, Request: admin.Request{
		Scope: admin.Scope{Admin: who.ID, Method: "POST", Route: "/x", Key: fmt.Sprint(d.keys)}, Hash: reason,
	}}
}

// ask asks for an approval and returns its id.
func (d *desk) ask(action admin.Action, order string) string {
	d.t.Helper()
	changed, err := d.sut.AskApproval(d.t.Context(), d.by(d.operator, "seen it"), action, order)
	require.NoError(d.t, err)
	return d.body(changed)["id"]
}

func (d *desk) body(c admin.Changed) map[string]string {
	d.t.Helper()
	var out map[string]string
	require.NoError(d.t, json.Unmarshal(c.Body, &out))
	return out
}

func (d *desk) approval(id string) *admin.Approval {
	d.t.Helper()
	var a *admin.Approval
	require.NoError(d.t, d.engine.View(d.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		a, err = admin.LoadApproval(r, id)
		return err
	}))
	return a
}

// list reads a whole list in pages of this size, as the JSON objects of its items.
func (d *desk) list(list admin.List, limit int, text string, filters map[string]string) []map[string]any {
	d.t.Helper()
	var out []map[string]any
	q := admin.Query{Limit: limit, Text: text, Filters: filters}
	for range 100 {
		p, err := d.sut.List(d.t.Context(), list, q)
		require.NoError(d.t, err)
		require.LessOrEqual(d.t, len(p.Items), limit)
		body, err := json.Marshal(p.Items)
		require.NoError(d.t, err)
		require.NotContains(d.t, string(body), accountNumber)
		var items []map[string]any
		require.NoError(d.t, json.Unmarshal(body, &items))
		out = append(out, items...)
		if p.Next == "" {
			return out
		}
		require.NotEmpty(d.t, p.Items)
		q.Cursor = p.Next
	}
	d.t.Fatal("the list has no end")
	return nil
}

// ids are the ids of items.
func idsOf(items []map[string]any) []string {
	out := []string{}
	for _, i := range items {
		id, _ := i["id"].(string)
		out = append(out, id)
	}
	return out
}

func (d *desk) refused(err error, code string) {
	d.t.Helper()
	require.Error(d.t, err)
	require.Equal(d.t, code, fault.As(err).Code, "%v", err)
}

// rail is a bank that loses every reply unless it pays; what it says about a reference is its truth.
type rail struct {
	mu    sync.Mutex
	pays  bool
	fails int // the first sends fail conclusively
	truth map[string]payout.Result
	looks int
	look  func(reference string) // called before each look-up
}

func (*rail) Name() string               { return "bank" }
func (*rail) Currencies() map[string]int { return map[string]int{"NGN": 2} }
func (*rail) SameReferenceSafe() bool    { return false }
func (*rail) Banks(context.Context, string) ([]payout.Bank, error) {
	return nil, nil
}

func (*rail) ResolveAccount(context.Context, string, string, payout.AccountNumber) (string, error) {
	return "ADA OBI", nil
}

func (r *rail) Send(_ context.Context, q payout.Request) payout.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	paid := payout.Result{
		Outcome: payout.Success, Found: true, Reference: q.Reference, Amount: q.Amount, Currency: q.Currency, FeeMinor: 1000,
	}
	if r.fails > 0 {
		r.fails--
		failed := paid
		failed.Outcome = payout.Failed
		r.truth[q.Reference] = failed
		return failed
	}
	if r.pays {
		r.truth[q.Reference] = paid
		return paid
	}
	lost := paid
	lost.Outcome = payout.Unknown
	r.truth[q.Reference] = lost
	return lost
}

func (r *rail) LookUp(_ context.Context, reference string) payout.Result {
	if r.look != nil {
		r.look(reference)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	if known, ok := r.truth[reference]; ok {
		return known
	}
	return payout.Result{Outcome: payout.Unknown, Reference: reference}
}

// say changes what the bank says about every reference.
func (r *rail) say(o payout.Outcome, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref, known := range r.truth {
		known.Outcome, known.Found = o, found
		r.truth[ref] = known
	}
}

// sayOf changes what the bank says about one reference.
func (r *rail) sayOf(reference string, o payout.Outcome, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.truth[reference]
	known.Outcome, known.Found = o, found
	r.truth[reference] = known
}

func (*rail) ParseWebhook([]byte, func(string) string) (payout.Callback, error) {
	return payout.Callback{}, nil
}

func (*rail) ParseApproval([]byte, func(string) string) (string, money.Minor, error) {
	return "", 0, nil
}
func (*rail) Balance(context.Context, string) (money.Minor, error) { return 0, nil }

// venue buys everything at once.
type venue struct{}

func (venue) Name() string            { return "desk" }
func (venue) SameReferenceSafe() bool { return true }
func (venue) Price(context.Context, string, string, string) (exchange.Price, error) {
	return exchange.Price{Rate: money.Rate{Num: 150_000, Den: 1_000_000}}, nil
}

func (venue) Execute(_ context.Context, o exchange.Order) exchange.Result {
	return exchange.Result{Outcome: exchange.Success, Found: true, Filled: o.Gross, VenueID: "v"}
}

func (venue) LookUp(context.Context, string) exchange.Result {
	return exchange.Result{Outcome: exchange.Success, Found: true, Filled: 1 << 40, VenueID: "v"}
}

// router allows two attempts.
type router struct{}

func (router) Next(tried []string, _ string, _ func(string) bool) (string, bool) {
	return "bank", len(tried) < 2
}
