package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/lock"
)

var errBank = errors.New("the bank did not answer")

// A lock that is lost saves no more work, and that is all: the call under it goes on, and what it returns is what happened.
func TestLocked_losingTheLockEndsNothing(t *testing.T) {
	t.Parallel()
	for _, want := range []error{nil, errBank} {
		server := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		locker, err := lock.New(client, lock.Config{Life: 30 * time.Millisecond})
		require.NoError(t, err)
		a := &app{locker: locker}
		err = a.locked(t.Context(), "order:1", lock.ErrHeld, func(ctx context.Context) error {
			server.FlushAll()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(200 * time.Millisecond): // twenty renewals found it gone
				return want
			}
		})
		require.Equal(t, want, err)
	}
}
