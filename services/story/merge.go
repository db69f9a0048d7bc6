package story

import (
	"cmp"
	"slices"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/store"
)

// A merged list shows rows of several scans in one order: time, then the scan's tag, then id, all descending. Its cursor
// is a place in that order, so each scan can go on from it whether or not the row there was its own.

// row is one row of a merged list with its place.
type row struct {
	at   time.Time
	tag  string
	id   string
	item any
}

// merged is one scan of a merged list; its index ends with a time.
type merged struct {
	tag  string
	scan func(r store.Reader, q store.Query) ([]row, error) // fills at, id and item
	q    store.Query                                        // Equal is the whole index but the time
}

// high is behind every id that exists.
const high = "\U0010FFFF"

// mergedPage reads one page.
func mergedPage(r store.Reader, a ask, scans []merged) (admin.Page, error) {
	var at time.Time
	var tag, id string
	if a.after != nil {
		var okAt, okTag, okID bool
		if len(a.after) == 3 {
			at, okAt = a.after[0].(time.Time)
			tag, okTag = a.after[1].(string)
			id, okID = a.after[2].(string)
		}
		if !okAt || !okTag || !okID {
			return admin.Page{}, store.ErrIndex
		}
	}
	var rows []row
	for _, m := range scans {
		q := m.q
		q.Descending, q.Limit, q.From, q.Until = true, a.Limit+1, a.from, a.until
		if a.after != nil {
			place := id
			if m.tag < tag {
				place = high
			} else if m.tag > tag {
				place = ""
			}
			q.After = append(append(store.Cursor{}, q.Equal...), at, place)
		}
		found, err := m.scan(r, q)
		if err != nil {
			return admin.Page{}, err
		}
		for i := range found {
			found[i].tag = m.tag
		}
		rows = append(rows, found...)
	}
	slices.SortFunc(rows, func(x, y row) int {
		return cmp.Or(y.at.Compare(x.at), cmp.Compare(y.tag, x.tag), cmp.Compare(y.id, x.id))
	})
	out := admin.Page{Items: []any{}}
	for _, one := range rows {
		if len(out.Items) == a.Limit {
			last := rows[a.Limit-1]
			var err error
			out.Next, err = store.Cursor{last.at, last.tag, last.id}.Encode()
			return out, err
		}
		out.Items = append(out.Items, one.item)
	}
	return out, nil
}

// scanOf makes the scan of one type of document.
func scanOf[T any, P interface {
	*T
	store.Document
}](place func(P) row) func(r store.Reader, q store.Query) ([]row, error) {
	return func(r store.Reader, q store.Query) ([]row, error) {
		all, err := store.All[T, P](r, q)
		out := make([]row, 0, len(all))
		for _, p := range all {
			out = append(out, place(p))
		}
		return out, err
	}
}
