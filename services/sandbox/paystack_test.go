package sandbox

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaystack_listsBanksAndResolvesAccounts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	_, out := h.paystack(http.MethodGet, "/bank?currency=NGN", nil)
	codes := make(map[string]string)
	for _, item := range out["data"].([]any) {
		bank := item.(map[string]any)
		require.NotContains(t, codes, bank["code"])
		require.Equal(t, "NGN", bank["currency"])
		codes[text(bank["code"])] = text(bank["name"])
	}
	for _, code := range []string{"058", "044", "011", "057", "50211", "999992"} {
		require.Contains(t, codes, code)
	}
	_, first := h.paystack(http.MethodGet, "/bank/resolve?account_number=0123456789&bank_code=058", nil)
	_, again := h.paystack(http.MethodGet, "/bank/resolve?account_number=0123456789&bank_code=058", nil)
	require.Equal(t, first, again)
	require.Regexp(t, `^[A-Z]+ [A-Z]+ [A-Z]+$`, first["data"].(map[string]any)["account_name"])
	for path, want := range map[string]int{
		"account_number=0000000000&bank_code=058": http.StatusUnprocessableEntity,
		"account_number=123&bank_code=058":        http.StatusUnprocessableEntity,
		"account_number=0123456789&bank_code=999": http.StatusBadRequest,
		"bank_code=058": http.StatusBadRequest,
	} {
		status, out := h.paystack(http.MethodGet, "/bank/resolve?"+path, nil)
		require.Equal(t, want, status, path)
		require.Equal(t, false, out["status"], path)
	}
}

func TestPaystack_wantsItsKey(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	status, out := h.call(http.MethodGet, "/paystack/balance", nil, "Authorization", "Bearer sk_test_wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "Invalid key", out["message"])
}

func TestPaystack_aTransferIsMadeOnceAndVerified(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	to := h.recipient()
	require.Equal(t, to, h.recipient(), "the same account is the same recipient")
	status, out := h.paystack(http.MethodPost, "/transfer", transferBodyFor(to, reference, 750_000))
	require.Equal(t, http.StatusOK, status)
	made := out["data"].(map[string]any)
	require.Equal(t, "pending", made["status"])
	require.Regexp(t, `^TRF_`, made["transfer_code"])
	require.IsType(t, json.Number(""), made["recipient"], "a number here")

	status, out = h.paystack(http.MethodPost, "/transfer", transferBodyFor(to, reference, 750_000))
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "duplicate_transfer_reference", out["code"])
	_, out = h.paystack(http.MethodGet, "/transfer/verify/"+reference, nil)
	verified := out["data"].(map[string]any)
	require.Equal(t, json.Number("750000"), verified["amount"])
	require.IsType(t, map[string]any{}, verified["recipient"], "an object there")
	require.NotEmpty(t, verified["session"].(map[string]any)["id"])
	status, out = h.paystack(http.MethodGet, "/transfer/verify/payout-unknown-00000", nil)
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "Transfer not found", out["message"])
	require.Equal(t, json.Number("2"), h.truth(reference)["calls"])
	require.Equal(t, "0123456789", h.truth(reference)["account_number"])
	require.Equal(t, "paystack", h.truth(reference)["provider"])
}

func TestPaystack_refusesWhatPaystackRefuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	to := h.recipient()
	change := func(name string, value any) map[string]any {
		body := transferBodyFor(to, reference, 750_000)
		body[name] = value
		return body
	}
	for code, body := range map[string]map[string]any{
		"invalid_reference":          change("reference", "Payout-0123456789ab-1"),
		"invalid_transfer_recipient": change("recipient", "RCP_none"),
		"missing_params":             change("source", ""),
		"invalid_amount":             change("amount", 0),
		"invalid_currency":           change("currency", "GHS"),
		"insufficient_balance":       change("amount", 9_000_000_000),
		"invalid_params":             change("amount", 1.5),
	} {
		status, out := h.paystack(http.MethodPost, "/transfer", body)
		require.Equal(t, http.StatusBadRequest, status, code)
		require.Equal(t, code, out["code"])
	}
	status, _ := h.paystack(http.MethodPost, "/transfer", change("reference", "short"))
	require.Equal(t, http.StatusBadRequest, status)
	require.Nil(t, h.truth(reference))
}

func TestPaystack_webhooksAreSignedAndSpellTheirDatesAsPaystackDoes(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"success", "failed", "reversed"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			h.paystack(http.MethodPost, "/transfer", transferBodyFor(h.recipient(), reference, 750_000))
			settled := h.lever(http.MethodPost, "/world/bank/transfers/"+reference, map[string]any{"status": status, "webhook": true, "copies": 3})
			require.Len(t, settled["deliveries"], 3)
			arrived := h.bot.at(paystackPath)
			require.Len(t, arrived, 3)
			mac := hmac.New(sha512.New, []byte(h.world.secrets.PaystackSecret))
			mac.Write(arrived[0].body)
			require.Equal(t, hex.EncodeToString(mac.Sum(nil)), arrived[0].header.Get("x-paystack-signature"))
			var event map[string]any
			require.NoError(t, decodeExact(arrived[0].body, &event))
			require.Equal(t, "transfer."+status, event["event"])
			data := event["data"].(map[string]any)
			require.Equal(t, reference, data["reference"])
			require.Equal(t, status, data["status"])
			require.Equal(t, status == "success", data["createdAt"] != nil)
			require.Equal(t, status != "success", data["created_at"] != nil)
			require.Equal(t, status != "failed", data["transferred_at"] != nil)
			require.IsType(t, map[string]any{}, data["integration"])
			require.Equal(t, status, h.truth(reference)["status"])
		})
	}
}

func TestPaystack_theBalanceFollowsTheTruth(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.Balance = map[string]int64{"NGN": 1_000_000} })
	balance := func() string {
		_, out := h.paystack(http.MethodGet, "/balance", nil)
		return out["data"].([]any)[0].(map[string]any)["balance"].(json.Number).String()
	}
	h.paystack(http.MethodPost, "/transfer", transferBodyFor(h.recipient(), reference, 750_000))
	require.Equal(t, "247500", balance(), "amount and fee are gone")
	settle := func(status string) {
		h.lever(http.MethodPost, "/world/bank/transfers/"+reference, map[string]any{"status": status, "webhook": false})
	}
	settle("success")
	require.Equal(t, "247500", balance())
	settle("reversed")
	require.Equal(t, "1000000", balance())
	settle("failed")
	require.Equal(t, "1000000", balance(), "returned once")
	require.Empty(t, h.bot.at(paystackPath), "no webhook was wanted")
	h.lever(http.MethodPost, "/world/bank/balance", map[string]any{"currency": "NGN", "amount_minor": 5})
	require.Equal(t, "5", balance())
}

func TestPaystack_paysByItselfAfterAWhile(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.lever(http.MethodPost, "/world/bank/auto", map[string]any{"seconds": 3})
	h.paystack(http.MethodPost, "/transfer", transferBodyFor(h.recipient(), reference, 750_000))
	h.drain()
	require.Equal(t, "pending", h.truth(reference)["status"])
	h.clock.pass(2 * time.Second)
	h.drain()
	require.Equal(t, "success", h.truth(reference)["status"])
	require.Len(t, h.bot.at(paystackPath), 1)
	h.drain()
	require.Len(t, h.bot.at(paystackPath), 1)
}

func TestPaystack_asksForApprovalWhenConfigured(t *testing.T) {
	t.Parallel()
	for answer, want := range map[int]string{200: "pending", 400: "rejected"} {
		h := newHarness(t, func(cfg *Config) { cfg.Approval = true })
		h.bot.answers(func(a arrival) (int, []byte) {
			if a.path == approvalPath {
				return answer, nil
			}
			return http.StatusOK, nil
		})
		_, out := h.paystack(http.MethodPost, "/transfer", transferBodyFor(h.recipient(), reference, 750_000))
		require.Equal(t, "received", out["data"].(map[string]any)["status"])
		h.drain()
		require.Equal(t, want, h.truth(reference)["status"])
		asked := h.bot.at(approvalPath)
		require.Len(t, asked, 1)
		require.Equal(t, signSHA512(h.world.secrets.PaystackSecret, asked[0].body), asked[0].header.Get("X-Paystack-Signature"))
		require.True(t, strings.Contains(string(asked[0].body), reference))
	}
	h := newHarness(t, func(cfg *Config) { cfg.Approval = true })
	h.bot.answers(func(arrival) (int, []byte) { return http.StatusServiceUnavailable, nil })
	h.paystack(http.MethodPost, "/transfer", transferBodyFor(h.recipient(), reference, 750_000))
	for range 80 {
		h.drain()
	}
	require.Equal(t, "blocked", h.truth(reference)["status"], "no answer in a minute")
}

func TestBank_refusesUnknownReferencesAndStatuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	status, out := h.call(http.MethodPost, "/world/bank/transfers/nope", map[string]any{"status": "success", "webhook": true})
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "reference_unknown", out["error"])
	status, _ = h.call(http.MethodPost, "/world/bank/transfers/nope", map[string]any{"status": "maybe"})
	require.Equal(t, http.StatusUnprocessableEntity, status)
	status, _ = h.call(http.MethodPost, "/world/bank/auto", map[string]any{"seconds": -1})
	require.Equal(t, http.StatusUnprocessableEntity, status)
}
