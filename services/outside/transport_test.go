package outside_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/outside"
)

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestTransport_handsOnWhatTheNextOneSays(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	answer, err := outside.Transport{Next: server.Client().Transport}.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusTeapot, answer.StatusCode)
	boom := errors.New("boom")
	_, err = outside.Transport{Next: failing{boom}}.RoundTrip(r) //nolint:bodyclose // there is no answer
	require.ErrorIs(t, err, boom)
	require.NotErrorIs(t, err, outside.ErrNotSent, "it may have left the process")
}
