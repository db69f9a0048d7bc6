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

// placed reads the cursor of a merged list; ok is false at its beginning.
func placed(a ask) (p row, ok bool, err error) {
	if a.after == nil {
		return row{}, false, nil
	}
	var okAt, okTag, okID bool
	if len(a.after) == 3 {
		p.at, okAt = a.after[0].(time.Time)
		p.tag, okTag = a.after[1].(string)
		p.id, okID = a.after[2].(string)
	}
	if !okAt || !okTag || !okID {
		return row{}, false, store.ErrIndex
	}
	return p, true, nil
}

// compare is the order of a merged list.
func compare(x, y row) int {
	return cmp.Or(y.at.Compare(x.at), cmp.Compare(y.tag, x.tag), cmp.Compare(y.id, x.id))
}

// mergedPage reads one page.
func mergedPage(r store.Reader, a ask, scans []merged) (admin.Page, error) {
	from, going, err := placed(a)
	if err != nil {
		return admin.Page{}, err
	}
	var rows []row
	for _, m := range scans {
		q := m.q
		q.Descending, q.Limit, q.From, q.Until = true, a.Limit+1, a.from, a.until
		if going {
			place := from.id
			if m.tag < from.tag {
				place = high
			} else if m.tag > from.tag {
				place = ""
			}
			q.After = append(append(store.Cursor{}, q.Equal...), from.at, place)
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
	return cut(a, rows)
}

// cut makes a page of rows that lie behind the cursor.
func cut(a ask, rows []row) (out admin.Page, err error) {
	slices.SortFunc(rows, compare)
	out.Items = []any{}
	for _, one := range rows {
		if len(out.Items) == a.Limit {
			last := rows[a.Limit-1]
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
