package reconcile

import (
	"context"
	"time"

	"offrampbot/services/payout"
)

// Statement is a payout provider that can list what it did.
type Statement interface {
	Name() string
	// Transfers lists the transfers that the provider made between two times, each once, in any order. What cannot be
	// recognised has the outcome Unknown. An error means that nothing was learnt.
	Transfers(ctx context.Context, from, to time.Time) ([]payout.Result, error)
}
