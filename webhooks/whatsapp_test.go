package webhooks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/obs"
)

func envelope(messages string) string {
	return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{` +
		`"messaging_product":"whatsapp","metadata":{"display_phone_number":"1","phone_number_id":"106540352242922"},` +
		`"messages":[` + messages + `]}}]}]}`
}

func message(wamid string) string {
	return `{"from":"2348012345678","id":"` + wamid + `","timestamp":"1780000000","type":"text","text":{"body":"sell"}}`
}

func (h *harness) post(body string, options ...option) int {
	h.Helper()
	return h.do("POST", "/webhooks/whatsapp", body, append(options, header("X-Hub-Signature-256", signature(appSecret, body)))...).Code
}

func TestVerifyWhatsApp_table(t *testing.T) {
	t.Parallel()
	const path = "/webhooks/whatsapp?hub.mode=%s&hub.challenge=%s&hub.verify_token=%s"
	h := newHarness(t)
	w := h.do("GET", fmt.Sprintf(path, "subscribe", "1158201444", verifyToken), "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "1158201444", w.Body.String())
	require.Contains(t, w.Header().Get("Content-Type"), "text/plain")
	for name, args := range map[string][3]string{
		"a wrong token": {"subscribe", "1", "wrong"}, "no token": {"subscribe", "1", ""},
		"the beginning of the token": {"subscribe", "1", verifyToken[:5]}, "another mode": {"unsubscribe", "1", verifyToken},
		"no challenge": {"subscribe", "", verifyToken}, "a huge challenge": {"subscribe", strings.Repeat("1", 300), verifyToken},
	} {
		t.Run(name, func(t *testing.T) {
			h.wantRefusal(h.do("GET", fmt.Sprintf(path, args[0], args[1], args[2]), ""), 403, "forbidden")
		})
	}
}

func TestWhatsApp_signatureTable(t *testing.T) {
	t.Parallel()
	// The body has escapes as Meta sends them: a server that decodes and encodes again computes another signature.
	const body = `{"t":"\u20a65k \ud83d\udc4b caf\u00e9 a\/b"}`
	const good = "sha256=5cadf01a9b79e37aebfc09a0cbd0374349d7dcf676dc3b9f7eb1fad11bf57ab0"
	tests := []struct {
		name    string
		headers []string
		want    int
	}{
		{"the published vector", []string{good}, 200},
		{"the secret before a rotation", []string{signature("previous-app-secret", body)}, 200},
		{"no header", nil, 401},
		{"an empty header", []string{""}, 401},
		{"a wrong secret", []string{signature("wrong", body)}, 401},
		{"an empty secret", []string{signature("", body)}, 401},
		{"another body", []string{signature(appSecret, body+" ")}, 401},
		{"the body re-encoded by Go", []string{"sha256=a7f0af23d2a2fe69f75ebf48595d42e67eb1e8221a1e6c308af41903c72a9902"}, 401},
		{"no prefix", []string{strings.TrimPrefix(good, "sha256=")}, 401},
		{"SHA-1", []string{"sha1=" + good[7:47]}, 401},
		{"a digit less", []string{good[:len(good)-1]}, 401},
		{"a digit more", []string{good + "0"}, 401},
		{"two headers, the first good", []string{good, good}, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			var options []option
			for _, value := range tt.headers {
				options = append(options, header("X-Hub-Signature-256", value))
			}
			w := h.do("POST", "/webhooks/whatsapp", body, options...)
			require.Equal(t, tt.want, w.Code)
			require.Equal(t, tt.want == 200, len(h.inbox.receipts) == 1)
		})
	}
}

func TestWhatsApp_intake(t *testing.T) {
	t.Parallel()
	t.Run("every element of a batch is stored in one round trip", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		body := envelope(message("wamid.A") + "," + message("wamid.B") + "," + message("wamid.A"))
		w := h.do("POST", "/webhooks/whatsapp", body, header("X-Hub-Signature-256", signature(appSecret, body)))
		require.Equal(t, 200, w.Code)
		require.Empty(t, w.Body.String())
		require.Equal(t, 1, h.inbox.calls)
		require.Equal(t, []string{"wa:wamid.A", "wa:wamid.B"}, h.inbox.ids())
		r := h.inbox.receipts["wa:wamid.A"]
		require.Equal(t, delivery.Message, r.Source)
		require.Equal(t, delivery.Received, r.State)
		require.Equal(t, r.Partition, h.inbox.receipts["wa:wamid.B"].Partition)
		require.NotContains(t, r.Partition, "2348012345678")
		require.NotContains(t, h.log.String(), "2348012345678")
		require.EqualValues(t, 1780000000, r.SentAt.Unix())
	})
	t.Run("a broken element is set aside and its neighbours are not", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		require.Equal(t, 200, h.post(envelope(message("wamid.A")+`,7,{"from":{}},`+message("wamid.B"))))
		states := map[delivery.State]int{}
		for _, r := range h.inbox.receipts {
			states[r.State]++
			require.Equal(t, r.State == delivery.Received, r.Due != nil)
		}
		require.Equal(t, map[delivery.State]int{delivery.Received: 2, delivery.Parked: 2}, states)
	})
	t.Run("a signed body that does not parse is stored as parked and answered 200", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{"", "not json", "[]", `{"object":"page"}`, envelope("")} {
			h := newHarness(t)
			require.Equal(t, 200, h.post(body), body)
			require.Equal(t, 200, h.post(body), body)
			require.Len(t, h.inbox.receipts, 1, body)
			for _, r := range h.inbox.receipts {
				require.Equal(t, delivery.Parked, r.State)
				require.NotEmpty(t, r.Reason)
				require.Equal(t, body, string(r.Body))
			}
		}
	})
	t.Run("a message for another number is stored and not handled", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		require.Equal(t, 200, h.post(strings.ReplaceAll(envelope(message("wamid.A")), "106540352242922", "999")))
		require.Equal(t, delivery.Unhandled, h.inbox.receipts["wa:wamid.A"].State)
	})
	t.Run("a store that is down is a 503, so Meta comes again", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.inbox.err = errors.New("no primary")
		body := envelope(message("wamid.A"))
		w := h.do("POST", "/webhooks/whatsapp", body, header("X-Hub-Signature-256", signature(appSecret, body)))
		h.wantRefusal(w, 503, "store_unavailable")
		h.inbox.err = nil
		require.Equal(t, 200, h.post(body))
		require.Len(t, h.inbox.receipts, 1)
	})
	t.Run("the same webhook many times at once is one receipt", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		var wait sync.WaitGroup
		codes := make([]int, 20)
		for i := range codes {
			wait.Go(func() { codes[i] = h.post(envelope(message("wamid.A"))) })
		}
		wait.Wait()
		for _, code := range codes {
			require.Equal(t, 200, code)
		}
		require.Len(t, h.inbox.receipts, 1)
		require.Contains(t, scrape(h), `offramp_deliveries_total{outcome="duplicate",source="message"} 19`)
	})
}

func TestFlows_signatureHasItsOwnStatus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.flow = func(body []byte) (int, []byte) { return 427, append([]byte("sealed "), body...) }
	require.Equal(t, 432, h.do("POST", "/webhooks/flows", "x", header("X-Hub-Signature-256", "sha256=0")).Code)
	w := h.do("POST", "/webhooks/flows", "x", header("X-Hub-Signature-256", signature(appSecret, "x")))
	require.Equal(t, 427, w.Code)
	require.Equal(t, "sealed x", w.Body.String())
	require.Contains(t, w.Header().Get("Content-Type"), "text/plain")
}

func FuzzWhatsApp_envelope(f *testing.F) {
	f.Add([]byte(envelope(message("wamid.A"))))
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"flows","value":{}}]}]}`))
	f.Add([]byte(strings.Repeat("[", 20000)))
	inbox, log := &fakeInbox{}, &bytes.Buffer{}
	edge, err := New(goodDeps(f, &fakes{}, inbox, log, obs.NewMetrics("test")), goodConfig())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		log.Reset()
		inbox.receipts = map[string]*delivery.Receipt{}
		h := &harness{T: t, edge: edge, inbox: inbox}
		require.Equal(t, 200, h.post(string(body)), "a signed body is never refused")
		require.NotEmpty(t, h.inbox.receipts, "and never lost")
		for id, r := range h.inbox.receipts {
			require.NotEmpty(t, id)
			require.NotEmpty(t, r.Partition)
			require.NotEmpty(t, r.Fingerprint)
			require.False(t, r.SentAt.IsZero())
			require.Equal(t, r.State == delivery.Received, r.Due != nil)
		}
	})
}
