package admin

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// Action is what two people may do to an order in review (DESIGN §7, rule 3), or to settings.
type Action string

// The actions.
const (
	Settle  Action = "settle"  // the payout is proven paid: success
	Release Action = "release" // it is proven not paid: failed, the hold is voided
	Resume  Action = "resume"  // go on with the exchange or payout
	// SetSettings changes settings; it concerns no order.
	SetSettings Action = "settings"
)

// Actions lists what may be asked for an order.
func Actions() []Action { return []Action{Settle, Release, Resume} }

// ApprovalState is where an approval stands.
type ApprovalState string

// The states.
const (
	Open     ApprovalState = "open"     // asked; another person decides
	Approved ApprovalState = "approved" // decided, and carried out in the same commit
	Rejected ApprovalState = "rejected" // decided against
	Refused  ApprovalState = "refused"  // could not be carried out: the order moved on
	Expired  ApprovalState = "expired"  // nobody decided in time
)

// Approval is one request that needs a second person. It binds the order's revision: when the order has moved on, it
// is void.
type Approval struct {
	store.Meta    `bson:",inline"`
	Action        Action        `bson:"action" json:"action"`
	Order         string        `bson:"order" json:"order"` // empty: it concerns settings
	OrderRevision int64         `bson:"order_revision" json:"order_revision"`
	Reason        string        `bson:"reason" json:"reason"`
	AskedBy       string        `bson:"asked_by" json:"asked_by"`
	AskedAt       time.Time     `bson:"asked_at" json:"asked_at"`
	State         ApprovalState `bson:"state" json:"state"`
	DecidedBy     string        `bson:"decided_by,omitempty" json:"decided_by,omitempty"`
	DecidedAt     *time.Time    `bson:"decided_at,omitempty" json:"decided_at,omitempty"`
	DecidedWhy    string        `bson:"decided_why,omitempty" json:"decided_why,omitempty"`
	// Settings are what is to be changed, for SetSettings.
	Settings []setting.Wanted `bson:"settings,omitempty" json:"settings,omitempty"`
	// Open is the order's id while the approval is open, so that one unique index allows one open approval per order.
	Open *string `bson:"open,omitempty" json:"-"`
}

const (
	minReason = 3
	maxReason = 500
)

// Ask is a request for an approval. ID is made by the caller from the request (ApprovalID), so a repeat is the same
// approval.
type Ask struct {
	ID       string
	Action   Action
	Order    string
	Revision int64 // of the order, as the asking person saw it
	Reason   string
	By       Identity
	At       time.Time
}

// OpenApproval records a request in the caller's transaction. Fault codes: forbidden, approval_invalid (action, order
// or reason), approval_refused (another one is open for the order; judged outside the transaction, see Judge).
func OpenApproval(tx store.Tx, ask Ask) (*Approval, error) {
	if err := ask.check(); err != nil {
		return nil, err
	}
	order := ask.Order
	a := &Approval{
		Meta: store.Meta{ID: ask.ID, Version: 1}, Action: ask.Action, Order: ask.Order, OrderRevision: ask.Revision,
		Reason: clean(ask.Reason), AskedBy: ask.By.ID, AskedAt: ask.At, State: Open, Open: &order,
	}
	if err := tx.Insert(store.Approvals, a); err != nil {
		return nil, fmt.Errorf("open approval: %w", err)
	}
	return a, a.trail(tx, ask.By.Actor(), "approval_asked", a.Reason, ask.At)
}

func (a Ask) check() error {
	if !Can(a.By.Role, AskApproval) {
		return fault.New("forbidden", nil)
	}
	invalid := func(what string) error { return fault.New("approval_invalid", nil).With("what", what) }
	switch a.Action {
	case Settle, Release, Resume:
	case SetSettings:
		return invalid("the action: settings are changed by PUT settings")
	default:
		return invalid("the action (settle, release or resume)")
	}
	if a.ID == "" || a.Order == "" {
		return invalid("the order")
	}
	return checkReason(a.Reason)
}

func checkReason(reason string) error {
	if n := utf8.RuneCountInString(clean(reason)); n < minReason || n > maxReason {
		return fault.New("approval_invalid", nil).With("what", "the reason (3 to 500 characters)")
	}
	return nil
}

// clean takes control characters and outer spaces from a reason.
func clean(reason string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, reason))
}

// Judge turns what a transaction around OpenApproval ended with into a fault: a duplicate means that one is open.
func Judge(err error) error {
	if errors.Is(err, &store.ErrDuplicate{Collection: store.Approvals}) {
		return fault.New("approval_refused", err).With("why", "another request for this order is open")
	}
	return err
}

// Decision is what a second person says to an approval.
type Decision struct {
	Reason   string
	By       Identity
	At       time.Time
	Revision int64 // of the order now, read in the same transaction
}

// decidable gives the reason why somebody may not decide, or nil. Invariant: nobody decides what they asked for.
func (a *Approval) decidable(d Decision, ttl time.Duration) error {
	refused := func(why string) error { return fault.New("approval_refused", nil).With("why", why) }
	switch {
	case !Can(d.By.Role, Decide):
		return fault.New("forbidden", nil)
	case d.By.ID == a.AskedBy:
		return fault.New("second_person", nil)
	case a.State != Open:
		return refused("it is already " + string(a.State))
	case !d.At.Before(a.AskedAt.Add(ttl)):
		return refused("it has expired")
	}
	return checkReason(d.Reason)
}

// MayDecide gives the reason why somebody may not decide an approval, or nil: for whoever has to ask the outside world
// first. Approve and Reject check it again in their transaction.
func (s *Service) MayDecide(a *Approval, d Decision) error { return a.decidable(d, s.cfg.ApprovalTTL) }

// Approve marks an open approval as approved, in the transaction that carries it out. When it returns approval_refused
// because the order has moved on, the caller records that with Refuse in a transaction of its own. Fault codes:
// approval_unknown, approval_refused, second_person, forbidden, approval_invalid.
func (s *Service) Approve(tx store.Tx, id string, d Decision) (*Approval, error) {
	a, err := s.decide(tx, id, d)
	if err != nil {
		return nil, err
	}
	if d.Revision != a.OrderRevision {
		return nil, fault.New("approval_refused", errMoved).With("why", "the order has moved on since it was asked")
	}
	return a, a.close(tx, Approved, d.By.ID, d.By.Actor(), clean(d.Reason), d.At)
}

// Reject marks an open approval as rejected. Fault codes as for Approve.
func (s *Service) Reject(tx store.Tx, id string, d Decision) (*Approval, error) {
	a, err := s.decide(tx, id, d)
	if err != nil {
		return nil, err
	}
	return a, a.close(tx, Rejected, d.By.ID, d.By.Actor(), clean(d.Reason), d.At)
}

// errMoved: the order's revision is not the one that was approved.
var errMoved = errors.New("order revision differs")

// IsMoved reports whether an approval was refused because its order has another revision.
func IsMoved(err error) bool { return errors.Is(err, errMoved) }

// Refuse closes an approval that could not be carried out, with the reason. One that is no longer open stays as it is.
func Refuse(tx store.Tx, id, by, why string, at time.Time) error {
	a, err := LoadApproval(tx, id)
	if err != nil || a.State != Open {
		return err
	}
	return a.close(tx, Refused, by, "staff:"+by, why, at)
}

// LoadApproval reads one approval. Fault code: approval_unknown.
func LoadApproval(r store.Reader, id string) (*Approval, error) {
	var a Approval
	err := r.Get(store.Approvals, id, &a)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New("approval_unknown", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read approval %s: %w", id, err)
	}
	return &a, nil
}

func (s *Service) decide(tx store.Tx, id string, d Decision) (*Approval, error) {
	a, err := LoadApproval(tx, id)
	if err != nil {
		return nil, err
	}
	return a, a.decidable(d, s.cfg.ApprovalTTL)
}

// close ends an approval. The document is its own guard: of two people who decide at once, one finds it stale.
func (a *Approval) close(tx store.Tx, state ApprovalState, by, actor, why string, at time.Time) error {
	a.State, a.DecidedBy, a.DecidedAt, a.DecidedWhy, a.Open = state, by, &at, why, nil
	if err := tx.Replace(store.Approvals, a); err != nil {
		return fmt.Errorf("close approval %s: %w", a.ID, err)
	}
	return a.trail(tx, actor, "approval_"+string(state), why, at)
}

func (a *Approval) trail(tx store.Tx, actor, action, why string, at time.Time) error {
	stream := "order:" + a.Order
	if a.Order == "" {
		stream = setting.Stream
	}
	return audit.Append(tx, audit.Entry{
		Stream: stream, At: at, Actor: actor, Action: action, Why: why,
		Data: map[string]string{"approval": a.ID, "action": string(a.Action)},
	})
}
