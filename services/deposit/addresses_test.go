package deposit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// numbered derives "address <index>".
type numbered struct{ calls int }

func (n *numbered) Address(index int64) (string, error) {
	n.calls++
	if index == 7 {
		return "", errors.New("no such child")
	}
	return fmt.Sprintf("address %d", index), nil
}

// walletIndex is the counter that the sign-up raises.
type walletIndex struct {
	store.Meta `bson:",inline"`
	Next       int64 `bson:"next"`
}

func TestBook_knowsEveryAddressEverAllottedAndItsUser(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, slices.Concat(deposit.Indexes, user.Indexes), func(t *testing.T, engine store.Engine) {
		derive := &numbered{}
		book, err := deposit.NewBook(engine, derive)
		require.NoError(t, err)
		watched, err := book.Watched(t.Context())
		require.NoError(t, err)
		require.Empty(t, watched)

		allot := func(next int64) {
			t.Helper()
			require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
				c := walletIndex{Meta: store.Meta{ID: "wallet_index", Version: 1}}
				err := tx.Get(store.Counters, "wallet_index", &c)
				c.Next = next
				if errors.Is(err, store.ErrNotFound) {
					return tx.Insert(store.Counters, &c)
				}
				return tx.Replace(store.Counters, &c)
			}))
		}
		allot(2)
		watched, err = book.Watched(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"address 0", "address 1"}, watched)
		allot(4)
		watched, err = book.Watched(t.Context())
		require.NoError(t, err)
		require.Len(t, watched, 4)
		require.Equal(t, 4, derive.calls, "an address never changes, so it is derived once")

		_, ok, err := book.Since(t.Context())
		require.NoError(t, err)
		require.False(t, ok, "nobody is here")
		first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			u := user.User{Meta: store.Meta{ID: "ada", Version: 1}, Address: "address 1", CreatedAt: first}
			return tx.Insert(store.Users, &u)
		}))
		owner, err := book.Owner(t.Context(), "address 1")
		require.NoError(t, err)
		require.Equal(t, "ada", owner)
		since, ok, err := book.Since(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
		require.True(t, first.Equal(since))
		owner, err = book.Owner(t.Context(), "address 0")
		require.NoError(t, err)
		require.Empty(t, owner, "allotted, but no user has it")

		allot(9)
		_, err = book.Watched(t.Context())
		require.ErrorContains(t, err, "derive address 7")
	})
}

func TestNewBook_refusesMissingParts(t *testing.T) {
	t.Parallel()
	_, err := deposit.NewBook(nil, &numbered{})
	require.ErrorContains(t, err, "Engine is nil")
	_, err = deposit.NewBook(testkit.Bolt(t, deposit.Indexes), nil)
	require.ErrorContains(t, err, "Deriver is nil")
}
