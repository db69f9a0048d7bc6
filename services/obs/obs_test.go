package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

func line(t *testing.T, log func(*slog.Logger)) map[string]any {
	t.Helper()
	var b bytes.Buffer
	log(NewLogger(&b, slog.LevelInfo))
	var out map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &out))
	return out
}

func TestLogger_addsTheIdsOfTheContext(t *testing.T) {
	t.Parallel()
	ctx := With(With(With(t.Context(), RequestID, "r1"), OrderID, "o1"), OrderID, "o2")
	got := line(t, func(l *slog.Logger) { l.With("worker", "payout").InfoContext(ctx, "payout accepted", "attempt", 2) })
	require.Equal(t, "r1", got["request_id"])
	require.Equal(t, "o2", got["order_id"], "the inner id replaces the outer one")
	require.Equal(t, "payout", got["worker"])
	require.NotContains(t, got, "provider")
	require.Equal(t, "INFO", got["level"])
	require.Equal(t, "o2", Value(ctx, OrderID))
}

func TestLogger_hidesWhatLooksLikeASecret(t *testing.T) {
	t.Parallel()
	const account, token = "0123456789", "sk_canary_value"
	tests := []struct {
		name string
		key  string
		in   any
		want string // "": the value must be hidden wholly
	}{
		{"a PIN", "pin", "482913", ""},
		{"a PIN as a number", "user_pin", 482913, ""},
		{"a token", "access_token", token, ""},
		{"an account", "account", account, "****"},
		{"an account inside an error", "error", errors.New("resolve " + account + ": 404"), "resolve ****: 404"},
		{"an account inside an address", "url", "https://x/resolve?account_number=" + account + "&bank_code=058", "https://x/resolve?account_number=****&bank_code=058"},
		{"an account in a wrapped error", "cause", fmt.Errorf("call: %w", errors.New("Get \"/r?account_number="+account+"\": EOF")), "call: Get \"/r?account_number=****\": EOF"},
		{"a header", "detail", "Authorization: Bearer " + token, "Authorization: Bearer ****"},
		{"raw bytes", "reply", []byte(account), "****"},
		{"an amount", "amount_minor", "750000000", "750000000"},
		{"an on-chain amount in a text", "error", "got 1000000000000000000 units", "got 1000000000000000000 units"},
		{"an id", "order_id", "0190a1b2-1234-7123-8123-123456789012", "0190a1b2-1234-7123-8123-123456789012"},
		{"a short number", "account", "last four 6789", "last four 6789"},
		{"a configured secret", "whatsapp_app_secret", "set", "set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := line(t, func(l *slog.Logger) { l.Info("seen", tt.key, tt.in) })
			if tt.want == "" {
				tt.want = "****"
			}
			require.Equal(t, tt.want, got[tt.key])
			inGroup := line(t, func(l *slog.Logger) { l.Info("seen", slog.Group("g", tt.key, tt.in)) })
			require.Equal(t, map[string]any{tt.key: tt.want}, inGroup["g"])
		})
	}
}

func TestLogger_keepsOneLinePerRecord(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	NewLogger(&b, slog.LevelInfo).InfoContext(context.WithValue(t.Context(), Provider, "x\n{}"), "a\nb", "text", "c\x1b[31m\nd")
	require.Equal(t, 1, strings.Count(b.String(), "\n"))
	require.NotContains(t, b.String(), "\x1b")
}

func TestMetrics_haveTheNamesOfTheDesign(t *testing.T) {
	t.Parallel()
	m := NewMetrics("test")
	m.DuplicateBlocked("flow")
	m.DuplicateInterval(3 * time.Second)
	m.DuplicateInterval(-time.Second)
	m.Expired()
	m.Cleanup()
	m.Alert("double_pay")
	m.Delivery("message", "new")
	m.DeliveryConflict("payout")
	m.DeliveryParked("message")
	m.InboxAge(time.Second)
	m.InboxReceipts("received", 2)
	m.OutboxOperations("payout", "pending", 3)
	m.Orders("sending", 4)
	m.Step("payout", true, nil, time.Millisecond)
	m.Step("payout", false, nil, 0)
	m.Step("payout", false, errors.New("no"), 0)
	m.Panic("worker")
	m.ClockSkew(time.Second)
	m.Request("POST", "/webhooks/payouts/:provider", 200, time.Millisecond)
	m.Store("update", "ok", time.Millisecond)
	m.Redis("claim", "ok", time.Millisecond)
	m.Provider("paystack", "send", "unknown", time.Second)
	m.Chain("base", 90, 100, time.Unix(1_700_000_000, 0))

	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`offramp_duplicates_blocked_total{channel="flow"} 1`, `offramp_duplicate_interval_seconds_count 2`,
		`offramp_guard_expired_total 1`, `offramp_cleanup_total 1`, `offramp_alerts_total{kind="double_pay"} 1`,
		`offramp_deliveries_total{outcome="new",source="message"} 1`, `offramp_inbox_oldest_waiting_seconds 1`,
		`offramp_deliveries_total{outcome="conflict",source="payout"} 1`,
		`offramp_outbox_operations{kind="payout",state="pending"} 3`, `offramp_orders{state="sending"} 4`,
		`offramp_worker_steps_total{result="idle",worker="payout"} 1`, `offramp_chain_lag_blocks{chain="base"} 10`,
		`offramp_http_request_seconds_count{method="POST",route="/webhooks/payouts/:provider",status="200"} 1`,
		`offramp_provider_seconds_count{operation="send",outcome="unknown",provider="paystack"} 1`,
		`offramp_build_info{version="test"} 1`,
	} {
		require.Contains(t, w.Body.String(), want)
	}
	problems, err := testutil.GatherAndLint(m.Gatherer())
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestMetrics_boundTheirLabels(t *testing.T) {
	t.Parallel()
	m := NewMetrics("test")
	for i := range 500 {
		m.Alert("kind_" + strings.Repeat("x", i%40) + fmt.Sprint(i))
	}
	m.Alert("0123456789")
	m.Alert("a b")
	m.Alert("")
	require.Equal(t, maxLabelValues+1, testutil.CollectAndCount(m.alerts), "64 kinds and other")
	require.NotContains(t, func() string {
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}(), "0123456789")
}
