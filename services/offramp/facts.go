package offramp

import (
	"context"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/limits"
	"offrampbot/services/operation"
	"offrampbot/services/setting"
	"offrampbot/services/user"
)

// facts reads what Apply needs to know about the world around an order, all of it through the same transaction.
func (u *unit) facts(o *Order, e Occurrence) (Facts, error) {
	a, err := u.account(o.Asset)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Account: a, Address: u.user.Address, Venue: u.s.venue}
	u.names(o, &f)
	if f.Current, err = u.operation(o.OperationID()); err != nil {
		return Facts{}, err
	}
	if f.LookUp, err = u.operation(o.LookUp); err != nil {
		return Facts{}, err
	}
	if e.Attempt > 0 && e.Attempt != o.Phase.Attempt() && o.attempt(e.Attempt) != nil {
		if f.Subject, err = u.operation(o.operationOf(PayoutPhase(e.Attempt))); err != nil {
			return Facts{}, err
		}
	}
	if o.State == Review && o.Phase.Kind() == OnNone && o.Attempt > 0 {
		if f.Kept, err = u.operation(o.operationOf(PayoutPhase(o.Attempt))); err != nil {
			return Facts{}, err
		}
	}
	if needsRail[e.On] {
		if f.Rail, err = u.rail(o); err != nil {
			return Facts{}, err
		}
		if f.Owes, err = u.owes(o.Asset); err != nil {
			return Facts{}, err
		}
	}
	if o.State == None || o.State.Unfunded() {
		if f.Bar, err = u.bar(o, e); err != nil {
			return Facts{}, err
		}
	}
	f.Evidence = u.seen(o, f)
	return f, nil
}

// needsRail are the events after which another payout attempt may start.
var needsRail = map[Event]bool{ExchangeDone: true, PayoutFailed: true, AdminResumed: true}

// owes reports whether the user owes something of another asset. Whoever makes a shortfall freezes the user, and that
// replaces the accounts of every asset: the account that a new attempt replaces guards what it read of the others.
func (u *unit) owes(except string) (bool, error) {
	for _, asset := range u.s.registry.Assets() {
		if asset.ID == except {
			continue
		}
		a, err := u.account(asset.ID)
		if err != nil || a.Shortfall() {
			return err == nil, err
		}
	}
	return false, nil
}

// names fills what only people read.
func (u *unit) names(o *Order, f *Facts) {
	f.Chain = o.Chain
	if c, ok := u.s.registry.Chain(o.Chain); ok {
		f.Chain = c.Name
	}
	if c, ok := u.s.registry.Fiat(o.Fiat); ok {
		f.Exponent, f.Symbol = c.Exponent, c.Symbol
	}
}

// rail asks the router for the next attempt's rail.
func (u *unit) rail(o *Order) (string, error) {
	_, s, err := u.rules()
	if err != nil {
		return "", err
	}
	tried := make([]string, 0, len(o.Attempts))
	for _, a := range o.Attempts {
		tried = append(tried, a.Rail)
	}
	rail, _ := u.s.router.Next(tried, o.Fiat, func(rail string) bool {
		_, off := s.Off(setting.Provider(rail))
		return off
	})
	return rail, nil
}

// seen is the evidence that the store alone gives, with what fresh look-ups added (rule 3).
func (u *unit) seen(o *Order, f Facts) Evidence {
	v, fresh := u.evidence[o.ID]
	at := v.At
	if !fresh {
		at = u.now
		v.OlderPaid = o.olderPaid()
		v.OlderNotPaid = o.Older == 0 && u.olderNotPaid(o)
	}
	v.NoCallInFlight, v.Visible = u.quiet(o, at)
	v.Approved = f.Current != nil && f.Current.Approved
	return v
}

// olderNotPaid reports whether every attempt before the latest is conclusively not paid by the record.
func (u *unit) olderNotPaid(o *Order) bool {
	for _, a := range o.Attempts {
		if a.N < o.Attempt && a.State != AttemptFailed && a.State != AttemptReversed && a.State != Withdrawn {
			return false
		}
	}
	return true
}

// quiet reports whether at a time no money call of the order could still be in flight — each called operation's last call
// was older than its time-out and its lease over — and whether the visibility bound had passed since then.
func (u *unit) quiet(o *Order, at time.Time) (noCall, visible bool) {
	var last time.Time
	phases := []Phase{ExchangePhase(1)}
	for _, a := range o.Attempts {
		phases = append(phases, PayoutPhase(a.N))
	}
	for _, p := range phases {
		op, err := u.operation(o.operationOf(p))
		if err != nil {
			return false, false
		}
		if op == nil || op.Calls == 0 || op.State == operation.Done || op.ID == u.parking {
			continue
		}
		end := op.LastCall.Add(u.s.policy.ProviderTimeout)
		if op.Lease != nil && op.Lease.Until.Add(operation.Tolerance).After(end) {
			end = op.Lease.Until.Add(operation.Tolerance).Add(u.s.policy.ProviderTimeout)
		}
		if end.After(last) {
			last = end
		}
	}
	return at.After(last), at.After(last.Add(u.s.policy.VisibilityBound))
}

// bar runs the placing checks: window, user, switches, limits, screening (rule 5). A nil error with a non-nil bar means
// that the order may not start now, and why.
func (u *unit) bar(o *Order, e Occurrence) (bar, err error) {
	d, s, err := u.rules()
	if err != nil {
		return nil, err
	}
	switch {
	case u.user.Frozen != nil:
		return fault.New("user_frozen", nil), nil
	case u.user.Status != user.Active:
		return fault.New("user_not_active", nil), nil
	case e.On == FundsFreed || e.On == DepositSeen || e.On == DepositConfirmed || e.On == DepositDropped:
		if o.Due != nil && !u.now.Before(*o.Due) {
			return fault.New("quote_expired", nil), nil
		}
	}
	a, err := u.account(o.Asset)
	if err != nil {
		return nil, err
	}
	if a.Shortfall() {
		return fault.New("user_frozen", nil), nil
	}
	if err := s.AllowPlacing(e.On == Placed, o.Chain, o.Asset, u.s.venue, u.user.Country); err != nil {
		return err, nil
	}
	tier, ok := u.s.registry.Tier(u.user.Tier)
	if !ok {
		return fault.New("limit_sale", nil), nil
	}
	sale := limits.Sale{
		Order: o.ID, Fiat: o.Fiat, Minor: o.Gross, Beneficiary: o.Beneficiary.Digest, BeneficiarySince: o.Beneficiary.Since,
	}
	if e.On == QuoteRenewed && e.Quote != nil {
		sale.Minor = e.Quote.Gross
	}
	if err := limits.Check(d, s.Tier(tier), sale, u.now); err != nil {
		return err, nil
	}
	if open, there := d.Open[o.Asset]; e.On == Placed && there && open != o.ID && a.Available < o.Amount {
		return fault.New("unfunded_exists", nil).With("order", open), nil
	}
	return u.screen(o), nil
}

// screen checks the names; the deposit's sender is checked when it is credited.
func (u *unit) screen(o *Order) error {
	if err := u.s.screener.Name(o.Beneficiary.Name); err != nil {
		return err
	}
	return u.s.screener.Name(u.user.Name)
}

// bounded gives a call its own deadline with a cause that names it.
func (s *Service) bounded(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.policy.ProviderTimeout, timeoutError(what))
}

type timeoutError string

// Error implements error.
func (e timeoutError) Error() string { return string(e) + " took too long" }
