//go:build crashpoints

package whatsapp

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/point"
)

// This test is not parallel: the hook is one for the process.
func TestClient_everyCallPassesThePoint(t *testing.T) {
	boom := errors.New("boom")
	g := newGraph(t, answers(200, sentAnswer))
	remove := point.Install(func(_ context.Context, name string, after bool) error {
		require.Equal(t, point.Outside, name)
		if !after {
			return boom
		}
		return nil
	})
	_, err := g.client(t).Send(t.Context(), hello)
	remove()
	require.ErrorIs(t, err, boom)
	require.ErrorIs(t, err, fault.Unavailable)
	require.Empty(t, g.requests)

	remove = point.Install(func(_ context.Context, _ string, after bool) error {
		if after {
			return boom
		}
		return nil
	})
	_, err = g.client(t).Send(t.Context(), hello)
	remove()
	require.ErrorIs(t, err, boom)
	require.ErrorIs(t, err, fault.Unknown)
	require.Len(t, g.requests, 1)
}
