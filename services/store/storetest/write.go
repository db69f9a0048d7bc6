package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

func testDocuments(t *testing.T, e store.Engine) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_654_321, time.FixedZone("Lagos", 3600))
	full := &Item{
		Meta: store.Meta{ID: "full \x00 id", Version: 3}, Key: "k\x00k", Group: "g", Count: -5, Rank: ptr(int64(1 << 60)),
		At: &at, On: ptr(false), Parts: []Part{{Ref: "r", No: 1}}, Tags: []string{"x", "y"}, Inner: &Inner{Word: "w"},
	}
	put(t, e, full)
	got := load(t, e, full.ID)
	want := *full
	want.At = ptr(at.UTC().Truncate(time.Millisecond))
	require.Equal(t, &want, got, "times come back in UTC and whole milliseconds")
	require.Equal(t, int64(1), full.Revision)
	require.Nil(t, load(t, e, "nobody"))

	// What an earlier row left behind must not show through.
	put(t, e, item("bare"))
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		into := *full
		require.NoError(t, r.Get(items, "bare", &into))
		require.Equal(t, &Item{Meta: store.Meta{ID: "bare", Version: 1, Revision: 1}}, &into)
		return nil
	}))

	err := update(t, e, func(tx store.Tx) error { return tx.Insert(items, &Item{}) })
	require.ErrorContains(t, err, "no id")
	_, err = e.Append(t.Context(), items, []store.Document{&Item{}})
	require.ErrorContains(t, err, "no id")
	now, err := e.Now(t.Context())
	require.NoError(t, err)
	require.Equal(t, now.UTC().Truncate(time.Millisecond), now)
}

func testRevisions(t *testing.T, e store.Engine) {
	put(t, e, item("a"))
	mine, theirs := load(t, e, "a"), load(t, e, "a")
	theirs.Count = 1
	require.NoError(t, update(t, e, func(tx store.Tx) error { return tx.Replace(items, theirs) }))
	require.Equal(t, int64(2), theirs.Revision)

	mine.Count = 2
	require.ErrorIs(t, update(t, e, func(tx store.Tx) error { return tx.Replace(items, mine) }), store.ErrStale)
	require.Equal(t, int64(1), mine.Revision, "a revision that was not written is taken back")
	require.ErrorIs(t, update(t, e, func(tx store.Tx) error { return tx.Delete(items, "a", 1) }), store.ErrStale)
	require.Equal(t, int64(1), load(t, e, "a").Count)
	require.ErrorIs(t, update(t, e, func(tx store.Tx) error { return tx.Replace(items, item("nobody")) }), store.ErrStale)
	require.ErrorIs(t, update(t, e, func(tx store.Tx) error { return tx.Delete(items, "nobody", 1) }), store.ErrStale)

	// Several changes of one document in one transaction, then its removal and return.
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		var i Item
		if err := tx.Get(items, "a", &i); err != nil {
			return err
		}
		for range 3 {
			i.Count++
			if err := tx.Replace(items, &i); err != nil {
				return err
			}
		}
		return nil
	}))
	require.Equal(t, int64(5), load(t, e, "a").Revision)
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		if err := tx.Delete(items, "a", 5); err != nil {
			return err
		}
		return tx.Insert(items, item("a"))
	}))
	require.Equal(t, int64(1), load(t, e, "a").Revision)
}

func testUnique(t *testing.T, e store.Engine) {
	keyed := func(id, key string) *Item { i := item(id); i.Key = key; return i }
	insert := func(i *Item) error {
		return update(t, e, func(tx store.Tx) error { return tx.Insert(items, i) })
	}
	put(t, e, keyed("a", "same"), item("none"), item("none too"))

	wantDuplicate(t, insert(keyed("a", "another")), store.ByID)
	wantDuplicate(t, insert(keyed("b", "same")), "key")
	require.NoError(t, insert(keyed("b", "same\x00")), "a NUL makes another value")
	require.Nil(t, load(t, e, "c"))

	b := load(t, e, "b")
	b.Key = "same"
	wantDuplicate(t, update(t, e, func(tx store.Tx) error { return tx.Replace(items, b) }), "key")

	// A value is free again once its holder gives it up, also within one transaction.
	a := load(t, e, "a")
	a.Key = ""
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		if err := tx.Replace(items, a); err != nil {
			return err
		}
		return tx.Replace(items, b)
	}))
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		if err := tx.Delete(items, "b", b.Revision); err != nil {
			return err
		}
		return tx.Insert(items, keyed("c", "same"))
	}))

	// A compound index compares all its fields, and covers only documents that have them all.
	ranked := func(id, group string, rank *int64) *Item { i := item(id); i.Group, i.Rank = group, rank; return i }
	put(t, e, ranked("r1", "g", ptr(int64(1))), ranked("r2", "g", ptr(int64(2))), ranked("r3", "h", ptr(int64(1))),
		ranked("r4", "g", nil), ranked("r5", "g", nil), ranked("r6", "", ptr(int64(1))), ranked("r7", "", ptr(int64(1))))
	wantDuplicate(t, insert(ranked("r8", "g", ptr(int64(2)))), "group_rank")
}

func testUniqueArrays(t *testing.T, e store.Engine) {
	parts := func(id string, refs ...string) *Item {
		i := item(id)
		for n, r := range refs {
			i.Parts = append(i.Parts, Part{Ref: r, No: int64(n)})
		}
		return i
	}
	insert := func(i *Item) error {
		return update(t, e, func(tx store.Tx) error { return tx.Insert(items, i) })
	}
	put(t, e, parts("a", "r1", "r2"), parts("twice the same", "r3", "r3"), parts("none"), parts("none too"),
		parts("empty refs", "", ""), parts("empty refs too", ""))
	wantDuplicate(t, insert(parts("b", "r9", "r2")), "ref")
	require.NoError(t, insert(parts("b", "r9", "r8")))

	a := load(t, e, "a")
	a.Parts = a.Parts[:1]
	require.NoError(t, update(t, e, func(tx store.Tx) error { return tx.Replace(items, a) }))
	require.NoError(t, insert(parts("c", "r2")), "an element that is gone frees its value")

	// One element without the field beside one with it counts as null, as MongoDB has it, so it must not be left empty.
	require.NoError(t, insert(parts("half", "r10", "")))
	wantDuplicate(t, insert(parts("half too", "r11", "")), "ref")
}

func testEnsure(t *testing.T, e store.Engine) {
	first, second := item("a"), item("a")
	first.Count, second.Count = 1, 2
	ensure := func(i *Item) (inserted bool, err error) {
		err = update(t, e, func(tx store.Tx) (err error) { inserted, err = tx.Ensure(items, i); return err })
		return inserted, err
	}
	inserted, err := ensure(first)
	require.NoError(t, err)
	require.True(t, inserted)
	require.Equal(t, int64(1), first.Revision)
	inserted, err = ensure(second)
	require.NoError(t, err)
	require.False(t, inserted)
	require.Zero(t, second.Revision, "nothing was stored")
	require.Equal(t, int64(1), load(t, e, "a").Count, "the document that was there is left as it is")

	full := &Item{Meta: store.Meta{ID: "z", Version: 2}, Key: "k", Parts: []Part{}, Tags: []string{"b", "a"}, Inner: &Inner{}}
	_, err = ensure(full)
	require.NoError(t, err)
	require.Equal(t, "k", load(t, e, "z").Key)
	clash := item("y")
	clash.Key = "k"
	_, err = ensure(clash)
	wantDuplicate(t, err, "key")
	_, err = ensure(item(""))
	require.ErrorContains(t, err, "no id")
}

func testRollback(t *testing.T, e store.Engine) {
	put(t, e, item("a"), item("gone"))
	before := load(t, e, "a")
	refusal := errors.New("refused")
	doc := item("new")
	work := func(tx store.Tx) error {
		a := *before
		a.Key = "changed"
		return errors.Join(tx.Insert(items, doc), tx.Insert(other, item("o")), tx.Replace(items, &a), tx.Delete(items, "gone", 1))
	}
	wantNothing := func() {
		t.Helper()
		require.Equal(t, before, load(t, e, "a"))
		require.NotNil(t, load(t, e, "gone"))
		require.Nil(t, load(t, e, "new"))
		require.Zero(t, doc.Revision)
		require.Empty(t, ids(t, e, store.Query{Collection: items, Index: "key"}))
	}
	err := update(t, e, func(tx store.Tx) error {
		require.NoError(t, work(tx))
		return refusal
	})
	require.True(t, err == refusal, "the callback's error comes back unchanged, not %v", err) //nolint:errorlint,testifylint // identity is the promise
	wantNothing()

	require.PanicsWithValue(t, "defect", func() {
		_ = update(t, e, func(tx store.Tx) error {
			require.NoError(t, work(tx))
			panic("defect")
		})
	})
	wantNothing()
	require.NoError(t, update(t, e, work), "after an error and a panic the engine goes on")
	require.Nil(t, load(t, e, "gone"))
	require.Equal(t, int64(1), doc.Revision)

	require.NoError(t, update(t, e, func(store.Tx) error { return nil }), "a transaction that does nothing")
}

func testPoison(t *testing.T, e store.Engine) {
	put(t, e, item("a"))
	var first error
	err := update(t, e, func(tx store.Tx) error {
		var i Item
		require.NoError(t, tx.Insert(items, item("new")))
		require.ErrorIs(t, tx.Get(items, "nobody", &i), store.ErrNotFound)
		require.NoError(t, tx.Get(items, "a", &i), "not to be found is an answer, not an error")

		first = tx.Insert(items, item("a"))
		wantDuplicate(t, first, store.ByID)
		_, ensured := tx.Ensure(items, item("b"))
		for _, later := range []error{
			tx.Get(items, "a", &i), tx.Find(store.Query{Collection: items, Index: store.ByID}, nil), tx.Insert(items, item("b")),
			ensured, tx.Replace(items, &i), tx.Delete(items, "a", 1),
		} {
			require.Equal(t, first, later)
		}
		return nil
	})
	require.Equal(t, first, err, "the commit returns the first error although the callback swallowed it")
	require.Nil(t, load(t, e, "new"))

	stale := update(t, e, func(tx store.Tx) error {
		_ = tx.Delete(items, "a", 99)
		return tx.Insert(items, item("b"))
	})
	require.ErrorIs(t, stale, store.ErrStale)

	stop := errors.New("stop")
	err = update(t, e, func(tx store.Tx) error {
		_ = tx.Find(store.Query{Collection: items, Index: store.ByID}, func(store.Decode) (bool, error) { return true, stop })
		return nil
	})
	require.ErrorIs(t, err, stop)
}

func testAppend(t *testing.T, e store.Engine) {
	docs := func(ids ...string) (out []store.Document) {
		for _, id := range ids {
			out = append(out, item(id))
		}
		return out
	}
	isNew, err := e.Append(t.Context(), items, docs("a", "b"))
	require.NoError(t, err)
	require.Equal(t, []bool{true, true}, isNew)
	again := docs("b", "c", "c", "a")
	again[0].(*Item).Count = 9
	isNew, err = e.Append(t.Context(), items, again)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, false, false}, isNew)
	require.Zero(t, load(t, e, "b").Count, "what was there stays as it is")
	require.Equal(t, int64(1), load(t, e, "c").Revision)
	isNew, err = e.Append(t.Context(), items, nil)
	require.NoError(t, err)
	require.Empty(t, isNew)

	clash := docs("d", "e", "f")
	clash[0].(*Item).Key, clash[1].(*Item).Key = "k", "k"
	isNew, err = e.Append(t.Context(), items, clash)
	wantDuplicate(t, err, "key")
	require.Equal(t, []bool{true, false, true}, isNew, "the others are stored all the same")
	require.Equal(t, []string{"a", "b", "c", "d", "f"}, ids(t, e, store.Query{Collection: items, Index: store.ByID}))
	require.Equal(t, []string{"d"}, ids(t, e, store.Query{Collection: items, Index: "key"}))
}
