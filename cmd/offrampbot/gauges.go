package main

import (
	"context"
	"errors"

	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// gaugeLimit bounds how many documents of one state are counted: beyond it the number only says "very many".
const gaugeLimit = 10_000

// gauges measures what waits: receipts, operations and orders by state. It renews the guard's claims of open orders on
// the way, so that a sale that takes longer than a claim lives is still recognised (DESIGN §9).
func (a *app) gauges(ctx context.Context) (worked bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*a.cfg.Store.Timeout)
	defer cancel()
	age, err := a.inbox.Age(ctx, nowMillis())
	if err != nil {
		return false, err
	}
	a.metrics.InboxAge(age)
	a.chainGauges()
	var open []*offramp.Order
	err = a.db.View(ctx, func(_ context.Context, r store.Reader) error {
		open = nil
		for _, state := range offramp.States() {
			n := 0
			err := r.Find(store.Query{Collection: store.Orders, Index: "state", Equal: []any{state}, Limit: gaugeLimit},
				func(decode store.Decode) (bool, error) {
					n++
					if state.Final() {
						return true, nil
					}
					var o offramp.Order
					err := decode(&o)
					open = append(open, &o)
					return true, err
				})
			if err != nil {
				return err
			}
			a.metrics.Orders(string(state), n)
		}
		return errors.Join(a.countOperations(r), a.countReceipts(r))
	})
	for _, o := range open {
		if ctx.Err() != nil {
			break // a silent Redis: the rest is renewed next time
		}
		a.guard.Renew(ctx, o.Content, o.ID)
	}
	return false, err
}

// countOperations counts the operations that somebody or something still has to deal with.
func (a *app) countOperations(r store.Reader) error {
	counts := map[[2]string]int{}
	for _, state := range []operation.State{operation.Pending, operation.Called, operation.Accepted, operation.Parked} {
		for _, lane := range a.lanes() { // what is gone is none, and not as many as before
			counts[[2]string{string(lane.kind), string(state)}] = 0
		}
		err := r.Find(store.Query{Collection: store.Outbox, Index: "state", Equal: []any{state}, Limit: gaugeLimit},
			func(decode store.Decode) (bool, error) {
				var op operation.Operation
				if err := decode(&op); err != nil {
					return false, err
				}
				counts[[2]string{string(op.Kind), string(state)}]++
				return true, nil
			})
		if err != nil {
			return err
		}
	}
	for key, n := range counts {
		a.metrics.OutboxOperations(key[0], key[1], n)
	}
	return nil
}

// countReceipts counts the deliveries that are not handled.
func (a *app) countReceipts(r store.Reader) error {
	for _, state := range []delivery.State{delivery.Received, delivery.Parked, delivery.Unhandled} {
		n := 0
		err := r.Find(store.Query{Collection: store.Inbox, Index: "due", Equal: []any{state}, Limit: gaugeLimit},
			func(store.Decode) (bool, error) {
				n++
				return true, nil
			})
		if err != nil {
			return err
		}
		a.metrics.InboxReceipts(string(state), n)
	}
	return nil
}

// markRead sets the ticks under a message and shows "typing". It is a courtesy: whatever becomes of it, it is done.
func (a *app) markRead(ctx context.Context, op *operation.Operation, lease operation.Lease) error {
	outcome := "read"
	if err := a.graph.MarkRead(ctx, op.Reference, true); err != nil {
		outcome = "not marked"
	}
	err := a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, err := operation.Hold(tx, op.ID, lease, nowMillis())
		if err != nil {
			return err
		}
		return operation.Finish(tx, held, outcome, nowMillis())
	})
	if errors.Is(err, operation.ErrLeaseLost) {
		return nil
	}
	return err
}
