package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cryptoCase is Meta's test vector for signatures and Flow encryption.
type cryptoCase struct {
	Key          string `json:"key_hex"`
	IV           string `json:"iv_hex"`
	Request      string `json:"request_plaintext"`
	RequestB64   string `json:"request_base64"`
	Response     string `json:"response_plaintext"`
	ResponseB64  string `json:"response_base64"`
	Body         string `json:"body"`
	Secret       string `json:"secret"`
	Signature    string `json:"signature"`
	MustNotMatch string `json:"must_not_match"`
}

func readCryptoCase(t *testing.T) cryptoCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/flow-crypto.json")
	require.NoError(t, err)
	var c cryptoCase
	require.NoError(t, json.Unmarshal(raw, &c))
	return c
}

func TestMetaJSON_isMetasASCIIWithEscapes(t *testing.T) {
	t.Parallel()
	c := readCryptoCase(t)
	body, err := metaJSON(map[string]string{"t": "₦5k 👋 café a/b"})
	require.NoError(t, err)
	require.Equal(t, c.Body, string(body))
	require.Equal(t, c.Signature, signSHA256(c.Secret, body))
	plain, err := json.Marshal(map[string]string{"t": "₦5k 👋 café a/b"})
	require.NoError(t, err)
	require.Equal(t, c.MustNotMatch, signSHA256(c.Secret, plain))
}

func TestFlowCipher_matchesTheVector(t *testing.T) {
	t.Parallel()
	c := readCryptoCase(t)
	key, err := hex.DecodeString(c.Key)
	require.NoError(t, err)
	iv, err := hex.DecodeString(c.IV)
	require.NoError(t, err)
	cipher := flowCipher{key: key, iv: iv}
	public, err := flowPublicKey()
	require.NoError(t, err)
	sealed, err := cipher.sealRequest(public, []byte(c.Request))
	require.NoError(t, err)
	require.Equal(t, c.RequestB64, sealed.Data)
	require.Equal(t, base64.StdEncoding.EncodeToString(iv), sealed.IV)
	answer, err := cipher.openAnswer([]byte(c.ResponseB64))
	require.NoError(t, err)
	require.Equal(t, c.Response, string(answer))
	_, err = cipher.openAnswer([]byte(c.RequestB64))
	require.Error(t, err, "an answer under the vector that is not inverted cannot be read")
	_, err = cipher.openAnswer([]byte("AAAA"))
	require.Error(t, err)
}

// signedByMeta checks a signature with its own few lines.
func signedByMeta(secret string, a arrival) bool {
	given := a.header.Get("X-Hub-Signature-256")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(a.body)
	return given == "sha256="+hex.EncodeToString(mac.Sum(nil))
}

func TestMessages_areDeliveredSigned(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	out := h.lever(http.MethodPost, "/world/messages", map[string]any{"from": "+" + testPhone, "text": "Sell ₦5k 👋 a/b"})
	require.Len(t, out["deliveries"], 1)
	require.Equal(t, json.Number("200"), out["deliveries"].([]any)[0].(map[string]any)["status"])
	arrived := h.bot.at(whatsAppPath)
	require.Len(t, arrived, 1)
	require.True(t, signedByMeta(h.world.secrets.AppSecret, arrived[0]))
	require.Contains(t, string(arrived[0].body), `Sell \u20a65k \ud83d\udc4b a\/b`)
	message := firstMessage(t, arrived[0])
	require.Equal(t, out["wamid"], message["id"])
	require.Equal(t, testPhone, message["from"])
	require.Equal(t, "1796040000", message["timestamp"])
	require.Equal(t, map[string]any{"body": "Sell ₦5k 👋 a/b"}, message["text"])
	value := firstValue(t, arrived[0])
	require.Equal(t, PhoneNumberID, value["metadata"].(map[string]any)["phone_number_id"])
	contact := value["contacts"].([]any)[0].(map[string]any)
	require.Equal(t, testPhone, contact["wa_id"])
	require.Regexp(t, `^NG\.[0-9]+$`, contact["user_id"])
}

func firstValue(t *testing.T, a arrival) map[string]any {
	t.Helper()
	var body map[string]any
	require.NoError(t, json.Unmarshal(a.body, &body))
	require.Equal(t, "whatsapp_business_account", body["object"])
	entry := body["entry"].([]any)[0].(map[string]any)
	require.Equal(t, BusinessAccountID, entry["id"])
	change := entry["changes"].([]any)[0].(map[string]any)
	require.Equal(t, "messages", change["field"])
	return change["value"].(map[string]any)
}

func firstMessage(t *testing.T, a arrival) map[string]any {
	t.Helper()
	return firstValue(t, a)["messages"].([]any)[0].(map[string]any)
}

func TestMessages_copiesAreOneMessageDeliveredAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	all := make(chan struct{})
	reached := make(chan struct{}, 8)
	h.bot.answers(func(arrival) (int, []byte) {
		reached <- struct{}{}
		if len(reached) == 8 {
			close(all)
		}
		<-all // nobody is answered before all have come
		return http.StatusOK, nil
	})
	out := h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "text": "x", "copies": 8, "wamid": "wamid.FIXED"})
	require.Len(t, out["deliveries"], 8)
	require.Equal(t, "wamid.FIXED", out["wamid"])
	arrived := h.bot.at(whatsAppPath)
	require.Len(t, arrived, 8)
	for _, a := range arrived {
		require.Equal(t, arrived[0].body, a.body)
	}
	require.Len(t, h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"], 1)
}

func TestMessages_areTriedAgainUntilTheBotSays200(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.bot.answers(func(arrival) (int, []byte) { return http.StatusServiceUnavailable, nil })
	out := h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "text": "x"})
	require.Equal(t, json.Number("503"), out["deliveries"].([]any)[0].(map[string]any)["status"])
	h.drain()
	require.Len(t, h.bot.at(whatsAppPath), 2, "a second later it is tried again")
	h.bot.answers(nil)
	for range 5 {
		h.clock.pass(2 * time.Second)
		h.drain()
	}
	require.Len(t, h.bot.at(whatsAppPath), 3, "and no more once it was taken")
	state := h.lever(http.MethodGet, "/world/state", nil)
	require.Equal(t, json.Number("1"), state["webhooks"])
	require.Equal(t, json.Number("2"), state["webhooks_failed"])
}

func TestMessages_areRefusedInWords(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for name, body := range map[string]any{
		"no content":         map[string]any{"from": testPhone},
		"two contents":       map[string]any{"from": testPhone, "text": "a", "button": "b"},
		"no sender":          map[string]any{"text": "a"},
		"too many copies":    map[string]any{"from": testPhone, "text": "a", "copies": 100_000},
		"an unknown field":   map[string]any{"from": testPhone, "text": "a", "copeis": 2},
		"no JSON":            "{",
		"a context as array": map[string]any{"from": testPhone, "text": "a", "context": []int{1}},
	} {
		status, out := h.call(http.MethodPost, "/world/messages", body)
		require.GreaterOrEqual(t, status, 400, name)
		require.Less(t, status, 500, name)
		require.NotEmpty(t, out["error"], name)
		require.NotEmpty(t, out["message"], name)
	}
	require.Empty(t, h.bot.at(whatsAppPath))
}

func TestMessages_buttonsAndRowsNameTheMessageThatOfferedThem(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.greet()
	buttons := h.send(map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "button", "body": map[string]any{"text": "Sure?"},
		"action": map[string]any{"buttons": []any{map[string]any{"type": "reply", "reply": map[string]any{"id": "q:1:ok", "title": "Confirm"}}}},
	}})
	rows := h.send(map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "list", "body": map[string]any{"text": "Which bank?"},
		"action": map[string]any{"button": "Banks", "sections": []any{map[string]any{"rows": []any{map[string]any{"id": "bank:058", "title": "GTBank", "description": "Lagos"}}}}},
	}})
	h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "button": "q:1:ok"})
	h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "list": "bank:058"})
	arrived := h.bot.at(whatsAppPath)
	tap, choice := firstMessage(t, arrived[1]), firstMessage(t, arrived[2])
	require.Equal(t, map[string]any{"type": "button_reply", "button_reply": map[string]any{"id": "q:1:ok", "title": "Confirm"}}, tap["interactive"])
	require.Equal(t, buttons, tap["context"].(map[string]any)["id"])
	require.Equal(t, map[string]any{"id": "bank:058", "title": "GTBank", "description": "Lagos"}, choice["interactive"].(map[string]any)["list_reply"])
	require.Equal(t, rows, choice["context"].(map[string]any)["id"])
}

func TestMessages_aUserWithoutAPhoneNumberHasNoFrom(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.lever(http.MethodPost, "/world/messages", map[string]any{"from": "US.13491208655302741918", "message": map[string]any{"type": "text", "text": map[string]any{"body": "hi"}}})
	message := firstMessage(t, h.bot.at(whatsAppPath)[0])
	require.NotContains(t, message, "from")
	require.Equal(t, "US.13491208655302741918", message["from_user_id"])
	status, _ := h.graph(http.MethodPost, PhoneNumberID+"/messages", map[string]any{
		"messaging_product": "whatsapp", "recipient": "US.13491208655302741918", "type": "text", "text": map[string]any{"body": "hello"},
	})
	require.Equal(t, http.StatusOK, status)
	require.Len(t, h.lever(http.MethodGet, "/world/chats/US.13491208655302741918", nil)["messages"], 2)
}
