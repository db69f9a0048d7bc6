package deposit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"offrampbot/services/store"
)

// markSpread thins the marks: two neighbours are at least a quarter of their distance to the tip apart, so a year of
// blocks leaves a few dozen.
const markSpread = 4

// loadCursor reads how far a chain was processed; found is false for a new chain.
func loadCursor(r store.Reader, chain string) (c Cursor, found bool, err error) {
	err = r.Get(store.Cursors, chain, &c)
	if errors.Is(err, store.ErrNotFound) {
		return Cursor{}, false, nil
	}
	if err != nil {
		return Cursor{}, false, fmt.Errorf("read cursor %s: %w", chain, err)
	}
	return c, true, nil
}

// sweep is the range to read once more now; it is empty (from > to) when none is due.
func (c Cursor) sweep(now time.Time, most int64) (from, to int64) {
	if now.Before(c.SweepAt) {
		return 1, 0
	}
	return c.Swept + 1, min(c.SweepTo, c.Swept+most)
}

// swept returns the cursor after its sweep up to a height was read. When the goal is reached, what was read for the
// first time since then becomes the next goal.
func (c Cursor) swept(to int64, now time.Time, every time.Duration) Cursor {
	c.Swept = max(c.Swept, to)
	if now.Before(c.SweepAt) || c.Swept < c.SweepTo {
		return c
	}
	c.Swept = min(c.Swept, c.Height) // an operator's replay starts below
	c.SweepTo, c.SweepAt = c.Height, now.Add(every)
	return c
}

// advance returns the cursor at a block, with the marks of the chain up to the common ancestor and the block itself.
func (c Cursor) advance(to Block, ancestor int64, now time.Time) Cursor {
	next := c
	next.Height, next.Hash, next.PolledAt = to.Number, to.Hash, now
	next.Marks = nil
	for _, m := range c.Marks {
		if m.Height <= ancestor && m.Height < to.Number {
			next.Marks = append(next.Marks, m)
		}
	}
	next.Marks = thin(append(next.Marks, Mark{Height: to.Number, Hash: to.Hash}))
	return next
}

// stands reports whether the cursor says the same as before, but for the time.
func (c Cursor) stands(before Cursor) bool {
	return c.Height == before.Height && c.Hash == before.Hash && c.Swept == before.Swept && c.SweepTo == before.SweepTo &&
		c.SweepAt.Equal(before.SweepAt)
}

// thin keeps the newest and the oldest mark and, between them, ever fewer with age.
func thin(marks []Mark) []Mark {
	if len(marks) == 0 {
		return nil
	}
	last := len(marks) - 1
	tip := marks[last].Height
	kept := []Mark{marks[last]}
	for i := last - 1; i >= 0; i-- {
		newer := kept[len(kept)-1].Height
		if i == 0 || newer-marks[i].Height >= (tip-newer)/markSpread {
			kept = append(kept, marks[i])
		}
	}
	slices.Reverse(kept)
	return kept
}

// commitCursor stores the cursor on condition of the lease, whose revision is the fence. It is the last commit of a poll:
// whatever was not committed before it is found again by the next poll (R112, D14).
func commitCursor(ctx context.Context, engine store.Engine, lease Lease, c Cursor) (Lease, error) {
	var held Lease
	err := engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		l, doc := lease, c
		if err := tx.Replace(store.Leases, &l); err != nil {
			return err
		}
		held = l
		if doc.Revision == 0 {
			return tx.Insert(store.Cursors, &doc)
		}
		return tx.Replace(store.Cursors, &doc)
	})
	if errors.Is(err, store.ErrStale) || store.IsDuplicate(err) {
		return Lease{}, fmt.Errorf("commit cursor %s: %w", c.ID, errLeaseLost)
	}
	if err != nil {
		return Lease{}, fmt.Errorf("commit cursor %s: %w", c.ID, err)
	}
	return held, nil
}
