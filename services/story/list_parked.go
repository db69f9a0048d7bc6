package story

import (
	"errors"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// ParkedRow is one record that waits for a person.
type ParkedRow struct {
	ID       string    `json:"id"`
	Record   string    `json:"record"` // receipt or operation
	Kind     string    `json:"kind"`   // of the operation, or source of the receipt
	State    string    `json:"state"`  // parked or unhandled
	Reason   string    `json:"reason"`
	Order    string    `json:"order,omitempty"`
	User     string    `json:"user,omitempty"`
	Tries    int       `json:"tries"`
	Redrive  bool      `json:"redrive"` // POST …/parked/:id/redrive takes it; money goes on by the order's resume
	At       time.Time `json:"at"`      // when a receipt was parked, when an operation was made
	Revision int64     `json:"rev"`
}

func parkedReceipt(p *delivery.Receipt) ParkedRow {
	out := ParkedRow{
		ID: p.ID, Record: "receipt", Kind: string(p.Source), State: string(p.State), Reason: p.Reason, Order: p.Order,
		User: p.User, Tries: p.Tries, Redrive: true, At: p.ReceivedAt, Revision: p.Revision,
	}
	if p.DoneAt != nil {
		out.At = *p.DoneAt
	}
	return out
}

func parkedOperation(p *operation.Operation) ParkedRow {
	return ParkedRow{
		ID: p.ID, Record: "operation", Kind: string(p.Kind), State: string(p.State), Reason: p.Reason, Order: p.Order,
		User: p.User, Tries: p.Tries, Redrive: !isMoney(p.Kind), At: p.CreatedAt, Revision: p.Revision,
	}
}

// isMoney reports whether an operation of the kind moves money: it is armed again only by the order's own resume.
func isMoney(k operation.Kind) bool { return k == operation.Payout || k == operation.StartExchange }

// parkedList lists receipts that were parked or that nobody handles, and parked operations, in one list. kind is
// receipt, operation, an operation's kind or a receipt's source; q is an exact id.
func (s *Story) parkedList(r store.Reader, a ask) (admin.Page, error) {
	if a.Text != "" {
		return parkedOne(r, a)
	}
	kind := a.Filters["kind"]
	keep := func(found []row, err error) ([]row, error) {
		kept := found[:0]
		for _, one := range found {
			if p, ok := one.item.(ParkedRow); ok && (kind == "" || kind == p.Kind || kind == p.Record) {
				kept = append(kept, one)
			}
		}
		return kept, err
	}
	receipts := scanOf(func(p *delivery.Receipt) row {
		item := parkedReceipt(p)
		return row{at: item.At, id: p.ID, item: item}
	})
	operations := scanOf(func(p *operation.Operation) row {
		return row{at: p.CreatedAt, id: p.ID, item: parkedOperation(p)}
	})
	all := func(scan func(store.Reader, store.Query) ([]row, error)) func(store.Reader, store.Query) ([]row, error) {
		return func(r store.Reader, q store.Query) ([]row, error) {
			if kind != "" {
				q.Limit = 0 // few records wait for a person; none of the kind may be missed behind others
			}
			return keep(scan(r, q))
		}
	}
	return mergedPage(r, a, []merged{
		{tag: "receipt", q: parkedIn(store.Inbox, "done", string(delivery.Parked)), scan: all(receipts)},
		{tag: "receipt", q: parkedIn(store.Inbox, "done", string(delivery.Unhandled)), scan: all(receipts)},
		{tag: "operation", q: parkedIn(store.Outbox, "state", string(operation.Parked)), scan: all(operations)},
	})
}

func parkedIn(c store.Collection, index, state string) store.Query {
	return store.Query{Collection: c, Index: index, Equal: []any{state}}
}

// parkedOne finds one parked record by its id.
func parkedOne(r store.Reader, a ask) (admin.Page, error) {
	out := admin.Page{Items: []any{}}
	p, err := parked(r, a.Text)
	if err != nil || p == nil {
		return out, err
	}
	if kind := a.Filters["kind"]; kind == "" || kind == p.Kind || kind == p.Record {
		out.Items = append(out.Items, *p)
	}
	return out, nil
}

// parked reads one record as a row, nil when there is none or it does not wait for a person.
func parked(r store.Reader, id string) (*ParkedRow, error) {
	rec, err := delivery.Load(r, id)
	if err == nil {
		if rec.State != delivery.Parked && rec.State != delivery.Unhandled {
			return nil, nil //nolint:nilnil // nil means "not parked" here, on purpose
		}
		p := parkedReceipt(rec)
		return &p, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	op, err := operation.Load(r, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil //nolint:nilnil // nil means "no such record" here, on purpose
	case err != nil:
		return nil, err
	case op.State != operation.Parked:
		return nil, nil //nolint:nilnil // nil means "not parked" here, on purpose
	}
	p := parkedOperation(op)
	return &p, nil
}
