package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// answerPrefix keeps answers apart from the other documents of the collection counters.
const answerPrefix = "idem:"

// Scope is what an idempotency key belongs to (DESIGN §13): the same key of another person, method or route is
// another request.
type Scope struct {
	Admin  string
	Method string
	Route  string // the pattern
	Key    string // what the header Idempotency-Key holds
}

// id is the digest of the scope over length-prefixed parts, so that two scopes never share one.
func (s Scope) id() string {
	h := sha256.New()
	for _, part := range []string{s.Admin, s.Method, s.Route, s.Key} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ApprovalID is the id of the approval that a request with this scope asks for.
func (s Scope) ApprovalID() string { return "approval-" + s.id()[:24] }

// Request is one mutating request of staff.
type Request struct {
	Scope Scope
	Hash  string // RequestHash of the path and body
}

// RequestHash identifies what was asked, so that a reused key with another content is noticed.
func RequestHash(path string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(strconv.Itoa(len(path)) + ":" + path)) // a hash never returns an error
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Answer is the stored answer to one mutating request, in the collection counters under "idem:<digest of the scope>".
type Answer struct {
	store.Meta `bson:",inline"`
	Hash       string    `bson:"hash"`
	Status     int       `bson:"status"`
	Body       []byte    `bson:"body"`
	AnsweredAt time.Time `bson:"answered_at"`
}

// Recall returns the stored answer of a request, or nil when it is new. Fault code: idempotency_conflict when the key
// was used for another request.
func Recall(r store.Reader, q Request) (*Answer, error) {
	var a Answer
	err := r.Get(store.Counters, answerPrefix+q.Scope.id(), &a)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // nil means "new" here, on purpose
	}
	if err != nil {
		return nil, fmt.Errorf("read stored answer: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(a.Hash), []byte(q.Hash)) != 1 {
		return nil, fault.New("idempotency_conflict", nil)
	}
	return &a, nil
}

// Remember stores the answer in the transaction of its effect, so that effect and answer exist together or not at all.
// A concurrent request with the same key makes the insert fail with a duplicate; the caller then recalls.
func Remember(tx store.Tx, q Request, status int, body []byte, at time.Time) error {
	a := &Answer{
		Meta: store.Meta{ID: answerPrefix + q.Scope.id(), Version: 1}, Hash: q.Hash, Status: status, Body: body,
		AnsweredAt: at,
	}
	if err := tx.Insert(store.Counters, a); err != nil {
		return fmt.Errorf("store answer: %w", err)
	}
	return nil
}
