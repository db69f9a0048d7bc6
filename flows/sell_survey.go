package flows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/ledger"
	"offrampbot/services/limits"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// maxSaved is how many saved bank accounts are offered.
const maxSaved = 19

// survey is what the first screen and the checks before an offer read, in one snapshot. Nothing is decided by it for
// good: placing checks everything again in its own transaction (DESIGN §7 rule 5).
type survey struct {
	set       *setting.Settings
	limits    *limits.Doc
	available map[string]money.Micro // by asset, what can be sold now
	saved     []*user.Beneficiary
}

// look reads the survey and the person, once per request.
func (v *visit) look(ctx context.Context) (*survey, error) {
	if v.survey != nil {
		return v.survey, nil
	}
	var out survey
	err := v.d.Engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		out = survey{available: map[string]money.Micro{}}
		if err := v.meet(r); err != nil {
			return err
		}
		if out.set, err = setting.Load(r); err != nil {
			return err
		}
		if out.limits, err = limits.Load(r, v.s.User); err != nil {
			return err
		}
		accounts, err := store.All[ledger.Account](r, store.Query{Collection: store.Accounts, Index: "user", Equal: []any{v.s.User}})
		if err != nil {
			return fmt.Errorf("read accounts: %w", err)
		}
		for _, a := range accounts {
			out.available[a.Asset] = a.Available
		}
		saved, err := v.d.Beneficiaries.List(r, v.s.User, maxSaved)
		out.saved = slices.DeleteFunc(saved, func(b *user.Beneficiary) bool { return b.Fiat != v.fiat.Code })
		return err
	})
	if err != nil {
		return nil, err
	}
	v.survey = &out
	return v.survey, nil
}

// tokens are the coins that can be sold now, in the order of the registry.
func (v *visit) tokens(s *survey) []assets.Token {
	var out []assets.Token
	if v.s.Values["renews"] == "" && s.set.Drain {
		return nil
	}
	if _, off := s.set.Off(setting.Placing, setting.Country(v.fiat.Country)); off {
		return nil
	}
	for _, a := range v.d.Registry.Assets() {
		for _, c := range v.d.Registry.ChainsOf(a.ID) {
			if _, off := s.set.Off(setting.Asset(a.ID), setting.Chain(c.ID)); off {
				continue
			}
			if t, ok := v.d.Registry.Token(a.ID, c.ID); ok {
				out = append(out, t)
			}
		}
	}
	return out
}

// tier is the person's tier with the operator's limits; ok is false when the registry has lost it.
func (v *visit) tier(s *survey) (assets.Tier, bool) {
	tier, ok := v.d.Registry.Tier(v.user.Tier)
	return s.set.Tier(tier), ok
}

// room says in words what this person may sell now: limits, the first day of a new account, and the balance.
func (v *visit) room(s *survey, tokens []assets.Token) string {
	balance := v.balance(s)
	if len(tokens) == 0 {
		return v.text("flow.limits.paused", nil) + " " + balance
	}
	tier, ok := v.tier(s)
	left := limits.Left(s.limits, tier, v.fiat.Code, v.now)
	if !ok || left.Sale <= 0 {
		return v.text("flow.limits.none", nil) + " " + balance
	}
	args := map[string]string{"minimum": v.minimum(tokens), "sale": v.cash(left.Sale), "day": v.cash(left.Day)}
	if first := tier.Limits[v.fiat.Code].NewBeneficiaryMinor; first < left.Sale {
		args["first"] = v.cash(first)
	}
	if price, err := s.set.Price(tokens[0].Asset, v.fiat.Code, v.now); err == nil {
		args["tokens"] = v.worth(left.Sale, price.Rate, tokens[0].Asset)
	}
	return v.text("flow.limits", args) + " " + balance
}

// worth is about how many tokens an amount of fiat is, in whole ones: for a sentence, not for a sale.
func (v *visit) worth(n money.Minor, rate money.Rate, asset string) string {
	amount, err := rate.Cost(n)
	if err != nil {
		return v.cash(n)
	}
	const whole = 1_000_000
	return money.FormatMicro(amount/whole*whole) + " " + asset
}

// minimum is the smallest sale in words: "5 USDT or USDC", or "5 USDT or 10 USDC".
func (v *visit) minimum(tokens []assets.Token) string {
	var parts []string
	last := ""
	for _, a := range v.d.Registry.Assets() {
		if !slices.ContainsFunc(tokens, func(t assets.Token) bool { return t.Asset == a.ID }) {
			continue
		}
		least, part := money.FormatMicro(a.MinimumMicro), a.ID
		if least != last {
			part = least + " " + part
		}
		last, parts = least, append(parts, part)
	}
	return strings.Join(parts, " "+v.text("flow.or", nil)+" ")
}

// balance says what the person has.
func (v *visit) balance(s *survey) string {
	var parts []string
	for _, a := range v.d.Registry.Assets() {
		if n := s.available[a.ID]; n > 0 {
			parts = append(parts, money.FormatMicro(n)+" "+a.ID)
		}
	}
	if len(parts) == 0 {
		return v.text("flow.balance.none", nil)
	}
	return v.text("flow.balance", map[string]string{"balance": strings.Join(parts, ", ")})
}

// barred says why this person cannot sell anything now, nil when they can. An identity change is no reason: the PIN at
// the end of the form is what ends it.
func (v *visit) barred() error {
	f := v.user.Frozen
	switch {
	case f != nil && (f.Why != user.IdentityChanged || len(f.Also) > 0):
		return fault.New("user_frozen", nil)
	case v.user.Status != user.Active:
		return fault.New("user_not_active", nil)
	}
	return nil
}

// unfunded is the refusal of a second sale that waits for a deposit of the same coin; it names the first. Nil when there
// is none, or when the balance covers the new one.
func (v *visit) unfunded(ctx context.Context, s *survey, ask *offramp.Ask) (*problem, error) {
	open, there := s.limits.Open[ask.Asset]
	if !there || ask.Renews != "" || s.available[ask.Asset] >= ask.Amount {
		return nil, nil //nolint:nilnil // no problem
	}
	return v.named(ctx, fault.New("unfunded_exists", nil).With("order", open), "asset")
}

// named is a problem whose text names the order that stands in the way.
func (v *visit) named(ctx context.Context, err error, field string) (*problem, error) {
	f := fault.As(err)
	args := v.faultArgs(f)
	o, err := v.d.Orders.Order(ctx, args["order"])
	if err != nil {
		return v.fault(f, field, args), ignoreUnknown(err)
	}
	args["reference"], args["amount"] = o.Reference, money.FormatMicro(o.Amount)+" "+o.Asset
	return v.problem("flow.unfunded_exists", f.Code, field, args), nil
}

// exceeded is the limit that an offer would break, so that it is said where the amount is typed and not after the PIN.
func (v *visit) exceeded(s *survey, q *quote.Quote) *problem {
	tier, ok := v.tier(s)
	if !ok {
		return v.say(fault.New("limit_sale", nil), "sell_amount")
	}
	err := limits.Check(s.limits, tier, limits.Sale{
		Order: q.Renews, Fiat: q.Fiat, Minor: q.Gross, Beneficiary: q.Beneficiary.Digest, BeneficiarySince: q.Beneficiary.Since,
	}, v.now)
	if err == nil {
		return nil
	}
	return v.say(err, "sell_amount")
}

func ignoreUnknown(err error) error {
	if fault.Is(err, "order_unknown") || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
