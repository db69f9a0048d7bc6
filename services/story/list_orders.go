package story

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

// OrderRow is one order in a list.
type OrderRow struct {
	ID        string            `json:"id"`
	Reference string            `json:"reference"`
	State     offramp.State     `json:"state"`
	Phase     offramp.Phase     `json:"phase"`
	User      string            `json:"user"`
	Asset     string            `json:"asset"`
	Chain     string            `json:"chain"`
	Amount    money.Micro       `json:"amount"` // micro-units
	Fiat      string            `json:"fiat"`
	Net       money.Minor       `json:"net"` // minor units
	Fee       money.Minor       `json:"fee"`
	BankName  string            `json:"bank_name"`
	Last4     string            `json:"last4"`
	Hold      offramp.HoldState `json:"hold"`
	Attempt   int               `json:"attempt"` // number of the latest payout attempt
	Reason    string            `json:"reason,omitempty"`
	Due       *time.Time        `json:"due,omitempty"`
	Revision  int64             `json:"rev"`
	CreatedAt time.Time         `json:"created_at"`
	UpdatedAt time.Time         `json:"updated_at"`
	EndedAt   *time.Time        `json:"ended_at,omitempty"`
}

func rowOf(o *offramp.Order) any {
	return OrderRow{
		ID: o.ID, Reference: o.Reference, State: o.State, Phase: o.Phase, User: o.User, Asset: o.Asset, Chain: o.Chain,
		Amount: o.Amount, Fiat: o.Fiat, Net: o.Net, Fee: o.Fee, BankName: o.Beneficiary.BankName, Last4: o.Beneficiary.Last4,
		Hold: o.Hold, Attempt: o.Attempt, Reason: o.Reason, Due: o.Due, Revision: o.Revision, CreatedAt: o.CreatedAt,
		UpdatedAt: o.UpdatedAt, EndedAt: o.EndedAt,
	}
}

// orderList lists sales by user, state or time of placing; q is an exact look-up.
func (s *Story) orderList(r store.Reader, a ask) (admin.Page, error) {
	if a.Text != "" {
		return s.orderSearch(r, a)
	}
	src := source[*offramp.Order]{show: rowOf}
	src.query = store.Query{Collection: store.Orders, Index: "created", From: a.from, Until: a.until}
	src.place = func(o *offramp.Order) []any { return []any{o.CreatedAt} }
	src.keep = func(o *offramp.Order) bool { return a.is("state", string(o.State)) }
	if user := a.Filters["user"]; user != "" {
		src.query.Index, src.query.Equal = "user", []any{user}
		src.place = func(o *offramp.Order) []any { return []any{o.User, o.CreatedAt} }
	} else if state := a.Filters["state"]; state != "" {
		src.query.Index, src.query.Equal = "state", []any{state}
		src.place = func(o *offramp.Order) []any { return []any{o.State, o.CreatedAt} }
	}
	return page(r, a, src, false)
}

// orderSearch lists the orders that an id leads to: those it is linked to, or all of the user it is linked to.
func (s *Story) orderSearch(r store.Reader, a ask) (admin.Page, error) {
	f, err := s.resolve(r, a.Text)
	if err != nil {
		return admin.Page{}, err
	}
	switch {
	case len(f.orders) > 0 || len(f.users) == 0:
	case len(f.users) == 1:
		a.Text = ""
		a.Filters = with(a.Filters, "user", f.users[0])
		return s.orderList(r, a)
	default:
		return ordersOfUsers(r, a, f.users)
	}
	from, going, err := placed(a)
	if err != nil {
		return admin.Page{}, err
	}
	var rows []row
	for _, id := range f.orders {
		var o offramp.Order
		err := r.Get(store.Orders, id, &o)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return admin.Page{}, fmt.Errorf("read order %s: %w", id, err)
		}
		one := row{at: o.CreatedAt, id: o.ID, item: rowOf(&o)}
		behind := !going || compare(one, from) > 0
		if behind && a.is("state", string(o.State)) && a.is("user", o.User) && a.within(o.CreatedAt) {
			rows = append(rows, one)
		}
	}
	return cut(a, rows)
}

// ordersOfUsers lists the orders of several users: a number that was given to somebody else leads to both.
func ordersOfUsers(r store.Reader, a ask, users []string) (admin.Page, error) {
	var scans []merged
	for _, u := range users {
		if !a.is("user", u) {
			continue
		}
		scan := scanOf(func(o *offramp.Order) row { return row{at: o.CreatedAt, id: o.ID, item: rowOf(o)} })
		scans = append(scans, merged{
			q: store.Query{Collection: store.Orders, Index: "user", Equal: []any{u}},
			scan: func(r store.Reader, q store.Query) ([]row, error) {
				if a.Filters["state"] != "" {
					q.Limit = 0 // one person's orders; none of the state may be missed behind others
				}
				all, err := scan(r, q)
				return slices.DeleteFunc(all, func(one row) bool {
					o, ok := one.item.(OrderRow)
					return !ok || !a.is("state", string(o.State))
				}), err
			},
		})
	}
	return mergedPage(r, a, scans)
}

// with is a copy of the filters with one more.
func with(filters map[string]string, name, value string) map[string]string {
	out := map[string]string{}
	for k, v := range filters {
		out[k] = v
	}
	out[name] = value
	return out
}
