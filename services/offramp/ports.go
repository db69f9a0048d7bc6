package offramp

import (
	"context"
	"time"

	"offrampbot/services/exchange"
	"offrampbot/services/money"
	"offrampbot/services/payout"
)

// Sealer opens and seals account numbers; record is the associated data.
type Sealer interface {
	Seal(plain []byte, record string) ([]byte, error)
	Open(sealed []byte, record string) ([]byte, error)
}

// Screener checks an address or a name against the operator's list. It is pure memory: it may run in a transaction. A
// hit is an error of fault code screening_hit; any other error means that it could not be checked, and refuses too.
type Screener interface {
	Address(address string) error
	Name(name string) error
}

// DuplicateGuard is the Redis guard (DESIGN §9): told about steps after they are committed, as a courtesy. It never fails the
// caller.
type DuplicateGuard interface {
	Transferred(ctx context.Context, content, intent string)
	Completed(ctx context.Context, content, intent string)
	Failed(ctx context.Context, content, intent string)
	Returned(ctx context.Context, content, intent string)
}

// Watcher is told about committed steps and alerts, for metrics and logs. It must not block.
type Watcher interface {
	Moved(ctx context.Context, m Moved)
	Alerted(ctx context.Context, kind, order, why string)
	Refused(ctx context.Context, order string, on Event, code string)
	// Outcome is called after each call to a venue or a provider; call is "exchange", "payout" or "look-up".
	Outcome(ctx context.Context, provider, call, outcome string, took time.Duration)
}

// Router chooses the rail of the next payout attempt from the rails tried so far, oldest first; ok is false when none is
// left (rule 10).
type Router interface {
	Next(tried []string, currency string, off func(rail string) bool) (rail string, ok bool)
}

// Venues and Rails are looked up by name.
type (
	// Venues maps a venue's name to it.
	Venues map[string]exchange.Venue
	// Rails maps a rail's name to it.
	Rails map[string]payout.Rail
)

// noGuard is the guard of a service without Redis.
type noGuard struct{}

func (noGuard) Transferred(context.Context, string, string) {}
func (noGuard) Completed(context.Context, string, string)   {}
func (noGuard) Failed(context.Context, string, string)      {}
func (noGuard) Returned(context.Context, string, string)    {}

// Cover is what a user has of an asset, for replies.
type Cover struct {
	Available money.Micro
	Incoming  money.Micro
	Held      money.Micro
	Owed      money.Micro
}
