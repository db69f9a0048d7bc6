package chaintest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/money"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// World is a chain with levers. Each sub-test of the suite has its own.
type World struct {
	Source deposit.Source
	// Policy has a token with the asset USDT, depth 3, and one with the asset USDC, depth 2; the window is at least 10.
	Policy deposit.Policy
	// Address makes an address that nobody used before.
	Address func() string
	// Pay puts a payment of whole tokens into the pool and returns its transaction. The next block mines it.
	Pay func(to, asset string, whole int64) (tx string)
	// PayMany pays each address in one transaction; only RunSeveral needs it.
	PayMany func(to []string, asset string, whole int64) (tx string)
	// PayFake pays in a token that is not in the policy.
	PayFake func(to string) (tx string)
	Mine    func(blocks int)
	// Reorg replaces the newest blocks by as many. Transactions that are not dropped are mined again in one of them.
	Reorg func(depth int, drop ...string)
	// Node is what stands between the source and the node, to make single calls fail.
	Node *Proxy
}

// Ledger is an applier whose books can be read.
type Ledger interface {
	deposit.Applier
	// Steps lists what was booked for a deposit, in order: "credit", "reverse".
	Steps(ctx context.Context, ref string) ([]string, error)
	// Held is what a user has of an asset.
	Held(ctx context.Context, user, asset string) (money.Micro, error)
}

// Setup makes the ledger of a sub-test: an empty store with it, in which these users own these addresses.
type Setup func(t *testing.T, users map[string]string) (store.Engine, Ledger)

// WithBooks is the setup with the books of this package.
func WithBooks(t *testing.T, _ map[string]string) (store.Engine, Ledger) {
	t.Helper()
	engine := testkit.Bolt(t, Indexes())
	return engine, NewBooks(engine)
}

// Steps implements Ledger.
func (b *Books) Steps(ctx context.Context, ref string) ([]string, error) {
	all, err := b.Postings(ctx)
	out := []string{}
	for _, p := range all[ref] {
		out = append(out, p.Step)
	}
	return out, err
}

// Held implements Ledger.
func (b *Books) Held(ctx context.Context, user, asset string) (money.Micro, error) {
	return b.Balance(ctx, user+":"+asset)
}

// session is a watcher on a world, with a user "alice" and a user "bob".
type session struct {
	*World
	t          *testing.T
	alice, bob string
	engine     store.Engine
	ledger     Ledger
	users      *Users
	bell       *Bell
	clock      *testkit.Clock
	watcher    *deposit.Watcher
	holders    int
}

func newSession(t *testing.T, world *World, setup Setup) *session {
	t.Helper()
	s := &session{World: world, t: t, alice: world.Address(), bob: world.Address(), bell: &Bell{}, clock: testkit.Noon()}
	owners := map[string]string{s.alice: "alice", s.bob: "bob"}
	s.users = &Users{owners: owners}
	s.engine, s.ledger = setup(t, owners)
	s.Mine(1)
	s.restart()
	s.poll()
	return s
}

// restart ends the watcher as a kill would, and starts another after the lease is over.
func (s *session) restart() {
	s.t.Helper()
	s.clock.Advance(time.Minute)
	s.watcher = s.another()
}

func (s *session) another() *deposit.Watcher {
	s.t.Helper()
	s.holders++
	w, err := deposit.New(deposit.Deps{
		Source: s.Source, Engine: s.engine, Addresses: s.users, Applier: s.ledger, Alarms: s.bell, Now: s.clock.Now,
	}, deposit.Config{Policy: s.Policy, Holder: "holder " + string(rune('a'+s.holders%26)) + testkit.Random(s.t)})
	require.NoError(s.t, err)
	return w
}

func (s *session) poll() {
	s.t.Helper()
	for range maxSteps {
		worked, err := s.watcher.Step(s.t.Context())
		require.NoError(s.t, err)
		if !worked {
			return
		}
	}
	require.Fail(s.t, "the watcher never comes to rest")
}

// settle polls often enough for what is decided over several polls.
func (s *session) settle() {
	s.t.Helper()
	for range 4 {
		s.poll()
	}
}

func (s *session) mine(blocks int) {
	s.t.Helper()
	s.Mine(blocks)
	s.poll()
}

func (s *session) find(tx string, ordinal int) (d deposit.Deposit, found bool) {
	s.t.Helper()
	err := s.engine.View(s.t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Get(store.Deposits, deposit.Ref(s.Policy.Chain, tx, ordinal), &d)
	})
	if err != nil {
		require.ErrorIs(s.t, err, store.ErrNotFound)
	}
	return d, err == nil
}

func (s *session) wantState(tx string, want deposit.State) {
	s.t.Helper()
	d, found := s.find(tx, 0)
	require.True(s.t, found, "no deposit of this transaction")
	require.Equal(s.t, want, d.State)
}

func (s *session) wantSteps(tx string, want ...string) {
	s.t.Helper()
	got, err := s.ledger.Steps(s.t.Context(), deposit.Ref(s.Policy.Chain, tx, 0))
	require.NoError(s.t, err)
	require.Equal(s.t, append([]string{}, want...), append([]string{}, got...))
}

func (s *session) wantHeld(user, asset string, whole int64) {
	s.t.Helper()
	got, err := s.ledger.Held(s.t.Context(), user, asset)
	require.NoError(s.t, err)
	require.Equal(s.t, money.Micro(whole)*Whole, got, "%s of %s", asset, user)
}

func (s *session) cursor() (c deposit.Cursor) {
	s.t.Helper()
	require.NoError(s.t, s.engine.View(s.t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Get(store.Cursors, s.Policy.Chain, &c)
	}))
	return c
}
