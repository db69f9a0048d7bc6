package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// TestDiffers_queuesAnAlert lets a difference be reported: it must reach the lane that tells people, not only a log.
func TestDiffers_queuesAnAlert(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		db, ok := engine.(database)
		require.True(t, ok)
		a := &app{log: slog.New(slog.DiscardHandler), db: db}
		require.NoError(t, a.differs(t.Context(), "invariant", "order-1", "I1", "the net is off"))
		var waiting []*operation.Operation
		require.NoError(t, db.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
			waiting, err = store.All[operation.Operation](r, store.Query{
				Collection: store.Outbox, Index: "due", Equal: []any{string(operation.Alert)}, Limit: 10,
			})
			return err
		}))
		require.Len(t, waiting, 1)
		require.Equal(t, "invariant", waiting[0].Outcome)
		require.Equal(t, "I1: the net is off", waiting[0].Reason)
	})
}
