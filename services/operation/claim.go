package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

const (
	scanLimit     = 500              // due operations looked at by one claim
	firstLook     = 16               // due operations looked at before all of them are
	mostClaim     = 8                // operations leased in one transaction
	rounds        = 16               // how often it looks again when others were faster
	postponeBatch = 10               // operations moved behind a waiting head in one transaction
	postponeMost  = 30 * time.Second // how long at most without looking at a lane again

	// lookAgain is when what a rival has in hand is looked at again: an open transaction may belong to a dead process.
	lookAgain = 250 * time.Millisecond
)

// Claimer finds due operations of one kind and takes their lease.
type Claimer struct {
	Kind Kind
	// Lease is how long a claim lasts without a heartbeat.
	Lease time.Duration
	// Most is how many operations are claimed at once, of as many users and lanes, eight at most. Zero: 1.
	Most int
	// Ordered keeps the lanes in order: an operation is claimed only when no earlier open one of its lane exists and
	// nothing of the lane is held by anybody. This is a rule of order, not of safety: it is judged on a snapshot.
	Ordered bool
	// SkipFunc leaves out operations that the caller may not start now, such as those of a user who already has a
	// slot. Nil leaves out none.
	SkipFunc func(*Operation) bool
}

// Claim takes the next due operation of a kind for owner, or returns nil when nothing is due. The owner must be
// different for every claim, or a claimant that was overtaken could not notice it.
func Claim(
	ctx context.Context, engine store.Engine, kind Kind, owner string, lease time.Duration, now time.Time,
) (*Operation, error) {
	op, _, err := Claimer{Kind: kind, Lease: lease}.Next(ctx, engine, owner, now)
	return op, err
}

// Next is Some for one operation; it returns nil when there is none.
func (c Claimer) Next(
	ctx context.Context, engine store.Engine, owner string, now time.Time,
) (op *Operation, next time.Time, err error) {
	c.Most = 1
	ops, next, err := c.Some(ctx, engine, owner, now)
	if len(ops) == 0 {
		return nil, next, err
	}
	return ops[0], next, err
}

// Some claims the next operations that may be started: they become the owner's until now plus the lease, and their
// tries are counted (R35, R36). Without one it returns none and the earliest later due time it saw, zero if there is
// none. The owner must be new for every call. The snapshot only proposes; the revisions decide, so of many claimants
// one wins. An operation that another transaction has written to is left to it and holds up nothing else.
func (c Claimer) Some(
	ctx context.Context, engine store.Engine, owner string, now time.Time,
) (ops []*Operation, next time.Time, err error) {
	c.Most = min(max(c.Most, 1), mostClaim)
	skip, lost := c.SkipFunc, map[string]bool{}
	c.SkipFunc = func(op *Operation) bool { return lost[op.ID] || skip != nil && skip(op) }
	for range rounds {
		var p plan
		err := engine.View(ctx, func(_ context.Context, r store.Reader) error {
			var err error
			p, err = c.plan(r, now)
			return err
		})
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("look for due %s operations: %w", c.Kind, err)
		}
		if len(p.free) > 0 {
			ops, err := c.take(ctx, engine, p.free, owner, now)
			if err != nil || len(ops) > 0 {
				return ops, time.Time{}, err
			}
			for _, op := range p.free {
				lost[op.ID] = true
			}
		}
		if len(p.behind) > 0 {
			if err := postponeAll(ctx, engine, p.behind); err != nil {
				return nil, time.Time{}, err
			}
		}
		if next = p.next; len(p.free) == 0 && len(p.behind) == 0 {
			break
		}
		next = now // if this was the last round, there is more to do at once
	}
	return nil, lookAt(now, next, len(lost) > 0), nil
}

// lookAt is when to look for work again: at the next due time, and soon where rivals have had everything else.
func lookAt(now, next time.Time, isRivalled bool) time.Time {
	if soon := now.Add(lookAgain); isRivalled && (next.IsZero() || next.After(soon)) {
		return soon
	}
	return next
}

// take leases the candidates in one transaction; when somebody was faster with one of them, each on its own.
func (c Claimer) take(
	ctx context.Context, engine store.Engine, free []*Operation, owner string, now time.Time,
) ([]*Operation, error) {
	taken, err := c.lease(ctx, engine, free, owner, now)
	if !errors.Is(err, store.ErrStale) || len(free) == 1 {
		return taken, ignoreStale(err)
	}
	for _, one := range free {
		mine, err := c.lease(ctx, engine, []*Operation{one}, owner, now)
		if err := ignoreStale(err); err != nil {
			return taken, err
		}
		taken = append(taken, mine...)
	}
	return taken, nil
}

// lease leases all of these operations or none.
func (c Claimer) lease(
	ctx context.Context, engine store.Engine, free []*Operation, owner string, now time.Time,
) ([]*Operation, error) {
	var taken []*Operation
	err := engine.Update(store.Once(ctx), func(_ context.Context, tx store.Tx) error {
		taken = nil
		for _, candidate := range free {
			op := *candidate // fn may run again, so the candidate itself stays as it was read
			op.lease(owner, c.Lease, now)
			op.Tries++
			if err := tx.Replace(store.Outbox, &op); err != nil {
				return err
			}
			taken = append(taken, &op)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim %s operations: %w", c.Kind, err)
	}
	return taken, nil
}

func ignoreStale(err error) error {
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	return err
}

// plan is what one look at the due operations found.
type plan struct {
	free   []*Operation // may be claimed, in order of preference
	behind []*Operation // wait behind a head of their lane that is not due yet; Due is already the new one
	next   time.Time    // the earliest due time after now
	users  map[string]bool
}

// plan looks at the first due operations, and at all of them only when those do not suffice.
func (c Claimer) plan(r store.Reader, now time.Time) (plan, error) {
	for _, limit := range []int{firstLook, scanLimit} {
		p := plan{users: map[string]bool{}}
		due, seen, err := c.due(r, now, limit, &p)
		if err != nil {
			return plan{}, err
		}
		if err := c.choose(r, due, now, &p); err != nil {
			return plan{}, err
		}
		if len(p.free) > 0 || len(p.behind) > 0 || seen < limit || limit == scanLimit {
			return p, nil
		}
	}
	return plan{}, nil
}

// choose picks among the due operations; in an ordered kind their lanes' heads stand for them.
func (c Claimer) choose(r store.Reader, due []*Operation, now time.Time, p *plan) error {
	lanes := make(map[string]bool, len(due))
	for _, op := range due {
		switch {
		case len(p.free) == c.Most || len(p.behind) >= postponeBatch:
			return nil
		case !c.Ordered:
			p.add(op)
		case !lanes[op.Lane]:
			lanes[op.Lane] = true
			if err := c.planLane(r, op.Lane, now, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// add makes an operation a candidate, unless its user has one already: a user holds one slot at most.
func (p *plan) add(op *Operation) {
	if op.User != "" {
		if p.users[op.User] {
			return
		}
		p.users[op.User] = true
	}
	p.free = append(p.free, op)
}

// due reads the operations that are due and free, oldest due time first, and how many it saw.
func (c Claimer) due(r store.Reader, now time.Time, limit int, p *plan) (due []*Operation, seen int, err error) {
	q := store.Query{Collection: store.Outbox, Index: "due", Equal: []any{string(c.Kind)}, Limit: limit}
	err = r.Find(q, func(decode store.Decode) (bool, error) {
		var op Operation
		if err := decode(&op); err != nil {
			return false, err
		}
		if op.Due.After(now) {
			p.next = *op.Due
			return false, nil
		}
		seen++
		if op.Free(now) && (c.SkipFunc == nil || !c.SkipFunc(&op)) {
			due = append(due, &op)
		}
		return true, nil
	})
	return due, seen, err
}

// planLane decides about one lane: its head may be claimed, or is being worked on, or waits, and then everything due
// behind it waits with it. Moving those behind their head keeps a long queue of waiting lanes from hiding the others.
func (c Claimer) planLane(r store.Reader, lane string, now time.Time, p *plan) error {
	open, err := store.All[Operation](r, store.Query{
		Collection: store.Outbox, Index: "open", Equal: []any{lane}, Limit: scanLimit,
	})
	if err != nil {
		return err
	}
	var head *Operation
	for _, op := range open {
		if !op.Free(now) {
			return nil // somebody works on this lane
		}
		if head == nil || op.before(head) {
			head = op
		}
	}
	switch {
	case head == nil:
		return nil
	case !head.Due.After(now):
		if head.Kind == c.Kind && (c.SkipFunc == nil || !c.SkipFunc(head)) {
			p.add(head)
		}
		return nil
	}
	later := *head.Due
	if most := now.Add(postponeMost); later.After(most) {
		later = most
	}
	for _, op := range open {
		if op.Kind == c.Kind && !op.Due.After(now) && len(p.behind) < postponeBatch {
			op.Due = &later
			p.behind = append(p.behind, op)
		}
	}
	return nil
}

// before orders a lane: by creation, then by id, where a shorter id is the smaller number of the same series.
func (o *Operation) before(other *Operation) bool {
	if !o.CreatedAt.Equal(other.CreatedAt) {
		return o.CreatedAt.Before(other.CreatedAt)
	}
	if len(o.ID) != len(other.ID) {
		return len(o.ID) < len(other.ID)
	}
	return o.ID < other.ID
}

// postponeAll moves operations behind the head of their lane. Whoever changed one of them meanwhile wins; the next
// claim looks again.
func postponeAll(ctx context.Context, engine store.Engine, ops []*Operation) error {
	err := engine.Update(store.Once(ctx), func(_ context.Context, tx store.Tx) error {
		for _, op := range ops {
			moved := *op
			if err := tx.Replace(store.Outbox, &moved); err != nil {
				return err
			}
		}
		return nil
	})
	if err := ignoreStale(err); err != nil {
		return fmt.Errorf("move operations behind their lane's head: %w", err)
	}
	return nil
}
