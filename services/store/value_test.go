package store_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/store"
)

type (
	word  string
	small int8
)

type document struct{ store.Meta }

func TestValue_reducesToWhatAnIndexHolds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_789_000, time.FixedZone("Lagos", 3600))
	name, pointer := word("w"), &at
	tests := []struct {
		name     string
		in, want any
	}{
		{"a string", "s", "s"},
		{"a named string", word("w"), "w"},
		{"a pointer", &name, "w"},
		{"an int", 7, int64(7)},
		{"a small int", small(-7), int64(-7)},
		{"an unsigned int", uint32(7), int64(7)},
		{"a bool", true, true},
		{"a time", at, time.Date(2026, 1, 2, 2, 4, 5, 6_000_000, time.UTC)},
		{"a pointer to a pointer", &pointer, time.Date(2026, 1, 2, 2, 4, 5, 6_000_000, time.UTC)},
	}
	for _, tt := range tests {
		got, err := store.Value(tt.in)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}
	for _, v := range []any{nil, (*word)(nil), 1.5, []string{"s"}, struct{}{}, uint64(math.MaxUint64)} {
		_, err := store.Value(v)
		require.ErrorIs(t, err, store.ErrIndex, "%T", v)
	}
}

func TestCursor_survivesItsWrittenForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := &document{store.Meta{ID: rapid.StringN(1, 20, 40).Draw(t, "id")}}
		at := time.UnixMilli(rapid.Int64Range(-1<<50, 1<<50).Draw(t, "at")).UTC()
		n, text, on := rapid.Int64().Draw(t, "n"), rapid.String().Draw(t, "text"), rapid.Bool().Draw(t, "on")
		encoded, err := store.CursorOf(doc, &at, n, word(text), on).Encode()
		require.NoError(t, err)
		got, err := store.DecodeCursor(encoded)
		require.NoError(t, err)
		require.Equal(t, store.Cursor{at, n, text, on, doc.ID}, got)
	})
	encoded, err := store.Cursor(nil).Encode()
	require.NoError(t, err)
	require.Empty(t, encoded)
	_, err = store.Cursor{1.5}.Encode()
	require.ErrorIs(t, err, store.ErrIndex)
}

func FuzzDecodeCursor(f *testing.F) {
	for _, seed := range []string{"", "x", "WyJzYSJd", "WyJ4Il0", "W10", "WyJpOTk5OTk5OTk5OTk5OTk5OTk5OTkiXQ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		c, err := store.DecodeCursor(encoded)
		if err != nil {
			require.ErrorIs(t, err, store.ErrIndex)
			return
		}
		again, err := c.Encode()
		require.NoError(t, err)
		same, err := store.DecodeCursor(again)
		require.NoError(t, err)
		require.Equal(t, c, same)
	})
}

func TestRevisions_restoreOnlyTheDocumentThatTheyWereOf(t *testing.T) {
	t.Parallel()
	var r store.Revisions
	one := &store.Meta{ID: "one", Revision: 3}
	reused := &store.Meta{ID: "a", Revision: 7}
	r.Set(one, 4)
	r.Set(one, 5)
	r.Set(reused, 8)
	reused.ID, reused.Revision = "b", 1
	r.Set(reused, 2)
	r.Restore()
	require.Equal(t, int64(3), one.Revision)
	require.Equal(t, &store.Meta{ID: "b", Revision: 1}, reused, "another document keeps its own")
}

func TestCollections_areAllThatIndexesMayName(t *testing.T) {
	t.Parallel()
	seen := map[store.Collection]bool{}
	for _, c := range store.Collections() {
		require.False(t, seen[c], c)
		seen[c] = true
	}
	require.Len(t, seen, 22)
}

func TestErrDuplicate_comparesTheFieldsThatAreSet(t *testing.T) {
	t.Parallel()
	err := error(&store.ErrDuplicate{Collection: store.Users, Index: "whatsapp_id"})
	require.True(t, store.IsDuplicate(err))
	require.ErrorIs(t, err, &store.ErrDuplicate{Index: "whatsapp_id"})
	require.NotErrorIs(t, err, &store.ErrDuplicate{Index: "_id"})
	require.NotErrorIs(t, err, &store.ErrDuplicate{Collection: store.Orders})
	require.EqualError(t, err, "duplicate whatsapp_id in users")
}
