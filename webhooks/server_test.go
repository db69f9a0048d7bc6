package webhooks

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
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

// served runs the server of a listener until the test ends.
func served(t *testing.T, change func(*http.Server)) (addr string) {
	t.Helper()
	server := NewServer(newHarness(t).edge.Public, slog.New(slog.DiscardHandler))
	change(server)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return listener.Addr().String()
}

// TestServer_refusesAFloodOfHeaders sends headers of more than the server reads: many, and one that is long.
func TestServer_refusesAFloodOfHeaders(t *testing.T) {
	t.Parallel()
	addr := served(t, func(*http.Server) {})
	for name, flood := range map[string]func(h http.Header){
		"many": func(h http.Header) {
			for i := range 2000 {
				h.Set(fmt.Sprintf("X-Flood-%d", i), "0123456789")
			}
		},
		"long": func(h http.Header) { h.Set("X-Flood", strings.Repeat("x", 64<<10)) },
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/healthz", nil)
		require.NoError(t, err)
		flood(request.Header)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err, name)
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode, name)
		require.NoError(t, response.Body.Close())
	}
}

// TestServer_endsABodyThatDrips sends a byte now and then and never ends: the connection is closed, not kept for it.
func TestServer_endsABodyThatDrips(t *testing.T) {
	t.Parallel()
	addr := served(t, func(s *http.Server) {
		s.ReadHeaderTimeout, s.ReadTimeout = 300*time.Millisecond, 300*time.Millisecond // in the product: 5 s and 30 s
	})
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // the server closed it already
	_, err = io.WriteString(conn, "POST /webhooks/whatsapp HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	require.NoError(t, err)
	closed := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		closed <- err
	}()
	drip := time.NewTicker(20 * time.Millisecond)
	defer drip.Stop()
	for {
		select {
		case <-closed: // with an answer or without one
			return
		case <-t.Context().Done():
			t.Fatal("the connection was kept")
		case <-drip.C:
			_, _ = io.WriteString(conn, "x") // fails once the connection is closed
		}
	}
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
