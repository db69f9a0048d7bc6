package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// Migrator is what an engine offers to `migrate` and `serve` beside the port.
type Migrator interface {
	store.Engine
	CompareIndexes(ctx context.Context) (differences []string, err error)
	EnsureIndexes(ctx context.Context) error
	DropExtra(ctx context.Context) error
}

// Migrate walks through a release: an index is added before it, the old release runs beside the new one, and what the
// old one alone needed is dropped after it. Open opens the same database each time; the engine before is closed.
func Migrate(t *testing.T, open func(t *testing.T, indexes []store.Index) Migrator) {
	t.Helper()
	byGroup := store.Index{Collection: items, Name: "group", Fields: []string{"group"}}
	byKey := store.Index{Collection: items, Name: "key", Fields: []string{"key"}, Unique: true}
	same := func(e Migrator) {
		t.Helper()
		require.NoError(t, e.EnsureIndexes(t.Context()))
		differences, err := e.CompareIndexes(t.Context())
		require.NoError(t, err)
		require.Empty(t, differences)
	}
	keyed := func(id, key string) *Item {
		i := item(id)
		i.Key, i.Group = key, "g"
		return i
	}

	old := open(t, []store.Index{byGroup})
	same(old)
	put(t, old, keyed("a", "1"), keyed("b", "2"), keyed("c", ""))
	require.NoError(t, old.Close(t.Context()))

	// The new release adds an index over documents that are there.
	next := open(t, []store.Index{byGroup, byKey})
	same(next)
	require.Equal(t, []string{"b"}, ids(t, next, store.Query{Collection: items, Index: "key", Equal: []any{"2"}}))
	wantDuplicate(t, update(t, next, func(tx store.Tx) error { return tx.Insert(items, keyed("d", "1")) }), "key")
	require.NoError(t, next.Close(t.Context()))

	// The old release tolerates and keeps the extra index.
	old = open(t, []store.Index{byGroup})
	same(old)
	wantDuplicate(t, update(t, old, func(tx store.Tx) error { return tx.Insert(items, keyed("d", "1")) }), "key")
	put(t, old, keyed("d", "4"))
	require.ErrorIs(t, old.View(t.Context(), func(_ context.Context, r store.Reader) error {
		_, err := store.All[Item](r, store.Query{Collection: items, Index: "key"})
		return err
	}), store.ErrIndex, "but it answers only what it declares")
	require.NoError(t, old.Close(t.Context()))

	next = open(t, []store.Index{byKey})
	same(next)
	require.Equal(t, []string{"a", "b", "d"}, ids(t, next, store.Query{Collection: items, Index: "key"}))
	require.NoError(t, next.DropExtra(t.Context()))
	require.NoError(t, next.DropExtra(t.Context()), "it is safe to repeat")
	require.Equal(t, []string{"a", "b", "d"}, ids(t, next, store.Query{Collection: items, Index: "key"}))
	require.NoError(t, next.Close(t.Context()))

	// A dropped index is built anew when it is wanted again.
	old = open(t, []store.Index{byGroup, byKey})
	same(old)
	require.Equal(t, []string{"a", "b", "c", "d"}, ids(t, old, store.Query{Collection: items, Index: "group"}))
	require.NoError(t, old.DropExtra(t.Context()))
	require.NoError(t, old.Close(t.Context()))
}
