package figures

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"offrampbot/services/store"
)

// Difference is a figure that is not what its records come to.
type Difference struct {
	ID   string // the figure's `_id`
	Text string
}

// page is how many records one snapshot of a check reads.
const page = 1000

// Check computes every figure anew from the records up to its stream's cursor and compares. Records and the days that
// are over never change, so it is true while others write: cursor and figures are of one snapshot.
func Check(ctx context.Context, engine store.Engine) (checked int, out []Difference, err error) {
	for _, k := range []Kind{Account, State} {
		n, found, err := check(ctx, engine, k)
		if err != nil {
			return checked, out, fmt.Errorf("check %s figures: %w", k, err)
		}
		checked += n
		out = append(out, found...)
	}
	return checked, out, nil
}

func check(ctx context.Context, engine store.Engine, k Kind) (int, []Difference, error) {
	var stored []*Figure
	var end *Cursor
	err := engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		if end, err = loadCursor(r, k); err != nil {
			return err
		}
		stored, err = store.All[Figure](r, store.Query{
			Collection: store.Figures, Index: store.ByID, From: string(k) + "|", Until: string(k) + "|" + last,
		})
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	want, records, err := recompute(ctx, engine, k, end)
	if err != nil {
		return 0, nil, err
	}
	var out []Difference
	if records != end.Records {
		out = append(out, Difference{end.ID, fmt.Sprintf("says %d records, there are %d up to its place", end.Records, records)})
	}
	for _, f := range stored {
		w := want[f.ID]
		delete(want, f.ID)
		if w == nil {
			w = &Figure{}
		}
		if f.In != w.In || f.Out != w.Out || f.Records != w.Records || f.Balance != w.Balance {
			out = append(out, Difference{f.ID, fmt.Sprintf(
				"says in %d, out %d, balance %d of %d records; they come to in %d, out %d, balance %d of %d",
				f.In, f.Out, f.Balance, f.Records, w.In, w.Out, w.Balance, w.Records)})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		out = append(out, Difference{id, "is missing"})
	}
	return len(stored), out, nil
}

// recompute folds every record up to a place, a snapshot per page.
func recompute(ctx context.Context, engine store.Engine, k Kind, end *Cursor) (map[string]*Figure, int64, error) {
	want, balances := map[string]*Figure{}, map[string]int64{}
	at := &Cursor{}
	var n int64
	for end.Last != "" {
		var records []record
		err := engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
			records, err = after(r, k, at, end.At.Add(1_000_000), page) // times are whole milliseconds
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		for _, one := range records {
			if one.at.Equal(end.At) && one.id > end.Last {
				return want, n, nil
			}
			n++
			for _, c := range one.changes {
				key := id(k, c.name, dayOf(one.at))
				f := want[key]
				if f == nil {
					f = newFigure(k, c, dayOf(one.at), balances[c.name])
					want[key] = f
				}
				if err := f.apply(c); err != nil {
					return nil, 0, err
				}
				balances[c.name] = f.Balance
			}
			at.At, at.Last = one.at, one.id
		}
		if len(records) < page {
			break
		}
	}
	return want, n, nil
}
