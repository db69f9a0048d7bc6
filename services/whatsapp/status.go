package whatsapp

import (
	"errors"
	"fmt"
	"time"

	"offrampbot/services/ids"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// ErrNoSuchMessage: no operation of ours is known for this status. Its wamid may not be stored yet, so the receipt is
// tried again a little later; when it stays unknown the message was not sent by us (P6).
var ErrNoSuchMessage = errors.New("status of a message that is not known")

// StatusOutcome says what a status did.
type StatusOutcome string

// The outcomes.
const (
	StatusApplied  StatusOutcome = "applied"  // the operation moved up
	StatusNotNewer StatusOutcome = "no_news"  // it was at least as far, or the name is not known
	StatusLate     StatusOutcome = "late"     // failed after it was delivered: recorded nowhere but in the receipt
	StatusOlder    StatusOutcome = "older"    // of an earlier send of the same message
	StatusFailure  StatusOutcome = "failure"  // conclusively not delivered; the operation was moved on
	StatusIgnored  StatusOutcome = "not_ours" // of an operation that is no message
)

// ApplyStatus applies one status in the transaction that marks its receipt done, and returns the operation it was about.
// It is matched by its callback data first, which is the operation's id, and by the wamid else; so a status that is
// faster than the reply to our own call finds its operation, closes it, and brings the wamid. Statuses only move up:
// accepted, sent, delivered, read, played; failed wins only while at most sent (P4, P5).
func (s *Sender) ApplyStatus(tx store.Tx, status Status, now time.Time) (*operation.Operation, StatusOutcome, error) {
	op, err := findMessage(tx, status)
	if err != nil {
		return nil, "", err
	}
	if op.Kind != operation.Notify || op.Message == nil {
		return op, StatusIgnored, nil
	}
	older, err := isOlder(tx, op, status.Wamid)
	if err != nil {
		return nil, "", err
	}
	if err := linkMessage(tx, op, status.Wamid); err != nil {
		return nil, "", err
	}
	if older {
		return op, StatusOlder, nil
	}
	outcome, err := s.apply(tx, op, status, now)
	return op, outcome, err
}

// apply applies a status of the current send.
func (s *Sender) apply(tx store.Tx, op *operation.Operation, status Status, now time.Time) (StatusOutcome, error) {
	if status.Name == StatusFailed {
		return s.applyFailure(tx, op, status, now)
	}
	rank, known := Rank(status.Name)
	current, _ := Rank(op.Status)
	if op.Status == StatusFailed {
		current = 1 // a message that was seen was delivered, whatever was said before
	}
	if !known || rank <= current {
		return StatusNotNewer, nil
	}
	op.Wamid, op.Status = status.Wamid, status.Name
	if op.State != operation.Done && op.State != operation.Superseded {
		// Called, or due again because nobody knew: now it is known, and it must not be sent once more.
		op.Outcome = OutcomeSent
		return StatusApplied, s.finish(tx, op, now)
	}
	if err := tx.Replace(store.Outbox, op); err != nil {
		return "", fmt.Errorf("store status of %s: %w", op.ID, err)
	}
	return StatusApplied, nil
}

// findMessage finds the operation of a status.
func findMessage(r store.Reader, status Status) (*operation.Operation, error) {
	if status.CallbackData != "" {
		op, err := operation.Load(r, status.CallbackData)
		if err == nil {
			return op, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	links, err := store.Related(r, ids.NormalID(status.Wamid))
	if err != nil {
		return nil, fmt.Errorf("find message of a status: %w", err)
	}
	for _, link := range links {
		if link.Kind != "operation" {
			continue
		}
		op, err := operation.Load(r, link.Target)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		return op, err
	}
	return nil, ErrNoSuchMessage
}

// isOlder reports whether a wamid belongs to an earlier send of this operation: it is known, and it is not the current
// one; or another one is current.
func isOlder(r store.Reader, op *operation.Operation, wamid string) (bool, error) {
	if op.Wamid == wamid {
		return false, nil
	}
	if op.Wamid != "" {
		return true, nil
	}
	var link store.Link
	err := r.Get(store.Links, ids.LinkID(wamid, op.ID), &link)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read link of a message: %w", err)
	}
	return true, nil
}

// applyFailure moves an operation on whose message WhatsApp took and did not deliver.
func (s *Sender) applyFailure(
	tx store.Tx, op *operation.Operation, status Status, now time.Time,
) (StatusOutcome, error) {
	if rank, ok := Rank(op.Status); ok && rank > 1 {
		return StatusLate, nil
	}
	if op.Status == StatusFailed {
		return StatusNotNewer, nil
	}
	op.Wamid, op.Status = status.Wamid, StatusFailed
	code, class := 0, ClassUnknown
	if len(status.Errors) > 0 {
		code = status.Errors[0].Code
		class = Classify(code)
	}
	switch class {
	case ClassThrottlePair:
		// Only this person waits: the operation is the head of the person's lane.
		return StatusFailure, s.reopen(tx, op, now.Add(mostPairWait/4), "", op.Lane, refusal(class, code), nil)
	case ClassThrottleApp, ClassThrottleNumber:
		return StatusFailure, s.reopen(tx, op, now.Add(spread(mostNumberWait/2, op.ID)), "", op.Lane, refusal(class, code), nil)
	case ClassTransient:
		if op.Calls < s.cfg.MaxSends {
			return StatusFailure, s.reopen(tx, op, now.Add(s.cfg.Grace), "", op.Lane, refusal(class, code), nil)
		}
	case ClassToken, ClassAccount:
		return StatusFailure, s.reopen(tx, op, now.Add(spread(s.cfg.Pause, op.ID)), "", op.Lane, refusal(class, code),
			newAlert(AlertStopped, op, code))
	case ClassQuality, ClassWindow, ClassRecipient, ClassRequest, ClassMedia, ClassTemplate, ClassFlow, ClassUnknown:
	}
	return StatusFailure, s.conclude(tx, op, class, code, now)
}

// ApplyNumberError slows the whole number down for an error that a webhook reported about the number and not about a
// message. It changes this process only.
func (s *Sender) ApplyNumberError(e APIError, now time.Time) {
	class := Classify(e.Code)
	if class == ClassThrottleApp || class == ClassThrottleNumber {
		s.gate.throttleNumber(now, 0)
	}
	if AdviceFor(class).Stop {
		s.gate.trip(now)
	}
}
