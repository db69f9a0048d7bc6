package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func write(t *testing.T, engine store.Engine, e audit.Entry) {
	t.Helper()
	require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error { return audit.Append(tx, e) }))
}

func verify(t *testing.T, engine store.Engine, stream string) []audit.Broken {
	t.Helper()
	var broken []audit.Broken
	require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
		broken, err = audit.Verify(r, stream)
		return err
	}))
	return broken
}

// change rewrites an entry behind the chain's back.
func change(t *testing.T, engine store.Engine, id string, by func(e *audit.Entry)) {
	t.Helper()
	require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		var e audit.Entry
		if err := tx.Get(store.Audit, id, &e); err != nil {
			return err
		}
		by(&e)
		return tx.Replace(store.Audit, &e)
	}))
}

func TestChain(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, audit.Indexes, func(t *testing.T, engine store.Engine) {
		clock := testkit.Noon()
		for _, action := range []string{"placed", "paid", "returned"} {
			write(t, engine, audit.Entry{
				Stream: "order:1", At: clock.Now(), Actor: "user:a", Action: action, Data: map[string]string{"b": "2", "a": "1"},
			})
			clock.Advance(time.Second)
		}
		require.Empty(t, verify(t, engine, "order:1"))
		require.Empty(t, verify(t, engine, "order:none"))

		change(t, engine, audit.ID("order:1", 2), func(e *audit.Entry) { e.Why = "somebody else's reason" })
		broken := verify(t, engine, "order:1")
		require.Len(t, broken, 1)
		require.Equal(t, audit.ID("order:1", 2), broken[0].ID)
	})
}

func TestChain_noticesARemovedLastEntry(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, audit.Indexes, func(t *testing.T, engine store.Engine) {
		for range 2 {
			write(t, engine, audit.Entry{Stream: "user:1", At: testkit.Noon().Now(), Actor: "system", Action: "x"})
		}
		require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			return tx.Delete(store.Audit, audit.ID("user:1", 2), 1)
		}))
		require.NotEmpty(t, verify(t, engine, "user:1"))
	})
}

func TestCheckpoint_noticesAWholeStreamThatVanishes(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, audit.Indexes, func(t *testing.T, engine store.Engine) {
		clock := testkit.Noon()
		c, err := audit.NewCheckpointer(engine, time.Hour, clock.Now)
		require.NoError(t, err)
		step := func() bool {
			worked, err := c.Step(t.Context())
			require.NoError(t, err)
			return worked
		}
		write(t, engine, audit.Entry{Stream: "order:1", At: clock.Now(), Actor: "a", Action: "x"})
		write(t, engine, audit.Entry{Stream: "order:2", At: clock.Now(), Actor: "a", Action: "x"})
		clock.Advance(time.Hour)
		require.True(t, step())
		require.False(t, step(), "one checkpoint a period")
		clock.Advance(time.Hour)
		write(t, engine, audit.Entry{Stream: "order:3", At: clock.Now(), Actor: "a", Action: "x"})
		clock.Advance(3 * time.Minute)
		require.True(t, step())

		broken, err := audit.VerifyCheckpoints(t.Context(), engine)
		require.NoError(t, err)
		require.Empty(t, broken)

		require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			if err := tx.Delete(store.Audit, audit.ID("order:2", 1), 1); err != nil {
				return err
			}
			return tx.Delete(store.Heads, "order:2", 1)
		}))
		require.Empty(t, verify(t, engine, "order:2"), "the chain alone does not notice")
		broken, err = audit.VerifyCheckpoints(t.Context(), engine)
		require.NoError(t, err)
		require.Len(t, broken, 1)
	})
}
