package assets

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"offrampbot/services/money"
)

// Registry answers what exists. Its zero value knows nothing; make one with Default, Sandbox or Parse. It is safe for
// concurrent use because nothing changes it.
type Registry struct {
	chains []Chain
	assets []Asset
	tokens []Token
	fiats  []Fiat
	tiers  []Tier
	// What people call chains, assets and fiats: name key → position.
	chainNames, assetNames, fiatNames map[string]int
}

// Chain returns a chain by its id.
func (r *Registry) Chain(id string) (Chain, bool) {
	return find(r.chains, func(c Chain) bool { return c.ID == id })
}

// Chains returns every chain, in the order of the registry.
func (r *Registry) Chains() []Chain { return slices.Clone(r.chains) }

// Asset returns an asset by its id.
func (r *Registry) Asset(id string) (Asset, bool) {
	return find(r.assets, func(a Asset) bool { return a.ID == id })
}

// Assets returns every asset, in the order of the registry.
func (r *Registry) Assets() []Asset { return slices.Clone(r.assets) }

// Token returns an asset on a chain.
func (r *Registry) Token(asset, chain string) (Token, bool) {
	return find(r.tokens, func(t Token) bool { return t.Asset == asset && t.Chain == chain })
}

// TokenByContract returns the token of a contract, whose address may come in any case. This, and never a symbol, decides
// what a transfer on chain is (B62).
func (r *Registry) TokenByContract(chain, contract string) (Token, bool) {
	contract = strings.ToLower(contract)
	return find(r.tokens, func(t Token) bool { return t.Chain == chain && t.Contract == contract })
}

// TokensOf returns the tokens of a chain.
func (r *Registry) TokensOf(chain string) []Token {
	return filter(r.tokens, func(t Token) bool { return t.Chain == chain })
}

// ChainsOf returns the chains on which an asset is taken.
func (r *Registry) ChainsOf(asset string) []Chain {
	return filter(r.chains, func(c Chain) bool { _, ok := r.Token(asset, c.ID); return ok })
}

// Fiat returns a currency by its code.
func (r *Registry) Fiat(code string) (Fiat, bool) {
	return find(r.fiats, func(f Fiat) bool { return f.Code == code })
}

// Fiats returns every currency, in the order of the registry.
func (r *Registry) Fiats() []Fiat { return slices.Clone(r.fiats) }

// FiatOf returns the currency in which people of a country are paid.
func (r *Registry) FiatOf(country string) (Fiat, bool) {
	return find(r.fiats, func(f Fiat) bool { return f.Country == country })
}

// Tier returns a tier by its id.
func (r *Registry) Tier(id string) (Tier, bool) {
	t, ok := find(r.tiers, func(t Tier) bool { return t.ID == id })
	t.Limits = maps.Clone(t.Limits) // a caller may lay the operator's limits over it
	return t, ok
}

// Tiers returns every tier, the lowest first: the first is a new person's.
func (r *Registry) Tiers() []Tier {
	tiers := slices.Clone(r.tiers)
	for i := range tiers {
		tiers[i].Limits = maps.Clone(tiers[i].Limits)
	}
	return tiers
}

// Limit returns a tier's limit in a fiat; without one nothing may be sold for that fiat.
func (r *Registry) Limit(tier, fiat string) (Limit, bool) {
	t, ok := r.Tier(tier)
	if !ok {
		return Limit{}, false
	}
	l, ok := t.Limits[fiat]
	return l, ok
}

// MinimumMicro is the smallest sale of an asset.
func (r *Registry) MinimumMicro(asset string) (money.Micro, bool) {
	a, ok := r.Asset(asset)
	return a.MinimumMicro, ok
}

// DepthFor is how many blocks deep a deposit of an amount must be before it is credited (R101): the token's own depth or
// else its chain's, and at least that of every amount tier that it reaches. More money never needs fewer blocks.
func (r *Registry) DepthFor(chain, asset string, amount money.Micro) (int64, error) {
	c, ok := r.Chain(chain)
	if !ok {
		return 0, r.unsupported(chain)
	}
	t, ok := r.Token(asset, chain)
	if !ok {
		return 0, r.unsupported(strings.TrimSpace(asset + " " + chain))
	}
	depth := c.Depth
	if t.Depth > 0 {
		depth = t.Depth
	}
	for _, tier := range c.DepthTiers {
		if amount >= tier.FromMicro {
			depth = max(depth, tier.Depth)
		}
	}
	return depth, nil
}

// String describes the registry in one line for the start-up log.
func (r *Registry) String() string {
	return fmt.Sprintf("%d chains, %d tokens, %d fiats, %d tiers", len(r.chains), len(r.tokens), len(r.fiats), len(r.tiers))
}

// find returns the first element for which ok holds.
func find[T any](list []T, ok func(T) bool) (T, bool) {
	if i := slices.IndexFunc(list, ok); i >= 0 {
		return list[i], true
	}
	var none T
	return none, false
}

// filter returns the elements for which ok holds.
func filter[T any](list []T, ok func(T) bool) []T {
	var out []T
	for _, v := range list {
		if ok(v) {
			out = append(out, v)
		}
	}
	return out
}
