package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/ids"
	"offrampbot/services/money"
	"offrampbot/services/obs"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/ratelimit"
	"offrampbot/services/store"
	"offrampbot/services/whatsapp"
)

// The types of this file join two parts that do not know each other; none of them decides anything.

// lateGuards gives the user service the order service that is made after it.
type lateGuards struct{ a *app }

func (g lateGuards) TouchUser(tx store.Tx, userID string) error {
	return g.a.orders.TouchUser(tx, userID)
}

// guardOrders is the durable truth behind the Redis guard.
type guardOrders struct{ db store.Engine }

func (g guardOrders) Exists(ctx context.Context, intent string) (there bool, err error) {
	err = g.db.View(ctx, func(_ context.Context, r store.Reader) error {
		var o offramp.Order
		err := r.Get(store.Orders, intent, &o)
		there = err == nil
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return there, err
}

func (g guardOrders) FindOpenOrRecent(ctx context.Context, digest string) (f guard.Found, err error) {
	var o *offramp.Order
	err = g.db.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		o, err = offramp.OpenOrRecent(r, digest, now())
		return err
	})
	switch {
	case err != nil || o == nil:
		return guard.Found{}, err
	case o.State == offramp.Success:
		return guard.Found{Intent: o.ID, Reference: o.Reference, State: guard.Completed, At: *o.EndedAt}, nil
	case o.State.Unfunded():
		return guard.Found{Intent: o.ID, Reference: o.Reference, State: guard.Processing, At: o.UpdatedAt}, nil
	default:
		return guard.Found{Intent: o.ID, Reference: o.Reference, State: guard.TransferCompleted, At: o.UpdatedAt}, nil
	}
}

// watcher tells logs and metrics what was committed.
type watcher struct {
	log     *slog.Logger
	metrics *obs.Metrics
}

func (w watcher) Moved(ctx context.Context, m offramp.Moved) {
	w.log.InfoContext(ctx, "order moved", "order_id", m.Order.ID, "from", string(m.From), "to", string(m.Order.State),
		"event", string(m.On), "phase", string(m.Order.Phase))
}

func (w watcher) Alerted(ctx context.Context, kind, order, why string) {
	w.metrics.Alert(kind)
	w.log.ErrorContext(ctx, "alert", "kind", kind, "order_id", order, "why", why)
}

func (w watcher) Refused(ctx context.Context, order string, on offramp.Event, code string) {
	w.log.WarnContext(ctx, "event refused", "order_id", order, "event", string(on), "code", code)
}

func (w watcher) Outcome(_ context.Context, provider, call, outcome string, took time.Duration) {
	w.metrics.Provider(provider, call, outcome, took)
}

// alert carries out an alert operation: the audit entry is there already, now people are told.
func (a *app) alert(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	a.metrics.Alert(op.Outcome)
	a.log.ErrorContext(ctx, "alert", "kind", op.Outcome, "order_id", op.Order, "operation_id", op.ID, "why", op.Reason)
	return a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, err := operation.Hold(tx, op.ID, lease, nowMillis())
		if err != nil {
			return err
		}
		return operation.Finish(tx, held, held.Outcome, nowMillis())
	})
}

// alerts lets the message sender tell the operator.
type alerts struct{}

func (alerts) Alert(tx store.Tx, kind, why string, data map[string]string) error {
	return raiseAlert(tx, kind, data["operation"]+data["subject"], why, data)
}

// raiseAlert records an alert in the transaction of its cause: an operation that tells people, and an audit entry.
func raiseAlert(tx store.Tx, kind, subject, why string, data map[string]string) error {
	at := nowMillis()
	op := operation.New(operation.Alert, fmt.Sprintf("alert:%s:%s:%d", kind, subject, at.UnixMilli()/60_000), "", "", "alerts", at, at)
	op.Outcome, op.Reason = kind, why
	inserted, err := operation.Record(tx, op)
	if err != nil || !inserted {
		return err
	}
	entry := map[string]string{"kind": kind, "subject": subject}
	for k, v := range data {
		entry[k] = v
	}
	return audit.Append(tx, audit.Entry{Stream: "system:alerts", At: at, Actor: "system", Action: "alert", Why: why, Data: entry})
}

// alarms lets the chain watchers tell the operator.
type alarms struct{ a *app }

func (r alarms) RaiseAlarm(ctx context.Context, kind, subject, text string) error {
	return r.a.db.Update(ctx, func(_ context.Context, tx store.Tx) error { return raiseAlert(tx, kind, subject, text, nil) })
}

// flowFallback replaces a form that WhatsApp will not send.
type flowFallback struct{}

func (flowFallback) FlowRefused(tx store.Tx, op *operation.Operation, code int) error {
	at := nowMillis()
	m := operation.New(operation.Notify, op.ID+":refused", op.Order, op.User, op.Lane, at, at)
	m.Message = &operation.Message{Type: "text", Key: "bot.form.refused"}
	if _, err := operation.Record(tx, m); err != nil {
		return err
	}
	if code == 0 {
		return nil // the form is switched off, and the alert came with the switch
	}
	return raiseAlert(tx, "whatsapp_flow", op.Message.Flow.Name, fmt.Sprintf("WhatsApp refuses the form, error %d", code), nil)
}

// pacer paces messages across processes.
type pacer struct{ limiter *ratelimit.Limiter }

func (p pacer) Take(ctx context.Context, scope, id string, pace whatsapp.Pace) time.Duration {
	ok, wait := p.limiter.Allow(ctx, scope, id, ratelimit.Limit{Rate: pace.Rate, Burst: pace.Burst, Period: pace.Period})
	if ok {
		return 0
	}
	return wait
}

// approver answers a provider's question whether a payout may go out.
type approver struct{ orders *offramp.Service }

func (p approver) ApprovePayout(ctx context.Context, _, reference string, amount money.Minor) error {
	ok, err := p.orders.Approve(ctx, reference, amount)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New("approval_refused", nil)
	}
	return nil
}

// statuses handles what became of our messages.
type statuses struct{ a *app }

func (h statuses) Handle(ctx context.Context, r *delivery.Receipt, body []byte) error {
	item, err := whatsapp.DecodeBody(body, h.a.cfg.WhatsApp.PhoneNumberID)
	if err != nil {
		return fmt.Errorf("read status: %w", err)
	}
	if item.Status == nil {
		return errors.New("read status: receipt holds none")
	}
	err = h.a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op, outcome, err := h.a.sender.ApplyStatus(tx, *item.Status, nowMillis())
		if err != nil {
			return err
		}
		done := *r
		if op != nil {
			done.Order, done.User = op.Order, op.User
		}
		return delivery.Finish(tx, &done, string(outcome), nowMillis())
	})
	if errors.Is(err, whatsapp.ErrNoSuchMessage) && now().Sub(r.ReceivedAt) > time.Minute {
		return h.a.finish(ctx, r, "not_ours")
	}
	return err
}

// finish marks a receipt done without any effect.
func (a *app) finish(ctx context.Context, r *delivery.Receipt, outcome string) error {
	return a.db.Update(ctx, func(_ context.Context, tx store.Tx) error { return delivery.Finish(tx, r, outcome, nowMillis()) })
}

// payoutCallbacks turns a provider's callback into a look-up that is due now: the callback is a hint, the look-up is the
// truth (DESIGN §8).
type payoutCallbacks struct{ a *app }

// Handle dispatches by the kind of the callback; one that nobody knows is kept as unhandled, for a release that does
// (R94).
func (h payoutCallbacks) Handle(ctx context.Context, r *delivery.Receipt, _ []byte) error {
	switch r.Kind {
	case "transfer.success", "transfer.failed", "transfer.reversed":
		return h.ended(ctx, r)
	default:
		return fmt.Errorf("callback %s: %w", r.Kind, delivery.ErrUnhandled)
	}
}

// ended handles every callback that says how a payout ended: what it says is not believed, only looked up.
func (h payoutCallbacks) ended(ctx context.Context, r *delivery.Receipt) error {
	err := h.a.orders.Hint(ctx, r.Reference, func(tx store.Tx, o *offramp.Order) error {
		done := *r
		done.Order, done.User = o.ID, o.User
		if err := store.Relate(tx, ids.NormalID(r.ID), "receipt", r.ID); err != nil {
			return err
		}
		return delivery.Finish(tx, &done, "look-up", nowMillis())
	})
	if fault.Is(err, "order_unknown") {
		return delivery.ErrUnhandled
	}
	return err
}

// repeats asks for one more look-up when a provider sends a known callback again (DESIGN §7.2).
type repeats struct{ a *app }

func (h repeats) Repeated(ctx context.Context, receipt string) error {
	if ok, _ := h.a.limiter.Allow(ctx, "callback", receipt, ratelimit.Limit{Rate: 1, Burst: 1, Period: time.Minute}); !ok {
		return nil
	}
	var r delivery.Receipt
	err := h.a.db.View(ctx, func(_ context.Context, rd store.Reader) error { return rd.Get(store.Inbox, receipt, &r) })
	if err != nil {
		return err
	}
	return h.a.orders.Hint(ctx, r.Reference, func(store.Tx, *offramp.Order) error { return nil })
}

// inboxMetrics counts what the inbox sees.
type inboxMetrics struct{ *obs.Metrics }

func (m inboxMetrics) DeliveryConflict(source string) { m.Delivery(source, "conflict") }

func (m inboxMetrics) DeliveryParked(source string) { m.Delivery(source, "parked") }
