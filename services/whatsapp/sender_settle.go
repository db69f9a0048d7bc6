package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"offrampbot/services/ids"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// alert is what an outcome tells the operator; nil tells nothing.
type alert struct {
	kind string
	data map[string]string
}

func (h *handling) alert(kind string, code int) *alert { return newAlert(kind, h.op, code) }

func newAlert(kind string, op *operation.Operation, code int) *alert {
	data := map[string]string{"operation": op.ID}
	if code != 0 {
		data["code"] = strconv.Itoa(code)
	}
	return &alert{kind: kind, data: data}
}

func (s *Sender) raise(tx store.Tx, a *alert, why string) error {
	if a == nil {
		return nil
	}
	if err := s.Alerts.Alert(tx, a.kind, why, a.data); err != nil {
		return fmt.Errorf("raise alert %s: %w", a.kind, err)
	}
	return nil
}

func (s *Sender) view(ctx context.Context, fn func(r store.Reader) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StoreTimeout, errors.New("store time-out"))
	defer cancel()
	return s.Engine.View(ctx, func(_ context.Context, r store.Reader) error { return fn(r) })
}

// settle changes the operation in one transaction, on condition of the lease, and puts the result into the one in hand.
// fn may run again; now is the same each time.
func (h *handling) settle(
	ctx context.Context, fn func(tx store.Tx, op *operation.Operation, now time.Time) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.cfg.StoreTimeout, errors.New("store time-out"))
	defer cancel()
	var settled *operation.Operation
	now := h.Now()
	err := h.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op, err := operation.Hold(tx, h.op.ID, h.lease, now)
		if err != nil {
			return err
		}
		settled = op
		return fn(tx, op, now)
	})
	if err != nil {
		return fmt.Errorf("settle %s: %w", h.op.ID, err)
	}
	*h.op = *settled
	return nil
}

func (h *handling) park(ctx context.Context, reason string, a *alert) error {
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		if err := operation.Park(tx, op, reason, now); err != nil {
			return err
		}
		return h.raise(tx, a, reason)
	})
}

// postpone makes the operation due later in the state it has.
func (h *handling) postpone(ctx context.Context, wait time.Duration, reason string) error {
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return operation.Postpone(tx, op, now.Add(wait), reason)
	})
}

// again makes an operation due again whose message was certainly not sent.
func (h *handling) again(ctx context.Context, wait time.Duration, reason string, a *alert) error {
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		op.State = operation.Pending
		if err := operation.Postpone(tx, op, now.Add(wait), reason); err != nil {
			return err
		}
		return h.raise(tx, a, reason)
	})
}

// WaitingLane is the lane of a person's messages that wait for the 24-hour window. They leave the person's own lane, so
// that what may go as a template does not wait behind them.
func WaitingLane(person string) string { return "window:" + person }

func (h *handling) waitForWindow(ctx context.Context) error {
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		op.State, op.Outcome, op.Lane = operation.Pending, waitsForWindow, WaitingLane(op.User)
		return operation.Postpone(tx, op, now.Add(h.cfg.WindowPoll), "waits until the person writes")
	})
}

// wakeLimit bounds how many messages one inbound message wakes; the rest are found by their due time.
const wakeLimit = 5

// Wake makes the messages that wait for this person's window due now and puts them back into the person's lane, in the
// transaction that stores when the person last wrote. It returns how many.
func Wake(tx store.Tx, person string, now time.Time) (int, error) {
	waiting, err := store.All[operation.Operation](tx, store.Query{
		Collection: store.Outbox, Index: "open", Equal: []any{WaitingLane(person)}, Limit: wakeLimit,
	})
	if err != nil {
		return 0, fmt.Errorf("find messages that wait for %s: %w", person, err)
	}
	for _, op := range waiting {
		op.Lane, op.Due = "user:"+person, &now
		if err := tx.Replace(store.Outbox, op); err != nil {
			return 0, fmt.Errorf("wake message %s: %w", op.ID, err)
		}
	}
	return len(waiting), nil
}

// sent commits that WhatsApp took the message: with or without the lease, and beyond the end of ctx, because losing
// this fact means sending twice. A status may have been here first; it knew the wamid and may know more.
func (h *handling) sent(ctx context.Context, result SendResult) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), h.cfg.StoreTimeout, errors.New("store time-out"))
	defer cancel()
	called, now := h.op.LastCall, h.Now()
	var settled *operation.Operation
	err := h.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op, err := operation.Load(tx, h.op.ID)
		if err != nil {
			return err
		}
		settled = op
		if err := linkMessage(tx, op, result.Wamid); err != nil {
			return err
		}
		mine := op.LastCall != nil && called != nil && op.LastCall.UnixMilli() == called.UnixMilli()
		if !mine || op.State != operation.Called {
			return nil // a status has closed it, or somebody sends it again: the link tells the story
		}
		op.Wamid, op.Status = result.Wamid, StatusAccepted
		return operation.Finish(tx, op, OutcomeSent, now)
	})
	if err != nil {
		return fmt.Errorf("commit that %s was sent: %w", h.op.ID, err)
	}
	*h.op = *settled
	return nil
}

// linkMessage makes a message of ours findable by its wamid.
func linkMessage(tx store.Tx, op *operation.Operation, wamid string) error {
	if err := store.Relate(tx, ids.NormalID(wamid), "operation", op.ID); err != nil {
		return fmt.Errorf("link message of %s: %w", op.ID, err)
	}
	if op.Order == "" {
		return nil
	}
	if err := store.Relate(tx, ids.NormalID(wamid), "order", op.Order); err != nil {
		return fmt.Errorf("link message of %s: %w", op.ID, err)
	}
	return nil
}

// refused commits what a send that did not succeed means, by the class of its error.
func (h *handling) refused(ctx context.Context, e *Error) error {
	h.Log.WarnContext(ctx, "message not accepted", "class", string(e.Class), "code", e.Code, "http", e.HTTP,
		"maybe_sent", e.MaybeSent)
	now, reason := h.Now(), refusal(e.Class, e.Code)
	if e.MaybeSent {
		var a *alert
		if e.Class == ClassUnknown {
			a = h.alert(AlertMessage, e.Code)
		}
		return h.undecided(ctx, reason, a)
	}
	switch e.Class {
	case ClassToken, ClassAccount:
		wait, first := h.gate.trip(now)
		var a *alert
		if first {
			a = h.alert(AlertStopped, e.Code)
		}
		return h.again(ctx, spread(wait, h.op.ID), reason, a)
	case ClassThrottleApp, ClassThrottleNumber:
		return h.again(ctx, spread(h.gate.throttleNumber(now, e.RetryAfter), h.op.ID), reason, nil)
	case ClassThrottlePair:
		return h.again(ctx, max(h.gate.throttlePair(h.op.User, now), e.RetryAfter), reason, nil)
	case ClassTransient:
		return h.again(ctx, spread(time.Second<<min(h.op.Tries, 6), h.op.ID), reason, nil)
	case ClassQuality, ClassWindow, ClassRecipient, ClassRequest, ClassMedia, ClassTemplate, ClassFlow, ClassUnknown:
	}
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		return h.conclude(tx, op, e.Class, e.Code, now)
	})
}

func refusal(class Class, code int) string { return fmt.Sprintf("%s error %d", class, code) }

// undecided leaves the operation called and due when its grace is over.
func (h *handling) undecided(ctx context.Context, reason string, a *alert) error {
	ctx = context.WithoutCancel(ctx) // settle sets its own deadline
	return h.settle(ctx, func(tx store.Tx, op *operation.Operation, now time.Time) error {
		if err := operation.Postpone(tx, op, now.Add(h.grace(op.Calls)), "outcome unknown: "+reason); err != nil {
			return err
		}
		return h.raise(tx, a, reason)
	})
}
