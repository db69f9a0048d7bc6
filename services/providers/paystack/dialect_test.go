package paystack_test

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

	"offrampbot/services/config"
	"offrampbot/services/money"
	"offrampbot/services/payout"
	"offrampbot/services/payout/payouttest"
	"offrampbot/services/providers/paystack"
	"offrampbot/services/testkit"
)

// dialect speaks as Paystack does (paystack.com/docs/transfers).
type dialect struct{}

// object is a JSON object.
type object = map[string]any

func body(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (dialect) Operation(r *http.Request) string {
	switch path := r.URL.Path; {
	case path == "/transfer":
		return "transfer"
	case strings.HasPrefix(path, "/transfer/verify/"):
		return "verify"
	case path == "/transferrecipient":
		return "recipient"
	case path == "/bank/resolve":
		return "resolve"
	case path == "/bank":
		return "banks"
	}
	return r.URL.Path
}

func (dialect) ReadTransfer(_ *http.Request, raw []byte) payouttest.Transfer {
	var in struct {
		Amount                         int64
		Currency, Recipient, Reference string
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		panic(err)
	}
	bank, account, _ := strings.Cut(strings.TrimPrefix(in.Recipient, "RCP_"), "_")
	return payouttest.Transfer{
		Reference: in.Reference, Amount: money.Minor(in.Amount), Currency: in.Currency, Account: account, BankCode: bank, Status: "pending",
	}
}

func (dialect) ReadVerify(r *http.Request) string {
	return strings.TrimPrefix(r.URL.Path, "/transfer/verify/")
}

func (dialect) Created(t payouttest.Transfer) payouttest.Reply {
	data := data(t)
	data["recipient"] = 1234 // a number here, an object in the answer to verify
	data["createdAt"] = "2026-06-03T12:00:00.000Z"
	return payouttest.Reply{Status: 200, Body: body(object{"status": true, "message": "Transfer has been queued", "data": data})}
}

func (dialect) Found(t payouttest.Transfer) payouttest.Reply {
	return payouttest.Reply{Status: 200, Body: body(object{"status": true, "message": "Transfer retrieved", "data": data(t)})}
}

// data is a transfer as verify and webhooks show it.
func data(t payouttest.Transfer) object {
	d := object{
		"amount": t.Amount, "currency": t.Currency, "reference": t.Reference, "status": t.Status, "transfer_code": "TRF_v5tip3zx8nna9o78",
		"id": 476948, "integration": object{"id": 463433, "is_live": false}, "source": "balance", "failures": nil, "domain": "test",
		"recipient": object{
			"recipient_code": "RCP_" + t.BankCode + "_" + t.Account, "currency": "NGN",
			"details": object{"account_number": t.Account, "bank_code": t.BankCode, "bank_name": "GTBank"},
		},
		"fee_charged": 1000, "session": object{"provider": "nip", "id": "110006260603120000000000000001"}, "transferred_at": nil,
	}
	switch t.Status {
	case "success":
		d["transferred_at"], d["createdAt"] = "2026-06-03T12:00:05.000Z", "2026-06-03T12:00:00.000Z"
	case "failed", "reversed":
		d["created_at"], d["gateway_response"] = "2026-06-03T12:00:00.000Z", "Account 0123456789 is closed"
	}
	return d
}

// refusal is an error answer; the status of some is the string "false".
func refusal(status int, code, message string) payouttest.Reply {
	return payouttest.Reply{Status: status, Body: body(object{
		"status": false, "message": message, "meta": object{"nextStep": "Read the documentation"}, "type": "validation_error", "code": code,
	})}
}

func (dialect) NotFound() payouttest.Reply {
	return payouttest.Reply{Status: 404, Body: `{"status":"false","message":"Transfer not found"}`}
}

func (dialect) Duplicate() payouttest.Reply {
	return refusal(400, "duplicate_transfer_reference", "Please provide a unique reference. Reference already exists on a transfer")
}

func (dialect) Broken() payouttest.Reply {
	return payouttest.Reply{Status: 500, Body: `{"status":false,"message":"Transfer not found"}`}
}

func (dialect) Limited() payouttest.Reply {
	return payouttest.Reply{Status: 429, Header: http.Header{"Retry-After": {"7"}}, Body: `{"status":false,"message":"Too many requests"}`}
}

func (dialect) Empty() payouttest.Reply {
	return payouttest.Reply{Status: 400, Body: `{"status":false,"message":"Your balance is not enough to fulfill this request"}`}
}

func (dialect) Other(r *http.Request, raw []byte) payouttest.Reply {
	switch r.URL.Path {
	case "/transferrecipient":
		var in map[string]string
		if err := json.Unmarshal(raw, &in); err != nil {
			panic(err)
		}
		return payouttest.Reply{Status: 201, Body: body(object{"status": true, "message": "Transfer recipient created", "data": object{
			"recipient_code": "RCP_" + in["bank_code"] + "_" + in["account_number"], "type": in["type"], "active": true,
			"details": object{"account_number": in["account_number"], "account_name": in["name"], "bank_code": in["bank_code"]},
		}})}
	case "/balance":
		return payouttest.Reply{Status: 200, Body: `{"status":true,"message":"Balances retrieved","data":[{"currency":"GHS","balance":5},{"currency":"NGN","balance":123456}]}`}
	}
	return payouttest.Reply{Status: 404, Body: `{"status":false,"message":"Invalid route"}`}
}

func (dialect) Paid() string     { return "success" }
func (dialect) Failed() string   { return "failed" }
func (dialect) Reversed() string { return "reversed" }

// sign signs a body as Paystack does.
func sign(raw, key string) http.Header {
	mac := hmac.New(sha512.New, []byte(key))
	mac.Write([]byte(raw))
	header := http.Header{}
	header.Set("x-paystack-signature", hex.EncodeToString(mac.Sum(nil)))
	return header
}

func (dialect) Webhook(t payouttest.Transfer, key string) ([]byte, http.Header) {
	raw := body(object{"event": "transfer." + t.Status, "data": data(t)})
	return []byte(raw), sign(raw, key)
}

func (dialect) Approval(t payouttest.Transfer, key string) ([]byte, http.Header) {
	raw := body(data(t))
	return []byte(raw), sign(raw, key)
}

var request = payout.Request{
	Reference: "ofr-sample-reference", Amount: 1_500_000, Currency: "NGN", BankCode: "058", Account: "0123456789",
	AccountName: "ADA OBI", Reason: "7K2M-9QXA3",
}

func newRail(t testing.TB, cfg paystack.Config) *paystack.Client {
	t.Helper()
	cfg.SecretKey, cfg.SecretKeyPrevious = config.NewSecret(payouttest.Key), config.NewSecret(payouttest.PreviousKey)
	c, err := paystack.New(cfg, nil, testkit.Noon().Now)
	require.NoError(t, err)
	return c
}

func TestClient_isARail(t *testing.T) {
	t.Parallel()
	payouttest.Run(t, payouttest.Harness{
		Dialect: dialect{}, Request: request,
		NewRail: func(t *testing.T, url string) payout.Rail {
			t.Helper()
			return newRail(t, paystack.Config{URL: url + "/", Timeout: time.Minute})
		},
	})
}
