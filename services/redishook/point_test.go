//go:build crashpoints

package redishook_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/point"
	"offrampbot/services/redishook/redistest"
)

// The hook of the points is one for the process, so this test does not run beside others.
func TestHook_everyCallPassesTheChokePoint(t *testing.T) {
	s := redistest.Mini(t)
	var passed []string
	var fail func(after bool) error
	remove := point.Install(func(_ context.Context, name string, after bool) error {
		if after {
			name += " after"
		}
		passed = append(passed, name)
		return fail(after)
	})
	t.Cleanup(remove)
	crash := errors.New("crashed")

	fail = func(bool) error { return nil }
	require.NoError(t, s.Client.Set(t.Context(), "key", "1", time.Minute).Err())
	_, err := s.Client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		p.Incr(t.Context(), "key")
		p.Incr(t.Context(), "key")
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"redis", "redis after", "redis", "redis after"}, passed, "a pipeline is one call")

	fail = func(after bool) error {
		if after {
			return nil
		}
		return crash
	}
	require.ErrorIs(t, s.Client.Incr(t.Context(), "key").Err(), crash)
	fail = func(after bool) error {
		if after {
			return crash
		}
		return nil
	}
	require.ErrorIs(t, s.Client.Incr(t.Context(), "key").Err(), crash)
	fail = func(bool) error { return nil }
	require.Equal(t, "4", s.Client.Get(t.Context(), "key").Val(), "before: no effect; after: only the reply is lost")
}
