// Package payout is the port to whoever pays fiat into a bank account, and the routing between several of them.
package payout

import (
	"context"
	"log/slog"
	"time"

	"offrampbot/services/money"
)

// Outcome is one of the five endings of an outside call (DESIGN §8, D5).
type Outcome string

// The endings. Whatever is not recognised is Unknown.
const (
	Success  Outcome = "success"  // conclusively paid
	Accepted Outcome = "accepted" // the provider has it; it will end later
	NotNow   Outcome = "not_now"  // conclusively nothing happened; the same reference later
	Failed   Outcome = "failed"   // conclusively not paid, and it will not be
	Reversed Outcome = "reversed" // was with the provider and came back: not paid
	Unknown  Outcome = "unknown"  // may or may not have happened: look up
)

// AccountNumber is a bank account number; it prints masked.
type AccountNumber string

// Last4 returns the last four characters, the only part that is ever shown.
func (a AccountNumber) Last4() string {
	if len(a) <= 4 {
		return string(a)
	}
	return string(a[len(a)-4:])
}

// String masks the number.
func (a AccountNumber) String() string { return "****" + a.Last4() }

// LogValue masks the number in logs.
func (a AccountNumber) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalJSON masks the number; adapters convert it with string(a) where it must go out whole.
func (a AccountNumber) MarshalJSON() ([]byte, error) { return []byte(`"` + a.String() + `"`), nil }

// Bank is one bank of a rail.
type Bank struct {
	Code string
	Name string
}

// Request is one payout attempt.
type Request struct {
	Reference   string // ours, stored before the first call, the same on every retry
	Amount      money.Minor
	Currency    string
	BankCode    string
	Account     AccountNumber
	AccountName string
	Reason      string // shown on the bank statement: the human reference
}

// Result is how a call or a look-up ended. Amount and Currency are what the provider says it paid. Found is false only
// when a look-up learnt conclusively that the provider does not know the reference; its Outcome is then Unknown, because
// what that means is the order table's decision. Every other result, a look-up that learnt nothing included, has Found
// true.
type Result struct {
	Outcome    Outcome
	Found      bool
	Reference  string
	ProviderID string // TRF_…
	SessionID  string // the bank's own id, printed on the slip
	Amount     money.Minor
	Currency   string
	FeeMinor   money.Minor // what the provider charged us
	Reason     string
	RawStatus  string
	RetryAfter time.Duration
	At         time.Time
}

// Callback is a provider's webhook, verified: a hint that something happened to a reference.
type Callback struct {
	Event     string
	Reference string
	Status    string
}

// Rail pays fiat into bank accounts.
type Rail interface {
	Name() string
	// Currencies maps what the rail pays to its minor-unit exponent; anything else is refused.
	Currencies() map[string]int
	// SameReferenceSafe reports whether a second Send with the same reference cannot pay twice.
	SameReferenceSafe() bool
	// Banks lists the banks of a currency.
	Banks(ctx context.Context, currency string) ([]Bank, error)
	// ResolveAccount returns the holder's name; fault codes account_not_found, account_check_unavailable.
	ResolveAccount(ctx context.Context, currency, bankCode string, account AccountNumber) (name string, err error)
	// Send pays. It never returns an error: everything it cannot recognise is Unknown.
	Send(ctx context.Context, r Request) Result
	// LookUp asks what became of a reference; safe to repeat.
	LookUp(ctx context.Context, reference string) Result
	// ParseWebhook verifies a callback over its raw body and names what it is about; fault code signature_invalid.
	ParseWebhook(body []byte, header func(name string) string) (Callback, error)
	// ParseApproval verifies a "may this transfer go out?" request and returns its reference and amount.
	ParseApproval(body []byte, header func(name string) string) (reference string, amount money.Minor, err error)
	// Balance is the float that is left.
	Balance(ctx context.Context, currency string) (money.Minor, error)
}
