package sandbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// endpoint is a Flow endpoint with its own decryption, written apart from the client's.
type endpoint struct {
	t       *testing.T
	secret  string
	private *rsa.PrivateKey
	mu      sync.Mutex
	seen    []map[string]any
	respond func(request map[string]any) (status int, answer any)
}

func (h *harness) endpoint(respond func(request map[string]any) (int, any)) *endpoint {
	h.t.Helper()
	block, _ := pem.Decode([]byte(flowKeyPEM))
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(h.t, err)
	e := &endpoint{t: h.t, secret: h.world.secrets.AppSecret, private: parsed.(*rsa.PrivateKey), respond: respond}
	h.bot.answers(func(a arrival) (int, []byte) {
		if a.path != flowsPath {
			return http.StatusOK, nil
		}
		return e.serve(a)
	})
	return e
}

func (e *endpoint) serve(a arrival) (int, []byte) {
	if !signedByMeta(e.secret, a) {
		return 432, nil
	}
	var wire map[string]string
	if json.Unmarshal(a.body, &wire) != nil {
		return http.StatusBadRequest, nil
	}
	decode := func(name string) []byte {
		raw, _ := base64.StdEncoding.DecodeString(wire[name])
		return raw
	}
	key, err := rsa.DecryptOAEP(sha256.New(), nil, e.private, decode("encrypted_aes_key"), nil)
	if err != nil {
		return http.StatusMisdirectedRequest, nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return http.StatusMisdirectedRequest, nil
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, 16)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	iv := decode("initial_vector")
	plain, err := gcm.Open(nil, iv, decode("encrypted_flow_data"), nil)
	if err != nil {
		return http.StatusMisdirectedRequest, nil
	}
	var request map[string]any
	if decodeExact(plain, &request) != nil {
		return http.StatusBadRequest, nil
	}
	e.mu.Lock()
	e.seen = append(e.seen, request)
	e.mu.Unlock()
	status, answer := e.respond(request)
	if answer == nil {
		return status, nil
	}
	out, err := json.Marshal(answer)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	for i := range iv {
		iv[i] ^= 0xff
	}
	return status, []byte(base64.StdEncoding.EncodeToString(gcm.Seal(nil, iv, out, nil)))
}

func (e *endpoint) requests() []map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]map[string]any(nil), e.seen...)
}

func screenAnswer(screen string, data map[string]any) (int, any) {
	return http.StatusOK, map[string]any{"version": "4.0", "screen": screen, "data": data}
}

func detailsData() map[string]any {
	return map[string]any{"has_error": false, "error_message": "", "assets": []any{map[string]any{"id": "USDT_BASE", "title": "USDT on Base"}}}
}

// sellEndpoint answers a whole sale.
func sellEndpoint(request map[string]any) (int, any) {
	switch request["action"] {
	case "INIT":
		return screenAnswer("DETAILS", detailsData())
	case "BACK":
		return screenAnswer("DETAILS", detailsData())
	}
	if request["screen"] == "DETAILS" {
		return screenAnswer("REVIEW", map[string]any{"summary": "You sell 5 USDT", "total": 750000})
	}
	return screenAnswer("DONE", map[string]any{"reference": "7F2K9QXA"})
}

// openSell sends a Flow message and opens it.
func (h *harness) openSell() map[string]any {
	h.t.Helper()
	h.greet()
	wamid := h.send(flowMessage(nil))
	return h.lever(http.MethodPost, "/world/flows/open", map[string]any{"phone": testPhone, "wamid": wamid})
}

func (h *harness) submit(session any, screen string, data map[string]any) (int, map[string]any) {
	h.t.Helper()
	return h.call(http.MethodPost, "/world/flows/submit", map[string]any{"session": session, "screen": screen, "data": data})
}

func TestFlow_aWholeSale(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	e := h.endpoint(sellEndpoint)
	opened := h.openSell()
	require.Equal(t, "DETAILS", opened["screen"])
	require.Equal(t, json.Number("200"), opened["http_status"])
	session := opened["session"]

	_, review := h.submit(session, "DETAILS", map[string]any{"asset": "USDT_BASE", "amount": "5"})
	require.Equal(t, "REVIEW", review["screen"])
	require.Equal(t, "You sell 5 USDT", review["data"].(map[string]any)["summary"])
	_, done := h.submit(session, "REVIEW", map[string]any{"pin": "493817"})
	require.Equal(t, "DONE", done["screen"])
	require.Equal(t, "7F2K9QXA", done["data"].(map[string]any)["reference"])
	_, closed := h.submit(session, "DONE", nil)
	require.Equal(t, true, closed["ended"])

	requests := e.requests()
	require.Len(t, requests, 3)
	init, first, second := requests[0], requests[1], requests[2]
	require.Equal(t, "INIT", init["action"])
	require.Equal(t, "4.0", init["version"])
	require.Equal(t, "ft_1", init["flow_token"])
	require.Len(t, strings.Split(text(init["flow_token_signature"]), "."), 3)
	require.Equal(t, map[string]any{"asset": "USDT_BASE", "amount": "5", "agree": false, "step": "details"}, first["data"],
		"what was not typed is what the client holds for it")
	require.Equal(t, map[string]any{"pin": "493817", "total": json.Number("750000")}, second["data"], "bindings come from the screen's data")

	arrived := h.bot.at(whatsAppPath)
	reply := firstMessage(t, arrived[len(arrived)-1])
	nfm := reply["interactive"].(map[string]any)["nfm_reply"].(map[string]any)
	require.JSONEq(t, `{"reference":"7F2K9QXA","flow_token":"ft_1"}`, text(nfm["response_json"]))
	require.NotEmpty(t, reply["context"].(map[string]any)["id"])
	status, refused := h.submit(session, "DONE", nil)
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "session_ended", refused["error"])
}

func TestFlow_inputNamesMayBeGivenInsteadOfPayloadKeys(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	e := h.endpoint(sellEndpoint)
	session := h.openSell()["session"]
	h.submit(session, "DETAILS", map[string]any{"asset": "USDT_BASE", "sum": "5", "agree": true})
	require.Equal(t, map[string]any{"asset": "USDT_BASE", "amount": "5", "agree": true, "step": "details"}, e.requests()[1]["data"])
}

func TestFlow_theClientComplainsAboutData(t *testing.T) {
	t.Parallel()
	without := func(name string) map[string]any { d := detailsData(); delete(d, name); return d }
	with := func(name string, value any) map[string]any { d := detailsData(); d[name] = value; return d }
	tests := []struct {
		name      string
		screen    string
		data      map[string]any
		wantError string
	}{
		{"a field is missing", "DETAILS", without("assets"), errPayloadSchema},
		{"a field is null", "DETAILS", with("assets", nil), errPayloadSchema},
		{"a field is not declared", "DETAILS", with("rate", "1500"), errPayloadSchema},
		{"a boolean is a text", "DETAILS", with("has_error", "false"), errPayloadSchema},
		{"an item has a number for a text", "DETAILS", with("assets", []any{map[string]any{"id": 1, "title": "x"}}), errPayloadSchema},
		{"a list is an object", "DETAILS", with("assets", map[string]any{}), errPayloadSchema},
		{"a screen is not there", "NOWHERE", detailsData(), errScreenTransition},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			e := h.endpoint(func(request map[string]any) (int, any) {
				if data, ok := request["data"].(map[string]any); ok && data["error"] != nil {
					return http.StatusOK, map[string]any{"data": map[string]any{"acknowledged": true}}
				}
				return screenAnswer(tt.screen, tt.data)
			})
			h.greet()
			wamid := h.send(flowMessage(nil))
			status, out := h.call(http.MethodPost, "/world/flows/open", map[string]any{"phone": testPhone, "wamid": wamid})
			require.Equal(t, http.StatusUnprocessableEntity, status)
			require.Equal(t, tt.wantError, out["error"])
			requests := e.requests()
			require.Len(t, requests, 2, "the endpoint is told")
			require.Equal(t, tt.wantError, requests[1]["data"].(map[string]any)["error"])
		})
	}
}

func TestFlow_aScreenMustBeRouted(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.endpoint(func(request map[string]any) (int, any) {
		if request["action"] == "INIT" {
			return screenAnswer("DETAILS", detailsData())
		}
		return screenAnswer("DONE", map[string]any{"reference": "x"})
	})
	session := h.openSell()["session"]
	status, out := h.submit(session, "DETAILS", nil)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Equal(t, errScreenTransition, out["error"])
	status, out = h.submit(session, "REVIEW", nil)
	require.Equal(t, http.StatusConflict, status, "a screen that never showed has no footer to tap")
	require.Equal(t, "screen_not_shown", out["error"])
}

func TestFlow_aScreenWithAnErrorShowsAgainAndEarlierOnesCanBeSubmittedAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.endpoint(func(request map[string]any) (int, any) {
		data, _ := request["data"].(map[string]any)
		if data["amount"] == "0" {
			again := detailsData()
			again["has_error"], again["error_message"] = true, "Amount is too small"
			return screenAnswer("DETAILS", again)
		}
		return sellEndpoint(request)
	})
	session := h.openSell()["session"]
	_, again := h.submit(session, "DETAILS", map[string]any{"amount": "0"})
	require.Equal(t, "DETAILS", again["screen"])
	_, review := h.submit(session, "DETAILS", map[string]any{"amount": "5"})
	require.Equal(t, "REVIEW", review["screen"])
	_, review = h.submit(session, "DETAILS", map[string]any{"amount": "6"})
	require.Equal(t, "REVIEW", review["screen"], "the user went back and on again")
	back := h.lever(http.MethodPost, "/world/flows/back", map[string]any{"session": session, "screen": "DETAILS"})
	require.Equal(t, "DETAILS", back["screen"])
}

func TestFlow_navigateNeedsNoEndpoint(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	e := h.endpoint(func(request map[string]any) (int, any) {
		if request["action"] == "INIT" {
			return screenAnswer("DETAILS", detailsData())
		}
		return screenAnswer("CHECKING", map[string]any{"note": "7F2K"})
	})
	session := h.openSell()["session"]
	h.submit(session, "DETAILS", nil)
	_, done := h.submit(session, "CHECKING", nil)
	require.Equal(t, "DONE", done["screen"])
	require.Equal(t, "7F2K", done["data"].(map[string]any)["reference"])
	require.Len(t, e.requests(), 2)
	wamid := h.send(flowMessage(map[string]any{"flow_action": "navigate", "flow_action_payload": map[string]any{"screen": "DONE", "data": map[string]any{"reference": "A"}}}))
	opened := h.lever(http.MethodPost, "/world/flows/open?view=1", map[string]any{"phone": testPhone, "wamid": wamid})
	require.Equal(t, "DONE", opened["screen"])
	require.Equal(t, "Done", opened["view"].(map[string]any)["title"])
}

func TestFlow_endsOnSUCCESSWithAChatMessage(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	params := map[string]any{"flow_token": "ft_1", "ref": "7F2"}
	h.endpoint(func(map[string]any) (int, any) {
		return screenAnswer("SUCCESS", map[string]any{"extension_message_response": map[string]any{"params": params}})
	})
	opened := h.openSell()
	require.Equal(t, "SUCCESS", opened["screen"])
	require.Equal(t, true, opened["ended"])
	arrived := h.bot.at(whatsAppPath)
	reply := firstMessage(t, arrived[len(arrived)-1])
	require.JSONEq(t, `{"flow_token":"ft_1","ref":"7F2"}`, text(reply["interactive"].(map[string]any)["nfm_reply"].(map[string]any)["response_json"]))
}

func TestFlow_statusesOfTheEndpoint(t *testing.T) {
	t.Parallel()
	t.Run("421 makes the client try once more with a fresh key", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, nil)
		tries := 0
		h.endpoint(func(map[string]any) (int, any) {
			if tries++; tries == 1 {
				return http.StatusMisdirectedRequest, nil
			}
			return screenAnswer("DETAILS", detailsData())
		})
		require.Equal(t, "DETAILS", h.openSell()["screen"])
		require.Equal(t, 2, tries)
	})
	t.Run("427 disables the button and shows the text", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, nil)
		h.endpoint(func(map[string]any) (int, any) { return 427, map[string]any{"error_msg": "This link has expired."} })
		opened := h.openSell()
		require.Equal(t, json.Number("427"), opened["http_status"])
		require.Equal(t, "This link has expired.", opened["data"].(map[string]any)["error_msg"])
		messages := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"].([]any)
		require.Equal(t, true, messages[1].(map[string]any)["flow"].(map[string]any)["closed"])
	})
	t.Run("432 and 500 are told as they are", func(t *testing.T) {
		t.Parallel()
		for _, status := range []int{432, http.StatusInternalServerError} {
			h := newHarness(t, nil)
			h.endpoint(func(map[string]any) (int, any) { return status, nil })
			opened := h.openSell()
			require.EqualValues(t, json.Number(jsonText(status)), opened["http_status"])
			require.Equal(t, "", opened["screen"])
		}
	})
	t.Run("an answer that cannot be decrypted", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t, nil)
		h.bot.answers(func(arrival) (int, []byte) { return http.StatusOK, []byte("bm90IGVuY3J5cHRlZCBhdCBhbGwsIG5vIG5vIG5v") })
		h.greet()
		wamid := h.send(flowMessage(nil))
		status, out := h.call(http.MethodPost, "/world/flows/open", map[string]any{"phone": testPhone, "wamid": wamid})
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Equal(t, errResponseDecryption, out["error"])
	})
}

func jsonText(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestFlow_copiesOfASubmissionGoOutAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	all := make(chan struct{})
	var mu sync.Mutex
	waiting := 0
	h.endpoint(func(request map[string]any) (int, any) {
		if request["screen"] == "REVIEW" {
			mu.Lock()
			if waiting++; waiting == 6 {
				close(all)
			}
			mu.Unlock()
			<-all
		}
		return sellEndpoint(request)
	})
	session := h.openSell()["session"]
	h.submit(session, "DETAILS", nil)
	out := h.lever(http.MethodPost, "/world/flows/submit", map[string]any{"session": session, "screen": "REVIEW", "data": map[string]any{"pin": "493817"}, "copies": 6})
	require.Len(t, out["items"], 6)
	for _, state := range out["items"].([]any) {
		require.Equal(t, "DONE", state.(map[string]any)["screen"])
	}
}

func TestFlow_publishingAFlowWithAnEndpointAsksForItsHealth(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	active := "down"
	h.endpoint(func(request map[string]any) (int, any) {
		require.Equal(t, "ping", request["action"])
		return http.StatusOK, map[string]any{"data": map[string]any{"status": active}}
	})
	_, out := h.graph(http.MethodPost, BusinessAccountID+"/flows", map[string]any{"name": "x", "endpoint_uri": "https://bot.test", "flow_json": sellFlow})
	status, _ := h.graph(http.MethodPost, text(out["id"])+"/publish", nil)
	require.Equal(t, http.StatusBadRequest, status)
	active = "active"
	status, _ = h.graph(http.MethodPost, text(out["id"])+"/publish", nil)
	require.Equal(t, http.StatusOK, status)
}
