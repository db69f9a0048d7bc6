package webhooks

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServer_answersWhileManyHalfRequestsHang opens connections that never finish their headers (D2s).
func TestServer_answersWhileManyHalfRequestsHang(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	server := NewServer(h.edge.Public, slog.New(slog.DiscardHandler))
	for name, limit := range map[string]time.Duration{
		"headers": server.ReadHeaderTimeout, "reading": server.ReadTimeout, "writing": server.WriteTimeout, "idling": server.IdleTimeout,
	} {
		require.Positive(t, limit, name)
	}
	require.LessOrEqual(t, server.ReadHeaderTimeout, 5*time.Second)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	var dialer net.Dialer
	for range 300 {
		conn, err := dialer.DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it already
		_, err = io.WriteString(conn, "POST /webhooks/whatsapp HTTP/1.1\r\nHost: x\r\n")
		require.NoError(t, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/healthz", nil)
	require.NoError(t, err)
	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	require.NoError(t, response.Body.Close())
	client.CloseIdleConnections()
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-served, http.ErrServerClosed)
}

// TestEdge_aSlowStoreEndsAtTheDeadline shows that a handler does not wait longer than anybody waits for it.
func TestEdge_aSlowStoreEndsAtTheDeadline(t *testing.T) {
	t.Parallel()
	deps := goodDeps(t, &fakes{}, &fakeInbox{}, io.Discard, newHarness(t).meter)
	var cause error
	deps.Reads = slowReads(func(ctx context.Context) error {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return ctx.Err()
	})
	cfg := goodConfig()
	cfg.HandlerTimeout = time.Millisecond
	edge, err := New(deps, cfg)
	require.NoError(t, err)
	h := newHarness(t)
	h.wantRefusal(h.on(edge.Public, "GET", "/admin/api/v1/orders/x", "", as("viewer")), 503, "store_unavailable")
	require.ErrorIs(t, cause, errHandlerTimeout)
}
