package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// sample is every combination of a few awkward values, ties and absent fields included.
func sample() []*Item {
	groups := []string{"", "a", "a\x00", "a\x00b", "a\x01", "ab", "é"}
	counts := []int64{-1 << 63, -256, -1, 0, 1, 255, 1<<63 - 1}
	var docs []*Item
	for g, group := range groups {
		for c, count := range counts {
			for tie := range 2 {
				i := item(fmt.Sprintf("%d-%d-%d", tie, c, g))
				i.Group, i.Count = group, count
				if c%3 != 0 {
					i.At = ptr(time.UnixMilli(count >> 20).UTC())
				}
				if g%2 == 0 {
					i.On = ptr(c%2 == 0)
				}
				if group != "" && tie == 0 {
					i.Rank = ptr(-count)
				}
				docs = append(docs, i)
			}
		}
	}
	return docs
}

type scanCase struct {
	name   string
	query  store.Query
	covers func(i *Item) bool
	order  func(a, b *Item) int
	cursor func(i *Item) store.Cursor
}

func scanCases() []scanCase {
	byCount := func(a, b *Item) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.Count, b.Count), strings.Compare(a.ID, b.ID))
	}
	return []scanCase{
		{
			"a compound index", store.Query{Index: "group_count"},
			func(i *Item) bool { return i.Group != "" }, byCount,
			func(i *Item) store.Cursor { return store.CursorOf(i, i.Group, i.Count) },
		}, {
			"one group of it", store.Query{Index: "group_count", Equal: []any{"a\x00"}},
			func(i *Item) bool { return i.Group == "a\x00" }, byCount,
			func(i *Item) store.Cursor { return store.CursorOf(i, i.Group, i.Count) },
		}, {
			"a range in one group", store.Query{Index: "group_count", Equal: []any{"a"}, From: -1, Until: int64(255)},
			func(i *Item) bool { return i.Group == "a" && i.Count >= -1 && i.Count < 255 }, byCount,
			func(i *Item) store.Cursor { return store.CursorOf(i, i.Group, i.Count) },
		}, {
			"a unique index", store.Query{Index: "group_rank"},
			func(i *Item) bool { return i.Group != "" && i.Rank != nil },
			func(a, b *Item) int {
				return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(*a.Rank, *b.Rank), strings.Compare(a.ID, b.ID))
			},
			func(i *Item) store.Cursor { return store.CursorOf(i, i.Group, i.Rank) },
		}, {
			"times with ties", store.Query{Index: "at"},
			func(i *Item) bool { return i.At != nil },
			func(a, b *Item) int { return cmp.Or(a.At.Compare(*b.At), strings.Compare(a.ID, b.ID)) },
			func(i *Item) store.Cursor { return store.CursorOf(i, i.At) },
		}, {
			"booleans first", store.Query{Index: "on_group", From: false},
			func(i *Item) bool { return i.On != nil && i.Group != "" },
			func(a, b *Item) int {
				flags := func(i *Item) int { return map[bool]int{false: 0, true: 1}[*i.On] }
				return cmp.Or(cmp.Compare(flags(a), flags(b)), strings.Compare(a.Group, b.Group), strings.Compare(a.ID, b.ID))
			},
			func(i *Item) store.Cursor { return store.CursorOf(i, i.On, i.Group) },
		}, {
			"ids", store.Query{Index: store.ByID},
			func(*Item) bool { return true },
			func(a, b *Item) int { return strings.Compare(a.ID, b.ID) },
			func(i *Item) store.Cursor { return store.CursorOf(i) },
		},
	}
}

// testPaging walks each index in both directions and in pages of several sizes, and compares with a plain sort.
func testPaging(t *testing.T, e store.Engine) {
	docs := sample()
	put(t, e, docs...)
	for _, tt := range scanCases() {
		for _, descending := range []bool{false, true} {
			want := slices.DeleteFunc(slices.Clone(docs), func(i *Item) bool { return !tt.covers(i) })
			slices.SortFunc(want, tt.order)
			if descending {
				slices.Reverse(want)
			}
			require.NotEmpty(t, want)
			q := tt.query
			q.Collection, q.Descending = items, descending
			require.Equal(t, idsOf(want), ids(t, e, q), "%s, descending %t", tt.name, descending)
			for _, size := range []int{1, 7, len(want)} {
				require.Equal(t, idsOf(want), pages(t, e, q, size, tt.cursor),
					"%s, descending %t, pages of %d", tt.name, descending, size)
			}
		}
	}
}

func idsOf(docs []*Item) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.ID
	}
	return out
}

// pages reads a query page by page; every cursor goes through its written form.
func pages(t *testing.T, e store.Engine, q store.Query, size int, cursor func(i *Item) store.Cursor) (found []string) {
	t.Helper()
	q.Limit = size
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		for {
			rows, err := store.All[Item](r, q)
			if err != nil || len(rows) == 0 {
				return err
			}
			require.LessOrEqual(t, len(rows), size)
			found = append(found, idsOf(rows)...)
			word, err := cursor(rows[len(rows)-1]).Encode()
			require.NoError(t, err)
			if q.After, err = store.DecodeCursor(word); err != nil {
				return err
			}
		}
	}))
	return found
}

func testRanges(t *testing.T, e store.Engine) {
	base := time.UnixMilli(1_000_000).UTC()
	for n := range 5 {
		i := item(fmt.Sprint("t", n))
		i.Group, i.At, i.Count = "g", ptr(base.Add(time.Duration(n)*time.Minute)), int64(n)
		put(t, e, i)
	}
	at := func(n int) time.Time { return base.Add(time.Duration(n) * time.Minute) }
	q := func(change func(q *store.Query)) store.Query {
		q := store.Query{Collection: items, Index: "group_at", Equal: []any{"g"}}
		change(&q)
		return q
	}
	tests := []struct {
		name  string
		query store.Query
		want  []string
	}{
		{"from is included", q(func(q *store.Query) { q.From = at(3) }), []string{"t3", "t4"}},
		{"until is not", q(func(q *store.Query) { q.Until = at(2) }), []string{"t0", "t1"}},
		{"both", q(func(q *store.Query) { q.From, q.Until = at(1), at(3) }), []string{"t1", "t2"}},
		{"both, backwards", q(func(q *store.Query) { q.From, q.Until, q.Descending = at(1), at(4), true }), []string{"t3", "t2", "t1"}},
		{"nothing between equal bounds", q(func(q *store.Query) { q.From, q.Until = at(1), at(1) }), []string{}},
		{"nothing between crossed bounds", q(func(q *store.Query) { q.From, q.Until = at(3), at(1) }), []string{}},
		{"no values of another kind", q(func(q *store.Query) { q.From = "text" }), []string{}},
		{"nor below", q(func(q *store.Query) { q.Until = "text" }), []string{}},
		{"another group", q(func(q *store.Query) { q.Equal = []any{"h"} }), []string{}},
		{"all fields given", q(func(q *store.Query) { q.Equal = []any{"g", at(2)} }), []string{"t2"}},
		{"a limit", q(func(q *store.Query) { q.Limit = 2 }), []string{"t0", "t1"}},
		{"a limit, backwards", q(func(q *store.Query) { q.Limit, q.Descending = 2, true }), []string{"t4", "t3"}},
		{"a cursor before the range", q(func(q *store.Query) { q.From, q.After = at(3), store.Cursor{"g", at(0), "t0"} }), []string{"t3", "t4"}},
		{"a cursor behind the range", q(func(q *store.Query) { q.Until, q.After = at(1), store.Cursor{"g", at(3), "t3"} }), []string{}},
		{"a cursor whose row is gone", q(func(q *store.Query) { q.After = store.Cursor{"g", at(2), "t1x"} }), []string{"t2", "t3", "t4"}},
		{"a collection that does not exist", store.Query{Collection: "nothing", Index: store.ByID}, []string{}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, ids(t, e, tt.query), tt.name)
	}
}

func testIDs(t *testing.T, e store.Engine) {
	put(t, e, item("a"), item("a|1"), item("a|1\x00"), item("a|2"), item("b"))
	all := store.Query{Collection: items, Index: store.ByID}
	with := func(change func(q *store.Query)) []string { q := all; change(&q); return ids(t, e, q) }
	require.Equal(t, []string{"a|1", "a|1\x00", "a|2"}, with(func(q *store.Query) { q.From, q.Until = "a|", "a}" }))
	require.Equal(t, []string{"a|1"}, with(func(q *store.Query) { q.Equal = []any{"a|1"} }))
	require.Equal(t, []string{"b", "a|2"}, with(func(q *store.Query) { q.Descending, q.Limit = true, 2 }))
	require.Equal(t, []string{"a|1", "a"}, with(func(q *store.Query) { q.Descending, q.After = true, store.Cursor{"a|1\x00"} }))
	require.Equal(t, []string{"a|1\x00", "a|2", "b"}, with(func(q *store.Query) { q.After = store.Cursor{"a|1"} }))
	require.Empty(t, with(func(q *store.Query) { q.Equal = []any{"c"} }))
}

func testArrays(t *testing.T, e store.Engine) {
	tagged := func(id string, count int64, tags ...string) *Item {
		i := item(id)
		i.Count, i.Tags = count, tags
		return i
	}
	put(t, e, tagged("a", 3, "x", "y"), tagged("b", 1, "x", "x"), tagged("c", 2, "y", "x"), tagged("d", 2, "x"), tagged("e", 9))
	x := store.Query{Collection: items, Index: "tag_count", Equal: []any{"x"}}
	require.Equal(t, []string{"b", "c", "d", "a"}, ids(t, e, x))
	cursor := func(i *Item) store.Cursor { return store.CursorOf(i, "x", i.Count) }
	require.Equal(t, []string{"b", "c", "d", "a"}, pages(t, e, x, 1, cursor))
	x.Descending = true
	require.Equal(t, []string{"a", "d", "c", "b"}, pages(t, e, x, 3, cursor))
	all := store.Query{Collection: items, Index: "tag_count"}
	require.Equal(t, []string{"b", "c", "d", "a"}, ids(t, e, all), "a document with several elements is one row")

	p := item("p")
	p.Parts = []Part{{Ref: "one", No: 1}, {Ref: "two", No: 2}}
	p.Inner = &Inner{Word: "deep"}
	put(t, e, p)
	find := func(index string, equal ...any) []string {
		return ids(t, e, store.Query{Collection: items, Index: index, Equal: equal})
	}
	require.Equal(t, []string{"p"}, find("ref", "two"))
	require.Equal(t, []string{"p"}, find("part", "two", 2))
	require.Empty(t, find("part", "two", 1), "fields of one element belong together")
	require.Equal(t, []string{"p"}, find("word", "deep"))
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		p.Parts[1].Ref = "three"
		return tx.Replace(items, p)
	}))
	require.Empty(t, find("ref", "two"))
	require.Equal(t, []string{"p"}, find("ref", "three"))
}

func testOwnWrites(t *testing.T, e store.Engine) {
	put(t, e, item("a"), item("b"), item("c"))
	all := store.Query{Collection: items, Index: store.ByID}
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		d := item("d")
		d.Key = "k"
		if err := tx.Insert(items, d); err != nil {
			return err
		}
		keyed, err := store.First[Item](tx, store.Query{Collection: items, Index: "key", Equal: []any{"k"}})
		if err != nil {
			return err
		}
		require.Equal(t, "d", keyed.ID)
		_, err = store.First[Item](tx, store.Query{Collection: items, Index: "key", Equal: []any{"none"}})
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Nil(t, load(t, e, "d"), "nobody else sees it yet")

		// Writing while rows are handed out neither loses nor repeats a row.
		n := 0
		err = tx.Find(all, func(decode store.Decode) (bool, error) {
			n++
			var i Item
			if err := decode(&i); err != nil {
				return false, err
			}
			i.Key = "z" + i.ID
			return true, tx.Replace(items, &i)
		})
		require.Equal(t, 4, n)
		return err
	}))
	require.Equal(t, []string{"a", "b", "c", "d"}, ids(t, e, store.Query{Collection: items, Index: "key"}))

	n := 0
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Find(all, func(store.Decode) (bool, error) { n++; return n < 2, nil })
	}))
	require.Equal(t, 2, n, "a scan ends when it is told to")
	stop := errors.New("stop")
	require.ErrorIs(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Find(all, func(store.Decode) (bool, error) { return true, stop })
	}), stop)
}

// testManyRows scans more than a server hands out at once, in and outside a transaction, and stops in the middle.
func testManyRows(t *testing.T, e store.Engine) {
	const rows = 350
	docs := make([]store.Document, rows)
	for n := range docs {
		i := item(fmt.Sprintf("%04d", n))
		i.Group, i.Count = "g", int64(rows-n)
		docs[n] = i
	}
	_, err := e.Append(t.Context(), items, docs)
	require.NoError(t, err)
	q := store.Query{Collection: items, Index: "group_count", Equal: []any{"g"}, Descending: true}
	found := ids(t, e, q)
	require.Len(t, found, rows)
	require.True(t, slices.IsSorted(found))
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		all, err := store.All[Item](tx, q)
		require.Len(t, all, rows)
		if err != nil {
			return err
		}
		n := 0
		err = tx.Find(q, func(store.Decode) (bool, error) { n++; return n < 5, nil })
		if err != nil {
			return err
		}
		return tx.Insert(items, item("the transaction goes on"))
	}))
	require.NotNil(t, load(t, e, "the transaction goes on"))
}

func testMisfits(t *testing.T, e store.Engine) {
	tests := []struct {
		name  string
		query store.Query
	}{
		{"an index that is not declared", store.Query{Index: "nothing"}},
		{"no index at all", store.Query{}},
		{"more values than fields", store.Query{Index: "key", Equal: []any{"a", "b"}}},
		{"a range behind the last field", store.Query{Index: "key", Equal: []any{"a"}, From: "b"}},
		{"a cursor of another length", store.Query{Index: "group_count", After: store.Cursor{"a", "id"}}},
		{"a cursor of another prefix", store.Query{Index: "group_count", Equal: []any{"a"}, After: store.Cursor{"b", 1, "id"}}},
		{"a cursor without an id", store.Query{Index: "key", After: store.Cursor{"a", 1}}},
		{"a value of no kind", store.Query{Index: "key", Equal: []any{1.5}}},
		{"a value that is nil", store.Query{Index: "key", Equal: []any{nil}}},
		{"a limit below zero", store.Query{Index: "key", Limit: -1}},
	}
	for _, tt := range tests {
		tt.query.Collection = items
		require.ErrorIs(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
			_, err := store.All[Item](r, tt.query)
			return err
		}), store.ErrIndex, tt.name)
	}
}
