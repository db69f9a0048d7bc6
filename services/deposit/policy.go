package deposit

import (
	"errors"
	"fmt"
	"math/big"

	"offrampbot/services/assets"
	"offrampbot/services/money"
)

// maxDecimals bounds the decimals of a token; no real one has more, and the power of ten stays small.
const maxDecimals = 36

// Policy is what the registry says about one chain, as the planner needs it. Addresses are in the chain's canonical
// form. A contract that is not listed is unknown and never credited (G10, G16, R101).
type Policy struct {
	Chain string
	// Window is the reorg window in blocks: a credit deeper than this is settled. At least the deepest depth.
	Window int64
	// FinalityTag is the node's tag for final blocks ("finalized", "safe"), empty where the chain has none.
	FinalityTag string
	Tokens      []Token
}

// Token is one contract that is credited.
type Token struct {
	Contract string
	Asset    string
	Decimals int
	// Depth is how many blocks, its own included, a credit needs (R101, R102).
	Depth int64
	// Tiers ask for more blocks from an amount on (D16, G11).
	Tiers []Tier
}

// Tier is the depth from an amount on.
type Tier struct {
	From  money.Micro
	Depth int64
}

// PolicyOf takes a chain's policy from the registry. It refuses a chain that the registry does not know.
func PolicyOf(registry *assets.Registry, chain string) (Policy, error) {
	c, ok := registry.Chain(chain)
	if !ok {
		return Policy{}, fmt.Errorf("find chain %q: not in the registry", chain)
	}
	p := Policy{Chain: c.ID, Window: c.ReorgWindow, FinalityTag: c.FinalityTag}
	for _, t := range registry.TokensOf(chain) {
		token := Token{Contract: t.Contract, Asset: t.Asset, Decimals: t.Decimals, Depth: c.Depth}
		if t.Depth > 0 {
			token.Depth = t.Depth
		}
		for _, tier := range c.DepthTiers {
			token.Tiers = append(token.Tiers, Tier{From: tier.FromMicro, Depth: tier.Depth})
		}
		p.Tokens = append(p.Tokens, token)
	}
	return p, p.Validate()
}

// Validate refuses a policy under which money could be credited too early or lost. All problems come together.
func (p Policy) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if p.Chain == "" {
		add("policy has no chain")
	}
	seen := map[string]bool{}
	for _, t := range p.Tokens {
		if t.Contract == "" || t.Asset == "" {
			add("token %q of chain %s has no contract or no asset", t.Asset, p.Chain)
		}
		if seen[t.Contract] {
			add("contract %s is listed twice", t.Contract)
		}
		seen[t.Contract] = true
		if t.Decimals < 0 || t.Decimals > maxDecimals {
			add("token %s: %d decimals are not between 0 and %d", t.Asset, t.Decimals, maxDecimals)
		}
		if t.Depth < 1 {
			add("token %s: depth %d is below 1", t.Asset, t.Depth)
		}
		for _, tier := range t.Tiers {
			if tier.Depth < 1 || tier.From < 0 {
				add("token %s: tier from %d with depth %d is not usable", t.Asset, tier.From, tier.Depth)
			}
		}
	}
	if deepest := p.deepest(); p.Window < deepest || p.Window < 1 {
		add("window %d of chain %s is below the deepest depth %d", p.Window, p.Chain, deepest)
	}
	return errors.Join(problems...)
}

// token finds a listed contract. The comparison is exact: both sides are canonical (G15).
func (p Policy) token(contract string) (Token, bool) {
	for _, t := range p.Tokens {
		if t.Contract == contract {
			return t, true
		}
	}
	return Token{}, false
}

func (p Policy) deepest() int64 {
	var deepest int64
	for _, t := range p.Tokens {
		deepest = max(deepest, t.Depth)
		for _, tier := range t.Tiers {
			deepest = max(deepest, tier.Depth)
		}
	}
	return deepest
}

// DepthFor is the number of blocks an amount needs: the token's depth, or that of the tiers it reaches if deeper.
func (t Token) DepthFor(amount money.Micro) int64 {
	depth := t.Depth
	for _, tier := range t.Tiers {
		if amount >= tier.From {
			depth = max(depth, tier.Depth)
		}
	}
	return depth
}

// Units floors a raw amount to micro-units and returns what is left as a decimal string of the token's own units, empty
// when nothing is. ok is false when the amount is negative or does not fit in 64 bits (B66).
func (t Token) Units(raw *big.Int) (micro money.Micro, dust string, ok bool) {
	micro, dust, err := money.RawToMicro(raw, t.Decimals)
	return micro, dust, err == nil
}
