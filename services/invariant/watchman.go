package invariant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

const (
	watchmanID = "watchman"
	// settleTime is how old a trail entry must be: entries are committed out of the order of their times, but none comes
	// this late.
	settleTime = time.Minute
	// round is how many entries one step follows.
	round = 200
)

// Alarm tells people about a difference. It is called again for one that is still there when its order moves again.
type Alarm func(ctx context.Context, d Difference) error

// Watchman checks each order soon after it has moved, for as long as the product runs (DESIGN §15, D24): a difference
// pages a person within minutes, instead of when somebody runs verify. Any number of processes may keep one; the place
// in the trail is a document, and of two that follow the same entries one goes on.
type Watchman struct {
	checker *Checker
	alarm   Alarm
	now     func() time.Time
}

// NewWatchman returns a Watchman.
func NewWatchman(c *Checker, alarm Alarm, now func() time.Time) (*Watchman, error) {
	if c == nil || alarm == nil || now == nil {
		return nil, errors.New("watchman: checker, alarm and clock are required")
	}
	return &Watchman{checker: c, alarm: alarm, now: now}, nil
}

// beat is how far the trail was followed.
type beat struct {
	store.Meta `bson:",inline"`
	At         time.Time `bson:"at"`
	Last       string    `bson:"last"` // the entry's `_id`
	Orders     int64     `bson:"orders"`
}

// Step follows the trail, checks the orders whose entries it meets, and says whether there may be more. The place is
// stored after the checks: a process that dies in the middle leaves them to be done again.
func (w *Watchman) Step(ctx context.Context) (worked bool, err error) {
	place, err := w.place(ctx)
	if err != nil {
		return false, err
	}
	entries, err := w.entries(ctx, place)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	var orders []string
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Stream, "order:"); ok && !slices.Contains(orders, id) {
			orders = append(orders, id)
		}
	}
	for _, id := range orders {
		differences, err := w.checker.touched(ctx, id)
		if err != nil {
			return false, fmt.Errorf("check order %s: %w", id, err)
		}
		for _, d := range differences {
			if err := w.alarm(ctx, d); err != nil {
				return false, fmt.Errorf("raise the alarm about %s: %w", d.ID, err)
			}
		}
	}
	last := entries[len(entries)-1]
	place.At, place.Last, place.Orders = last.At, last.ID, place.Orders+int64(len(orders))
	return true, w.keep(ctx, place)
}

// place reads how far the trail was followed. The first time it begins with what happens from now on: verify is there
// for everything before.
func (w *Watchman) place(ctx context.Context) (*beat, error) {
	var b beat
	err := w.checker.engine.View(ctx, func(_ context.Context, r store.Reader) error { return r.Get(store.Figures, watchmanID, &b) })
	if errors.Is(err, store.ErrNotFound) {
		b = beat{Meta: store.Meta{ID: watchmanID, Version: 1}, At: w.now().UTC().Truncate(time.Millisecond)}
		return &b, w.keep(ctx, &b)
	}
	if err != nil {
		return nil, fmt.Errorf("read the watchman's place: %w", err)
	}
	return &b, nil
}

// keep stores the place. Whoever was overtaken keeps nothing: another process is further.
func (w *Watchman) keep(ctx context.Context, b *beat) error {
	err := w.checker.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		mine := *b
		if mine.Revision == 0 {
			_, err := tx.Ensure(store.Figures, &mine)
			return err
		}
		return tx.Replace(store.Figures, &mine)
	})
	if errors.Is(err, store.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store the watchman's place: %w", err)
	}
	return nil
}

func (w *Watchman) entries(ctx context.Context, from *beat) (entries []*audit.Entry, err error) {
	until := w.now().Add(-settleTime)
	q := store.Query{Collection: store.Audit, Index: "at", Limit: round}
	if from.Last == "" {
		q.From = from.At
	} else {
		q.After = store.Cursor{from.At, from.Last}
	}
	err = w.checker.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		entries = nil
		return r.Find(q, func(decode store.Decode) (bool, error) {
			var e audit.Entry
			if err := decode(&e); err != nil {
				return false, err
			}
			if e.At.After(until) {
				return false, nil
			}
			entries = append(entries, &e)
			return true, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("follow the trail: %w", err)
	}
	return entries, nil
}

// touched checks an order and what moves with it: its user's account of the asset, and its stream in the trail.
func (c *Checker) touched(ctx context.Context, id string) (out []Difference, err error) {
	var o offramp.Order
	err = c.engine.View(ctx, func(_ context.Context, r store.Reader) error { return r.Get(store.Orders, id, &o) })
	if errors.Is(err, store.ErrNotFound) {
		return []Difference{{id, "I11", "the trail speaks of an order that is not there"}}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		id    string
		check func(store.Reader, string) ([]Difference, error)
	}{
		{id, c.order}, {ledger.AccountID(o.User, o.Asset), c.account}, {"order:" + id, c.stream},
	} {
		found, err := c.one(ctx, part.id, part.check)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}
