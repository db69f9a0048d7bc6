package story

import (
	"errors"
	"fmt"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/phone"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// UserRow is one person as staff see it: the number is masked, and nothing of the PIN but whether it may be tried.
type UserRow struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Phone       phone.Number `json:"phone"` // masked in every form
	Country     string       `json:"country,omitempty"`
	Language    string       `json:"language"`
	Tier        string       `json:"tier"`
	Status      user.Status  `json:"status"`
	Frozen      *user.Freeze `json:"frozen,omitempty"`
	LockedUntil *time.Time   `json:"pin_locked_until,omitempty"` // too many wrong PINs
	Blocked     bool         `json:"pin_blocked"`                // ten wrong PINs in a day: only staff unlock it
	Address     string       `json:"address,omitempty"`          // deposit address
	LastInbound time.Time    `json:"last_inbound"`
	CreatedAt   time.Time    `json:"created_at"`
	Revision    int64        `json:"rev"`
}

func userRow(u *user.User) UserRow {
	out := UserRow{
		ID: u.ID, Name: u.Name, Phone: phone.Number(u.WhatsAppID), Country: u.Country, Language: u.Language, Tier: u.Tier,
		Status: u.Status, Frozen: u.Frozen, Address: u.Address, LastInbound: u.LastInbound, CreatedAt: u.CreatedAt, Revision: u.Revision,
	}
	if u.PIN != nil {
		out.LockedUntil, out.Blocked = u.PIN.LockedUntil, u.PIN.Blocked
	}
	return out
}

// userList lists people by the time they first wrote; q is any id that leads to a person or to an order of theirs.
func (s *Story) userList(r store.Reader, a ask) (admin.Page, error) {
	if a.Text != "" {
		return s.userSearch(r, a)
	}
	return page(r, a, source[*user.User]{
		query: store.Query{Collection: store.Users, Index: "created", From: a.from, Until: a.until},
		place: func(u *user.User) []any { return []any{u.CreatedAt} },
		keep:  a.keepsUser,
		show:  func(u *user.User) any { return userRow(u) },
	}, false)
}

func (a ask) keepsUser(u *user.User) bool {
	return a.is("status", string(u.Status)) && a.is("frozen", yesNo(u.Frozen != nil)) && a.within(u.CreatedAt)
}

// userSearch lists the people that an id leads to: one, or two when a number was given to somebody else.
func (s *Story) userSearch(r store.Reader, a ask) (admin.Page, error) {
	people, err := s.peopleOf(r, a.Text)
	if err != nil {
		return nothing, err
	}
	from, going, err := placed(a)
	if err != nil {
		return nothing, err
	}
	var rows []row
	for _, u := range people {
		one := row{at: u.CreatedAt, id: u.ID, item: userRow(u)}
		if a.keepsUser(u) && (!going || compare(one, from) > 0) {
			rows = append(rows, one)
		}
	}
	return cut(a, rows)
}

// peopleOf are the people that an id leads to, directly or by an order.
func (s *Story) peopleOf(r store.Reader, id string) ([]*user.User, error) {
	f, err := s.resolve(r, id)
	if err != nil {
		return nil, err
	}
	for _, id := range f.orders {
		o, err := s.order(r, id)
		if fault.Is(err, "order_unknown") {
			continue
		}
		if err != nil {
			return nil, err
		}
		add(&f.users, o.User)
	}
	var out []*user.User
	for _, id := range f.users {
		var u user.User
		err := r.Get(store.Users, id, &u)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read user %s: %w", id, err)
		}
		out = append(out, &u)
	}
	return out, nil
}
