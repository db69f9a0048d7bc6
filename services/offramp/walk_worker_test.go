package offramp_test

import (
	"context"
	"errors"
	"iter"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// gate is a place where a worker waits for its next turn: before and after each commit, and in each outside call. The
// scheduler of the walk resumes it, lets others go first, or ends it there, as a crash would.
type gate struct {
	what  string
	since time.Time // when the call began
}

// calling reports whether a worker that waits here is in an outside call.
func (g gate) calling() bool { return g.what == "send" || g.what == "sell" || g.what == "look-up" }

type pauseKey struct{}

// pauseAt hands the turn back; it does not return when the worker crashes there. Outside a worker it does nothing.
func pauseAt(ctx context.Context, g gate) {
	if pause, ok := ctx.Value(pauseKey{}).(func(gate)); ok {
		pause(g)
	}
}

// crash unwinds a worker that dies.
type crash struct{}

// gated is the engine as workers see it: they wait before and after each commit.
type gated struct {
	store.Engine
	commits *int
}

func (g gated) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	pauseAt(ctx, gate{what: "commit"})
	err := g.Engine.Update(ctx, fn)
	if err == nil {
		*g.commits++
	}
	pauseAt(ctx, gate{what: "committed"})
	return err
}

// laborer is one process's slot: it claims an operation, carries it out as the outbox does, and may die at any gate.
type laborer struct {
	w    *walk
	name string
	op   *operation.Operation
	at   gate
	next func() (gate, bool)
	stop func()
}

const (
	leaseLife = 30 * time.Second
	mostTries = 4
)

// begin claims a due operation of a kind and starts to work on it; false when nothing is due.
func (l *laborer) begin(kind operation.Kind) bool {
	w := l.w
	w.claims++
	owner := l.name + "#" + string(rune('0'+w.claims%10)) + string(kind)
	op, err := operation.Claim(w.t.Context(), w.engine, kind, owner, leaseLife, w.clock.Now())
	w.must(err)
	if op == nil {
		return false
	}
	l.op = op
	l.next, l.stop = iter.Pull(func(yield func(gate) bool) {
		defer func() {
			if p := recover(); p != nil && p != (crash{}) {
				panic(p)
			}
		}()
		ctx := context.WithValue(w.t.Context(), pauseKey{}, func(g gate) {
			if !yield(g) {
				panic(crash{})
			}
		})
		l.carryOut(ctx, *op)
	})
	w.note("%s takes %s", l.name, op.ID)
	l.turn()
	return true
}

// turn lets the worker go on to its next gate.
func (l *laborer) turn() {
	at, more := l.next()
	if l.at = at; !more {
		l.w.note("%s is done with %s", l.name, l.op.ID)
		l.op = nil
	}
}

// die ends the worker where it waits; its lease runs out by itself.
func (l *laborer) die() {
	l.w.note("%s dies at %s of %s", l.name, l.at.what, l.op.ID)
	l.stop()
	l.op = nil
}

// beat renews the lease, as the heartbeat beside the handler does.
func (l *laborer) beat() {
	err := l.w.engine.Update(l.w.t.Context(), func(_ context.Context, tx store.Tx) error {
		_, err := operation.Renew(tx, l.op.ID, *l.op.Lease, leaseLife, l.w.clock.Now())
		return err
	})
	if err == nil {
		l.op.Lease.Until = l.w.clock.Now().Add(leaseLife)
	}
}

// carryOut is what the outbox's worker does with an operation.
func (l *laborer) carryOut(ctx context.Context, op operation.Operation) {
	w, lease := l.w, *op.Lease
	ctx = operation.WithLeft(ctx, func() time.Duration { return l.op.Lease.Until.Sub(w.clock.Now()) })
	if op.Tries > mostTries {
		l.giveUp(ctx, &op, lease, errors.New("the tries before ended the process"))
		return
	}
	var err error
	switch op.Kind {
	case operation.StartExchange:
		err = w.svc.Exchange(ctx, &op, lease)
	case operation.Payout:
		err = w.svc.Payout(ctx, &op, lease)
	default:
		err = w.svc.LookUp(ctx, &op, lease)
	}
	switch {
	case err == nil, errors.Is(err, operation.ErrLeaseLost):
		return
	case fault.As(err).Code == "internal" && !w.mayFail(err):
		w.fail("%s of %s failed: %v", op.Kind, op.ID, err)
	case op.Tries >= mostTries:
		l.giveUp(ctx, &op, lease, err)
	default:
		l.later(ctx, op.ID, lease, err)
	}
}

func (l *laborer) giveUp(ctx context.Context, op *operation.Operation, lease operation.Lease, why error) {
	err := l.w.svc.OnPark(ctx, op, why.Error())
	if err != nil && !errors.Is(err, operation.ErrLeaseLost) {
		l.later(ctx, op.ID, lease, err)
	}
}

// later makes the operation due again under the lease.
func (l *laborer) later(ctx context.Context, id string, lease operation.Lease, why error) {
	now := l.w.clock.Now()
	err := gated{l.w.engine, &l.w.commits}.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op, err := operation.Hold(tx, id, lease, now)
		if err != nil {
			return err
		}
		return operation.Retry(tx, op, now.Add(5*time.Second), why.Error())
	})
	if !errors.Is(err, operation.ErrLeaseLost) {
		l.w.must(err)
	}
}
