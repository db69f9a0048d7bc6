//go:build crashpoints

package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/point"
	"offrampbot/services/store"
)

func pointParts() []part { return []part{{"choke points", testPoints}} }

var (
	errBefore = errors.New("crash before")
	errAfter  = errors.New("reply lost")
)

type hookKey struct{}

// installOnce installs one hook for all parallel tests; it asks the hook that the test has put into its context.
var installOnce = sync.OnceFunc(func() {
	point.Install(func(ctx context.Context, name string, after bool) error {
		if h, ok := ctx.Value(hookKey{}).(point.Hook); ok {
			return h(ctx, name, after)
		}
		return nil
	})
})

// testPoints shows that every commit and append passes its point, and what an error there means.
func testPoints(t *testing.T, e store.Engine) {
	installOnce()
	var passed []string
	var before, after error
	ctx := context.WithValue(t.Context(), hookKey{}, point.Hook(func(_ context.Context, name string, isAfter bool) error {
		if isAfter {
			passed = append(passed, "after "+name)
			return after
		}
		passed = append(passed, "before "+name)
		return before
	}))
	insert := func(id string) error {
		passed = nil
		return e.Update(ctx, func(_ context.Context, tx store.Tx) error { return tx.Insert(items, item(id)) })
	}
	appendOne := func(id string) error {
		passed = nil
		_, err := e.Append(ctx, items, []store.Document{item(id)})
		return err
	}
	tests := []struct {
		name string
		call func(id string) error
	}{{point.StoreCommit, insert}, {point.StoreAppend, appendOne}}
	for _, tt := range tests {
		before, after = nil, nil
		require.NoError(t, tt.call(tt.name))
		require.Equal(t, []string{"before " + tt.name, "after " + tt.name}, passed)

		before = errBefore
		require.ErrorIs(t, tt.call(tt.name+" before"), errBefore)
		require.Equal(t, []string{"before " + tt.name}, passed)
		require.Nil(t, load(t, e, tt.name+" before"), "the error replaces the effect")

		before, after = nil, errAfter
		err := tt.call(tt.name + " after")
		require.ErrorIs(t, err, errAfter)
		require.ErrorIs(t, err, store.ErrCommitUnknown, "the error replaces the reply")
		require.NotNil(t, load(t, e, tt.name+" after"))
	}
	passed = nil
	require.NoError(t, e.Update(ctx, func(context.Context, store.Tx) error { return nil }))
	require.Empty(t, passed, "nothing was written")
}
