package flows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// The statuses of the endpoint that are Meta's own (reference/whatsapp.md §4.3).
const (
	StatusDecrypt   = 421 // cannot decrypt: the client fetches the public key again and retries once
	StatusTokenGone = 427 // the flow token is no longer valid: the client disables the button
)

// Answer is what a screen says: which screen comes next, with all of its data.
type Answer struct {
	Screen    string
	Data      map[string]any
	Submitted bool // the session's one action has happened
}

// Screens answers the screens of one Flow document. The session is the caller's to store; a screen changes its Values.
// What is typed is in the request, everything else in the session (T1).
type Screens interface {
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
		"Keys": d.Keys == nil, "Tokens": d.Tokens == nil, "Secrets": len(d.Secrets) == 0, "Engine": d.Engine == nil, "Sealer": d.Sealer == nil, "Flows": len(d.Flows) == 0, "Now": d.Now == nil,
		"Log": d.Log == nil, "PhoneID": d.PhoneID == "", "TokenGone": d.TokenGone == nil,
	} {
		if missing {
			return nil, errors.New("flow endpoint: " + name + " is missing")
		}
	}
	return &Endpoint{d: d}, nil
}

// workTime is how long a request may hold its session; the client gives up after ten seconds.
const workTime = 9 * time.Second

// Answer answers one request whose signature is good: the HTTP status and the body, which is text/plain.
func (e *Endpoint) Answer(ctx context.Context, body []byte) (status int, answer []byte) {
	plain, reply, err := e.d.Keys.Open(body)
	if err != nil {
		return StatusDecrypt, nil
	}
	r, err := DecodeRequest(plain)
	if err != nil {
		e.d.Log.WarnContext(ctx, "flow request refused", "reason", err.Error())
		return StatusTokenGone, []byte(reply.Seal(gone(e.d.TokenGone(ctx))))
	}
	status, out := e.handle(ctx, r, plain)
	return status, []byte(reply.Seal(out))
}

// handle answers a decrypted request with plain JSON.
func (e *Endpoint) handle(ctx context.Context, r Request, plain []byte) (status int, answer []byte) {
	switch {
	case r.IsPing():
		return 200, []byte(`{"data":{"status":"active"}}`)
	case r.IsErrorNotice():
		key, message := r.ErrorNotice()
		e.d.Log.WarnContext(ctx, "flow client reported an error", "key", clip(key), "message", clip(message), "screen", clip(r.Screen))
		return 200, []byte(`{"data":{"acknowledged":true}}`)
	}
	if r.TokenSignature != "" && !VerifyTokenSignature(e.d.Secrets, r.TokenSignature, r.Token) {
		return StatusTokenGone, gone(e.d.TokenGone(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, workTime, errors.New("flow answer took too long"))
	defer cancel()
	a, err := e.answer(ctx, r, e.d.Tokens.RequestDigest(plain))
	if errors.Is(err, ErrTokenGone) {
		return StatusTokenGone, gone(e.d.TokenGone(ctx))
	}
	if err != nil {
		f := fault.As(err)
		e.d.Log.ErrorContext(ctx, "flow request failed", "code", f.Code, "error", err.Error(), "screen", clip(r.Screen))
		return 500, []byte(`{}`)
	}
	return 200, e.encode(r, a)
}

// encode is the answer as the client wants it. A terminal screen ends the Flow by its own footer.
func (e *Endpoint) encode(r Request, a Answer) []byte {
	out, err := json.Marshal(map[string]any{"version": r.Version, "screen": a.Screen, "data": a.Data})
	if err != nil {
		return []byte(`{}`)
	}
	return out
}

func gone(message string) []byte {
	out, err := json.Marshal(map[string]string{"error_msg": message})
	if err != nil {
		return []byte(`{}`)
	}
	return out
}

// clip bounds what a client says before it reaches a log.
func clip(s string) string {
	if len(s) > 120 {
		return s[:120]
	}
	return s
}

// answer finds the session and lets its Flow answer, once per request.
func (e *Endpoint) answer(ctx context.Context, r Request, digest string) (Answer, error) {
	if r.Token == "" {
		return Answer{}, ErrTokenGone
	}
	for {
		s, decision, err := e.begin(ctx, r.Token, digest)
		if err != nil {
			return Answer{}, err
		}
		screens := e.d.Flows[s.Flow]
		if screens == nil {
			return Answer{}, ErrTokenGone
		}
		switch decision {
		case Proceed:
			return e.work(ctx, s, screens, r, digest)
		case Replay, Busy, Gone:
			a, ok, err := screens.Repeat(ctx, s, r)
			if err != nil || ok {
				return a, err
			}
			if decision == Replay {
				return e.replay(s)
			}
			if decision == Gone {
				return Answer{}, ErrTokenGone
			}
		}
		if err := wait(ctx); err != nil {
			return Answer{}, err
		}
	}
}

// begin marks the session as being worked on, in one transaction.
func (e *Endpoint) begin(ctx context.Context, token, digest string) (s *Session, decision Decision, err error) {
	for range 4 {
		err = e.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) (err error) {
			if s, err = LoadSession(tx, token); err != nil {
				return err
			}
			if decision = s.Begin(digest, e.d.PhoneID, e.now(), workTime); decision != Proceed {
				return nil
			}
			return SaveSession(tx, s)
		})
		if !errors.Is(err, store.ErrStale) {
			break
		}
	}
	return s, decision, err
}

// work lets the screen answer and stores the answer with the session.
func (e *Endpoint) work(ctx context.Context, s *Session, screens Screens, r Request, digest string) (Answer, error) {
	var a Answer
	var err error
	switch {
	case r.Action == ActionInit:
		a, err = screens.Init(ctx, s)
	case r.Action == ActionBack:
		a, err = screens.Back(ctx, s, r)
	default:
		a, err = screens.Submit(ctx, s, r)
	}
	if err != nil {
		return Answer{}, errors.Join(err, e.abandon(ctx, s))
	}
	plain, err := json.Marshal(a)
	if err != nil {
		return Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	sealed, err := e.d.Sealer.Seal(plain, s.ID)
	if err != nil {
		return Answer{}, fmt.Errorf("seal answer: %w", err)
	}
	if err := s.Finish(digest, a.Screen, sealed, a.Submitted, e.now()); err != nil {
		return Answer{}, err
	}
	return a, e.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error { return SaveSession(tx, s) })
}

// abandon frees a session whose request failed, so that the client's retry is handled at once.
func (e *Endpoint) abandon(ctx context.Context, s *Session) error {
	s.Working, s.WorkingUntil = "", nil
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Second, errors.New("freeing a flow session took too long"))
	defer cancel()
	return e.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error { return SaveSession(tx, s) })
}

func (e *Endpoint) replay(s *Session) (Answer, error) {
	plain, err := e.d.Sealer.Open(s.Answer, s.ID)
	if err != nil {
		return Answer{}, fmt.Errorf("open stored answer: %w", err)
	}
	var a Answer
	return a, json.Unmarshal(plain, &a)
}

// wait lets the copy of a request that is being answered finish, in this process or another.
func wait(ctx context.Context) error {
	t := time.NewTimer(25 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

func (e *Endpoint) now() time.Time { return e.d.Now().UTC().Truncate(time.Millisecond) }
