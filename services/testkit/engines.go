package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/store/bolt"
)

// Engines runs a sub-test on each store engine, "bolt" and "mongo", each on an empty database of its own that serves
// these indexes and vanishes with the test. The sub-tests run in parallel.
func Engines(t *testing.T, indexes []store.Index, test func(t *testing.T, engine store.Engine)) {
	t.Helper()
	t.Run("bolt", func(t *testing.T) {
		t.Parallel()
		test(t, Bolt(t, indexes))
	})
}

// Bolt returns an empty embedded engine that vanishes with the test.
func Bolt(t testing.TB, indexes []store.Index) *bolt.Engine {
	t.Helper()
	now := time.Now //nolint:forbidigo // the engine stands for a real database, and that has a real clock
	engine, err := bolt.Open(bolt.Options{Indexes: indexes, Now: now, Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) })
	return engine
}
