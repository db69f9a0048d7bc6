package figures_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/audit"
	"offrampbot/services/figures"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

// book is a ledger and a trail that only grow, with their plain sums beside it.
type book struct {
	t      require.TestingT
	ctx    context.Context //nolint:containedctx // a test's own
	engine store.Engine
	clock  *testkit.Clock
	sut    *figures.Figures
	n      int
	plain  map[string]int64 // by kind and name
}

func indexes() []store.Index { return slices.Concat(ledger.Indexes, audit.Indexes) }

func newBook(t require.TestingT, ctx context.Context, engine store.Engine) *book { //nolint:revive // t comes first, as everywhere
	if engine.Name() == "bolt" {
		engine = storetest.Twice(engine)
	}
	b := &book{t: t, ctx: ctx, engine: engine, clock: testkit.Noon(), plain: map[string]int64{}}
	var err error
	b.sut, err = figures.New(engine, b.clock.Now)
	require.NoError(t, err)
	return b
}

func (b *book) update(fn func(tx store.Tx) error) {
	require.NoError(b.t, b.engine.Update(b.ctx, func(_ context.Context, tx store.Tx) error { return fn(tx) }))
}

func (b *book) post(debit, credit, asset string, amount int64) {
	b.n++
	p := &ledger.Posting{Debit: debit, Credit: credit, Asset: asset, Amount: amount, At: b.clock.Now(), Chain: "c", Seq: int64(b.n)}
	p.ID, p.Version = fmt.Sprintf("p%03d", (b.n*37)%1000), 1 // ids do not come in the order of time
	b.update(func(tx store.Tx) error { return tx.Insert(store.Postings, p) })
	b.plain["account "+figures.NameOf(debit)] -= amount
	b.plain["account "+figures.NameOf(credit)] += amount
}

func (b *book) move(order string, from, to offramp.State) {
	b.n++
	label := func(s offramp.State) string {
		if s == offramp.None {
			return ""
		}
		return string(s) + " (none)"
	}
	b.update(func(tx store.Tx) error {
		return audit.Append(tx, audit.Entry{
			Stream: "order:" + order, At: b.clock.Now(), Actor: "timer", Action: string(offramp.FundsFreed), Before: label(from), After: label(to),
		})
	})
	if from != to {
		b.plain["state "+string(to)]++
		if from != offramp.None {
			b.plain["state "+string(from)]--
		}
	}
}

// sums reads what staff would see, without what is zero.
func (b *book) sums() map[string]int64 {
	out := map[string]int64{}
	require.NoError(b.t, b.engine.View(b.ctx, func(_ context.Context, r store.Reader) error {
		clear(out)
		all, err := figures.Read(r)
		for _, s := range all {
			out[string(s.Kind)+" "+s.Name] = s.Balance
			require.Equal(b.t, s.Balance, figures.Of(all, s.Kind, s.Name))
		}
		return err
	}))
	return out
}

func (b *book) wantPlainSums() {
	got := b.sums()
	for name, n := range b.plain {
		require.Equal(b.t, n, got[name], name)
	}
	require.Len(b.t, got, len(b.plain))
}

func (b *book) steps() {
	for worked := true; worked; {
		var err error
		worked, err = b.sut.Step(b.ctx)
		require.NoError(b.t, err)
	}
}

func (b *book) differences() []figures.Difference {
	_, out, err := figures.Check(b.ctx, b.engine)
	require.NoError(b.t, err)
	return out
}

func TestFigures_matchPlainSums(t *testing.T) {
	t.Parallel()
	accounts := []string{
		"chain:base:USDT", "desk:USDT", "user:ada:USDT:available", "user:bob:USDT:available", "user:ada:USDT:held",
		"receivable:ada:USDT", "treasury:USDT",
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := newBook(rt, t.Context(), testkit.Bolt(t, indexes()))
		states := map[string]offramp.State{}
		for range rapid.IntRange(1, 60).Draw(rt, "length") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				b.clock.Advance(time.Duration(rapid.IntRange(0, 40*3600).Draw(rt, "seconds")) * time.Second)
			case 1:
				_, err := b.sut.Step(b.ctx)
				require.NoError(rt, err)
			case 2:
				order := rapid.SampledFrom([]string{"o1", "o2", "o3"}).Draw(rt, "order")
				to := rapid.SampledFrom(offramp.States()).Draw(rt, "state")
				b.move(order, states[order], to)
				states[order] = to
			default:
				i := rapid.IntRange(0, len(accounts)-1).Draw(rt, "debit")
				j := rapid.IntRange(1, len(accounts)-1).Draw(rt, "credit")
				b.post(accounts[i], accounts[(i+j)%len(accounts)], "USDT", rapid.Int64Range(1, 1_000_000).Draw(rt, "amount"))
			}
		}
		b.wantPlainSums()
		b.steps()
		b.wantPlainSums()
		require.Empty(rt, b.differences())
	})
}

func TestFigures_onBothEngines(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		b := newBook(t, t.Context(), engine)
		worked, err := b.sut.Step(t.Context())
		require.NoError(t, err)
		require.False(t, worked)
		require.Empty(t, b.sums())
		b.post("chain:base:USDT", "user:ada:USDT:available", "USDT", 5)
		b.move("o1", offramp.None, offramp.Waiting)
		worked, err = b.sut.Step(t.Context())
		require.NoError(t, err)
		require.False(t, worked, "what is younger than two minutes may still get company behind it")
		b.wantPlainSums()

		for range 3 { // three days, more names than one transaction takes
			for i := range 8 {
				b.post(fmt.Sprintf("chain:c%d:USDT", i), fmt.Sprintf("suspense:c%d:USDT", i), "USDT", int64(i+1))
			}
			b.clock.Advance(24 * time.Hour)
		}
		b.move("o1", offramp.Waiting, offramp.Waiting)
		b.move("o1", offramp.Waiting, offramp.Exchange)
		b.update(func(tx store.Tx) error { // a refused event and an approval are no moves
			for _, e := range []audit.Entry{
				{Stream: "order:o1", Action: "event refused", Before: "exchange (exchange:1)"},
				{Stream: "order:o1", Action: "approval_asked"},
				{Stream: "settings", Action: "settings.change", Before: "a=1", After: "a=2"},
			} {
				e.At = b.clock.Now()
				if err := audit.Append(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
		b.clock.Advance(figures.Lag + time.Millisecond)
		race(t, b)
		b.steps()
		b.wantPlainSums()
		require.Empty(t, b.differences())
		require.Equal(t, int64(1), b.sums()["state exchange"])
	})
}

// race lets several processes fold at once: none of them may count a record that another one counted.
func race(t *testing.T, b *book) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() {
			for range 4 {
				if _, err := b.sut.Step(b.ctx); err != nil {
					errs[i] = err
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

func TestCheck_findsWhatIsNotTheSumOfItsRecords(t *testing.T) {
	t.Parallel()
	b := newBook(t, t.Context(), testkit.Bolt(t, indexes()))
	b.post("chain:base:USDT", "user:ada:USDT:available", "USDT", 5)
	b.clock.Advance(time.Hour)
	b.steps()
	require.Empty(t, b.differences())
	id := "account|chain:base:USDT|2026-06-03"
	b.update(func(tx store.Tx) error {
		var f figures.Figure
		if err := tx.Get(store.Figures, id, &f); err != nil {
			return err
		}
		f.Balance++
		return tx.Replace(store.Figures, &f)
	})
	found := b.differences()
	require.Len(t, found, 1)
	require.Equal(t, id, found[0].ID)

	// A record that appears behind the place that was passed was counted by nobody.
	b.clock.Advance(-30 * time.Minute)
	b.post("chain:base:USDT", "desk:USDT", "USDT", 7)
	b.clock.Advance(-31 * time.Minute)
	b.post("world:USDT", "desk:USDT", "USDT", 7)
	var ids []string
	for _, d := range b.differences() {
		ids = append(ids, d.ID)
	}
	require.Contains(t, strings.Join(ids, " "), "cursor|account")
	require.Contains(t, ids, "account|world:USDT|2026-06-03")
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := figures.New(nil, time.Now) //nolint:forbidigo // never called
	require.ErrorContains(t, err, "engine")
	_, err = figures.New(testkit.Bolt(t, indexes()), nil)
	require.ErrorContains(t, err, "now")
}

// A reader does not add up what a stand-still has left: it says that the roll-up is behind.
func TestRead_saysWhenTheRollUpIsFarBehind(t *testing.T) {
	t.Parallel()
	const many = 20_001
	engine := testkit.Bolt(t, indexes())
	b := newBook(t, t.Context(), engine)
	var docs []store.Document
	for n := range many {
		p := &ledger.Posting{Debit: "custody:base:USDT", Credit: "user:u:USDT:available", Asset: "USDT", Amount: 1, At: b.clock.Now(), Chain: "c", Seq: int64(n + 1)}
		p.ID, p.Version = fmt.Sprintf("many%06d", n), 1
		docs = append(docs, p)
	}
	_, err := engine.Append(t.Context(), store.Postings, docs)
	require.NoError(t, err)
	read := func() (sums []figures.Sum, err error) {
		require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			sums, err = figures.Read(r)
			return nil
		}))
		return sums, err
	}
	sums, err := read()
	require.ErrorIs(t, err, figures.ErrBehind)
	require.Empty(t, sums)
	b.clock.Advance(2 * figures.Lag)
	worked, err := b.sut.Step(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	sums, err = read()
	require.NoError(t, err, "it has come near enough")
	require.Equal(t, int64(many), figures.Of(sums, figures.Account, "user:*:USDT:available"))
}
