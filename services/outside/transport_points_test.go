//go:build crashpoints

package outside_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/outside"
	"offrampbot/services/point"
)

// This test is not parallel: the hook is one for the process.
func TestTransport_stopsBeforeAndLosesTheReplyAfter(t *testing.T) { //nolint:paralleltest // see above
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	boom := errors.New("boom")
	for _, after := range []bool{false, true} {
		remove := point.Install(func(_ context.Context, name string, isAfter bool) error {
			require.Equal(t, point.Outside, name)
			if isAfter == after {
				return boom
			}
			return nil
		})
		_, err := outside.Transport{Next: server.Client().Transport}.RoundTrip(r) //nolint:bodyclose // there is no answer
		remove()
		require.ErrorIs(t, err, boom)
		require.Equal(t, !after, errors.Is(err, outside.ErrNotSent))
	}
	require.Equal(t, 1, calls)
}
