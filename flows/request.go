package flows

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The actions of a request.
const (
	ActionPing     = "ping"          // health check; no token
	ActionInit     = "INIT"          // the Flow was opened
	ActionExchange = "data_exchange" // a footer or a component was used
	ActionBack     = "BACK"          // back to a screen that asks to be refreshed
	ActionNavigate = "navigate"      // only ever seen as an error notice
)

// ErrRequest: the decrypted request does not have the form that Meta documents. Nothing is done with it.
var ErrRequest = errors.New("flow request is malformed")

// Request is a decrypted request. It may hold a PIN and an account number: it is never logged, and its String says only
// action and screen.
type Request struct {
	Version        string
	Action         string
	Screen         string // the screen that was left; empty for ping and INIT
	Data           map[string]json.RawMessage
	Token          string
	TokenSignature string // JWT, with data API 4.0 and clients that are new enough
}

// String keeps what a person typed out of logs (I13).
func (r Request) String() string { return "flow request " + r.Action + " on " + r.Screen }

// IsPing reports a health check, answered by {"data":{"status":"active"}}.
func (r Request) IsPing() bool { return r.Action == ActionPing }

// IsErrorNotice reports that the client tells of a problem. It reuses the actions of real requests, so ask this first;
// the answer is {"data":{"acknowledged":true}}.
func (r Request) IsErrorNotice() bool {
	if r.IsPing() {
		return false
	}
	_, plain := r.Data["error"]
	_, key := r.Data["error_key"]
	return plain || key
}

// ErrorNotice returns the key and the message of an error notice; both are the client's words.
func (r Request) ErrorNotice() (key, message string) {
	key, _ = r.Field("error_key")
	if key == "" {
		key, _ = r.Field("error")
	}
	message, _ = r.Field("error_message")
	return key, message
}

// Field returns a value that a person typed or chose as text. Anything but a string is not there: a number, an object
// or a list in the place of a text is never turned into one (T3).
func (r Request) Field(name string) (string, bool) {
	raw, ok := r.Data[name]
	if !ok || len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// Canonical is what makes two requests the same one: action, screen, token, version and every value as it was sent, in
// a fixed order and with lengths. The token's signature is left out, because a client may sign each copy anew.
func (r Request) Canonical() []byte {
	var out []byte
	add := func(part string) {
		out = strconv.AppendInt(out, int64(len(part)), 10)
		out = append(append(out, ':'), part...)
	}
	for _, part := range []string{r.Version, r.Action, r.Screen, r.Token} {
		add(part)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Data)) {
		add(name)
		add(string(r.Data[name]))
	}
	return out
}

// Ticked reports whether an opt-in of this name is on.
func (r Request) Ticked(name string) bool { return string(r.Data[name]) == "true" }

// DecodeRequest reads a decrypted request with exact keys. A key that comes twice, or in two spellings of case, is
// refused at every depth: decoders disagree on which of them counts. Unknown keys are Meta's future and are left out.
func DecodeRequest(plain []byte) (Request, error) {
	if err := checkKeys(plain); err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(plain, &fields); err != nil {
		return Request{}, fmt.Errorf("%w: not an object", ErrRequest)
	}
	var r Request
	for key, into := range map[string]*string{
		"version": &r.Version, "action": &r.Action, "screen": &r.Screen, "flow_token": &r.Token,
		"flow_token_signature": &r.TokenSignature,
	} {
		raw, ok := fields[key]
		if !ok || string(raw) == "null" {
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return Request{}, fmt.Errorf("%w: %s is not text", ErrRequest, key)
		}
	}
	if raw, ok := fields["data"]; ok && string(raw) != "null" {
		if err := json.Unmarshal(raw, &r.Data); err != nil {
			return Request{}, fmt.Errorf("%w: data is not an object", ErrRequest)
		}
	}
	switch r.Action {
	case ActionPing, ActionInit, ActionExchange, ActionBack, ActionNavigate:
		return r, nil
	}
	return Request{}, fmt.Errorf("%w: unknown action", ErrRequest)
}

// maxDepth bounds how deep a request nests; real ones have three levels.
const maxDepth = 16

// checkKeys walks the document and refuses duplicate keys, case variants of known keys, and great depth.
func checkKeys(doc []byte) error {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := checkValue(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

func checkValue(d *json.Decoder, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deep")
	}
	token, err := d.Token()
	if err != nil {
		return errors.New("not JSON")
	}
	switch token {
	case json.Delim('{'):
		return checkObject(d, depth)
	case json.Delim('['):
		for d.More() {
			if err := checkValue(d, depth+1); err != nil {
				return err
			}
		}
		return closeValue(d)
	}
	return nil
}

func checkObject(d *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return errors.New("not JSON")
		}
		key, ok := token.(string)
		if !ok {
			return errors.New("not JSON")
		}
		folded := strings.ToLower(strings.ToUpper(key))
		if seen[folded] {
			return errors.New("a key comes twice")
		}
		seen[folded] = true
		if depth == 0 && key != folded && reserved[folded] {
			return errors.New("a known key in another spelling")
		}
		if err := checkValue(d, depth+1); err != nil {
			return err
		}
	}
	return closeValue(d)
}

func closeValue(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return errors.New("not JSON")
	}
	return nil
}

// reserved are the keys of a request, which exist in this spelling only.
var reserved = map[string]bool{
	"version": true, "action": true, "screen": true, "data": true, "flow_token": true, "flow_token_signature": true,
}

// VerifyTokenSignature checks the flow_token_signature of a request: a JWT signed with HS256 under one of the app
// secrets, one of whose claims is the flow token. Any other algorithm is refused. Older clients send none; a request
// without one is for the caller to allow.
func VerifyTokenSignature(secrets [][]byte, signature, token string) bool {
	parts := strings.Split(signature, ".")
	if len(parts) != 3 || token == "" {
		return false
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	if !decodePart(parts[0], &header) || header.Algorithm != "HS256" {
		return false
	}
	given, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	signed := false
	for _, secret := range secrets {
		if len(secret) == 0 {
			continue
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(parts[0] + "." + parts[1]))
		if hmac.Equal(mac.Sum(nil), given) {
			signed = true
		}
	}
	var claims map[string]any
	if !signed || !decodePart(parts[1], &claims) {
		return false
	}
	// Meta's pages do not name the claim, only that one holds the token.
	for _, value := range claims {
		if text, ok := value.(string); ok && hmac.Equal([]byte(text), []byte(token)) {
			return true
		}
	}
	return false
}

func decodePart(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}
