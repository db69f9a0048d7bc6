package bolt_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

type thing struct {
	store.Meta `bson:",inline"`
	Name       string `bson:"name,omitempty"`
	Count      int64  `bson:"count"`
}

func TestSmoke(t *testing.T) {
	t.Parallel()
	ix := []store.Index{{Collection: "things", Name: "name", Fields: []string{"name"}, Unique: true}, {Collection: "things", Name: "count", Fields: []string{"count"}}}
	testkit.Engines(t, ix, func(t *testing.T, e store.Engine) {
		err := e.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			for i, id := range []string{"a", "b", "c"} {
				if err := tx.Insert("things", &thing{Meta: store.Meta{ID: id}, Name: id, Count: int64(-i)}); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		err = e.View(t.Context(), func(ctx context.Context, r store.Reader) error {
			rows, err := store.All[thing](r, store.Query{Collection: "things", Index: "count", Descending: true, Limit: 2})
			require.NoError(t, err)
			require.Len(t, rows, 2)
			require.Equal(t, "a", rows[0].ID)
			rows, err = store.All[thing](r, store.Query{Collection: "things", Index: "count", After: store.CursorOf(rows[1], rows[1].Count), Descending: true})
			require.NoError(t, err)
			require.Len(t, rows, 1)
			return nil
		})
		require.NoError(t, err)
	})
}
