package sandbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// endpointAnswer is what the Flow endpoint answered: the HTTP status, 0 for none, and the decrypted screen and data.
type endpointAnswer struct {
	status  int
	screen  string
	data    map[string]any
	failure *clientError // the client could not use the answer
}

var errFlowTimeout = errors.New("the Flow endpoint did not answer in time")

// askEndpoint sends one encrypted and signed request. After 421 it reads the public key again and tries once more, as
// the client does.
func (w *World) askEndpoint(ctx context.Context, request map[string]any) (endpointAnswer, error) {
	answer, err := w.askOnce(ctx, request)
	if err != nil || answer.status != http.StatusMisdirectedRequest {
		return answer, err
	}
	w.pauseUnless(ctx.Done(), w.cfg.KeyRefresh)
	return w.askOnce(ctx, request)
}

func (w *World) askOnce(ctx context.Context, request map[string]any) (endpointAnswer, error) {
	plaintext, err := json.Marshal(request)
	if err != nil {
		return endpointAnswer{}, fmt.Errorf("write a Flow request: %w", err)
	}
	c, err := newFlowCipher()
	if err != nil {
		return endpointAnswer{}, err
	}
	public, _ := w.flows.key()
	sealed, err := c.sealRequest(public, plaintext)
	if err != nil {
		return endpointAnswer{}, err
	}
	p, err := w.metaParcel(flowsPath, sealed)
	if err != nil {
		return endpointAnswer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.FlowTimeout, errFlowTimeout)
	defer cancel()
	status, body := w.post(ctx, p)
	return readAnswer(c, status, body), nil
}

// readAnswer opens an answer. The body of a 427 may be encrypted or plain JSON, or empty (Meta: Flow endpoint).
func readAnswer(c flowCipher, status int, body []byte) endpointAnswer {
	answer := endpointAnswer{status: status, data: map[string]any{}}
	if status != http.StatusOK && status != 427 {
		return answer
	}
	plaintext, err := c.openAnswer(body)
	if err != nil && status == http.StatusOK {
		answer.failure = &clientError{code: errResponseDecryption, message: err.Error()}
		return answer
	}
	if err != nil {
		plaintext = body
	}
	var read struct {
		Screen   string         `json:"screen"`
		Data     map[string]any `json:"data"`
		ErrorMsg string         `json:"error_msg"`
	}
	if err := decodeExact(plaintext, &read); err != nil {
		if status == http.StatusOK {
			answer.failure = &clientError{code: errResponseDecryption, message: "the answer is not JSON"}
		}
		return answer
	}
	answer.screen = read.Screen
	if read.Data != nil {
		answer.data = read.Data
	}
	if status == 427 && read.ErrorMsg != "" {
		answer.data["error_msg"] = read.ErrorMsg
	}
	return answer
}

// flowRequest is the plain request of a session (Meta: Flow endpoint). From Flow JSON 7.3 with data API 4.0 on it carries
// the token's signature.
func (w *World) flowRequest(s *flowSession, action, screen string, data map[string]any) map[string]any {
	version := orString(s.flow.document.DataAPI, "3.0")
	request := map[string]any{"version": version, "action": action, "flow_token": s.token}
	if screen != "" {
		request["screen"] = screen
	}
	if data != nil {
		request["data"] = data
	}
	if version == "4.0" && s.flow.document.Version >= "7.3" {
		request["flow_token_signature"] = tokenSignature(w.secrets.AppSecret, s.token)
	}
	return request
}

// tokenSignature is a JWT, HS256 with the app secret, whose claim holds the Flow token.
func tokenSignature(secret, token string) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims, err := json.Marshal(map[string]string{"flow_token": token})
	if err != nil {
		return ""
	}
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(claims)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}
