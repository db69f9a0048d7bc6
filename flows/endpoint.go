package flows

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// The statuses of the endpoint that are Meta's own (Meta: Flow endpoint).
const (
	StatusDecrypt   = 421 // cannot decrypt: the client fetches the public key again and retries once
	StatusTokenGone = 427 // the flow token is no longer valid: the client disables the button
)

// Answer is what a screen says: which screen comes next, with all of its data.
type Answer struct {
	Screen    string
	Data      map[string]any
	Submitted bool // the session's one action has happened

	// entry: the screen is where its Flow begins, shown to everybody who holds the token; nothing needs to remember it.
	entry bool
	// passing: nothing was counted and nothing done, for a reason that may be over in a moment. The same request again is
	// then handled anew instead of being given this answer again.
	passing bool
}

// Screens answers the screens of one Flow document. The session is the caller's to store; a screen changes its Values.
// What is typed is in the request, everything else in the session (T1).
type Screens interface {
	// Acts reports whether a request may do something outside of its session, such as counting a PIN. Such a request is
	// marked in the session before it begins, so that of its copies one works; any other is simply answered, and of
	// copies that would change the session one is kept and the others are given its answer.
	Acts(r Request) bool
	// Init is the first screen.
	Init(ctx context.Context, s *Session) (Answer, error)
	// Submit handles a screen's footer.
	Submit(ctx context.Context, s *Session, r Request) (Answer, error)
	// Back shows a screen again that the user went back to.
	Back(ctx context.Context, s *Session, r Request) (Answer, error)
	// Repeat answers a request that came while, or after, the same session's action is done; ok is false when the
	// ordinary rule holds: wait for the answer, or give it again.
	Repeat(ctx context.Context, s *Session, r Request) (a Answer, ok bool, err error)
}

// Deps is what the endpoint needs; all are required.
type Deps struct {
	Keys      *Keys
	Tokens    *Tokens
	Secrets   [][]byte // app secrets, the current one first
	Engine    store.Engine
	Sealer    Sealer
	Flows     map[string]Screens // by document name
	Now       func() time.Time
	Log       *slog.Logger
	PhoneID   string // our phone number id
	TokenGone func(ctx context.Context) string
}

// Endpoint is the one data endpoint of all Flows.
type Endpoint struct{ d Deps }

// NewEndpoint checks its dependencies.
func NewEndpoint(d Deps) (*Endpoint, error) {
	for name, missing := range map[string]bool{
		"Keys": d.Keys == nil, "Tokens": d.Tokens == nil, "Secrets": len(d.Secrets) == 0, "Engine": d.Engine == nil,
		"Sealer": d.Sealer == nil, "Flows": len(d.Flows) == 0, "Now": d.Now == nil, "Log": d.Log == nil,
		"PhoneID": d.PhoneID == "", "TokenGone": d.TokenGone == nil,
	} {
		if missing {
			return nil, errors.New("flow endpoint: " + name + " is missing")
		}
	}
	return &Endpoint{d: d}, nil
}

// Answer answers one request whose signature is good: the HTTP status and the body, which is text/plain. Every status
// but 421 has a body under the request's own key.
func (e *Endpoint) Answer(ctx context.Context, body []byte) (status int, answer []byte) {
	plain, reply, err := e.d.Keys.Open(body)
	if err != nil {
		return StatusDecrypt, nil
	}
	r, err := DecodeRequest(plain)
	if err != nil {
		e.d.Log.WarnContext(ctx, "flow request refused", "reason", err.Error())
		return StatusTokenGone, reply.Seal(gone(e.d.TokenGone(ctx)))
	}
	status, out := e.handle(ctx, r)
	return status, reply.Seal(out)
}

// handle answers a decrypted request with plain JSON.
func (e *Endpoint) handle(ctx context.Context, r Request) (status int, answer []byte) {
	switch {
	case r.IsPing():
		return 200, []byte(`{"data":{"status":"active"}}`)
	case r.IsErrorNotice(), r.Action == ActionNavigate:
		key, message := r.ErrorNotice()
		e.d.Log.WarnContext(ctx, "flow client reported an error",
			"key", clean(key), "message", clean(message), "screen", clean(r.Screen))
		return 200, []byte(`{"data":{"acknowledged":true}}`)
	}
	if r.TokenSignature != "" && !VerifyTokenSignature(e.d.Secrets, r.TokenSignature, r.Token) {
		return StatusTokenGone, gone(e.d.TokenGone(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, workTime, errors.New("flow answer took too long"))
	defer cancel()
	out, err := e.answer(ctx, r, e.d.Tokens.RequestDigest(r.Canonical()))
	if errors.Is(err, ErrTokenGone) {
		return StatusTokenGone, gone(e.d.TokenGone(ctx))
	}
	if err != nil {
		e.d.Log.ErrorContext(ctx, "flow request failed",
			"code", fault.As(err).Code, "error", r.Scrub(err.Error()), "screen", clean(r.Screen), "action", r.Action)
		return 500, []byte(`{}`)
	}
	return 200, out
}

// encode is an answer as the client wants it. A terminal screen ends the Flow by its own footer.
func encode(r Request, a Answer) ([]byte, error) {
	return json.Marshal(struct {
		Version string         `json:"version"`
		Screen  string         `json:"screen"`
		Data    map[string]any `json:"data"`
	}{r.Version, a.Screen, a.Data})
}

// gone is the body of a 427, which the client shows to the person.
func gone(message string) []byte {
	out, err := json.Marshal(map[string]string{"error_msg": message})
	if err != nil {
		return []byte(`{}`)
	}
	return out
}

func (e *Endpoint) now() time.Time { return e.d.Now().UTC().Truncate(time.Millisecond) }
