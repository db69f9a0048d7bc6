package ledger_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestSeal_chainsPostingsSoThatNoChangeHides(t *testing.T) {
	t.Parallel()
	seal := func() ([]*ledger.Posting, ledger.Tail) {
		s := steps(account(25, 0))
		require.NoError(t, s.Funded(sale(25, "x")))
		first := ledger.Seal("order:o1", ledger.Tail{}, s.Postings)
		more := steps(s.Account)
		more.ExchangeDone(sale(25, "x"))
		return append(s.Postings, more.Postings...), ledger.Seal("order:o1", first, more.Postings)
	}
	all, tail := seal()
	require.Len(t, all, 3)
	require.Equal(t, ledger.Tail{Seq: 3, Hash: all[2].Hash}, tail)
	previous := ""
	for i, p := range all {
		require.True(t, p.Intact(previous))
		require.Equal(t, int64(i+1), p.Seq)
		require.Equal(t, "order:o1", p.Chain)
		require.Equal(t, 1, p.Version)
		require.False(t, p.Intact("another"))
		previous = p.Hash
	}
	again, _ := seal()
	require.Equal(t, all, again, "the same postings give the same hashes")

	changes := map[string]func(p *ledger.Posting){
		"id": func(p *ledger.Posting) { p.ID += "x" }, "debit": func(p *ledger.Posting) { p.Debit = "a" },
		"credit": func(p *ledger.Posting) { p.Credit = "a" }, "asset": func(p *ledger.Posting) { p.Asset = "a" },
		"amount": func(p *ledger.Posting) { p.Amount++ }, "order": func(p *ledger.Posting) { p.Order = "a" },
		"user": func(p *ledger.Posting) { p.User = "a" }, "chain": func(p *ledger.Posting) { p.Chain = "a" },
		"number": func(p *ledger.Posting) { p.Seq++ }, "time": func(p *ledger.Posting) { p.At = p.At.Add(time.Millisecond) },
		"previous": func(p *ledger.Posting) { p.Previous = "a" }, "hash": func(p *ledger.Posting) { p.Hash = "a" },
	}
	for name, change := range changes {
		p := *all[1]
		change(&p)
		require.False(t, p.Intact(all[0].Hash), name)
	}
	empty := ledger.Tail{Seq: 7, Hash: "h"}
	require.Equal(t, empty, ledger.Seal("order:o1", empty, nil))
}

func TestCheck_findsEveryBrokenAccount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(a *ledger.Account)
		want   string
	}{
		{"sound", func(*ledger.Account) {}, ""},
		{"overdrawn", func(a *ledger.Account) { a.Available = -1 }, "available is -1"},
		{"held without a hold", func(a *ledger.Account) { a.Held = 6 }, "held is 6, holds sum to 5"},
		{"a hold that is not held", func(a *ledger.Account) { a.Holds["o2"] = 1 }, "held is 5, holds sum to 6"},
		{"a debt below zero", func(a *ledger.Account) { a.Owed = -1 }, "owed is -1, incoming is 0"},
		{"incoming below zero", func(a *ledger.Account) { a.Incoming = -1 }, "owed is 0, incoming is -1"},
		{"a debt that is not netted", func(a *ledger.Account) { a.Owed = 1 }, "owes 1 and has 10 available"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := account(10, 0)
			a.Held, a.Holds["o1"] = 5, 5
			tt.change(a)
			if tt.want == "" {
				require.NoError(t, a.Check())
				return
			}
			require.EqualError(t, a.Check(), tt.want)
		})
	}
}

func TestShortfall_countsCryptoAndFiat(t *testing.T) {
	t.Parallel()
	require.False(t, account(5, 0).Shortfall())
	require.True(t, account(0, 1).Shortfall())
	a := account(5, 0)
	a.OwedFiat["NGN"] = 0
	require.False(t, a.Shortfall())
	a.OwedFiat["NGN"] = 1
	require.True(t, a.Shortfall())
}

func update(t *testing.T, e store.Engine, fn func(tx store.Tx) error) error {
	t.Helper()
	return e.Update(t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) })
}

func load(t *testing.T, e store.Engine) *ledger.Account {
	t.Helper()
	var a *ledger.Account
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
		a, err = ledger.Load(r, "ada", "USDT")
		return err
	}))
	return a
}

func TestAccount_isLoadedFreshAndSavedAtItsRevision(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, ledger.Indexes, func(t *testing.T, engine store.Engine) {
		e := storetest.Twice(engine)
		fresh := load(t, e)
		require.Zero(t, fresh.Revision)
		require.Equal(t, "user:ada:USDT", fresh.ID)
		require.NotNil(t, fresh.Holds)
		require.NotNil(t, fresh.OwedFiat)
		require.NoError(t, update(t, e, func(tx store.Tx) error {
			a, err := ledger.Load(tx, "ada", "USDT")
			if err != nil {
				return err
			}
			s := steps(a)
			if err := s.DepositConfirmed("d", "base", 30); err != nil {
				return err
			}
			if err := s.Funded(sale(25, "x")); err != nil {
				return err
			}
			return a.Save(tx)
		}))
		a := load(t, e)
		require.Equal(t, int64(1), a.Revision)
		require.Equal(t, int64(1), a.Sequence)
		require.Equal(t, money.Micro(5), a.Available)
		require.Equal(t, money.Micro(25), a.Holds["o1"])
		require.NoError(t, update(t, e, func(tx store.Tx) error {
			c := *a
			return c.Save(tx)
		}))
		require.ErrorIs(t, update(t, e, func(tx store.Tx) error {
			c := *a
			return c.Save(tx)
		}), store.ErrStale, "what was read before another change is not written over it")
	})
}

// Invariant: of two transactions that read the same balance and each place a hold on it, one wins (rule 6).
func TestAccount_twoRacersNeverHoldTheSameMoney(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, ledger.Indexes, func(t *testing.T, e store.Engine) {
		require.NoError(t, update(t, e, func(tx store.Tx) error { return account(30, 0).Save(tx) }))
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for n := range 8 {
			wg.Go(func() {
				for {
					err := update(t, e, func(tx store.Tx) error {
						a, err := ledger.Load(tx, "ada", "USDT")
						if err != nil {
							return err
						}
						v := sale(25, "x")
						v.Order = string(rune('a' + n))
						if err := steps(a).Funded(v); err != nil {
							return err
						}
						return a.Save(tx)
					})
					if errors.Is(err, store.ErrStale) {
						continue
					}
					mu.Lock()
					if err == nil {
						won++
					}
					mu.Unlock()
					return
				}
			})
		}
		wg.Wait()
		require.Equal(t, 1, won)
		a := load(t, e)
		require.NoError(t, a.Check())
		require.Equal(t, money.Micro(25), a.Held)
	})
}

func TestLoad_returnsTheStoresError(t *testing.T) {
	t.Parallel()
	e := testkit.Bolt(t, ledger.Indexes)
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		_, err := ledger.Load(broken{r}, "ada", "USDT")
		require.ErrorIs(t, err, errBroken)
		return nil
	}))
}

var errBroken = errors.New("broken")

type broken struct{ store.Reader }

func (broken) Get(store.Collection, string, store.Document) error { return errBroken }
