package flows

import (
	"context"
	"time"

	"offrampbot/services/guard"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/user"
)

// Orders is what the sell form asks of the order service. Every call may be repeated: Offer by its intent, Place by the
// quote it takes.
type Orders interface {
	Offer(ctx context.Context, ask offramp.Ask) (*quote.Quote, error)
	Quote(ctx context.Context, userID, intent string) (*quote.Quote, error)
	Place(ctx context.Context, p offramp.Placing) (*offramp.Order, error)
	Order(ctx context.Context, id string) (*offramp.Order, error)
	Cover(ctx context.Context, userID, asset string) (offramp.Cover, error)
}

// Pricer gives the price now, for an amount that was typed in fiat; fault code rate_unavailable.
type Pricer interface {
	Price(ctx context.Context, asset, chain, fiat string) (money.Rate, error)
}

// Banks lists banks and resolves account holders; it answers from a cache or within two seconds. Fault codes
// account_check_unavailable and account_not_found.
type Banks interface {
	Banks(ctx context.Context, currency string) ([]payout.Bank, error)
	ResolveAccount(ctx context.Context, currency, bankCode string, account payout.AccountNumber) (string, error)
}

// PINs checks a PIN, counted before it is compared.
type PINs interface {
	CheckPIN(ctx context.Context, userID string, pin user.TypedPIN, channel string) error
	// Reauthenticated records that a person whose number or identity changed gave the right PIN, and says how long the
	// cool-down still runs; zero: the person is free again, or was never frozen for it.
	Reauthenticated(ctx context.Context, userID string) (wait time.Duration, err error)
}

// Guard claims a sale's content before the PIN is counted (DESIGN §9).
type Guard interface {
	Claim(ctx context.Context, digest string, channel guard.Channel, intent string, now time.Time) (guard.Decision, error)
	ClaimSecond(ctx context.Context, digest string, channel guard.Channel, intent string, now time.Time) (guard.Decision, error)
	Free(ctx context.Context, digest, intent string)
}

// Box seals account numbers; record is the associated data.
type Box interface {
	Seal(plain []byte, record string) ([]byte, error)
	Open(sealed []byte, record string) ([]byte, error)
}

// Blocks counts refused copies; obs.Metrics is one.
type Blocks interface {
	DuplicateBlocked(channel string)
}
