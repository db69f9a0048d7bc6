package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/testkit"
)

// edgeTown is a town on the embedded store: what is refused never reaches a store.
func edgeTown(t *testing.T) *town {
	t.Helper()
	return newTown(t, testkit.Bolt(t, indexes()), "redis://"+newTroubledRedis(t).addr, nil)
}

func TestEdge_refusesWhatIsNotSignedNotReadableOrTooLarge(t *testing.T) {
	t.Parallel()
	w := edgeTown(t)
	small := []byte(`{"object":"whatsapp_business_account","entry":[]}`)
	big := func(n int) []byte { return append([]byte(`{"a":"`), append(bytes.Repeat([]byte("x"), n), `"}`...)...) }
	wrong := map[string]string{
		"X-Hub-Signature-256": "sha256=" + strings.Repeat("0", 64), "X-Paystack-Signature": strings.Repeat("0", 128),
		"X-Signature-256": "sha256=" + strings.Repeat("0", 64),
	}
	gzip := func(header map[string]string) map[string]string {
		header["Content-Encoding"] = "gzip"
		return header
	}
	const whatsApp, flow, callback, confirm = "/webhooks/whatsapp", "/webhooks/flows", "/webhooks/payouts/paystack", "/webhooks/deposits"
	tests := []struct {
		name, method, url string
		body              []byte
		header            map[string]string
		want              int
	}{
		{"a message that nobody signed", "POST", w.bot + whatsApp, small, nil, 401},
		{"a message with a wrong signature", "POST", w.bot + whatsApp, small, wrong, 401},
		{"a message changed after it was signed", "POST", w.bot + whatsApp, append(slices.Clone(small), ' '), w.metaSigned(small), 401},
		{"a form that nobody signed", "POST", w.bot + flow, small, nil, 432},
		{"a form with a wrong signature", "POST", w.bot + flow, small, wrong, 432},
		{"a form that is no ciphertext", "POST", w.bot + flow, small, w.metaSigned(small), 421},
		{"a form that is no JSON", "POST", w.bot + flow, []byte("hello"), w.metaSigned([]byte("hello")), 421},
		{"a callback that nobody signed", "POST", w.bot + callback, small, nil, 401},
		{"a callback with a wrong signature", "POST", w.bot + callback, small, wrong, 401},
		{"an approval that nobody signed", "POST", w.bot + callback + "/approval", small, nil, 401},
		{"a callback of an unknown provider", "POST", w.bot + "/webhooks/payouts/nobody", small, wrong, 404},
		{"a confirmation that nobody signed", "POST", w.internal() + confirm, small, nil, 401},
		{"a confirmation with a wrong signature", "POST", w.internal() + confirm, small, wrong, 401},
		{"a confirmation on the public listener", "POST", w.bot + confirm, small, w.depositSigned(small), 404},
		{"a message on the internal listener", "POST", w.internal() + whatsApp, small, w.metaSigned(small), 404},

		{"a message of more than four MiB", "POST", w.bot + whatsApp, big(4 << 20), w.metaSigned(big(4 << 20)), 413},
		{"a form of more than 64 KiB", "POST", w.bot + flow, big(64 << 10), w.metaSigned(big(64 << 10)), 413},
		{"a callback of more than 64 KiB", "POST", w.bot + callback, big(64 << 10), w.paystackSigned(big(64 << 10)), 413},
		{"a confirmation of more than 64 KiB", "POST", w.internal() + confirm, big(64 << 10), w.depositSigned(big(64 << 10)), 413},
		{"a compressed message", "POST", w.bot + whatsApp, small, gzip(w.metaSigned(small)), 415},
		{"a compressed form", "POST", w.bot + flow, small, gzip(w.metaSigned(small)), 415},

		{"messages that are put", "PUT", w.bot + whatsApp, small, w.metaSigned(small), 405},
		{"messages that are deleted", "DELETE", w.bot + whatsApp, nil, nil, 405},
		{"a form that is got", "GET", w.bot + flow, nil, nil, 405},
		{"a callback that is got", "GET", w.bot + callback, nil, nil, 405},
		{"a confirmation that is got", "GET", w.internal() + confirm, nil, nil, 405},
		{"a verb that nobody knows", "BREW", w.bot + whatsApp, nil, nil, 405},
		{"a path that nobody knows", "GET", w.bot + "/webhooks", nil, nil, 404},
		{"a verification with a wrong token", "GET", w.bot + whatsApp + "?hub.mode=subscribe&hub.challenge=1&hub.verify_token=x", nil, nil, 403},
	}
	for _, tt := range tests {
		status, answer := w.ask(tt.method, tt.url, tt.body, tt.header)
		require.Equal(t, tt.want, status, "%s: %s", tt.name, answer)
	}
	status, answer := w.ask("GET", w.bot+whatsApp+"?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="+w.secret("WHATSAPP_VERIFY_TOKEN"), nil, nil)
	require.Equal(t, "200 1158201444", fmt.Sprint(status, " ", answer))
	require.Zero(t, w.waiting())
	require.Empty(t, w.receipts(delivery.Parked), "what is refused leaves nothing behind")
	require.NotContains(t, w.log.String(), "panicked")
}

func TestEdge_aFormOfADeadTokenIsDisabledAndAPingIsAnswered(t *testing.T) {
	t.Parallel()
	w := edgeTown(t)
	body, open := w.sealedFlow(map[string]any{"version": "3.0", "action": "INIT", "flow_token": "nobody-has-this-token"})
	status, answer := w.ask("POST", w.bot+"/webhooks/flows", body, w.metaSigned(body))
	require.Equal(t, 427, status)
	require.Contains(t, open(answer), "error_msg")

	body, open = w.sealedFlow(map[string]any{"version": "3.0", "action": "ping"})
	status, answer = w.ask("POST", w.bot+"/webhooks/flows", body, w.metaSigned(body))
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"data":{"status":"active"}}`, open(answer))

	var request map[string]string
	require.NoError(t, json.Unmarshal(body, &request))
	for _, broken := range []struct{ field, value string }{
		{"initial_vector", ""}, {"initial_vector", "AAAA"}, {"encrypted_aes_key", "AAAA"}, {"encrypted_flow_data", ""}, {"encrypted_flow_data", "AAAA"},
		{"encrypted_flow_data", "not base64"},
	} {
		one := map[string]string{}
		for name, value := range request {
			one[name] = value
		}
		one[broken.field] = broken.value
		body, err := json.Marshal(one)
		require.NoError(t, err)
		status, _ := w.ask("POST", w.bot+"/webhooks/flows", body, w.metaSigned(body))
		require.Equal(t, 421, status, "%s = %q", broken.field, broken.value)
	}
	require.NotContains(t, w.log.String(), "panicked")
}

func TestEdge_setsAsideWhatItCannotReadAndHandlesTheRest(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		text := func(id, what string) string {
			return fmt.Sprintf(`{"from":%q,"id":%q,"timestamp":"%d","type":"text","text":{"body":%q,"tomorrow":1},"new_field":{"a":[1]}}`,
				p.phone, id, time.Now().Unix(), what)
		}
		body := []byte(fmt.Sprintf(`{"object":"whatsapp_business_account","brand_new":true,"entry":[null,{"id":"1","more":[],"changes":[
			{"field":"messages","value":{"messaging_product":"whatsapp","surprise":{"x":null},
			 "metadata":{"display_phone_number":"15550001111","phone_number_id":%q,"extra":1},
			 "contacts":[{"profile":{"name":"Ada","emoji":"x"},"wa_id":%q}],
			 "messages":[%s,null,42,{"id":5},{"type":"text"},%s],
			 "statuses":[{"id":true},"x"]}},
			7]}]}`, w.secret("WHATSAPP_PHONE_NUMBER_ID"), p.phone, text("wamid.first", "balance"), text("wamid.second", "rate")))
		require.True(t, json.Valid(body))
		status, answer := w.ask("POST", w.bot+"/webhooks/whatsapp", body, w.metaSigned(body))
		require.Equal(t, 200, status, answer)
		p.hears("Your balance")
		p.hears("Rate now")
		w.eventually("everything is handled", func() bool { return w.waiting() == 0 })
		parked := w.receipts(delivery.Parked)
		require.GreaterOrEqual(t, len(parked), 6)
		for _, r := range parked {
			require.NotEmpty(t, r.Reason, r.ID)
			require.NotContains(t, r.Reason, p.phone)
		}

		deep := []byte(strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000))
		nested := []byte(`{"object":"whatsapp_business_account","entry":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`)
		for _, b := range [][]byte{deep, nested, []byte("{"), []byte(""), []byte("\xff\xfe"), []byte(`{"object":"page","entry":[]}`)} {
			status, answer := w.ask("POST", w.bot+"/webhooks/whatsapp", b, w.metaSigned(b))
			require.Equal(t, 200, status, "what is well signed is kept, so that nobody sends it for a week: %s", answer)
		}
		require.Greater(t, len(w.receipts(delivery.Parked)), len(parked))
		p.says("history")
		p.hears("You have no sale yet")
		require.NotContains(t, w.log.String(), "panicked")
		w.holds()
	})
}

func TestEdge_aProviderCallbackIsKeptOnceAndAnUnknownKindIsSetAside(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		w.bankAuto(0)
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "25")
		p.hears("25 USDT arrived")
		reference := p.sells("25 usdt on base", "0123456789")
		attempt := w.unpaid(reference, 1)
		post := func(event, reference, status string) (int, string) {
			body := []byte(fmt.Sprintf(`{"event":%q,"data":{"reference":%q,"status":%q,"amount":1,"news":{}}}`, event, reference, status))
			return w.ask("POST", w.bot+"/webhooks/payouts/paystack", body, w.paystackSigned(body))
		}
		// A callback that lies is a hint and no more: the look-up is the truth.
		var first string
		for i := range 3 {
			status, answer := post("transfer.success", attempt, "success")
			require.Equal(t, http.StatusOK, status)
			if i == 0 {
				first = answer
			}
			require.Equal(t, first, answer, "a duplicate has the same answer")
		}
		require.Contains(t, first, `"code":"0"`)
		require.Contains(t, first, `"reqCode":"paystack:transfer.success:`+attempt+`:success"`)
		for _, odd := range [][3]string{
			{"transfer.flying", attempt, "airborne"}, {"charge.success", "somebody-elses-reference", "success"},
			{"transfer.success", "0123456789abcdef-unknown", "success"},
		} {
			status, _ := post(odd[0], odd[1], odd[2])
			require.Equal(t, http.StatusOK, status)
		}
		for _, body := range []string{`{}`, `[]`, `{"event":"transfer.success"}`, `hello`} {
			status, answer := w.ask("POST", w.bot+"/webhooks/payouts/paystack", []byte(body), w.paystackSigned([]byte(body)))
			require.Equal(t, http.StatusOK, status, answer)
		}
		w.eventually("everything is handled", func() bool { return w.waiting() == 0 })
		var unhandled []string
		for _, r := range w.receipts(delivery.Unhandled) {
			unhandled = append(unhandled, r.Kind)
			require.NotEmpty(t, r.Reason)
		}
		slices.Sort(unhandled)
		require.Equal(t, []string{"charge.success", "transfer.flying", "transfer.success"}, unhandled)
		require.Len(t, w.receipts(delivery.Parked), 4)
		require.Equal(t, offramp.Sending, w.order(reference).State, "a callback alone pays nothing")
		w.settles(attempt, "success")
		w.becomes(reference, offramp.Success)
		w.paysRight()
	})
}
