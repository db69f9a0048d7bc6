package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seen is what a plain HTTP client sees of a call.
type seen struct {
	err    error // no answer
	status int
	header http.Header
	body   string
}

func (h *harness) see(ctx context.Context, method, path string, body any, token string) seen {
	h.t.Helper()
	raw := ""
	if body != nil {
		raw = jsonText(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.server.URL+path, strings.NewReader(raw))
	require.NoError(h.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := h.client.Do(req)
	if err != nil {
		return seen{err: err}
	}
	defer func() { require.NoError(h.t, res.Body.Close()) }()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		return seen{err: err}
	}
	return seen{status: res.StatusCode, header: res.Header, body: string(content)}
}

func TestFault_everyKindOnATransfer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind       string
		wantEffect bool
		want       func(t *testing.T, s seen)
	}{
		{"lost_reply", true, func(t *testing.T, s seen) { require.ErrorIs(t, s.err, io.EOF) }},
		{"no_effect_timeout", false, func(t *testing.T, s seen) { require.ErrorIs(t, s.err, io.EOF) }},
		{"reset", false, func(t *testing.T, s seen) { require.ErrorContains(t, s.err, "reset") }},
		{"http_500", false, func(t *testing.T, s seen) { require.Equal(t, 500, s.status) }},
		{"http_500_after", true, func(t *testing.T, s seen) { require.Equal(t, 500, s.status) }},
		{"html", false, func(t *testing.T, s seen) {
			require.Equal(t, 502, s.status)
			require.Contains(t, s.body, "<html>")
		}},
		{"empty", true, func(t *testing.T, s seen) {
			require.Equal(t, 200, s.status)
			require.Empty(t, s.body)
		}},
		{"rate_limited", false, func(t *testing.T, s seen) {
			require.Equal(t, 429, s.status)
			require.Equal(t, "1", s.header.Get("Retry-After"))
		}},
		{"wrong_amount", true, func(t *testing.T, s seen) { require.Contains(t, s.body, `"amount":750100`) }},
		{"wrong_reference", true, func(t *testing.T, s seen) { require.Contains(t, s.body, `"reference":"other-`) }},
		{"status:on_the_moon", true, func(t *testing.T, s seen) { require.Contains(t, s.body, `"status":"on_the_moon"`) }},
		{"error:duplicate_transfer_reference", false, func(t *testing.T, s seen) {
			require.Equal(t, 400, s.status)
			require.Contains(t, s.body, `"code":"duplicate_transfer_reference"`)
		}},
		{"error:insufficient_balance", false, func(t *testing.T, s seen) { require.Contains(t, s.body, "Your balance is not enough") }},
		{"slow", true, func(t *testing.T, s seen) { require.Equal(t, 200, s.status) }},
		{"webhook_never", true, func(t *testing.T, s seen) { require.Equal(t, 200, s.status) }},
		{"webhook_twice", true, func(t *testing.T, s seen) { require.Equal(t, 200, s.status) }},
		{"webhook_first", true, func(t *testing.T, s seen) { require.Equal(t, 200, s.status) }},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			to := h.recipient()
			h.fault("paystack", "transfer", tt.kind, 20)
			tt.want(t, h.see(t.Context(), http.MethodPost, "/paystack/transfer", transferBodyFor(to, reference, 750_000), h.world.secrets.PaystackSecret))
			if !tt.wantEffect {
				require.Nil(t, h.truth(reference))
			} else {
				require.Equal(t, json.Number("750000"), h.truth(reference)["amount_minor"])
				require.Equal(t, json.Number("1"), h.truth(reference)["calls"])
			}
			require.Equal(t, json.Number("0"), h.lever(http.MethodGet, "/world/state", nil)["faults"], "used up")
			after := h.see(t.Context(), http.MethodPost, "/paystack/transfer", transferBodyFor(to, reference, 750_000), h.world.secrets.PaystackSecret)
			if tt.wantEffect {
				require.Contains(t, after.body, "duplicate_transfer_reference")
			} else {
				require.Equal(t, 200, after.status)
				require.Equal(t, json.Number("2"), h.truth(reference)["calls"], "calls that came to nothing count too")
			}
		})
	}
}

func TestFault_webhooksOfATransfer(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{"": 1, "webhook_never": 0, "webhook_twice": 2, "webhook_first": 1} {
		t.Run("kind "+kind, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(cfg *Config) { cfg.BankAuto = 500 * time.Millisecond })
			to := h.recipient()
			if kind != "" {
				h.fault("paystack", "transfer", kind, 0)
			}
			status, out := h.paystack(http.MethodPost, "/transfer", transferBodyFor(to, reference, 750_000))
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, "pending", out["data"].(map[string]any)["status"], "the reply is the one of the start")
			if kind == "webhook_first" {
				require.Len(t, h.bot.at(paystackPath), 1, "it came before the reply")
			} else {
				require.Empty(t, h.bot.at(paystackPath))
			}
			h.drain()
			require.Equal(t, "success", h.truth(reference)["status"])
			require.Len(t, h.bot.at(paystackPath), want)
		})
	}
}

func TestFault_slowGoesOnWhenTheCallerHasLeft(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	to := h.recipient()
	h.fault("paystack", "transfer", "slow", 300)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := h.see(ctx, http.MethodPost, "/paystack/transfer", transferBodyFor(to, reference, 750_000), h.world.secrets.PaystackSecret)
	require.ErrorIs(t, s.err, context.DeadlineExceeded)
	require.Nil(t, h.truth(reference), "not yet: this is how a look-up can find nothing and the transfer comes later")
	require.Eventually(t, func() bool { return h.truth(reference) != nil }, 5*time.Second, 20*time.Millisecond)
}

func TestFault_noEffectTimeoutEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	to := h.recipient()
	h.fault("paystack", "transfer", "no_effect_timeout", 0)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := h.see(ctx, http.MethodPost, "/paystack/transfer", transferBodyFor(to, reference, 750_000), h.world.secrets.PaystackSecret)
	require.ErrorIs(t, s.err, context.DeadlineExceeded)
	require.Nil(t, h.truth(reference))
	h.server.Close() // returns only when no handler is left waiting
}

func TestFault_onReadsOfPaystack(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	to := h.recipient()
	secret := h.world.secrets.PaystackSecret
	h.paystack(http.MethodPost, "/transfer", transferBodyFor(to, reference, 750_000))
	for operation, path := range map[string]string{
		"verify": "/paystack/transfer/verify/" + reference, "banks": "/paystack/bank?currency=NGN", "balance": "/paystack/balance",
		"resolve": "/paystack/bank/resolve?account_number=0123456789&bank_code=058",
	} {
		for kind, want := range map[string]int{"http_500": 500, "html": 502, "rate_limited": 429, "empty": 200, "error:unknown": 400} {
			h.fault("paystack", operation, kind, 0)
			s := h.see(t.Context(), http.MethodGet, path, nil, secret)
			require.NoError(t, s.err)
			require.Equal(t, want, s.status, operation+" "+kind)
		}
		require.Equal(t, 200, h.see(t.Context(), http.MethodGet, path, nil, secret).status)
	}
	h.fault("paystack", "verify", "status:failed", 0)
	_, lie := h.paystack(http.MethodGet, "/transfer/verify/"+reference, nil)
	require.Equal(t, "failed", lie["data"].(map[string]any)["status"])
	_, truth := h.paystack(http.MethodGet, "/transfer/verify/"+reference, nil)
	require.Equal(t, "pending", truth["data"].(map[string]any)["status"])
}

func TestFault_everyKindOnAMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind         string
		wantEffect   bool
		wantStatuses int // deliveries of statuses
		wantHTTP     int // 0 for no answer
	}{
		{"error:131016", false, 0, 500},
		{"error:131047", false, 0, 400},
		{"rate_limited", false, 0, 400},
		{"lost_reply", true, 3, 0},
		{"no_effect_timeout", false, 0, 0},
		{"http_500", false, 0, 500},
		{"http_500_after", true, 3, 500},
		{"reset", false, 0, 0},
		{"html", false, 0, 502},
		{"empty", true, 3, 200},
		{"slow", true, 3, 200},
		{"webhook_never", true, 0, 200},
		{"webhook_twice", true, 6, 200},
		{"webhook_first", true, 3, 200},
		{"status:failed", true, 1, 200},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			h.greet()
			h.fault("meta", "messages", tt.kind, 20)
			s := h.see(t.Context(), http.MethodPost, "/graph/v25.0/"+PhoneNumberID+"/messages", outgoingTo(testPhone, textMessage("x")), h.world.secrets.AccessToken)
			require.Equal(t, tt.wantHTTP, s.status)
			if tt.kind == "webhook_first" {
				require.Len(t, h.bot.at(whatsAppPath), 2, "the first status came before the reply")
			}
			h.drain()
			messages := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"].([]any)
			require.Len(t, messages, map[bool]int{true: 2, false: 1}[tt.wantEffect])
			require.Len(t, h.bot.at(whatsAppPath)[1:], tt.wantStatuses)
		})
	}
}

func TestFault_aMessageFailsLaterWithAChosenCode(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	h.fault("meta", "text", "status:failed:131047", 0)
	h.send(textMessage("x"))
	h.drain()
	status := firstValue(t, h.bot.at(whatsAppPath)[1])["statuses"].([]any)[0].(map[string]any)
	require.Equal(t, "failed", status["status"])
	require.InDelta(t, 131047, status["errors"].([]any)[0].(map[string]any)["code"], 0)
	require.NotContains(t, firstValue(t, h.bot.at(whatsAppPath)[1]), "contacts")
}

func TestFault_concernsOnlyItsMessageType(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	h.fault("meta", "flow", "error:132068", 0)
	h.send(textMessage("x"))
	status, out := h.graph(http.MethodPost, PhoneNumberID+"/messages", outgoingTo(testPhone, flowMessage(nil)))
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, json.Number("132068"), out["error"].(map[string]any)["code"])
	h.send(flowMessage(nil))
}

func TestFault_kindsOfDifferentClassesActTogetherAndTimesCount(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.BankAuto = time.Millisecond })
	to := h.recipient()
	h.lever(http.MethodPost, "/world/faults", map[string]any{"target": "paystack", "operation": "transfer", "kind": "lost_reply", "times": 2})
	h.lever(http.MethodPost, "/world/faults", map[string]any{"target": "paystack", "operation": "transfer", "kind": "webhook_never", "times": -1})
	for n, wantError := range map[string]bool{"payout-0000000000-a": true, "payout-0000000000-b": true} {
		s := h.see(t.Context(), http.MethodPost, "/paystack/transfer", transferBodyFor(to, n, 1000), h.world.secrets.PaystackSecret)
		require.Equal(t, wantError, s.err != nil)
	}
	status, _ := h.paystack(http.MethodPost, "/transfer", transferBodyFor(to, reference, 1000))
	require.Equal(t, http.StatusOK, status)
	h.drain()
	require.Empty(t, h.bot.at(paystackPath))
	require.Equal(t, json.Number("3"), h.lever(http.MethodGet, "/world/state", nil)["transfers_paid"])
	require.Len(t, h.lever(http.MethodGet, "/world/faults", nil)["items"], 1)
	require.Equal(t, json.Number("1"), h.lever(http.MethodDelete, "/world/faults", nil)["removed"])
}

func TestFault_onAChain(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.fault("base", "eth_getLogs", "error:-32005", 0)
	_, failure := h.rpc("base", "eth_getLogs", map[string]any{})
	require.Equal(t, json.Number("-32005"), failure["code"])
	h.fault("base", "eth_blockNumber", "rate_limited", 0)
	body := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []any{}}
	require.Equal(t, 429, h.see(t.Context(), http.MethodPost, "/rpc/base", body, "").status)
	for _, kind := range []string{"lost_reply", "reset", "no_effect_timeout"} {
		h.fault("base", "eth_blockNumber", kind, 10)
		require.Error(t, h.see(t.Context(), http.MethodPost, "/rpc/base", body, "").err, kind)
	}
	h.fault("base", "eth_blockNumber", "http_500", 0)
	require.Equal(t, 500, h.see(t.Context(), http.MethodPost, "/rpc/base", []any{body, body}, "").status, "a batch too")
	require.Equal(t, 200, h.see(t.Context(), http.MethodPost, "/rpc/bnb", body, "").status, "another chain is another node")
	height, failure := h.rpc("base", "eth_blockNumber")
	require.Nil(t, failure)
	require.Equal(t, "0x14", height)
}

func TestFault_refusesWhatWouldDoNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for name, body := range map[string]map[string]any{
		"an unknown target":             {"target": "visa", "operation": "transfer", "kind": "html"},
		"an unknown operation":          {"target": "paystack", "operation": "transfers", "kind": "html"},
		"an operation of another":       {"target": "meta", "operation": "verify", "kind": "html"},
		"an unknown kind":               {"target": "paystack", "operation": "transfer", "kind": "explode"},
		"an error without code":         {"target": "meta", "operation": "messages", "kind": "error:"},
		"a webhook fault of a chain":    {"target": "base", "operation": "eth_getLogs", "kind": "webhook_twice"},
		"a status of a chain":           {"target": "base", "operation": "eth_getLogs", "kind": "status:x"},
		"a wrong amount of a message":   {"target": "meta", "operation": "messages", "kind": "wrong_amount"},
		"no times":                      {"target": "meta", "operation": "messages", "kind": "html", "times": 0},
		"a delay beyond every patience": {"target": "meta", "operation": "messages", "kind": "slow", "delay_ms": 10_000_000},
	} {
		status, out := h.call(http.MethodPost, "/world/faults", body)
		require.Equal(t, http.StatusUnprocessableEntity, status, name)
		require.Equal(t, "fault_invalid", out["error"], name)
	}
}
