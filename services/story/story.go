// Package story answers what staff ask: the lists of the admin API, one order with everything that was ever recorded
// about it, and the changes they may make. It reads the records of every package of the domain and decides nothing about
// an order; what two people decide goes through the order table like any other event (DESIGN §7, §12).
package story

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"offrampbot/services/admin"
	"offrampbot/services/offramp"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// Orders is the part of the order service that carries out what two people decided. offramp.Service is one.
type Orders interface {
	// Gather makes the fresh look-ups of rule 3 and raises what is conclusive. A repeat is safe.
	Gather(ctx context.Context, orderID string) (offramp.Evidence, *offramp.Order, error)
	// Decide raises the event of an action; with runs first in the same transaction. Fault codes: evidence_missing, and
	// what with returns.
	Decide(ctx context.Context, a offramp.Act, with func(tx store.Tx, o *offramp.Order) error) (*offramp.Order, error)
	// FreezeUser and UnfreezeUser stop a user's money and let it move again. A repeat is safe. Fault codes: user_unknown,
	// and evidence_missing for an unfreeze of a user who owes.
	FreezeUser(ctx context.Context, userID, why, who string) error
	UnfreezeUser(ctx context.Context, userID, why, who string) error
}

// Deps is what a Story needs; all but PhoneDigest is required.
type Deps struct {
	Engine   store.Engine
	Settings *setting.Catalogue
	Staff    *admin.Service
	Orders   Orders
	People   People
	Now      func() time.Time
	Log      *slog.Logger
	// PhoneDigest is the digest under which a WhatsApp number is linked to its user. Without it a search by number finds
	// nothing, because numbers themselves are not in `links`.
	PhoneDigest func(number string) string
}

// Story answers the questions and carries out the changes of staff. It is safe for concurrent use.
type Story struct {
	engine   store.Engine
	settings *setting.Catalogue
	staff    *admin.Service
	orders   Orders
	people   People
	clock    func() time.Time
	log      *slog.Logger
	digest   func(number string) string
}

// New returns a Story, or says what is missing.
func New(d Deps) (*Story, error) {
	switch {
	case d.Engine == nil:
		return nil, errors.New("story: Engine is missing")
	case d.Settings == nil:
		return nil, errors.New("story: Settings is missing")
	case d.Staff == nil:
		return nil, errors.New("story: Staff is missing")
	case d.Orders == nil:
		return nil, errors.New("story: Orders is missing")
	case d.People == nil:
		return nil, errors.New("story: People is missing")
	case d.Now == nil:
		return nil, errors.New("story: Now is missing")
	case d.Log == nil:
		return nil, errors.New("story: Log is missing")
	}
	return &Story{
		engine: d.Engine, settings: d.Settings, staff: d.Staff, orders: d.Orders, people: d.People, clock: d.Now, log: d.Log,
		digest: d.PhoneDigest,
	}, nil
}

// now is the clock as the store keeps it.
func (s *Story) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// view reads one snapshot.
func (s *Story) view(ctx context.Context, fn func(r store.Reader) error) error {
	return s.engine.View(ctx, func(_ context.Context, r store.Reader) error { return fn(r) })
}
