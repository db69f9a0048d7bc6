package delivery

import (
	"context"
	"fmt"
	"time"

	"offrampbot/services/store"
)

const (
	// MaxTries is after how many tries a receipt that cannot be handled is parked (DESIGN §10).
	MaxTries = 5
	// CollapseAbove is how many waiting receipts of one partition are answered one by one; more collapse into one reply.
	CollapseAbove = 30
	// Tolerance is how far apart the clocks of two processes may be (DESIGN §13): a lease is taken over this much later.
	Tolerance = 2 * time.Second

	// KeepBody is how long a done receipt keeps its raw body, KeepDone how long it is kept itself: longer than Meta
	// delivers again (W14, W22). Business facts do not need receipts (R20).
	KeepBody = 7 * 24 * time.Hour
	// KeepDone: see KeepBody.
	KeepDone = 30 * 24 * time.Hour

	schemaVersion = 1
)

// New returns a receipt as an edge stores it. The id is the delivery id, the fingerprint a digest of what makes the
// delivery this one (R18), the body is sealed by inbox.Store, sentAt is the sender's clock and only gives the order.
func New(id string, source Source, kind, partition, fingerprint string, body []byte, sentAt, now time.Time) *Receipt {
	return &Receipt{
		Meta:        store.Meta{ID: id, Version: schemaVersion},
		Source:      source,
		Kind:        kind,
		Partition:   partition,
		Fingerprint: fingerprint,
		Body:        body,
		State:       Received,
		Due:         &now,
		SentAt:      sentAt,
		ReceivedAt:  now,
	}
}

// Load reads a receipt, or fails with store.ErrNotFound.
func Load(r store.Reader, id string) (*Receipt, error) {
	var rec Receipt
	if err := r.Get(store.Inbox, id, &rec); err != nil {
		return nil, fmt.Errorf("load receipt %s: %w", id, err)
	}
	return &rec, nil
}

// Free reports whether nobody holds the receipt at now, clocks tolerated.
func (r *Receipt) Free(now time.Time) bool {
	return r.LeaseUntil == nil || !now.Before(r.LeaseUntil.Add(Tolerance))
}

// Lease gives the receipt to owner for life and counts the try, before anything is handled: a receipt that kills its
// process is parked too (W24).
func (r *Receipt) Lease(owner string, life time.Duration, now time.Time) {
	until := now.Add(life)
	r.LeaseOwner, r.LeaseUntil = owner, &until
	r.Tries++
}

// Finish marks the receipt done in the transaction of its effect, so that one never exists without the other (W17). It
// writes what the handler learnt into the stored receipt: Order, User, Kind and Body of r, the last one possibly with
// a PIN overwritten. It fails with ErrLeaseLost when another worker holds the receipt or has handled it.
//
// Invariant: an effect commits together with its receipt, on condition of the lease.
func Finish(tx store.Tx, r *Receipt, outcome string, now time.Time) error {
	stored, err := held(tx, r)
	if err != nil {
		return fmt.Errorf("finish receipt: %w", err)
	}
	stored.Order, stored.User, stored.Kind, stored.Body = r.Order, r.User, r.Kind, r.Body
	stored.Outcome = outcome
	stored.close(Done, now)
	return replace(tx, stored, "finish")
}

// RecordDone stores a receipt that was handled where it arrived, in the transaction of its effect (DESIGN §7.1). It
// fails with store.ErrDuplicate when the delivery is known.
func RecordDone(tx store.Tx, r *Receipt, outcome string, now time.Time) error {
	done := *r
	done.Outcome = outcome
	done.close(Done, now)
	if err := tx.Insert(store.Inbox, &done); err != nil {
		return fmt.Errorf("record receipt %s: %w", r.ID, err)
	}
	return nil
}

// Retry gives the receipt back, to be handled again at due. Its partition waits for it: order comes first.
func Retry(tx store.Tx, r *Receipt, due time.Time, reason string) error {
	stored, err := held(tx, r)
	if err != nil {
		return fmt.Errorf("retry receipt: %w", err)
	}
	stored.Due, stored.Reason = &due, reason
	stored.LeaseOwner, stored.LeaseUntil = "", nil
	return replace(tx, stored, "retry")
}

// GiveBack returns a receipt that was not handled through no fault of its own (the process stops, the store is down):
// it is due again at due and the try does not count.
func GiveBack(tx store.Tx, r *Receipt, due time.Time) error {
	stored, err := held(tx, r)
	if err != nil {
		return fmt.Errorf("give receipt back: %w", err)
	}
	stored.Tries = max(0, stored.Tries-1)
	stored.Due = &due
	stored.LeaseOwner, stored.LeaseUntil = "", nil
	return replace(tx, stored, "give back")
}

// Park sets the receipt aside for a person, with the reason; its partition goes on.
func Park(tx store.Tx, r *Receipt, reason string, now time.Time) error {
	return setAside(tx, r, Parked, reason, now)
}

// MarkUnhandled keeps a receipt of a kind that nobody knows; its partition goes on.
func MarkUnhandled(tx store.Tx, r *Receipt, reason string, now time.Time) error {
	return setAside(tx, r, Unhandled, reason, now)
}

func setAside(tx store.Tx, r *Receipt, s State, reason string, now time.Time) error {
	stored, err := held(tx, r)
	if err != nil {
		return fmt.Errorf("set receipt aside: %w", err)
	}
	stored.Reason = reason
	stored.close(s, now)
	return replace(tx, stored, "set aside")
}

// Redrive makes a parked or unhandled receipt due again, with fresh tries. The caller writes the audit entry that says
// who and why in the same transaction. Any other receipt fails with ErrNotParked.
func Redrive(tx store.Tx, id string, now time.Time) (*Receipt, error) {
	r, err := Load(tx, id)
	if err != nil {
		return nil, err
	}
	if r.State != Parked && r.State != Unhandled {
		return nil, fmt.Errorf("re-drive receipt %s: %w", id, ErrNotParked)
	}
	r.State, r.Tries, r.DoneAt, r.SweepAt = Received, 0, nil, nil
	r.Due = &now
	r.LeaseOwner, r.LeaseUntil = "", nil
	return r, replace(tx, r, "re-drive")
}

// held loads the stored receipt and compares its lease with the one r was claimed under. Loading it again, instead of
// replacing r itself, keeps r unchanged when the transaction runs a second time.
func held(tx store.Tx, r *Receipt) (*Receipt, error) {
	stored, err := Load(tx, r.ID)
	if err != nil {
		return nil, err
	}
	if stored.State != Received || stored.LeaseOwner != r.LeaseOwner {
		return nil, fmt.Errorf("receipt %s: %w", r.ID, ErrLeaseLost)
	}
	return stored, nil
}

// close ends the work on the receipt; without a due time no worker looks at it.
func (r *Receipt) close(s State, now time.Time) {
	r.State, r.DoneAt = s, &now
	r.Due, r.LeaseOwner, r.LeaseUntil = nil, "", nil
	if s == Done {
		r.SweepAt = r.nextSweep(now)
	}
}

// nextSweep is when the sweep has to do with a receipt done at this time: first its body goes, then the receipt.
func (r *Receipt) nextSweep(done time.Time) *time.Time {
	at := done.Add(KeepBody)
	if len(r.Body) == 0 {
		at = done.Add(KeepDone)
	}
	return &at
}

// Sweep does what is due to a done receipt: its body is emptied after KeepBody, the receipt deleted after KeepDone.
// Nothing that is parked, unhandled or waiting is ever swept.
func Sweep(tx store.Tx, r *Receipt, now time.Time) error {
	if r.State != Done || r.SweepAt == nil || r.SweepAt.After(now) || r.DoneAt == nil {
		return nil
	}
	if len(r.Body) == 0 {
		if err := tx.Delete(store.Inbox, r.ID, r.Revision); err != nil {
			return fmt.Errorf("delete receipt %s: %w", r.ID, err)
		}
		return nil
	}
	emptied := *r
	emptied.Body = nil
	emptied.SweepAt = emptied.nextSweep(*r.DoneAt)
	return replace(tx, &emptied, "empty")
}

func replace(tx store.Tx, r *Receipt, what string) error {
	if err := tx.Replace(store.Inbox, r); err != nil {
		return fmt.Errorf("%s receipt %s: %w", what, r.ID, err)
	}
	return nil
}

// Backlog tells a handler how many receipts of the partition wait, the one in hand included.
type Backlog struct {
	Waiting  int  // counted up to CollapseAbove + 1
	Collapse bool // the partition had more than CollapseAbove waiting and has not been drained since
	Last     bool // nothing waits behind the one in hand
}

// Silent reports whether the handler answers nothing now: it finishes the receipt, and the last one of the burst gets
// the one reply.
func (b Backlog) Silent() bool { return b.Collapse && !b.Last }

type backlogKey struct{}

// WithBacklog returns a context that carries b to the handler.
func WithBacklog(ctx context.Context, b Backlog) context.Context {
	return context.WithValue(ctx, backlogKey{}, b)
}

// BacklogFrom returns what the worker told about the partition; without a worker, one receipt waits and it is the last.
func BacklogFrom(ctx context.Context) Backlog {
	if b, ok := ctx.Value(backlogKey{}).(Backlog); ok {
		return b
	}
	return Backlog{Waiting: 1, Last: true}
}
