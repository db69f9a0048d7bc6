package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/quote"
	"offrampbot/services/store"
)

// Tale is one order with its whole story, as `GET /admin/api/v1/orders/:id` answers it (DESIGN §13). Account numbers and
// receipt bodies are sealed fields without a JSON form.
type Tale struct {
	Order      *offramp.Order         `json:"order"`
	Quote      *quote.Quote           `json:"quote"`      // the one in force; null when it is not stored any more
	History    []offramp.Fact         `json:"history"`    // in the order in which it happened
	Postings   []*ledger.Posting      `json:"postings"`   // of the order, by their number in its chain
	Operations []*operation.Operation `json:"operations"` // by time; messages are among them
	Deposits   []*deposit.Deposit     `json:"deposits"`   // of the user, that counted around the order, oldest first
	Receipts   []*delivery.Receipt    `json:"receipts"`   // deliveries that were about the order, oldest first
	Audit      []*audit.Entry         `json:"audit"`      // the order's own stream
}

// Order is one order with its whole story, read in one snapshot: by its id, its human reference or any linked id. Fault
// code: order_unknown.
func (s *Story) Order(ctx context.Context, id string) (any, error) {
	t, err := s.Tale(ctx, id)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Tale is Order with its type.
func (s *Story) Tale(ctx context.Context, id string) (*Tale, error) {
	var t *Tale
	err := s.view(ctx, func(r store.Reader) error {
		o, err := s.order(r, id)
		if err != nil {
			return err
		}
		t, err = tell(r, o)
		return err
	})
	return t, err
}

// tell reads everything about one order.
func tell(r store.Reader, o *offramp.Order) (*Tale, error) {
	t := &Tale{Order: o, History: o.History}
	var q quote.Quote
	err := r.Get(store.Quotes, o.Quote, &q)
	switch {
	case err == nil:
		t.Quote = &q
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read quote of %s: %w", o.ID, err)
	}
	for _, part := range []error{
		load(r, &t.Postings, store.Query{Collection: store.Postings, Index: "chain", Equal: []any{"order:" + o.ID}}),
		load(r, &t.Operations, store.Query{Collection: store.Outbox, Index: "order", Equal: []any{o.ID}}),
		load(r, &t.Receipts, store.Query{Collection: store.Inbox, Index: "order", Equal: []any{o.ID}}),
		load(r, &t.Audit, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{"order:" + o.ID}}),
	} {
		if part != nil {
			return nil, fmt.Errorf("read story of %s: %w", o.ID, part)
		}
	}
	if t.Deposits, err = depositsOf(r, o); err != nil {
		return nil, err
	}
	if t.History == nil {
		t.History = []offramp.Fact{}
	}
	return t, nil
}

// load fills a list; without a row it is empty, not null.
func load[T any, P interface {
	*T
	store.Document
}](r store.Reader, into *[]P, q store.Query) error {
	all, err := store.All[T, P](r, q)
	if all == nil {
		all = []P{}
	}
	*into = all
	return err
}

// before is how long ahead of an order a deposit still belongs to its story: people send first and sell then.
const before = 7 * 24 * time.Hour

// depositsOf lists the user's deposits that counted around the order.
func depositsOf(r store.Reader, o *offramp.Order) ([]*deposit.Deposit, error) {
	all, err := store.All[deposit.Deposit](r, store.Query{
		Collection: store.Deposits, Index: "user", Equal: []any{o.User}, From: o.CreatedAt.Add(-before),
	})
	if err != nil {
		return nil, fmt.Errorf("read deposits of user %s: %w", o.User, err)
	}
	out := []*deposit.Deposit{}
	for _, d := range all {
		if counted(o, d) {
			out = append(out, d)
		}
	}
	return out, nil
}

// counted reports whether a deposit counted for an order: its history names it, or it is of the order's user and asset
// and was seen at most a week before the order and before the order was funded or ended.
func counted(o *offramp.Order, d *deposit.Deposit) bool {
	if d.User != o.User {
		return false
	}
	if slices.ContainsFunc(o.History, func(f offramp.Fact) bool { return strings.HasPrefix(f.Key, d.ID+":") }) {
		return true
	}
	if d.Asset != o.Asset || d.SeenAt.Before(o.CreatedAt.Add(-before)) {
		return false
	}
	for _, end := range []*time.Time{o.FundedAt, o.EndedAt} {
		if end != nil {
			return !d.SeenAt.After(*end)
		}
	}
	return true
}
