package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// errRunAgain aborts the first run of a callback.
var errRunAgain = errors.New("run again")

type twice struct{ store.Engine }

// Twice returns an engine that runs every callback of Update twice: once in a transaction that is rolled back, as after
// a conflict, and once for good. What works on it keeps nothing from a run that did not count.
func Twice(engine store.Engine) store.Engine { return twice{engine} }

// Update implements store.Engine.
func (e twice) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	err := e.Engine.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		_ = fn(ctx, tx) // the second run decides
		return errRunAgain
	})
	if err != nil && !errors.Is(err, errRunAgain) {
		return err
	}
	return e.Engine.Update(ctx, fn)
}

func testTwice(t *testing.T, e store.Engine) {
	runs := 0
	doc := item("a")
	require.NoError(t, Twice(e).Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		runs++
		return tx.Insert(items, doc)
	}))
	require.Equal(t, 2, runs)
	require.Equal(t, int64(1), load(t, e, "a").Revision)

	doc.Count = 7
	require.NoError(t, Twice(e).Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		return tx.Replace(items, doc)
	}), "the run that did not count gives the revision back")
	require.Equal(t, int64(2), doc.Revision)
	require.Equal(t, int64(2), load(t, e, "a").Revision)
}
