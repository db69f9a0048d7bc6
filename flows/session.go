package flows

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"offrampbot/services/store"
)

// SessionState is how far the session of one token is.
type SessionState string

// The states of a session.
const (
	SessionOpen      SessionState = "open"      // screens are answered
	SessionSubmitted SessionState = "submitted" // the one action it was made for has happened; only repeats are answered
	SessionClosed    SessionState = "closed"    // withdrawn by us: replaced by a newer one, or its user may not go on
)

// Session is what one flow token stands for. Its id is the digest of the token. Who acts, on which quote, is read from
// here and never from the client (P50, T1). Values holds what earlier screens settled, ids and display strings only:
// never a PIN, an account number or a token.
type Session struct {
	store.Meta    `bson:",inline"`
	User          string            `bson:"user" json:"user"`
	Flow          string            `bson:"flow" json:"flow"` // name of the document: sign_up, offramp
	FlowVersion   string            `bson:"flow_version" json:"flow_version"`
	Intent        string            `bson:"intent,omitempty" json:"intent,omitempty"` // quote that the review screen made
	PhoneNumberID string            `bson:"phone_number_id" json:"phone_number_id"`   // number of ours it was sent from
	Screen        string            `bson:"screen,omitempty" json:"screen,omitempty"` // screen last shown; empty before INIT
	Shown         []string          `bson:"shown,omitempty" json:"shown,omitempty"`   // every screen shown so far
	State         SessionState      `bson:"state" json:"state"`
	Values        map[string]string `bson:"values,omitempty" json:"-"`
	Secret        []byte            `bson:"secret,omitempty" json:"-"` // sealed draft fields, with the id as associated data
	CreatedAt     time.Time         `bson:"created_at" json:"created_at"`
	ExpiresAt     time.Time         `bson:"expires_at" json:"expires_at"`
	// The request being answered now, and the last answer with the request it belongs to.
	Working      string     `bson:"working,omitempty" json:"-"`
	WorkingUntil *time.Time `bson:"working_until,omitempty" json:"-"`
	Answered     string     `bson:"answered,omitempty" json:"-"`
	Answer       []byte     `bson:"answer,omitempty" json:"-"` // sealed with the id as associated data
	AnswerUntil  *time.Time `bson:"answer_until,omitempty" json:"-"`
}

// SessionIndexes declares what sessions are searched by: a user's newest, and the expired for the sweep.
var SessionIndexes = []store.Index{
	{Collection: store.FlowSessions, Name: "user", Fields: []string{"user", "created_at"}},
	{Collection: store.FlowSessions, Name: "expires", Fields: []string{"expires_at"}},
}

const sessionVersion = 1

// ErrTokenGone: no session may answer under this token: unknown, expired, used, closed, or of another number. The
// endpoint answers 427 and the client disables the button; it never learns which of them it was.
var ErrTokenGone = errors.New("flow token is not valid any more")

// CreateSession stores a new session under the digest of its token, in the transaction that sends its message. The same
// session again is left as it is, so that the transaction may run twice.
func CreateSession(tx store.Tx, token string, s Session) error {
	if token == "" || s.User == "" || s.Flow == "" || s.PhoneNumberID == "" {
		return errors.New("create flow session: token, user, flow and phone number id are required")
	}
	if !s.ExpiresAt.After(s.CreatedAt) {
		return errors.New("create flow session: it would be expired at once")
	}
	s.ID, s.Version, s.State = Digest(token), sessionVersion, SessionOpen
	if _, err := tx.Ensure(store.FlowSessions, &s); err != nil {
		return fmt.Errorf("store flow session: %w", err)
	}
	return nil
}

// LoadSession reads the session of a token. An unknown token is ErrTokenGone. It says nothing yet about expiry and
// state; see Begin.
func LoadSession(r store.Reader, token string) (*Session, error) {
	var s Session
	err := r.Get(store.FlowSessions, Digest(token), &s)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrTokenGone
	}
	if err != nil {
		return nil, fmt.Errorf("read flow session: %w", err)
	}
	return &s, nil
}

// SaveSession replaces a loaded session. store.ErrStale: another request of the same token was faster; load and decide
// again. The session is the guard of everything that its requests do.
func SaveSession(tx store.Tx, s *Session) error {
	if err := tx.Replace(store.FlowSessions, s); err != nil {
		return fmt.Errorf("save flow session: %w", err)
	}
	return nil
}

// Decision says what to do with a request.
type Decision string

// The decisions.
const (
	Proceed Decision = "proceed" // do it; Begin has marked the session, save it before acting
	Replay  Decision = "replay"  // this request was answered; give the stored answer, do nothing
	Busy    Decision = "busy"    // a copy of this request, or another one, is being answered; wait for it and load again
	Gone    Decision = "gone"    // answer 427
)

// Decide says what to do with a request on this session and changes nothing. digest is Tokens.RequestDigest of the
// decrypted request, phoneNumberID the number whose endpoint was called. The repeat of a request has its answer given
// again even when the session is submitted meanwhile: a client that lost the answer asks again and must not see a second
// effect or an error. Everything else on a submitted session is gone.
func (s *Session) Decide(digest, phoneNumberID string, now time.Time) Decision {
	if phoneNumberID != s.PhoneNumberID || digest == "" {
		return Gone
	}
	if s.answers(digest, now) {
		return Replay
	}
	if s.State == SessionClosed || !now.Before(s.ExpiresAt) {
		return Gone
	}
	if s.Working != "" && s.WorkingUntil != nil && now.Before(*s.WorkingUntil) {
		return Busy
	}
	if s.State != SessionOpen {
		return Gone
	}
	return Proceed
}

// Begin is Decide and, on Proceed, marks the session as being worked on until now + work.
func (s *Session) Begin(digest, phoneNumberID string, now time.Time, work time.Duration) Decision {
	d := s.Decide(digest, phoneNumberID, now)
	if d == Proceed {
		until := now.Add(work)
		s.Working, s.WorkingUntil = digest, &until
	}
	return d
}

// Used reports whether the session's one action has happened and its token would otherwise still be good: a copy of the
// action may then be told so. Every other reason for Gone is told to nobody.
func (s *Session) Used(phoneNumberID string, now time.Time) bool {
	return s.State == SessionSubmitted && phoneNumberID == s.PhoneNumberID && now.Before(s.ExpiresAt)
}

func (s *Session) answers(digest string, now time.Time) bool {
	return s.AnswerUntil != nil && now.Before(*s.AnswerUntil) && len(s.Answer) > 0 &&
		subtle.ConstantTimeCompare([]byte(s.Answered), []byte(digest)) == 1
}

// repeatWindow is how long the repeat of a request that changed nothing gets the same answer. A client repeats a lost
// request within seconds; after that the same input is a person who tries again and wants a fresh answer.
const repeatWindow = 10 * time.Second

// Finish records the answer to the request that Begin let through: the screen shown and the sealed answer. submitted
// says that the session's one action has happened: from then on only repeats of this request are answered, with this
// answer, until the session expires. It fails when another request took the session over meanwhile.
func (s *Session) Finish(digest, screen string, sealedAnswer []byte, submitted bool, now time.Time) error {
	if s.Working != digest {
		return errors.New("finish flow request: another request works on the session")
	}
	until := now.Add(repeatWindow)
	if submitted {
		s.State = SessionSubmitted
		if s.ExpiresAt.After(until) {
			until = s.ExpiresAt
		}
	}
	if !s.HasShown(screen) {
		s.Shown = append(s.Shown, screen)
	}
	s.Screen, s.Working, s.WorkingUntil = screen, "", nil
	s.Answered, s.Answer, s.AnswerUntil = digest, sealedAnswer, &until
	return nil
}

// Forget drops the answer that Finish kept: a request that failed for a passing reason is tried again at once.
func (s *Session) Forget() { s.Answered, s.Answer, s.AnswerUntil = "", nil, nil }

// HasShown reports whether the client was ever sent to this screen. A request from a screen that was never shown does
// not come from a person: send the current screen again instead of acting. Going back is native, so an earlier screen
// may well ask again.
func (s *Session) HasShown(screen string) bool { return slices.Contains(s.Shown, screen) }

// Hide takes a screen back: what it showed is no longer true, so nothing may be confirmed on it until it is shown anew.
func (s *Session) Hide(screen string) {
	s.Shown = slices.DeleteFunc(slices.Clone(s.Shown), func(shown string) bool { return shown == screen })
}

// Close withdraws the session: its button answers 427 from now on.
func (s *Session) Close() { s.State = SessionClosed }

// Sealer seals what a session keeps of a person's input and of our answers; the session id is the record. Neither method
// is called inside a transaction: sealing uses randomness.
type Sealer interface {
	Seal(plain []byte, record string) ([]byte, error)
	Open(sealed []byte, record string) ([]byte, error)
}
