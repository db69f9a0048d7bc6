// Package reconcile compares the books with the outside: what our addresses hold on each chain, what the payout providers
// say they paid, and both with the ledger and the orders (I14). It only reads, and works while others write: what is
// under way is explained, and what cannot be explained is a difference.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/deposit"
	"offrampbot/services/invariant"
	"offrampbot/services/store"
)

// Difference is one thing that does not agree, or that is explained.
type Difference struct {
	ID   string `json:"id"`   // the document's `_id`, the account or the reference concerned
	Rule string `json:"rule"` // chain, ledger, statement, I1 … I14
	Text string `json:"text"`
}

// Report is the result, as `offrampbot reconcile --json` prints it.
type Report struct {
	OK          bool           `json:"ok"`
	Checked     map[string]int `json:"checked"` // tokens, orders and transfers
	Differences []Difference   `json:"differences"`
	Explained   []Difference   `json:"explained"` // differs, and that is right
}

func (r *Report) differs(id, rule, format string, args ...any) {
	r.Differences = append(r.Differences, Difference{id, rule, fmt.Sprintf(format, args...)})
}

func (r *Report) explains(id, rule, format string, args ...any) {
	r.Explained = append(r.Explained, Difference{id, rule, fmt.Sprintf(format, args...)})
}

// Deps is what a Reconciler needs; all but Treasury, Sources and Statements is required. A chain without a source is not compared,
// which is a difference as soon as the ledger says that we hold something there.
type Deps struct {
	Engine     store.Engine
	Registry   *assets.Registry
	Addresses  deposit.Addresses
	Treasury   []string                  // canonical addresses that ours may send to
	Sources    map[string]deposit.Source // by chain
	Statements []Statement
	Now        func() time.Time
	Log        *slog.Logger
}

// Config turns a Reconciler.
type Config struct {
	Window time.Duration // how far back statements are compared; zero: 7 days
}

// Reconciler compares.
type Reconciler struct {
	d       Deps
	window  time.Duration
	checker *invariant.Checker

	treasury map[string]bool
}

// New returns a Reconciler, or says what is missing.
func New(d Deps, c Config) (*Reconciler, error) {
	switch {
	case d.Engine == nil:
		return nil, errors.New("reconcile: Engine is missing")
	case d.Registry == nil:
		return nil, errors.New("reconcile: Registry is missing")
	case d.Addresses == nil:
		return nil, errors.New("reconcile: Addresses is missing")
	case d.Now == nil:
		return nil, errors.New("reconcile: Now is missing")
	case d.Log == nil:
		return nil, errors.New("reconcile: Log is missing")
	case c.Window < 0:
		return nil, errors.New("reconcile: Window cannot be negative")
	}
	if c.Window == 0 {
		c.Window = 7 * 24 * time.Hour
	}
	checker, err := invariant.New(d.Engine, d.Registry)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{d: d, window: c.Window, checker: checker, treasury: map[string]bool{}}
	for _, address := range d.Treasury {
		r.treasury[address] = true
	}
	return r, nil
}

// Reconcile compares everything. Its error means that the store could not be read; a chain or provider that does not
// answer is a difference, because nothing is proven then.
func (r *Reconciler) Reconcile(ctx context.Context) (Report, error) {
	out := Report{Checked: map[string]int{}, Differences: []Difference{}, Explained: []Difference{}}
	if err := r.chains(ctx, &out); err != nil {
		return out, fmt.Errorf("reconcile chains: %w", err)
	}
	if err := r.payouts(ctx, &out); err != nil {
		return out, fmt.Errorf("reconcile payouts: %w", err)
	}
	out.OK = len(out.Differences) == 0
	return out, nil
}

// Statements compares the paid orders of the window with the providers' statements and nothing else: it asks each provider
// once, so it may be done every few minutes.
func (r *Reconciler) Statements(ctx context.Context) (Report, error) {
	out := Report{Checked: map[string]int{}, Differences: []Difference{}, Explained: []Difference{}}
	if err := r.payouts(ctx, &out); err != nil {
		return out, fmt.Errorf("reconcile payouts: %w", err)
	}
	out.OK = len(out.Differences) == 0
	return out, nil
}

func (r *Reconciler) view(ctx context.Context, fn func(rd store.Reader) error) error {
	return r.d.Engine.View(ctx, func(_ context.Context, rd store.Reader) error { return fn(rd) })
}
