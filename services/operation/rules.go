package operation

import (
	"fmt"
	"time"

	"offrampbot/services/store"
)

// schemaVersion is the version of the stored document.
const schemaVersion = 1

// Tolerance is how far apart the clocks of two processes may be (DESIGN §13). A lease is only taken over once it has
// been out for this long, so that its holder, whose clock may be behind, has already seen it run out.
const Tolerance = 2 * time.Second

// New returns a pending operation. The id is stable: it names the action and what it is about (DESIGN §4), so that
// recording the same decision twice records it once. The lane says whose order matters, "user:<id>" for messages and
// "order:<id>" for money. The caller adds attempt, rail, reference, target or message before recording it.
func New(kind Kind, id, order, user, lane string, due, now time.Time) *Operation {
	return &Operation{
		Meta:      store.Meta{ID: id, Version: schemaVersion},
		Kind:      kind,
		Lane:      lane,
		Order:     order,
		User:      user,
		State:     Pending,
		Due:       &due,
		CreatedAt: now,
	}
}

// Record stores the operation in the transaction that decided it, unless one with its id exists, and says whether it
// did (R22, R24). An existing one is left as it is; whether that is a repeat or a conflict is the caller's to judge
// (R23).
func Record(tx store.Tx, op *Operation) (inserted bool, err error) {
	inserted, err = tx.Ensure(store.Outbox, op)
	if err != nil {
		return false, fmt.Errorf("record operation %s: %w", op.ID, err)
	}
	return inserted, nil
}

// Load reads an operation, or fails with store.ErrNotFound.
func Load(r store.Reader, id string) (*Operation, error) {
	var op Operation
	if err := r.Get(store.Outbox, id, &op); err != nil {
		return nil, fmt.Errorf("load operation %s: %w", id, err)
	}
	return &op, nil
}

// Hold loads the operation inside the transaction that commits its outcome, on condition of the lease (D19): it fails
// with ErrLeaseLost unless the stored lease has this owner, has not run out at now and the operation is still open.
// Every claim has an owner of its own, so a claimant that was overtaken by its own process fails too.
func Hold(tx store.Reader, id string, lease Lease, now time.Time) (*Operation, error) {
	op, err := Load(tx, id)
	if err != nil {
		return nil, err
	}
	if op.State.Closed() || !op.heldBy(lease.Owner, now) {
		return nil, fmt.Errorf("hold operation %s: %w", id, ErrLeaseLost)
	}
	return op, nil
}

// heldBy reports whether the stored lease belongs to this owner and has not run out.
func (o *Operation) heldBy(owner string, now time.Time) bool {
	return o.Lease != nil && owner != "" && o.Lease.Owner == owner && now.Before(o.Lease.Until)
}

// Free reports whether nobody holds the operation at now, clocks tolerated.
func (o *Operation) Free(now time.Time) bool {
	return o.Lease == nil || !now.Before(o.Lease.Until.Add(Tolerance))
}

// MarkCalling stores "about to call with this reference" before the call (D7): after a crash the restart sees that a
// call may be out and looks it up first. The operation must have been loaded with Hold in the same transaction; a
// lease that has run out fails with ErrLeaseLost. The call itself may only start when the lease has enough left, see
// Left.
//
// Invariant: no call goes out that is not counted first.
func MarkCalling(tx store.Tx, op *Operation, now time.Time) error {
	if op.State.Closed() {
		return fmt.Errorf("mark operation %s as called: %w", op.ID, ErrClosed)
	}
	if op.Lease == nil || !now.Before(op.Lease.Until) {
		return fmt.Errorf("mark operation %s as called: %w", op.ID, ErrLeaseLost)
	}
	op.State = Called
	op.Calls++
	if op.FirstCall == nil {
		op.FirstCall = &now
	}
	op.LastCall = &now
	return replace(tx, op, "mark as called")
}

// Accept stores that the provider has it and has not said how it ended. No worker takes the operation again by itself;
// look-ups of it bring the outcome, which Finish stores.
func Accept(tx store.Tx, op *Operation, now time.Time) error {
	if op.State.Closed() {
		return fmt.Errorf("accept operation %s: %w", op.ID, ErrClosed)
	}
	op.State, op.Tries = Accepted, 0
	op.Due, op.Lease = nil, nil
	if op.LastCall == nil { // accepted can be learnt from a look-up after a crash right behind the call
		op.LastCall = &now
	}
	return replace(tx, op, "accept")
}

// Finish stores the outcome. A parked operation may still be finished, by the person or the look-up that found out; a
// done or superseded one fails with ErrClosed.
func Finish(tx store.Tx, op *Operation, outcome string, now time.Time) error {
	if op.State == Done || op.State == Superseded {
		return fmt.Errorf("finish operation %s: %w", op.ID, ErrClosed)
	}
	op.Outcome = outcome
	op.close(Done, now)
	return replace(tx, op, "finish")
}

// Retry gives the lease back and makes the operation due again after a try that did not succeed. The tries go on
// counting, so that a worker gives up after a bounded number of them (R37).
func Retry(tx store.Tx, op *Operation, due time.Time, reason string) error {
	if op.State.Closed() {
		return fmt.Errorf("retry operation %s: %w", op.ID, ErrClosed)
	}
	op.Due, op.Lease, op.Reason = &due, nil, reason
	return replace(tx, op, "retry")
}

// Postpone gives the lease back and makes the operation due later although nothing went wrong: "not now" answers,
// scheduled look-ups. Tries start again from zero.
func Postpone(tx store.Tx, op *Operation, due time.Time, reason string) error {
	if op.State.Closed() {
		return fmt.Errorf("postpone operation %s: %w", op.ID, ErrClosed)
	}
	op.Tries = 0
	op.Due, op.Lease, op.Reason = &due, nil, reason
	return replace(tx, op, "postpone")
}

// GiveBack returns an operation that was not worked on through no fault of its own (the process stops, somebody else is
// at its order): it is due again at due and the try does not count.
func GiveBack(tx store.Tx, op *Operation, due time.Time) error {
	if op.State.Closed() {
		return fmt.Errorf("give operation %s back: %w", op.ID, ErrClosed)
	}
	op.Tries = max(0, op.Tries-1)
	op.Due, op.Lease = &due, nil
	return replace(tx, op, "give back")
}

// Park closes the operation for a person, with the reason. Where it stands for money the same transaction raises the
// event that moves its order on: nothing that holds money waits on a parked record (DESIGN §7 rule 9).
func Park(tx store.Tx, op *Operation, reason string, now time.Time) error {
	if op.State.Closed() {
		return fmt.Errorf("park operation %s: %w", op.ID, ErrClosed)
	}
	op.Reason = reason
	op.close(Parked, now)
	return replace(tx, op, "park")
}

// Supersede closes an operation that is no longer wanted and was never called (DESIGN §7 rule 2). Superseding again
// changes nothing. A called one fails with ErrCalled, whatever its state: its effect may exist.
//
// Invariant: an operation that was called is never taken back.
func Supersede(tx store.Tx, op *Operation, now time.Time) error {
	switch {
	case op.State == Superseded:
		return nil
	case op.Calls > 0 || op.State == Called || op.State == Accepted:
		return fmt.Errorf("supersede operation %s: %w", op.ID, ErrCalled)
	case op.State.Closed():
		return fmt.Errorf("supersede operation %s: %w", op.ID, ErrClosed)
	}
	op.close(Superseded, now)
	return replace(tx, op, "supersede")
}

// Rearm makes a parked or superseded operation due again under its old id and reference: an order resumed by two
// people, or a parked message that is driven again. One that was called starts as called, so that its handler looks
// its reference up first. An open one is left as it is; a done one fails with ErrClosed.
func Rearm(tx store.Tx, op *Operation, due time.Time, reason string) error {
	if op.State == Done {
		return fmt.Errorf("re-arm operation %s: %w", op.ID, ErrClosed)
	}
	if !op.State.Closed() {
		return nil
	}
	op.State = Pending
	if op.Calls > 0 {
		op.State = Called
	}
	op.Tries, op.Lease, op.DoneAt = 0, nil, nil
	op.Due, op.Reason = &due, reason
	return replace(tx, op, "re-arm")
}

// Renew is the heartbeat: it moves the end of a lease that is still held and returns the lease as stored now, or
// ErrLeaseLost.
func Renew(tx store.Tx, id string, lease Lease, life time.Duration, now time.Time) (Lease, error) {
	op, err := Hold(tx, id, lease, now)
	if err != nil {
		return Lease{}, err
	}
	op.lease(lease.Owner, life, now)
	if err := replace(tx, op, "renew lease of"); err != nil {
		return Lease{}, err
	}
	return *op.Lease, nil
}

// lease gives the operation to owner and moves its due time behind the lease, so that the index of due operations
// shows it again exactly when it may be taken over.
func (o *Operation) lease(owner string, life time.Duration, now time.Time) {
	o.Lease = &Lease{Owner: owner, Until: now.Add(life)}
	again := o.Lease.Until.Add(Tolerance)
	o.Due = &again
}

// close ends the operation; a closed one has neither due time nor lease.
func (o *Operation) close(s State, now time.Time) {
	o.State, o.DoneAt = s, &now
	o.Due, o.Lease = nil, nil
}

func replace(tx store.Tx, op *Operation, what string) error {
	if err := tx.Replace(store.Outbox, op); err != nil {
		return fmt.Errorf("%s operation %s: %w", what, op.ID, err)
	}
	return nil
}
