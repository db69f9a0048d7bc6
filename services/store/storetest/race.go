package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// together runs n callers at once and returns their errors.
func together(n int, call func(caller int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func count(errs []error, is func(error) bool) (n int) {
	for _, err := range errs {
		if is(err) {
			n++
		}
	}
	return n
}

func isNil(err error) bool { return err == nil }

// testCompareAndSet lets 50 callers replace the same revision: exactly one wins each round.
func testCompareAndSet(t *testing.T, e store.Engine) {
	const callers, rounds = 50, 4
	put(t, e, item("a"))
	for round := range rounds {
		errs := together(callers, func(caller int) error {
			return update(t, e, func(tx store.Tx) error {
				mine := item("a")
				mine.Revision, mine.Count = int64(round)+1, int64(caller)
				return tx.Replace(items, mine)
			})
		})
		require.Equal(t, 1, count(errs, isNil))
		require.Equal(t, callers-1, count(errs, func(err error) bool { return errors.Is(err, store.ErrStale) }), "%v", errs)
		require.Equal(t, int64(round)+2, load(t, e, "a").Revision)
	}

	// Callers that read what they replace all get their turn, and none is lost.
	errs := together(callers/2, func(int) error {
		return update(t, e, func(tx store.Tx) error {
			var i Item
			if err := tx.Get(items, "a", &i); err != nil {
				return err
			}
			i.Count = i.Revision
			return tx.Replace(items, &i)
		})
	})
	require.Equal(t, callers/2, count(errs, isNil), "%v", errs)
	require.Equal(t, int64(rounds+1+callers/2), load(t, e, "a").Revision)
}

func testInsertRace(t *testing.T, e store.Engine) {
	const callers = 25
	errs := together(callers, func(int) error {
		return update(t, e, func(tx store.Tx) error { return tx.Insert(items, item("same id")) })
	})
	require.Equal(t, 1, count(errs, isNil))
	require.Equal(t, callers-1, count(errs, store.IsDuplicate), "%v", errs)

	errs = together(callers, func(caller int) error {
		return update(t, e, func(tx store.Tx) error {
			i := item(fmt.Sprint(caller))
			i.Key = "same key"
			return tx.Insert(items, i)
		})
	})
	require.Equal(t, 1, count(errs, isNil))
	require.Equal(t, callers-1, count(errs, store.IsDuplicate), "%v", errs)

	inserted := make([]bool, callers)
	errs = together(callers, func(caller int) error {
		return update(t, e, func(tx store.Tx) (err error) {
			inserted[caller], err = tx.Ensure(items, item("ensured"))
			return err
		})
	})
	require.Equal(t, callers, count(errs, isNil), "%v", errs)
	require.Equal(t, 1, trues(inserted))
}

func testAppendRace(t *testing.T, e store.Engine) {
	const callers, docs = 12, 10
	isNew := make([][]bool, callers)
	errs := together(callers, func(caller int) (err error) {
		batch := make([]store.Document, docs)
		for i := range batch { // each caller in another order
			batch[i] = item(fmt.Sprint("d", (i+caller)%docs))
		}
		isNew[caller], err = e.Append(t.Context(), items, batch)
		return err
	})
	require.Equal(t, callers, count(errs, isNil), "%v", errs)
	total := 0
	for _, n := range isNew {
		total += trues(n)
	}
	require.Equal(t, docs, total, "each document is new to exactly one caller")
	require.Len(t, ids(t, e, store.Query{Collection: items, Index: store.ByID}), docs)
}

func trues(flags []bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// errShort refuses to take more than there is.
var errShort = errors.New("not enough")

// takeOne takes one from a document if the sum over both still allows it. met is called between reading and writing.
func takeOne(tx store.Tx, from string, met func()) error {
	var sum int64
	var mine Item
	for _, id := range []string{"left", "right"} {
		var i Item
		if err := tx.Get(items, id, &i); err != nil {
			return err
		}
		sum += i.Count
		if id == from {
			mine = i
		}
	}
	met()
	if sum < 1 {
		return errShort
	}
	mine.Count--
	return tx.Replace(items, &mine)
}

// meeting makes two callers wait for each other, once each; a caller that runs again passes.
type meeting struct{ arrived [2]chan struct{} }

func newMeeting() *meeting {
	return &meeting{[2]chan struct{}{make(chan struct{}), make(chan struct{})}}
}

func (m *meeting) attend(ctx context.Context, caller int) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			close(m.arrived[caller])
			select {
			case <-m.arrived[1-caller]:
			case <-ctx.Done():
			}
		})
	}
}

func sumOf(t *testing.T, e store.Engine) int64 {
	t.Helper()
	return load(t, e, "left").Count + load(t, e, "right").Count
}

// testSkew shows what snapshot isolation does not prevent: two transactions read one sum, write different documents, and
// both commit. On an engine with one writer it cannot happen, which is why it must be shown on the other one.
func testSkew(t *testing.T, e store.Engine) {
	left := item("left")
	left.Count = 1
	put(t, e, left, item("right"))
	m := newMeeting()
	errs := together(2, func(caller int) error {
		met := func() {}
		if e.Name() == "mongo" {
			met = m.attend(t.Context(), caller)
		}
		return update(t, e, func(tx store.Tx) error { return takeOne(tx, []string{"left", "right"}[caller], met) })
	})
	if e.Name() == "mongo" {
		require.Equal(t, 2, count(errs, isNil), "%v", errs)
		require.Equal(t, int64(-1), sumOf(t, e), "both took the one that there was")
		return
	}
	require.Equal(t, 1, count(errs, isNil), "%v", errs)
	require.Zero(t, sumOf(t, e))
}

// testGuard is the remedy: both transactions also replace one guard document, so one of them has to run again.
func testGuard(t *testing.T, e store.Engine) {
	left := item("left")
	left.Count = 1
	put(t, e, left, item("right"), item("guard"))
	m := newMeeting()
	errs := together(2, func(caller int) error {
		met := func() {}
		if e.Name() == "mongo" {
			met = m.attend(t.Context(), caller)
		}
		return update(t, e, func(tx store.Tx) error {
			var guard Item
			if err := tx.Get(items, "guard", &guard); err != nil {
				return err
			}
			if err := takeOne(tx, []string{"left", "right"}[caller], met); err != nil {
				return err
			}
			return tx.Replace(items, &guard)
		})
	})
	require.Equal(t, 1, count(errs, isNil), "%v", errs)
	require.Equal(t, 1, count(errs, func(err error) bool { return errors.Is(err, errShort) }), "%v", errs)
	require.Zero(t, sumOf(t, e))
}
