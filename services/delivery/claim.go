package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

const (
	scanLimit = 500 // due receipts looked at by one claim
	firstLook = 8   // partitions looked at before all of them are
	rounds    = 16  // how often a claim looks again when others were faster
)

// Claim is a receipt that its worker may handle now, and what waits behind it.
type Claim struct {
	Receipt *Receipt
	Waiting int // receipts of the partition that wait, this one included, counted up to CollapseAbove + 1
}

// Claimer finds the receipt to handle next.
type Claimer struct {
	// Lease is how long a claim lasts without a heartbeat.
	Lease time.Duration
	// SkipFunc leaves out partitions that already have a slot in this process. Nil leaves out none.
	SkipFunc func(partition string) bool
}

// Next claims the first waiting receipt of a partition that nobody works on, and counts the try. Partitions are taken
// by their oldest due receipt, each in order of the sender's clock. Without one it returns nil and the earliest later
// due time it saw, zero if there is none. The snapshot proposes, the revision decides: of many claimants one wins.
func (c Claimer) Next(
	ctx context.Context, engine store.Engine, owner string, now time.Time,
) (claim *Claim, next time.Time, err error) {
	for range rounds {
		var found *Claim
		err := engine.View(ctx, func(_ context.Context, r store.Reader) error {
			var err error
			found, next, err = c.find(r, now)
			return err
		})
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("look for waiting receipts: %w", err)
		}
		if found == nil {
			return nil, next, nil
		}
		taken, err := c.take(ctx, engine, found.Receipt, owner, now)
		if err != nil {
			return nil, time.Time{}, err
		}
		if taken != nil {
			found.Receipt = taken
			return found, time.Time{}, nil
		}
	}
	return nil, now, nil
}

// take leases the receipt, or returns nil when somebody was faster.
func (c Claimer) take(
	ctx context.Context, engine store.Engine, candidate *Receipt, owner string, now time.Time,
) (*Receipt, error) {
	var taken *Receipt
	err := engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		r := *candidate
		r.Lease(owner, c.Lease, now)
		taken = &r
		return tx.Replace(store.Inbox, &r)
	})
	if errors.Is(err, store.ErrStale) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim receipt %s: %w", candidate.ID, err)
	}
	return taken, nil
}

// find walks the due receipts until one belongs to a partition whose head may be handled now: the first few partitions
// nearly always suffice, and only when they do not are all of them looked at.
func (c Claimer) find(r store.Reader, now time.Time) (*Claim, time.Time, error) {
	var next time.Time
	for _, most := range []int{firstLook, scanLimit} {
		due, later, err := c.duePartitions(r, now, most)
		if err != nil {
			return nil, time.Time{}, err
		}
		for _, partition := range due {
			claim, err := c.head(r, partition, now)
			if err != nil || claim != nil {
				return claim, time.Time{}, err
			}
		}
		if next = later; len(due) < most {
			break
		}
	}
	return nil, next, nil
}

// duePartitions lists up to most partitions that have a due receipt, by its due time.
func (c Claimer) duePartitions(r store.Reader, now time.Time, most int) (due []string, next time.Time, err error) {
	seen := map[string]bool{}
	q := store.Query{Collection: store.Inbox, Index: "due", Equal: []any{string(Received)}, Limit: scanLimit}
	err = r.Find(q, func(decode store.Decode) (bool, error) {
		var rec Receipt
		if err := decode(&rec); err != nil {
			return false, err
		}
		if rec.Due.After(now) {
			next = *rec.Due
			return false, nil
		}
		if !seen[rec.Partition] && (c.SkipFunc == nil || !c.SkipFunc(rec.Partition)) {
			seen[rec.Partition] = true
			due = append(due, rec.Partition)
		}
		return len(due) < most, nil
	})
	return due, next, err
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
