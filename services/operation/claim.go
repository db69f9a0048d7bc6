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
	candidates    = 4                // how many a claim tries before it looks again
	rounds        = 16               // how often it looks again when others were faster
	postponeBatch = 10               // operations moved behind a waiting head in one transaction
	postponeMost  = 30 * time.Second // how long at most without looking at a lane again
)

// Claimer finds due operations of one kind and takes their lease.
type Claimer struct {
	Kind Kind
	// Lease is how long a claim lasts without a heartbeat.
	Lease time.Duration
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

// Next claims the next operation that may be started: it becomes the owner's until now plus the lease, and its tries
// are counted (R35, R36). Without one it returns nil and the earliest later due time it saw, zero if there is none.
// The snapshot only proposes; the revision of the document decides, so of many claimants one wins.
func (c Claimer) Next(
	ctx context.Context, engine store.Engine, owner string, now time.Time,
) (op *Operation, next time.Time, err error) {
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
		for _, candidate := range p.free {
			op, err := c.take(ctx, engine, candidate, owner, now)
			if err != nil {
				return nil, time.Time{}, err
			}
			if op != nil {
				return op, time.Time{}, nil
			}
		}
		if len(p.behind) > 0 {
			if err := postponeAll(ctx, engine, p.behind); err != nil {
				return nil, time.Time{}, err
			}
		}
		if len(p.free) == 0 && len(p.behind) == 0 {
			return nil, p.next, nil
		}
	}
	return nil, now, nil
}

// take leases one candidate, or returns nil when somebody was faster.
func (c Claimer) take(
	ctx context.Context, engine store.Engine, candidate *Operation, owner string, now time.Time,
) (*Operation, error) {
	var taken *Operation
	err := engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		op := *candidate // fn may run again, so the candidate itself stays as it was read
		op.lease(owner, c.Lease, now)
		op.Tries++
		taken = &op
		return tx.Replace(store.Outbox, &op)
	})
	if errors.Is(err, store.ErrStale) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim operation %s: %w", candidate.ID, err)
	}
	return taken, nil
}

// plan is what one look at the due operations found.
type plan struct {
	free   []*Operation // may be claimed, in order of preference
	behind []*Operation // wait behind a head of their lane that is not due yet; Due is already the new one
	next   time.Time    // the earliest due time after now
}

func (c Claimer) plan(r store.Reader, now time.Time) (plan, error) {
	var p plan
	due, err := c.due(r, now, &p)
	if err != nil || !c.Ordered {
		p.free = due
		return p, err
	}
	seen := make(map[string]bool, len(due))
	for _, op := range due {
		if seen[op.Lane] {
			continue
		}
		seen[op.Lane] = true
		if err := c.planLane(r, op.Lane, now, &p); err != nil {
			return plan{}, err
		}
		if len(p.free) >= candidates || len(p.behind) >= postponeBatch {
			break
		}
	}
	return p, nil
}

// due reads the operations that are due and free, oldest due time first.
func (c Claimer) due(r store.Reader, now time.Time, p *plan) ([]*Operation, error) {
	var due []*Operation
	q := store.Query{Collection: store.Outbox, Index: "due", Equal: []any{string(c.Kind)}, Limit: scanLimit}
	err := r.Find(q, func(decode store.Decode) (bool, error) {
		var op Operation
		if err := decode(&op); err != nil {
			return false, err
		}
		if op.Due.After(now) {
			p.next = *op.Due
			return false, nil
		}
		if op.Free(now) && (c.SkipFunc == nil || !c.SkipFunc(&op)) {
			due = append(due, &op)
		}
		return c.Ordered || len(due) < candidates, nil
	})
	return due, err
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
			p.free = append(p.free, head)
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
	err := engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		for _, op := range ops {
			moved := *op
			if err := tx.Replace(store.Outbox, &moved); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrStale) {
		return fmt.Errorf("move operations behind their lane's head: %w", err)
	}
	return nil
}
