// Package storetest is the conformance suite of the store port (DESIGN §5): what passes here on both engines is what the
// domain may rely on. It also shows, on the engine where it happens, why guard documents exist.
package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// NewEngine returns an empty engine that serves these indexes and vanishes with the test.
type NewEngine func(t *testing.T, indexes []store.Index) store.Engine

// part is one section of the suite.
type part struct {
	name string
	test func(t *testing.T, e store.Engine)
}

// Run runs the whole suite, each part on an engine of its own.
func Run(t *testing.T, newEngine NewEngine) {
	t.Helper()
	parts := []part{
		{"documents", testDocuments},
		{"revisions", testRevisions},
		{"unique indexes", testUnique},
		{"unique indexes over arrays", testUniqueArrays},
		{"ensure", testEnsure},
		{"rollback", testRollback},
		{"poison", testPoison},
		{"append", testAppend},
		{"nesting", testNesting},
		{"deadline", testDeadline},
		{"snapshot", testSnapshot},
		{"watch", testWatch},
		{"watch topics", testWatchTopics},
		{"closed", testClosed},
		{"paging", testPaging},
		{"ranges", testRanges},
		{"ids", testIDs},
		{"arrays", testArrays},
		{"queries inside a transaction", testOwnWrites},
		{"many rows", testManyRows},
		{"queries that do not fit", testMisfits},
		{"compare and set", testCompareAndSet},
		{"racing inserts", testInsertRace},
		{"racing appends", testAppendRace},
		{"write skew", testSkew},
		{"guard document", testGuard},
	}
	for _, p := range append(parts, pointParts()...) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(t, newEngine(t, Indexes()))
		})
	}
	for _, p := range parts[:8] {
		t.Run(p.name+", every callback run twice", func(t *testing.T) {
			t.Parallel()
			p.test(t, Twice(newEngine(t, Indexes())))
		})
	}
	t.Run("callbacks run twice", func(t *testing.T) {
		t.Parallel()
		testTwice(t, newEngine(t, Indexes()))
	})
}

// The collections of the suite.
const (
	items store.Collection = "items"
	other store.Collection = "others"
)

// Item is the document of the suite; it has a field of every kind that an index may hold.
type Item struct {
	store.Meta `bson:",inline"`
	Key        string     `bson:"key,omitempty"`
	Group      string     `bson:"group,omitempty"`
	Count      int64      `bson:"count"`
	Rank       *int64     `bson:"rank,omitempty"`
	At         *time.Time `bson:"at,omitempty"`
	On         *bool      `bson:"on,omitempty"`
	Parts      []Part     `bson:"parts,omitempty"`
	Tags       []string   `bson:"tags,omitempty"`
	Inner      *Inner     `bson:"inner,omitempty"`
}

// Part is an element of an array that an index runs through.
type Part struct {
	Ref string `bson:"ref,omitempty"`
	No  int64  `bson:"no"`
}

// Inner is a nested document that an index looks into.
type Inner struct {
	Word string `bson:"word"`
}

// Indexes are the indexes that the suite needs.
func Indexes() []store.Index {
	return []store.Index{
		{Collection: items, Name: "key", Fields: []string{"key"}, Unique: true},
		{Collection: items, Name: "group_rank", Fields: []string{"group", "rank"}, Unique: true},
		{Collection: items, Name: "ref", Fields: []string{"parts.ref"}, Unique: true},
		{Collection: items, Name: "group_count", Fields: []string{"group", "count"}},
		{Collection: items, Name: "group_at", Fields: []string{"group", "at"}},
		{Collection: items, Name: "at", Fields: []string{"at"}},
		{Collection: items, Name: "on_group", Fields: []string{"on", "group"}},
		{Collection: items, Name: "tag_count", Fields: []string{"tags", "count"}},
		{Collection: items, Name: "part", Fields: []string{"parts.ref", "parts.no"}},
		{Collection: items, Name: "word", Fields: []string{"inner.word"}},
	}
}

func item(id string) *Item { return &Item{Meta: store.Meta{ID: id, Version: 1}} }

// put inserts documents in one transaction.
func put(t *testing.T, e store.Engine, docs ...*Item) {
	t.Helper()
	require.NoError(t, update(t, e, func(tx store.Tx) error {
		for _, d := range docs {
			if err := tx.Insert(items, d); err != nil {
				return err
			}
		}
		return nil
	}))
}

func update(t *testing.T, e store.Engine, fn func(tx store.Tx) error) error {
	t.Helper()
	return e.Update(t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) })
}

// load reads one document outside a transaction; nil when there is none.
func load(t *testing.T, e store.Engine, id string) *Item {
	t.Helper()
	var found *Item
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		var i Item
		err := r.Get(items, id, &i)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		found = &i
		return err
	}))
	return found
}

// ids runs a query outside a transaction.
func ids(t *testing.T, e store.Engine, q store.Query) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		rows, err := store.All[Item](r, q)
		for _, row := range rows {
			found = append(found, row.ID)
		}
		return err
	}))
	return found
}

func wantDuplicate(t *testing.T, err error, index string) {
	t.Helper()
	require.ErrorIs(t, err, &store.ErrDuplicate{Collection: items, Index: index})
}

func ptr[T any](v T) *T { return &v }
