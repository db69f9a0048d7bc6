package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProbe_isGoodOnlyFor200(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	for _, listens := range []string{":" + port, "0.0.0.0:" + port, "127.0.0.1:" + port} {
		require.NoError(t, probe(t.Context(), listens, "/healthz"), listens)
	}
	require.ErrorContains(t, probe(t.Context(), ":"+port, "/readyz"), "/readyz answers 503")
	require.Error(t, probe(t.Context(), "nonsense", "/healthz"))
	server.Close()
	require.Error(t, probe(t.Context(), ":"+port, "/healthz"), "nobody listens any more")
}
