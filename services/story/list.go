package story

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// rowsPerView bounds how many rows one snapshot looks through: rows that a second filter leaves out count too.
const rowsPerView = 2000

// ask is one question for a list, with its times and place read.
type ask struct {
	admin.Query
	from, until any // time.Time, or nil for open
	after       store.Cursor
}

// lister answers one list from one snapshot; an empty page with a Next means that the look goes on there.
type lister func(r store.Reader, q ask) (admin.Page, error)

// List answers one page of a list. Rows come newest first where they have a time; paging is by place in an index, so it
// misses and repeats nothing while others write. Fault code: body_invalid, for a cursor or filter that cannot be read.
func (s *Story) List(ctx context.Context, list admin.List, q admin.Query) (admin.Page, error) {
	run, ok := map[admin.List]lister{
		admin.Orders: s.orderList, admin.Audit: s.auditList, admin.Duplicates: s.duplicateList, admin.Deposits: s.depositList,
		admin.Users: s.userList, admin.Ledger: s.ledgerList, admin.Parked: s.parkedList, admin.Settings: s.settingList, admin.Approvals: s.approvalList,
	}[list]
	if !ok {
		return admin.Page{}, fault.New("route_unknown", nil)
	}
	a, err := read(q)
	if err != nil {
		return admin.Page{}, err
	}
	for {
		var page admin.Page
		err := s.view(ctx, func(r store.Reader) (err error) {
			page, err = run(r, a)
			return err
		})
		if errors.Is(err, store.ErrIndex) { // only a cursor of another list, or of another filter, does not fit
			return admin.Page{}, fault.New("body_invalid", err).With("why", "The cursor does not belong to this list")
		}
		if err != nil {
			return admin.Page{}, fmt.Errorf("list %s: %w", list, err)
		}
		if page.Items == nil {
			page.Items = []any{}
		}
		if len(page.Items) > 0 || page.Next == "" {
			return page, nil
		}
		if a.after, err = store.DecodeCursor(page.Next); err != nil { // our own word
			return admin.Page{}, err
		}
	}
}

// read checks what every list may carry.
func read(q admin.Query) (ask, error) {
	invalid := func(why string) error { return fault.New("body_invalid", nil).With("why", why) }
	a := ask{Query: q}
	if a.Limit < 1 {
		a.Limit = 50
	}
	for name, into := range map[string]*any{"from": &a.from, "until": &a.until} {
		text := q.Filters[name]
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return ask{}, invalid("from and until are times like 2026-06-03T12:00:00Z")
		}
		*into = at.UTC()
	}
	after, err := store.DecodeCursor(q.Cursor)
	if err != nil {
		return ask{}, invalid("The cursor cannot be read")
	}
	a.after = after
	return a, nil
}

// within reports whether a time lies in the asked range.
func (a ask) within(at time.Time) bool {
	if from, ok := a.from.(time.Time); ok && at.Before(from) {
		return false
	}
	until, ok := a.until.(time.Time)
	return !ok || at.Before(until)
}

// is reports whether a value is the one that a filter asks for.
func (a ask) is(filter, value string) bool {
	want := a.Filters[filter]
	return want == "" || want == value
}

// source is one scan of an index, its filter and how its rows are placed and shown.
type source[P store.Document] struct {
	query store.Query
	place func(P) []any // the values of the index's fields
	keep  func(P) bool  // nil: all
	show  func(P) any   // nil: as it is
}

// page reads one page of a source, newest first unless the query says otherwise by ascending.
func page[T any, P interface {
	*T
	store.Document
}](r store.Reader, a ask, src source[P], ascending bool) (admin.Page, error) {
	q := src.query
	q.Descending, q.Limit, q.After = !ascending, rowsPerView+1, a.after
	out := admin.Page{Items: []any{}}
	var last store.Cursor
	seen, more := 0, false
	err := r.Find(q, func(decode store.Decode) (bool, error) {
		if len(out.Items) == a.Limit || seen == rowsPerView {
			more = true
			return false, nil
		}
		var p P = new(T)
		if err := decode(p); err != nil {
			return false, err
		}
		seen++
		last = store.CursorOf(p, src.place(p)...)
		if src.keep != nil && !src.keep(p) {
			return true, nil
		}
		item := any(p)
		if src.show != nil {
			item = src.show(p)
		}
		out.Items = append(out.Items, item)
		return true, nil
	})
	if err != nil || !more {
		return out, err
	}
	out.Next, err = last.Encode()
	return out, err
}
