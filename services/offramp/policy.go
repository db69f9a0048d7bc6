package offramp

import (
	"errors"
	"time"
)

// Policy holds the times of an order's life; each has an environment name (DESIGN §13).
type Policy struct {
	QuoteTTL        time.Duration   // QUOTE_TTL
	DepositWindow   time.Duration   // ORDER_DEPOSIT_WINDOW: waiting
	ConfirmWindow   time.Duration   // ORDER_CONFIRM_WINDOW: deposit
	LapseAfter      time.Duration   // ORDER_LAPSE_AFTER: overdue
	PendingTooLong  time.Duration   // PENDING_TOO_LONG: sending, accepted
	VisibilityBound time.Duration   // VISIBILITY_BOUND: until a call must be visible to look-ups
	ProviderTimeout time.Duration   // PROVIDER_TIMEOUT
	StoreTimeout    time.Duration   // STORE_TIMEOUT
	LookUpSchedule  []time.Duration // LOOKUP_SCHEDULE, the last repeats
	LookUpGiveUp    time.Duration   // LOOKUP_GIVE_UP
	NotNowGiveUp    time.Duration   // an operation that is told "not now" for so long is parked
}

// watchEnded is when an ended attempt is looked up again: a success for reversals whose webhook never comes, a failure
// for a provider that takes it back (DESIGN §8).
var watchEnded = []time.Duration{time.Hour, 24 * time.Hour, 72 * time.Hour}

// DefaultPolicy returns the defaults of DESIGN §13.
func DefaultPolicy() Policy {
	return Policy{
		QuoteTTL: 10 * time.Minute, DepositWindow: 30 * time.Minute, ConfirmWindow: 6 * time.Hour,
		LapseAfter: 24 * time.Hour, PendingTooLong: 10 * time.Minute, VisibilityBound: 10 * time.Minute,
		ProviderTimeout: 15 * time.Second, StoreTimeout: 5 * time.Second,
		LookUpSchedule: []time.Duration{
			5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
		},
		LookUpGiveUp: 24 * time.Hour, NotNowGiveUp: 24 * time.Hour,
	}
}

func (p Policy) validate() error {
	var errs []error
	for name, d := range map[string]time.Duration{
		"QuoteTTL": p.QuoteTTL, "DepositWindow": p.DepositWindow, "ConfirmWindow": p.ConfirmWindow,
		"LapseAfter": p.LapseAfter, "PendingTooLong": p.PendingTooLong, "VisibilityBound": p.VisibilityBound,
		"ProviderTimeout": p.ProviderTimeout, "StoreTimeout": p.StoreTimeout, "LookUpGiveUp": p.LookUpGiveUp,
		"NotNowGiveUp": p.NotNowGiveUp,
	} {
		if d <= 0 {
			errs = append(errs, errors.New(name+" must be positive"))
		}
	}
	if len(p.LookUpSchedule) == 0 {
		errs = append(errs, errors.New("LookUpSchedule must not be empty"))
	}
	return errors.Join(errs...)
}

// lookUpAfter is the pause before look-up number n, from 0.
func (p Policy) lookUpAfter(n int) time.Duration {
	return p.LookUpSchedule[min(max(n, 0), len(p.LookUpSchedule)-1)]
}
