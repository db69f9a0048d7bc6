package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

const (
	firstLook = 16  // due receipts looked at before all of them are
	scanLimit = 500 // due receipts looked at by one claim
	mostClaim = 8   // receipts leased in one transaction
	rounds    = 16  // how often a claim looks again when others were faster

	// lookAgain is when what a rival has in hand is looked at again: an open transaction may belong to a dead process.
	lookAgain = 250 * time.Millisecond
)

// Claim is a receipt that its worker may handle now, and what waits behind it.
type Claim struct {
	Receipt *Receipt
	Waiting int // receipts of the partition that wait, this one included, counted up to CollapseAbove + 1
}

// Claimer finds the receipts to handle next.
type Claimer struct {
	// Lease is how long a claim lasts.
	Lease time.Duration
	// Most is how many receipts of as many partitions are claimed at once, eight at most. Zero: 1.
	Most int
	// SkipFunc leaves out partitions that already have a slot in this process. Nil leaves out none.
	SkipFunc func(partition string) bool
}

// Next is Some for one receipt; it returns nil when there is none.
func (c Claimer) Next(
	ctx context.Context, engine store.Engine, owner string, now time.Time,
) (claim *Claim, next time.Time, err error) {
	c.Most = 1
	claims, next, err := c.Some(ctx, engine, owner, now)
	if len(claims) == 0 {
		return nil, next, err
	}
	return claims[0], next, err
}

// Some claims the first waiting receipt of partitions that nobody works on, and counts the try. Partitions are taken
// by their oldest due receipt, each in order of the sender's clock. Without one it returns none and the earliest later
// due time it saw, zero if there is none. The owner must be new for every call. The snapshot proposes, the revisions
// decide: of many claimants one wins. A receipt that another transaction has written to is left to it, and holds up
// nothing but its own partition.
func (c Claimer) Some(
	ctx context.Context, engine store.Engine, owner string, now time.Time,
) (claims []*Claim, next time.Time, err error) {
	c.Most = min(max(c.Most, 1), mostClaim)
	skip, lost := c.SkipFunc, map[string]bool{}
	c.SkipFunc = func(partition string) bool { return lost[partition] || skip != nil && skip(partition) }
	for range rounds {
		var found []*Claim
		err := engine.View(ctx, func(_ context.Context, r store.Reader) error {
			var err error
			found, next, err = c.find(r, now)
			return err
		})
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("look for waiting receipts: %w", err)
		}
		if len(found) == 0 {
			break
		}
		claims, err := c.take(ctx, engine, found, owner, now)
		if err != nil || len(claims) > 0 {
			return claims, time.Time{}, err
		}
		for _, f := range found {
			lost[f.Receipt.Partition] = true
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

// take leases what was found in one transaction; when somebody was faster with one of them, each on its own.
func (c Claimer) take(
	ctx context.Context, engine store.Engine, found []*Claim, owner string, now time.Time,
) ([]*Claim, error) {
	taken, err := c.lease(ctx, engine, found, owner, now)
	if !errors.Is(err, store.ErrStale) || len(found) == 1 {
		return taken, ignoreStale(err)
	}
	for _, one := range found {
		mine, err := c.lease(ctx, engine, []*Claim{one}, owner, now)
		if err := ignoreStale(err); err != nil {
			return taken, err
		}
		taken = append(taken, mine...)
	}
	return taken, nil
}

// lease leases all of these receipts or none.
func (c Claimer) lease(
	ctx context.Context, engine store.Engine, found []*Claim, owner string, now time.Time,
) ([]*Claim, error) {
	var taken []*Claim
	err := engine.Update(store.Once(ctx), func(_ context.Context, tx store.Tx) error {
		taken = nil
		for _, candidate := range found {
			r := *candidate.Receipt // fn may run again, so the candidate stays as it was read
			r.Lease(owner, c.Lease, now)
			if err := tx.Replace(store.Inbox, &r); err != nil {
				return err
			}
			taken = append(taken, &Claim{Receipt: &r, Waiting: candidate.Waiting})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim receipts: %w", err)
	}
	return taken, nil
}

func ignoreStale(err error) error {
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	return err
}

// find walks the due receipts until it has receipts of enough partitions: the first few nearly always suffice, and only
// when they do not are all of them looked at.
func (c Claimer) find(r store.Reader, now time.Time) (found []*Claim, next time.Time, err error) {
	for _, limit := range []int{firstLook, scanLimit} {
		due, seen, later, err := c.duePartitions(r, now, limit)
		if err != nil {
			return nil, time.Time{}, err
		}
		found = found[:0]
		for _, partition := range due {
			claim, err := c.head(r, partition, now)
			if err != nil {
				return nil, time.Time{}, err
			}
			if claim != nil {
				found = append(found, claim)
			}
			if len(found) == c.Most {
				break
			}
		}
		if next = later; len(found) > 0 || seen < limit {
			break
		}
	}
	return found, next, nil
}

// duePartitions lists the partitions that have a receipt among the first due ones, and how many receipts it saw.
func (c Claimer) duePartitions(
	r store.Reader, now time.Time, limit int,
) (due []string, seen int, next time.Time, err error) {
	listed := map[string]bool{}
	q := store.Query{Collection: store.Inbox, Index: "due", Equal: []any{string(Received)}, Limit: limit}
	err = r.Find(q, func(decode store.Decode) (bool, error) {
		var rec Receipt
		if err := decode(&rec); err != nil {
			return false, err
		}
		if rec.Due.After(now) {
			next = *rec.Due
			return false, nil
		}
		seen++
		if !listed[rec.Partition] && (c.SkipFunc == nil || !c.SkipFunc(rec.Partition)) {
			listed[rec.Partition] = true
			due = append(due, rec.Partition)
		}
		return true, nil
	})
	return due, seen, next, err
}

// head returns the first waiting receipt of a partition, or nil when somebody works on the partition or its head waits
// for another try. Those behind the head count, and are looked at for a running lease: a delivery that
// arrived late but was sent earlier must not be handled beside one that is in hand.
func (c Claimer) head(r store.Reader, partition string, now time.Time) (*Claim, error) {
	var claim Claim
	busy := false
	q := store.Query{
		Collection: store.Inbox, Index: "partition", Equal: []any{partition, string(Received)}, Limit: CollapseAbove + 1,
	}
	err := r.Find(q, func(decode store.Decode) (bool, error) {
		var rec Receipt
		if err := decode(&rec); err != nil {
			return false, err
		}
		if !rec.Free(now) {
			busy = true
			return false, nil
		}
		if claim.Receipt == nil {
			claim.Receipt = &rec
		}
		claim.Waiting++
		return true, nil
	})
	if err != nil || busy || claim.Receipt == nil || claim.Receipt.Due.After(now) {
		return nil, err
	}
	return &claim, nil
}
