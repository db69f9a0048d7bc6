package offramp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// Deps is what a Service needs; all are required.
type Deps struct {
	Engine   store.Engine
	Registry *assets.Registry
	Venues   Venues
	Rails    Rails
	Router   Router
	Sealer   Sealer
	Screener Screener
	Watcher  Watcher
	Now      func() time.Time
	// LookupKey keys the human references.
	LookupKey []byte
}

// Config turns a Service.
type Config struct {
	Policy Policy
	Venue  string         // the venue of new orders
	Guard  DuplicateGuard // nil: no Redis
	// Treasury is the set of canonical addresses that our deposit addresses may send to.
	Treasury map[string]bool
}

// Service commits what the table decides. Every method that changes something is one transaction, or a bounded series
// of them that may be repeated from the start.
type Service struct {
	engine   store.Engine
	registry *assets.Registry
	venues   Venues
	rails    Rails
	router   Router
	sealer   Sealer
	screener Screener
	watcher  Watcher
	guard    DuplicateGuard
	policy   Policy
	venue    string
	treasury map[string]bool
	key      []byte
	clock    func() time.Time
}

// New returns a Service, or says which dependency or setting is missing.
func New(d Deps, c Config) (*Service, error) {
	for name, missing := range map[string]bool{
		"Engine": d.Engine == nil, "Registry": d.Registry == nil, "Venues": len(d.Venues) == 0, "Rails": len(d.Rails) == 0,
		"Router": d.Router == nil, "Sealer": d.Sealer == nil, "Screener": d.Screener == nil, "Watcher": d.Watcher == nil,
		"Now": d.Now == nil, "LookupKey": len(d.LookupKey) < 16,
	} {
		if missing {
			return nil, fmt.Errorf("order service: %s is missing", name)
		}
	}
	if err := c.Policy.validate(); err != nil {
		return nil, fmt.Errorf("order service: %w", err)
	}
	if _, ok := d.Venues[c.Venue]; !ok {
		return nil, fmt.Errorf("order service: venue %q does not exist", c.Venue)
	}
	if c.Guard == nil {
		c.Guard = noGuard{}
	}
	return &Service{
		engine: d.Engine, registry: d.Registry, venues: d.Venues, rails: d.Rails, router: d.Router, sealer: d.Sealer,
		screener: d.Screener, watcher: d.Watcher, guard: c.Guard, policy: c.Policy, venue: c.Venue, treasury: c.Treasury,
		key: d.LookupKey, clock: d.Now,
	}, nil
}

// staleTries is how often a transaction that lost a race is done again from the start.
const staleTries = 4

// now is the clock as the store keeps it.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// ofUser runs fn as one transaction on one user's money and stores what it did.
func (s *Service) ofUser(ctx context.Context, userID string, fn func(u *unit) error) error {
	return s.commit(ctx, func(tx store.Tx, now time.Time) (*unit, error) {
		u, err := s.unit(tx, userID, now)
		if err != nil {
			return nil, err
		}
		return u, fn(u)
	})
}

// ofOrder runs fn as one transaction on the money of an order's user.
func (s *Service) ofOrder(ctx context.Context, orderID string, fn func(u *unit, o *Order) error) error {
	return s.commit(ctx, func(tx store.Tx, now time.Time) (*unit, error) {
		o, err := loadOrder(tx, orderID)
		if err != nil {
			return nil, err
		}
		u, err := s.unit(tx, o.User, now)
		if err != nil {
			return nil, err
		}
		u.orders[o.ID] = o
		return u, fn(u, o)
	})
}

// commit runs one transaction, again from the start when it lost a race, and then tells those who only watch. An error with
// store.ErrCommitUnknown in its chain says that what was asked may have been done, whatever later tries met.
func (s *Service) commit(ctx context.Context, fn func(tx store.Tx, now time.Time) (*unit, error)) error {
	var err, unknown error
	for range staleTries {
		var done *unit
		at := s.now()
		err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
			u, err := fn(tx, at)
			if err != nil {
				return err
			}
			done = u
			return u.flush()
		})
		if err == nil {
			s.after(ctx, done)
			return nil
		}
		if errors.Is(err, store.ErrCommitUnknown) {
			unknown = err
		} else if !errors.Is(err, store.ErrStale) {
			break
		}
	}
	if unknown != nil && !errors.Is(err, store.ErrCommitUnknown) {
		return fmt.Errorf("%w, after it was tried: %w", unknown, err)
	}
	return err
}

// after follows a commit: nothing here can change money, and a crash before it loses nothing but a courtesy.
func (s *Service) after(ctx context.Context, u *unit) {
	for _, m := range u.moved {
		s.watcher.Moved(ctx, m)
		o := m.Order
		switch {
		case o.State == m.From:
		case o.State == Exchange && m.From != Review:
			s.guard.Transferred(ctx, o.Content, o.ID)
		case o.State == Success:
			s.guard.Completed(ctx, o.Content, o.ID)
		case o.State == Failed, o.State == Cancelled:
			s.guard.Failed(ctx, o.Content, o.ID)
		case o.State == Returned:
			s.guard.Returned(ctx, o.Content, o.ID)
		}
	}
}

// Raise applies one event to an order: load, apply and commit in one transaction. It returns the order as it stands,
// and whether the fact was already applied. A refused event is written to the trail and returned as its fault.
func (s *Service) Raise(ctx context.Context, orderID string, e Occurrence) (o *Order, already bool, err error) {
	var refusal error
	err = s.ofOrder(ctx, orderID, func(u *unit, before *Order) error {
		refusal = nil
		e := e
		e.At = u.now
		err := u.raise(before, e)
		if refused(err) {
			refusal = err
			u.refusal(before, e, err)
			err = nil
		}
		o = u.orders[orderID]
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if errors.Is(refusal, ErrApplied) {
		return o, true, nil
	}
	if refusal != nil {
		s.watcher.Refused(ctx, orderID, e.On, errorCode(refusal))
	}
	return o, false, refusal
}

// Order reads an order; fault code order_unknown.
func (s *Service) Order(ctx context.Context, id string) (*Order, error) {
	var o *Order
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		o, err = loadOrder(r, id)
		return err
	})
	return o, err
}

// ByReference finds an order of a user by its human reference; another user's is unknown (I7).
func (s *Service) ByReference(ctx context.Context, userID, reference string) (*Order, error) {
	var o *Order
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		o, err = store.First[Order](r, store.Query{Collection: store.Orders, Index: "reference", Equal: []any{reference}})
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && o.User != userID {
		return nil, fault.New("order_unknown", err)
	}
	return o, err
}

// History lists a user's orders, newest first.
func (s *Service) History(ctx context.Context, userID string, limit int) ([]*Order, error) {
	var out []*Order
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		out, err = store.All[Order](r, store.Query{
			Collection: store.Orders, Index: "user", Equal: []any{userID}, Descending: true, Limit: limit,
		})
		return err
	})
	return out, err
}
