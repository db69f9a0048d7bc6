package offramp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/quote"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// Ask is what a user wants to sell and to whom it shall be paid.
type Ask struct {
	Intent      string // a fresh UUIDv7: made outside, so that a repeat makes the same quote
	User        string
	Asset       string
	Chain       string
	Amount      money.Micro
	Fiat        string
	Beneficiary quote.Beneficiary
	Content     string // the guard's digest
	Renews      string // the overdue order that the quote renews
}

// Offer freezes a quote: price, fee and net now, for QuoteTTL. Nothing about it is read from the client again (T1). Fault
// codes: asset_unsupported, amount_below_minimum, rate_unavailable, switched_off, quote_not_renewable.
func (s *Service) Offer(ctx context.Context, ask Ask) (*quote.Quote, error) {
	fiat, ok := s.registry.Fiat(ask.Fiat)
	if !ok {
		return nil, fault.New("asset_unsupported", nil).With("supported", s.registry.Supported())
	}
	if _, ok := s.registry.Token(ask.Asset, ask.Chain); !ok {
		return nil, fault.New("asset_unsupported", nil).With("supported", s.registry.Supported())
	}
	if least, ok := s.registry.MinimumMicro(ask.Asset); !ok || ask.Amount < least {
		return nil, fault.New("amount_below_minimum", nil).With("minimum", money.FormatMicro(least)+" "+ask.Asset)
	}
	price, err := s.venues[s.venue].Price(ctx, ask.Asset, ask.Chain, ask.Fiat)
	if err != nil {
		return nil, err
	}
	var q *quote.Quote
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		set, err := setting.Load(tx)
		if err != nil {
			return err
		}
		if err := set.AllowPlacing(ask.Renews == "", ask.Chain, ask.Asset, s.venue, fiat.Country); err != nil {
			return err
		}
		now := s.now()
		q = &quote.Quote{
			Meta: newMeta(ask.Intent), User: ask.User, Asset: ask.Asset, Chain: ask.Chain, Amount: ask.Amount, Fiat: ask.Fiat,
			Beneficiary: ask.Beneficiary, Content: ask.Content, Renews: ask.Renews, State: quote.Open,
			CreatedAt: now, ExpiresAt: now.Add(s.policy.QuoteTTL),
		}
		if err := renewable(tx, q); err != nil {
			return err
		}
		if err := q.Price(price.Rate, set.Fee(fiat)); err != nil {
			return fault.New("amount_below_minimum", err)
		}
		isNew, err := tx.Ensure(store.Quotes, q)
		if err != nil || isNew {
			return err
		}
		q = &quote.Quote{} // what was frozen first is the quote, whatever the price is now
		return tx.Get(store.Quotes, ask.Intent, q)
	})
	if err != nil {
		return nil, err
	}
	if q.User != ask.User {
		return nil, fault.New("quote_expired", nil)
	}
	return q, nil
}

// renewable checks that a renewing quote sells the same thing as the overdue order it names (rule 10).
func renewable(r store.Reader, q *quote.Quote) error {
	if q.Renews == "" {
		return nil
	}
	o, err := loadOrder(r, q.Renews)
	if err != nil {
		return err
	}
	if o.User != q.User || o.State != Overdue || !q.Same(o.Asset, o.Chain, o.Amount, o.Beneficiary.Digest) {
		return fault.New("quote_not_renewable", nil)
	}
	return nil
}

// Quote reads a user's quote; another user's is unknown.
func (s *Service) Quote(ctx context.Context, userID, intent string) (*quote.Quote, error) {
	var q quote.Quote
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) error { return r.Get(store.Quotes, intent, &q) })
	if errors.Is(err, store.ErrNotFound) || err == nil && q.User != userID {
		return nil, fault.New("quote_expired", err)
	}
	return &q, err
}

// Placing is a confirmation: the user saw the quote and gave the PIN, which the caller has checked.
type Placing struct {
	Intent   string
	User     string
	Delivery string // the delivery that brought it
}

// Place turns a quote into an order, or a renewing quote into the renewal of one, once: a repeat returns the order that
// is there. Fault codes: quote_expired, quote_taken, and those of the placing checks (rule 5).
func (s *Service) Place(ctx context.Context, p Placing) (*Order, error) {
	for n := 1; ; n++ {
		o, err := s.place(ctx, p, n)
		if !errors.Is(err, &store.ErrDuplicate{Collection: store.Orders, Index: "reference"}) || n == 8 {
			return o, err
		}
	}
}

func (s *Service) place(ctx context.Context, p Placing, n int) (*Order, error) {
	var placed *Order
	err := s.ofUser(ctx, p.User, func(u *unit) error {
		placed = nil
		var q quote.Quote
		if err := u.tx.Get(store.Quotes, p.Intent, &q); err != nil {
			if errors.Is(err, store.ErrNotFound) {
				return fault.New("quote_expired", err)
			}
			return fmt.Errorf("read quote: %w", err)
		}
		if q.User != p.User {
			return fault.New("quote_expired", nil)
		}
		if q.State == quote.Taken {
			o, err := u.order(q.Order)
			placed = o
			return err
		}
		if q.State != quote.Open || !u.now.Before(q.ExpiresAt) {
			return fault.New("quote_expired", nil)
		}
		o, err := s.start(u, &q, p, n)
		placed = o
		return err
	})
	if err != nil {
		return nil, err
	}
	return placed, nil
}

// start raises Placed or QuoteRenewed and takes the quote in the same commit. The quote is the guard: it is taken once.
func (s *Service) start(u *unit, q *quote.Quote, p Placing, n int) (*Order, error) {
	e := Occurrence{
		On: Placed, ID: p.Delivery, Key: q.ID, By: ByUser, Who: "user:" + p.User, At: u.now, Quote: q,
	}
	var o *Order
	if q.Renews == "" {
		o = fromQuote(q, ids.Reference(s.key, q.ID, n), u.now)
		u.link(o.Reference, "order", o.ID)
		u.link(o.ID, "order", o.ID)
	} else {
		e.On = QuoteRenewed
		var err error
		if o, err = u.order(q.Renews); err != nil {
			return nil, err
		}
		if err := renewable(u.tx, q); err != nil {
			return nil, err
		}
	}
	if err := u.raise(o, e); err != nil {
		return nil, err
	}
	q.State, q.Order = quote.Taken, o.ID
	if err := u.tx.Replace(store.Quotes, q); err != nil {
		return nil, err
	}
	return u.orders[o.ID], nil
}

// Cancel ends an unfunded order for its user; fault codes order_unknown and cannot_cancel. A refusal is in the trail.
func (s *Service) Cancel(ctx context.Context, userID, orderID, delivery string) (*Order, error) {
	var o *Order
	var refusal error
	err := s.ofUser(ctx, userID, func(u *unit) error {
		refusal = nil
		before, err := u.order(orderID)
		if err != nil {
			return err
		}
		e := Occurrence{On: UserCancelled, ID: delivery, Key: "user", By: ByUser, Who: "user:" + userID, At: u.now}
		err = u.raise(before, e)
		o = u.orders[orderID]
		if !refused(err) {
			return err
		}
		u.refusal(before, e, err)
		if !errors.Is(err, ErrApplied) {
			refusal = fault.New("cannot_cancel", err).With("state", string(o.State))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal
	}
	return o, nil
}

// Open returns the user's orders that are not final, of the last fifty, newest first.
func (s *Service) Open(ctx context.Context, userID string) ([]*Order, error) {
	var out []*Order
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		all, err := store.All[Order](r, store.Query{
			Collection: store.Orders, Index: "user", Equal: []any{userID}, Descending: true, Limit: 50,
		})
		if err != nil {
			return err
		}
		out = nil
		for _, o := range all {
			if !o.State.Final() {
				out = append(out, o)
			}
		}
		return nil
	})
	return out, err
}

// Cover is what a user has of an asset.
func (s *Service) Cover(ctx context.Context, userID, asset string) (Cover, error) {
	var c Cover
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		a, err := ledger.Load(r, userID, asset)
		if err != nil {
			return err
		}
		c = Cover{Available: a.Available, Incoming: a.Incoming, Held: a.Held, Owed: a.Owed}
		return nil
	})
	return c, err
}

// PaysBy is when a user who has still to send should have sent.
func (o *Order) PaysBy() time.Time { return o.WaitingUntil }
