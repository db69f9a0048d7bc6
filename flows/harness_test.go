package flows

import (
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	flowsjson "offrampbot/flows_json"
	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/exchange"
	"offrampbot/services/guard"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/offramp/offramptest"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/phone"
	"offrampbot/services/quote"
	"offrampbot/services/redishook/redistest"
	"offrampbot/services/seal"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
	"offrampbot/services/user"
)

// The secrets that people type in these tests. None of them may ever be in a log, an answer or a stored session.
const (
	rightPIN, wrongPIN = "482913", "482914"
	account            = "0123456789"
	otherAccount       = "9876543210"
)

const oneUSDT = money.Micro(1_000_000)

var testKey = []byte(strings.Repeat("k", 32))

// flowKey is one RSA key for all tests; making one takes a while.
var flowKey = sync.OnceValues(func() (*rsa.PrivateKey, []byte) {
	key := newKey(panicky{}, 2048)
	return key, pkcs1(key)
})

// panicky is the tester of what is made once for all tests.
type panicky struct{ testing.TB }

func (panicky) Helper()                   {}
func (panicky) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (panicky) FailNow()                  { panic("fail now") }

// allIndexes are those of every collection that a sale touches.
func allIndexes() []store.Index {
	return slices.Concat(offramp.Indexes, ledger.Indexes, operation.Indexes, delivery.Indexes, deposit.Indexes, quote.Indexes,
		audit.Indexes, user.Indexes, SessionIndexes)
}

// world is the endpoint with everything behind it but the outside: a real store, order service, guard and people, banks
// with their own mind, and a client that does what WhatsApp's does.
type world struct {
	t        testing.TB
	engine   store.Engine
	clock    *testkit.Clock
	log      *syncBuffer
	hasher   *hasher
	people   *user.Service
	orders   *offramp.Service
	banks    *banks
	screener *screener
	blocks   *atomic.Int64
	tokens   *Tokens
	sealer   *seal.Keyring
	deps     SellDeps
	sell     *Sell
	endpoint *Endpoint
	users    map[string]bool
	height   int64
	sessions int
}

// newWorld makes a world; g is the duplicate guard, nil for one in memory.
func newWorld(t testing.TB, engine store.Engine, change ...func(*SellDeps)) *world {
	t.Helper()
	w := &world{
		t: t, engine: engine, clock: testkit.Noon(), log: &syncBuffer{}, hasher: &hasher{}, banks: newBanks(), screener: &screener{},
		blocks: &atomic.Int64{}, users: map[string]bool{},
	}
	var err error
	w.sealer, err = seal.NewKeyring(seal.Key{ID: "k1", Bytes: testKey})
	require.NoError(t, err)
	w.tokens, err = NewTokens(testKey)
	require.NoError(t, err)
	w.makeServices()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	beneficiaries, err := user.NewBeneficiaries(w.sealer, testKey, w.clock.Now)
	require.NoError(t, err)
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.deps = SellDeps{
		Engine: engine, Orders: w.orders, Price: prices{w}, Banks: w.banks, PINs: pins{w}, Guard: newMemoryGuard(w), Beneficiaries: beneficiaries,
		Box: w.sealer, Registry: assets.Sandbox(), Texts: catalogue, Blocks: blocks{w.blocks}, Log: log, Now: w.clock.Now, LookupKey: testKey,
	}
	for _, f := range change {
		f(&w.deps)
	}
	w.sell, err = NewSell(w.deps)
	require.NoError(t, err)
	signUp, err := NewSignUp(engine, w.people, catalogue, func(code string) string { return "country " + code })
	require.NoError(t, err)
	w.endpoint = w.newEndpoint(map[string]Screens{"offramp_flow": w.sell, "sign_up": signUp}, log)
	w.freshRates()
	return w
}

// freshRates sets ₦1,500 for every coin.
func (w *world) freshRates() {
	w.t.Helper()
	w.set(func(s *setting.Settings) {
		for _, asset := range []string{"USDT", "USDC"} {
			s.Rates[setting.Pair(asset, "NGN")] = setting.Rate{Rate: money.Rate{Num: 150_000, Den: 1_000_000}, SetAt: w.clock.Now()}
		}
	})
}

func (w *world) newEndpoint(flows map[string]Screens, log *slog.Logger) *Endpoint {
	w.t.Helper()
	_, pemKey := flowKey()
	keys, err := NewKeys(pemKey, nil)
	require.NoError(w.t, err)
	e, err := NewEndpoint(Deps{
		Keys: keys, Tokens: w.tokens, Secrets: [][]byte{[]byte("app secret")}, Engine: w.engine, Sealer: w.sealer, Flows: flows,
		Now: w.clock.Now, Log: log, PhoneID: ourNumber, TokenGone: func(context.Context) string { return "This form is over." },
	})
	require.NoError(w.t, err)
	return e
}

func (w *world) makeServices() {
	w.t.Helper()
	desk, err := exchange.NewDesk(w.engine, setting.Book, w.clock.Now)
	require.NoError(w.t, err)
	w.orders, err = offramp.New(offramp.Deps{
		Engine: w.engine, Registry: assets.Sandbox(), Venues: offramp.Venues{desk.Name(): desk}, Rails: offramp.Rails{"bank": rail{}},
		Router: router{}, Sealer: w.sealer, Screener: w.screener, Watcher: offramptest.Watcher{}, Now: w.clock.Now, LookupKey: testKey,
	}, offramp.Config{Policy: offramp.DefaultPolicy(), Venue: desk.Name()})
	require.NoError(w.t, err)
	w.people, err = user.NewService(user.Deps{
		Engine: w.engine, Hasher: w.hasher, Addresses: book{}, Guards: w.orders, Now: w.clock.Now, CountryOf: phone.Country,
	}, user.Config{LookupKey: testKey, Tier: assets.Sandbox().Tiers()[0].ID})
	require.NoError(w.t, err)
}

// onEngines runs a test in a world on each engine, with the real guard on an embedded Redis.
func onEngines(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
		test(t, newWorld(t, engine, realGuard(t, engine)))
	})
}

// onEmbedded is onEngines without the database server, for stories in which the store has no part of its own.
func onEmbedded(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	engine := testkit.Bolt(t, allIndexes())
	test(t, newWorld(t, engine, realGuard(t, engine)))
}

// onBolt runs a test in a world on the embedded engine, with the guard in memory.
func onBolt(t testing.TB) *world {
	t.Helper()
	return newWorld(t, testkit.Bolt(t, allIndexes()))
}

// realGuard puts the guard of production into a world.
func realGuard(t *testing.T, engine store.Engine) func(*SellDeps) {
	t.Helper()
	server := redistest.Mini(t)
	return func(d *SellDeps) {
		g, err := guard.New(guard.Deps{
			Client: server.Client, Orders: ordersOf{engine, d.Now}, Metrics: guardMetrics{}, Log: slog.New(slog.DiscardHandler), Now: d.Now,
		}, guard.Config{Prefix: server.Prefix})
		require.NoError(t, err)
		d.Guard = g
	}
}

func (w *world) update(fn func(tx store.Tx) error) {
	w.t.Helper()
	require.NoError(w.t, w.engine.Update(w.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) }))
}

func (w *world) view(fn func(r store.Reader) error) {
	w.t.Helper()
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error { return fn(r) }))
}

// set changes the operator's settings.
func (w *world) set(change func(s *setting.Settings)) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		s, err := setting.Load(tx)
		if err != nil {
			return err
		}
		change(s)
		if s.Revision == 0 {
			return tx.Insert(store.Settings, s)
		}
		return tx.Replace(store.Settings, s)
	})
}

// person is somebody with a phone.
type person struct {
	*world
	id string
}

// stranger is somebody who has written and not signed up.
func (w *world) stranger() *person {
	w.t.Helper()
	p := &person{world: w}
	number := fmt.Sprintf("23480%08d", 10_000_000+len(w.users))
	w.update(func(tx store.Tx) error {
		u, err := w.people.Arrive(tx, number, "", "Ada", w.clock.Now())
		if err == nil {
			p.id = u.ID
		}
		return err
	})
	w.users[p.id] = true
	return p
}

// person is somebody who has an account.
func (w *world) person() *person {
	w.t.Helper()
	p := w.stranger()
	_, err := w.people.SignUp(w.t.Context(), p.id, "Ada Obi", rightPIN)
	require.NoError(w.t, err)
	return p
}

func (p *person) load() (u *user.User) {
	p.t.Helper()
	p.view(func(r store.Reader) (err error) {
		u, err = user.Load(r, p.id)
		return err
	})
	return u
}

func (p *person) change(f func(u *user.User)) {
	p.t.Helper()
	p.update(func(tx store.Tx) error {
		u, err := user.Load(tx, p.id)
		if err != nil {
			return err
		}
		f(u)
		return tx.Replace(store.Users, u)
	})
}

// deposits puts money on the person's address: seen, and confirmed unless it is only on its way.
func (p *person) deposits(asset string, amount money.Micro, kinds ...deposit.FactKind) {
	p.t.Helper()
	if len(kinds) == 0 {
		kinds = []deposit.FactKind{deposit.FactSeen, deposit.FactConfirmed}
	}
	p.height++
	tx := fmt.Sprintf("0x%d", p.height)
	for _, kind := range kinds {
		d := deposit.Deposit{
			Chain: "base", Tx: tx, Asset: asset, From: "0xsender", To: p.load().Address, User: p.id, Raw: fmt.Sprint(int64(amount)), Micro: amount,
			Block: p.height, BlockHash: "h" + tx, Depth: 2, Fingerprint: tx, Contract: "0x" + asset, SeenAt: p.clock.Now(),
		}
		d.ID = deposit.Ref("base", tx, 0)
		require.NoError(p.t, p.orders.ApplyDeposit(p.t.Context(), deposit.Fact{Kind: kind, Deposit: d}))
	}
}

// placed are the person's orders, newest first.
func (p *person) placed() []*offramp.Order {
	p.t.Helper()
	all, err := p.orders.History(p.t.Context(), p.id, 50)
	require.NoError(p.t, err)
	return all
}

// becomes changes an order behind the table's back, for endings that need hours and other people.
func (w *world) becomes(id string, change func(o *offramp.Order)) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		var o offramp.Order
		if err := tx.Get(store.Orders, id, &o); err != nil {
			return err
		}
		change(&o)
		return tx.Replace(store.Orders, &o)
	})
}

// used is what the person has used of the PIN's counter.
func (p *person) tries() int { return p.load().PIN.DayFailures }

// trail counts the entries of an action in the person's stream.
func (p *person) trail(action string) (n int) {
	p.t.Helper()
	p.view(func(r store.Reader) error {
		n = 0
		all, err := store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{user.Stream(p.id)}})
		for _, e := range all {
			if e.Action == action {
				n++
			}
		}
		return err
	})
	return n
}

// documents are the published Flows.
var documents = sync.OnceValue(func() map[string]*flowsjson.Document {
	out := map[string]*flowsjson.Document{}
	for _, name := range flowsjson.Names() {
		raw, err := flowsjson.Read(name)
		if err != nil {
			panic(err)
		}
		if out[name], err = flowsjson.Parse(name, raw); err != nil {
			panic(err)
		}
	}
	return out
})

// complaints is what a client, and people, would say about an answer.
func complaints(flow, from string, a shown) []string {
	screen, ok := documents()[flow].Screen(a.Screen)
	if !ok {
		return []string{"no such screen: " + a.Screen}
	}
	raw, err := json.Marshal(a.Data)
	if err != nil {
		return []string{err.Error()}
	}
	out := screen.CheckAnswer(raw)
	if before, ok := documents()[flow].Screen(from); ok && from != a.Screen && !slices.Contains(before.Next, a.Screen) {
		out = append(out, a.Screen+" may not follow "+from)
	}
	for _, secret := range []string{rightPIN, wrongPIN, account, otherAccount} {
		if strings.Contains(string(raw), secret) {
			out = append(out, "the answer holds "+secret)
		}
	}
	for _, trace := range []string{"{", "⟦", "[[", "<nil>", "%!"} {
		if text := texted(a.Data); strings.Contains(text, trace) {
			out = append(out, "a text shows "+trace+": "+text)
		}
	}
	return out
}

// texted is every text of an answer.
func texted(data map[string]any) string {
	var out strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out.WriteString(v + "\n")
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(data)
	return out.String()
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

var errBroken = errors.New("broken for the test")

// payoutBanks are the banks of Nigeria that the tests know.
func payoutBanks() []payout.Bank {
	return []payout.Bank{{Code: "058", Name: "GTBank"}, {Code: "057", Name: "Zenith Bank"}, {Code: "044", Name: "Access Bank"}}
}
