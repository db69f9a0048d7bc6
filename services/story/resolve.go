package story

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// found is what one id leads to. Each list holds an id once, in the order in which it was learnt.
type found struct {
	orders, users, deposits, operations, receipts []string
}

func add(list *[]string, id string) {
	if id != "" && !slices.Contains(*list, id) {
		*list = append(*list, id)
	}
}

// resolve follows an id: as the `_id` of a record, and through `links` (DESIGN §4: any id finds the whole story).
func (s *Story) resolve(r store.Reader, id string) (found, error) {
	var f found
	normal := ids.NormalID(id)
	if normal == "" {
		return f, nil
	}
	names := []string{normal}
	if digits, ok := phoneDigits(normal); ok && s.digest != nil {
		names = append(names, s.digest(digits))
	}
	for _, name := range names {
		links, err := store.Related(r, name)
		if err != nil {
			return f, fmt.Errorf("look up links: %w", err)
		}
		for _, l := range links {
			f.take(l)
		}
	}
	if err := f.byID(r, normal); err != nil {
		return f, err
	}
	return f, f.followRecords(r)
}

// phoneDigits is a text that can be a phone number, as its digits alone.
func phoneDigits(text string) (digits string, ok bool) {
	digits = strings.NewReplacer("+", "", " ", "", "-", "", "(", "", ")", "").Replace(text)
	return digits, len(digits) >= 7 && strings.Trim(digits, "0123456789") == ""
}

// take notes what a link points to. A user's target may carry the name of its stream.
func (f *found) take(l *store.Link) {
	switch l.Kind {
	case "order":
		add(&f.orders, l.Target)
	case "user":
		add(&f.users, strings.TrimPrefix(l.Target, "user:"))
	case "deposit":
		add(&f.deposits, l.Target)
	case "operation":
		add(&f.operations, l.Target)
	case "receipt":
		add(&f.receipts, l.Target)
	}
}

// head reads only the beginning of a document.
type head struct {
	store.Meta `bson:",inline"`
}

// byID tries the id as the `_id` of each kind of record. The receipt of a message is found by its wamid alone.
func (f *found) byID(r store.Reader, id string) error {
	for _, try := range []struct {
		collection store.Collection
		id         string
		into       *[]string
	}{
		{store.Orders, id, &f.orders},
		{store.Users, strings.TrimPrefix(id, "user:"), &f.users},
		{store.Deposits, id, &f.deposits},
		{store.Outbox, id, &f.operations},
		{store.Inbox, id, &f.receipts},
		{store.Inbox, ids.WhatsAppDelivery(id), &f.receipts},
	} {
		var h head
		err := r.Get(try.collection, try.id, &h)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look up id in %s: %w", try.collection, err)
		}
		add(try.into, try.id)
	}
	var p ledger.Posting
	err := r.Get(store.Postings, id, &p)
	if err == nil {
		add(&f.orders, p.Order)
	} else if !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("look up posting: %w", err)
	}
	a, err := admin.LoadApproval(r, id)
	if err == nil {
		add(&f.orders, a.Order)
	} else if !fault.Is(err, "approval_unknown") {
		return err
	}
	return nil
}

// followRecords goes on from operations, receipts and deposits to their orders. A record that was swept leads nowhere.
func (f *found) followRecords(r store.Reader) error {
	for _, id := range f.operations {
		op, err := operation.Load(r, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		add(&f.orders, op.Order)
	}
	for _, id := range f.receipts {
		rec, err := delivery.Load(r, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		add(&f.orders, rec.Order)
		if rec.Order == "" {
			add(&f.users, rec.User)
		}
	}
	for _, id := range f.deposits {
		if err := f.followDeposit(r, id); err != nil {
			return err
		}
	}
	return nil
}

// openFor is far longer than an order waits for a deposit, renewals included.
const openFor = 30 * 24 * time.Hour

// followDeposit finds the orders that a deposit counted for.
func (f *found) followDeposit(r store.Reader, id string) error {
	var d deposit.Deposit
	err := r.Get(store.Deposits, id, &d)
	if errors.Is(err, store.ErrNotFound) || err == nil && d.User == "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read deposit %s: %w", id, err)
	}
	all, err := store.All[offramp.Order](r, store.Query{
		Collection: store.Orders, Index: "user", Equal: []any{d.User}, Descending: true,
		From: d.SeenAt.Add(-openFor), Until: d.SeenAt.Add(before + time.Millisecond),
	})
	if err != nil {
		return fmt.Errorf("read orders of user %s: %w", d.User, err)
	}
	for _, o := range all {
		if counted(o, &d) {
			add(&f.orders, o.ID)
		}
	}
	return nil
}

// order resolves an id to one order: the newest when it leads to several. Fault code: order_unknown.
func (s *Story) order(r store.Reader, id string) (*offramp.Order, error) {
	f, err := s.resolve(r, id)
	if err != nil {
		return nil, err
	}
	var newest *offramp.Order
	for _, candidate := range f.orders {
		var o offramp.Order
		err := r.Get(store.Orders, candidate, &o)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read order %s: %w", candidate, err)
		}
		if newest == nil || o.CreatedAt.After(newest.CreatedAt) {
			newest = &o
		}
	}
	if newest == nil {
		return nil, fault.New("order_unknown", nil)
	}
	return newest, nil
}
