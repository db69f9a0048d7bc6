package chaintest

import (
	"context"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/money"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// Who and what occurs in the tests. Addresses are canonical.
const (
	Alice    = "0xa11ce00000000000000000000000000000000001" // of user "alice"
	Bob      = "0xb0b0000000000000000000000000000000000002" // of user "bob"
	Nobody   = "0xdead000000000000000000000000000000000003" // ours, of no user
	Stranger = "0x5742000000000000000000000000000000000004"
	Treasury = "0x7ea5000000000000000000000000000000000005"
	USDT     = "0x0000000000000000000000000000000000001001" // 6 decimals, depth 3, 5 from 1000
	USDC     = "0x0000000000000000000000000000000000001002" // 18 decimals, depth 2
	Fake     = "0x0000000000000000000000000000000000009999" // not in the registry
)

// Whole is one whole token in micro-units.
const Whole money.Micro = 1_000_000

// Policy is the policy of the tests: the reorg window is ten blocks.
func Policy(chain string) deposit.Policy {
	return deposit.Policy{
		Chain: chain, Window: 10,
		Tokens: []deposit.Token{
			{Contract: USDT, Asset: "USDT", Decimals: 6, Depth: 3, Tiers: []deposit.Tier{{From: 1000 * Whole, Depth: 5}}},
			{Contract: USDC, Asset: "USDC", Decimals: 18, Depth: 2},
		},
	}
}

// Users is an address book for tests.
type Users struct {
	mu     sync.Mutex
	owners map[string]string
	since  time.Time
	err    error
}

// NewUsers returns a book in which Alice, Bob and Nobody's addresses are ours.
func NewUsers() *Users {
	return &Users{owners: map[string]string{Alice: "alice", Bob: "bob", Nobody: ""}}
}

// Allot makes an address ours, of a user or of nobody.
func (u *Users) Allot(address, user string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.owners[address] = user
}

// Break makes every answer fail until it is called with nil.
func (u *Users) Break(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
}

// OldestIs says when the first address was allotted.
func (u *Users) OldestIs(at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.since = at
}

// Since implements deposit.Addresses.
func (u *Users) Since(context.Context) (at time.Time, ok bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.since, !u.since.IsZero(), u.err
}

// Watched implements deposit.Addresses.
func (u *Users) Watched(context.Context) ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := make([]string, 0, len(u.owners))
	for a := range u.owners {
		out = append(out, a)
	}
	slices.Sort(out)
	return out, u.err
}

// Owner implements deposit.Addresses.
func (u *Users) Owner(_ context.Context, address string) (string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.owners[address], u.err
}

// Bell records alarms.
type Bell struct {
	mu   sync.Mutex
	rung []string
}

// RaiseAlarm implements deposit.Alarms.
func (b *Bell) RaiseAlarm(_ context.Context, kind, subject, _ string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rung = append(b.rung, kind+" "+subject)
	return nil
}

// Rung lists the alarms so far as "kind subject".
func (b *Bell) Rung() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rung)
}

// Rig joins a scripted chain, a store, books and a watcher.
type Rig struct {
	T       *testing.T
	Chain   *Script
	Source  deposit.Source // what the watcher reads; the chain unless a test puts something before it
	Config  deposit.Config
	Engine  store.Engine
	Books   *Books
	Users   *Users
	Bell    *Bell
	Clock   *testkit.Clock
	Watcher *deposit.Watcher
}

// Indexes are the indexes that the watcher and the books need.
func Indexes() []store.Index { return deposit.Indexes }

// NewRig returns a rig on an empty embedded store. The chain stands at height 1 and has been polled once, so that the
// cursor is there. change alters the watcher's configuration.
func NewRig(t *testing.T, change ...func(*Rig)) *Rig {
	t.Helper()
	engine := testkit.Bolt(t, Indexes())
	r := &Rig{
		T: t, Chain: NewScript("testnet"), Engine: engine, Books: NewBooks(engine), Users: NewUsers(), Bell: &Bell{},
		Clock: testkit.Noon(),
	}
	r.Source = r.Chain
	r.Config = deposit.Config{Policy: Policy("testnet"), Treasury: []string{Treasury}, Holder: "first", Overlap: 10}
	for _, c := range change {
		c(r)
	}
	r.Chain.Mine(1)
	r.Watcher = r.NewWatcher(r.Config.Holder)
	r.Poll()
	return r
}

// NewWatcher returns another watcher on the same chain and store.
func (r *Rig) NewWatcher(holder string) *deposit.Watcher {
	r.T.Helper()
	cfg := r.Config
	cfg.Holder = holder
	w, err := deposit.New(deposit.Deps{
		Source: r.Source, Engine: r.Engine, Addresses: r.Users, Applier: r.Books, Alarms: r.Bell, Now: r.Clock.Now,
	}, cfg)
	require.NoError(r.T, err)
	return w
}

// Restart ends the watcher as a kill would and starts another after the lease is over.
func (r *Rig) Restart(holder string) {
	r.T.Helper()
	r.Clock.Advance(time.Minute)
	r.Watcher = r.NewWatcher(holder)
}

// maxSteps bounds Poll: a watcher that always says "worked" is a fault.
const maxSteps = 1000

// Poll steps until the watcher has nothing more to read at once, and fails the test on an error.
func (r *Rig) Poll() {
	r.T.Helper()
	for range maxSteps {
		worked, err := r.Watcher.Step(r.T.Context())
		require.NoError(r.T, err)
		if !worked {
			return
		}
	}
	require.Fail(r.T, "the watcher never comes to rest")
}

// Settle polls often enough for everything that is decided over several polls.
func (r *Rig) Settle() {
	r.T.Helper()
	for range 4 {
		r.Poll()
	}
}

// Mine mines n blocks and polls.
func (r *Rig) Mine(n int) {
	r.T.Helper()
	r.Chain.Mine(n)
	r.Poll()
}

// Pay sends whole tokens of a contract from a stranger and returns the transaction; it is mined with the next block.
func (r *Rig) Pay(contract, to string, whole int64) (tx string) {
	return r.Chain.Send(Log{Contract: contract, From: Stranger, To: to, Raw: Raw(contract, whole)})
}

// Raw is an amount of whole tokens in the contract's own units.
func Raw(contract string, whole int64) *big.Int {
	decimals := int64(6)
	if contract == USDC {
		decimals = 18
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil)
	return unit.Mul(unit, big.NewInt(whole))
}

// Deposit loads the document of a transaction's first transfer, and fails when there is none.
func (r *Rig) Deposit(tx string) deposit.Deposit {
	r.T.Helper()
	d, ok := r.Find(tx, 0)
	require.True(r.T, ok, "no deposit of this transaction")
	return d
}

// Find loads the document of one transfer.
func (r *Rig) Find(tx string, ordinal int) (d deposit.Deposit, ok bool) {
	r.T.Helper()
	id := deposit.Ref(r.Chain.Chain(), tx, ordinal)
	err := r.Engine.View(r.T.Context(), func(_ context.Context, reader store.Reader) error {
		return reader.Get(store.Deposits, id, &d)
	})
	if err != nil {
		require.ErrorIs(r.T, err, store.ErrNotFound)
		return d, false
	}
	return d, true
}

// Cursor loads the cursor.
func (r *Rig) Cursor() (c deposit.Cursor) {
	r.T.Helper()
	require.NoError(r.T, r.Engine.View(r.T.Context(), func(_ context.Context, reader store.Reader) error {
		return reader.Get(store.Cursors, r.Chain.Chain(), &c)
	}))
	return c
}

// SetCursor stores a cursor over the one that is there: the operator's replay.
func (r *Rig) SetCursor(change func(*deposit.Cursor)) {
	r.T.Helper()
	c := r.Cursor()
	require.NoError(r.T, r.Engine.Update(r.T.Context(), func(_ context.Context, tx store.Tx) error {
		next := c
		change(&next)
		return tx.Replace(store.Cursors, &next)
	}))
}

// WantBalance checks the sum of an account's entries in whole tokens.
func (r *Rig) WantBalance(account string, whole int64) {
	r.T.Helper()
	got, err := r.Books.Balance(r.T.Context(), account)
	require.NoError(r.T, err)
	require.Equal(r.T, money.Micro(whole)*Whole, got, "balance of %s", account)
}

// WantSteps checks the entries of a transaction's first transfer, in order of their ids: "credit", "reverse".
func (r *Rig) WantSteps(tx string, want ...string) {
	r.T.Helper()
	all, err := r.Books.Postings(r.T.Context())
	require.NoError(r.T, err)
	got := []string{}
	for _, p := range all[deposit.Ref(r.Chain.Chain(), tx, 0)] {
		got = append(got, p.Step)
	}
	require.Equal(r.T, append([]string{}, want...), got)
}

// WantState checks the state of a transaction's first transfer.
func (r *Rig) WantState(tx string, want deposit.State) {
	r.T.Helper()
	require.Equal(r.T, want, r.Deposit(tx).State)
}

// Kinds are the kinds of facts, in order.
func Kinds(facts []deposit.Fact) []deposit.FactKind {
	out := make([]deposit.FactKind, 0, len(facts))
	for _, f := range facts {
		out = append(out, f.Kind)
	}
	return out
}
