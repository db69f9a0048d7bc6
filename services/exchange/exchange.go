// Package exchange is the port to whoever buys the crypto of an order, and the desk: the operator's own liquidity.
package exchange

import (
	"context"
	"time"

	"offrampbot/services/money"
)

// Outcome is one of the five endings of an outside call (DESIGN §8, D5).
type Outcome string

// The endings. Whatever is not recognised is Unknown.
const (
	Success  Outcome = "success"  // conclusively done
	Accepted Outcome = "accepted" // the other side has it; it will end later
	NotNow   Outcome = "not_now"  // conclusively nothing happened; the same reference later
	Failed   Outcome = "failed"   // conclusively not done, and it will not be
	Unknown  Outcome = "unknown"  // may or may not have happened: look up
)

// Order is what a venue is asked to buy.
type Order struct {
	Reference string // ours, the same on every retry
	Asset     string
	Chain     string
	Fiat      string
	Amount    money.Micro
	Rate      money.Rate  // the quoted rate
	Gross     money.Minor // what the venue owes: fiat before our fee
}

// Result is how a call or a look-up ended. Found is false only when a look-up learnt conclusively that the venue does
// not know the reference; its Outcome is then Unknown, because what that means is the order table's decision. Every other
// result, a look-up that learnt nothing included, has Found true.
type Result struct {
	Outcome  Outcome
	Found    bool
	VenueID  string
	Filled   money.Minor
	Reason   string
	RetryAt  time.Duration
	RawState string
}

// Price is what a venue would pay now.
type Price struct {
	Rate money.Rate
	At   time.Time // when the rate was set
}

// Venue buys crypto at a quoted rate.
type Venue interface {
	Name() string
	// SameReferenceSafe reports whether a second Execute with the same reference cannot happen twice.
	SameReferenceSafe() bool
	// Price is the current rate for a pair; it fails with fault code rate_unavailable when the rate is missing, too old
	// or outside its band.
	Price(ctx context.Context, asset, chain, fiat string) (Price, error)
	// Execute sells. A repeat with the same reference is safe when SameReferenceSafe.
	Execute(ctx context.Context, o Order) Result
	// LookUp asks what became of a reference; safe to repeat.
	LookUp(ctx context.Context, reference string) Result
}
