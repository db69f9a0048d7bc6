package whatsapp

import (
	"fmt"
	"time"

	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// qualityWait is how long a message waits that WhatsApp refused for our quality; marketing limits ask for a day.
const (
	qualityWait   = time.Hour
	marketingWait = 24 * time.Hour
)

const codeMarketingLimit = 131049

// conclude moves an operation on whose message was conclusively not delivered, told by a reply or by a status. Nothing
// here may be out any more, so the same operation may be sent again.
func (s *Sender) conclude(tx store.Tx, op *operation.Operation, class Class, code int, now time.Time) error {
	reason := refusal(class, code)
	switch class {
	case ClassWindow:
		if op.Message.Template == "" {
			return s.reopen(tx, op, now.Add(s.cfg.WindowPoll), waitsForWindow, WaitingLane(op.User), reason, nil)
		}
		if op.Outcome == windowRefused { // the template itself was refused as outside
			return s.parkFor(tx, op, reason, now, newAlert(AlertMessage, op, code))
		}
		return s.reopen(tx, op, now, windowRefused, op.Lane, reason, nil)
	case ClassMedia:
		if op.Outcome == mediaRetried || code == 131052 {
			return s.parkFor(tx, op, reason, now, newAlert(AlertMessage, op, code))
		}
		return s.reopen(tx, op, now, mediaRetried, op.Lane, reason, nil)
	case ClassFlow:
		op.Outcome = OutcomeFlowRefused
		if err := s.finish(tx, op, now); err != nil {
			return err
		}
		return s.Fallback.FlowRefused(tx, op, code)
	case ClassQuality:
		wait := qualityWait
		if code == codeMarketingLimit {
			wait = marketingWait
		}
		return s.reopen(tx, op, now.Add(wait), "", op.Lane, reason, newAlert(AlertQuality, op, code))
	case ClassRecipient:
		var a *alert
		if code == CodeIdentityChanged {
			a = newAlert(AlertIdentity, op, code)
		}
		return s.parkFor(tx, op, reason, now, a)
	case ClassRequest, ClassTemplate, ClassUnknown, ClassTransient, ClassToken, ClassAccount, ClassThrottleApp,
		ClassThrottleNumber, ClassThrottlePair:
		// The first three are for a person; the callers deal with the others before, but for transient ones that never end.
	}
	return s.parkFor(tx, op, reason, now, newAlert(AlertMessage, op, code))
}

// reopen makes the operation due again, whatever closed it, and forgets the message that was not delivered; its wamid
// stays in links, so that a late status of it is recognised.
func (s *Sender) reopen(
	tx store.Tx, op *operation.Operation, due time.Time, outcome, lane, reason string, a *alert,
) error {
	op.State, op.Lane, op.Reason = operation.Pending, lane, reason
	if outcome != "" {
		op.Outcome = outcome
	} else if op.Outcome == OutcomeSent {
		op.Outcome = ""
	}
	op.Due, op.Lease, op.DoneAt, op.Tries = &due, nil, nil, 0
	op.Wamid, op.Status = "", ""
	if err := tx.Replace(store.Outbox, op); err != nil {
		return fmt.Errorf("send %s again: %w", op.ID, err)
	}
	return s.raise(tx, a, reason)
}

// parkFor parks the operation; a message that was done and turns out undelivered is parked, too.
func (s *Sender) parkFor(tx store.Tx, op *operation.Operation, reason string, now time.Time, a *alert) error {
	op.State, op.Reason, op.DoneAt = operation.Parked, reason, &now
	op.Due, op.Lease = nil, nil
	if err := tx.Replace(store.Outbox, op); err != nil {
		return fmt.Errorf("park %s: %w", op.ID, err)
	}
	return s.raise(tx, a, reason)
}

func (s *Sender) finish(tx store.Tx, op *operation.Operation, now time.Time) error {
	op.State, op.DoneAt = operation.Done, &now
	op.Due, op.Lease = nil, nil
	if err := tx.Replace(store.Outbox, op); err != nil {
		return fmt.Errorf("finish %s: %w", op.ID, err)
	}
	return nil
}
