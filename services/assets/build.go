package assets

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
	_ "time/tzdata" // the zones of the fiats must load on a host without zone files (B102)

	"offrampbot/services/money"
)

var (
	chainIDForm = regexp.MustCompile(`^[a-z][a-z0-9]*$`) // part of refs, routes and environment names
	assetIDForm = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)
	fiatForm    = regexp.MustCompile(`^[A-Z]{3}$`)
	countryForm = regexp.MustCompile(`^[A-Z]{2}$`)
)

// problems collects what is wrong, so that all of it is reported together.
type problems struct{ list []error }

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		p.list = append(p.list, fmt.Errorf(format, args...))
	}
}

// build checks a document and makes the registry of it.
func build(d Document) (*Registry, error) {
	p := &problems{}
	d.Tokens = slices.Clone(d.Tokens) // contracts become canonical below
	checkChains(p, d)
	checkAssets(p, d)
	checkTokens(p, d)
	checkFiats(p, d)
	checkTiers(p, d)
	checkNames(p, d)
	if len(p.list) > 0 {
		return nil, fmt.Errorf("check registry: %w", errors.Join(p.list...))
	}
	return &Registry{
		chains: d.Chains, assets: d.Assets, tokens: d.Tokens, fiats: d.Fiats, tiers: d.Tiers,
		chainNames: positions(d.Chains, Chain.keys), assetNames: positions(d.Assets, Asset.keys), fiatNames: positions(d.Fiats, Fiat.keys),
	}, nil
}

// positions maps every name key of a list to its element.
func positions[T any](list []T, keys func(T) []string) map[string]int {
	out := map[string]int{}
	for i, v := range list {
		for _, k := range keys(v) {
			out[k] = i
		}
	}
	return out
}

func checkChains(p *problems, d Document) {
	p.check(len(d.Chains) > 0, "no chain")
	ids, numbers := map[string]bool{}, map[int64]bool{}
	for _, c := range d.Chains {
		p.check(chainIDForm.MatchString(c.ID), "chain %q: id must be lower-case letters and digits", c.ID)
		p.check(!ids[c.ID], "chain %q: listed twice", c.ID)
		p.check(c.Name != "", "chain %q: no name", c.ID)
		p.check(c.ChainID > 0 && !numbers[c.ChainID], "chain %q: chain_id must be positive and its own", c.ID)
		p.check(c.Depth >= 1, "chain %q: depth must be at least 1", c.ID)
		p.check(c.BlockMillis > 0, "chain %q: block_ms must be positive", c.ID)
		p.check(slices.Contains([]string{"", "safe", "finalized"}, c.FinalityTag), "chain %q: unknown finality_tag", c.ID)
		p.check(c.ReorgWindow >= c.Depth, "chain %q: reorg_window must reach the depth", c.ID)
		var last money.Micro
		for _, t := range c.DepthTiers {
			p.check(t.FromMicro > last, "chain %q: depth_tiers must rise in from_micro", c.ID)
			p.check(t.Depth >= 1, "chain %q: depth must be at least 1 in every tier", c.ID)
			p.check(c.ReorgWindow >= t.Depth, "chain %q: reorg_window must reach every depth", c.ID)
			last = t.FromMicro
		}
		ids[c.ID], numbers[c.ChainID] = true, true
	}
}

func checkAssets(p *problems, d Document) {
	p.check(len(d.Assets) > 0, "no asset")
	ids := map[string]bool{}
	for _, a := range d.Assets {
		p.check(assetIDForm.MatchString(a.ID), "asset %q: id must be upper-case letters and digits", a.ID)
		p.check(!ids[a.ID], "asset %q: listed twice", a.ID)
		p.check(a.Name != "", "asset %q: no name", a.ID)
		p.check(a.MinimumMicro > 0, "asset %q: minimum_micro must be positive", a.ID)
		p.check(slices.ContainsFunc(d.Tokens, func(t Token) bool { return t.Asset == a.ID }), "asset %q: on no chain", a.ID)
		ids[a.ID] = true
	}
}

func checkTokens(p *problems, d Document) {
	pairs, contracts := map[string]bool{}, map[string]bool{}
	for i, t := range d.Tokens {
		what := t.Asset + " on " + t.Chain
		p.check(slices.ContainsFunc(d.Assets, func(a Asset) bool { return a.ID == t.Asset }), "token %s: unknown asset", what)
		at := slices.IndexFunc(d.Chains, func(c Chain) bool { return c.ID == t.Chain })
		p.check(at >= 0, "token %s: unknown chain", what)
		contract, err := CanonicalAddress(t.Contract)
		p.check(err == nil, "token %s: contract %q: %w", what, t.Contract, err)
		p.check(t.Decimals >= 0 && t.Decimals <= maxDecimals, "token %s: decimals must be 0 to %d", what, maxDecimals)
		p.check(t.Depth >= 0, "token %s: depth must be at least 1, or absent", what)
		p.check(at < 0 || d.Chains[at].ReorgWindow >= t.Depth, "token %s: depth is beyond the chain's reorg_window", what)
		p.check(!pairs[what], "token %s: listed twice", what)
		p.check(contract == "" || !contracts[t.Chain+contract], "token %s: contract listed twice", what)
		pairs[what], contracts[t.Chain+contract] = true, true
		d.Tokens[i].Contract = contract
	}
}

// maxDecimals is the most decimals a token may have: enough for every ERC-20 seen, little enough for raw amounts to fit
// in 256 bits.
const maxDecimals = 36

func checkFiats(p *problems, d Document) {
	p.check(len(d.Fiats) > 0, "no fiat")
	codes, countries := map[string]bool{}, map[string]bool{}
	for _, f := range d.Fiats {
		p.check(fiatForm.MatchString(f.Code) && !codes[f.Code], "fiat %q: code must be three capitals and its own", f.Code)
		p.check(countryForm.MatchString(f.Country) && !countries[f.Country], "fiat %q: country must be two capitals and its own", f.Code)
		p.check(f.Name != "" && f.Symbol != "", "fiat %q: no name or no symbol", f.Code)
		p.check(f.Exponent >= 0 && f.Exponent <= 4, "fiat %q: exponent must be 0 to 4", f.Code)
		_, err := time.LoadLocation(f.Zone)
		p.check(err == nil && f.Zone != "" && f.Zone != "Local", "fiat %q: unknown zone %q", f.Code, f.Zone)
		p.check(f.AccountDigits > 0, "fiat %q: account_digits must be positive", f.Code)
		p.check(f.Fee.FlatMinor >= 0 && f.Fee.CapMinor >= 0, "fiat %q: fee must not be negative", f.Code)
		p.check(f.Fee.BasisPoints >= 0 && f.Fee.BasisPoints < basisPoints, "fiat %q: fee basis_points must be 0 to 9999", f.Code)
		codes[f.Code], countries[f.Country] = true, true
	}
}

func checkTiers(p *problems, d Document) {
	p.check(len(d.Tiers) > 0, "no tier")
	ids := map[string]bool{}
	for _, t := range d.Tiers {
		p.check(t.ID != "" && !ids[t.ID], "tier %q: id must be present and its own", t.ID)
		p.check(t.Name != "", "tier %q: no name", t.ID)
		for code, l := range t.Limits {
			known := slices.ContainsFunc(d.Fiats, func(f Fiat) bool { return f.Code == code })
			p.check(known, "tier %q: unknown fiat %q", t.ID, code)
			p.check(l.SaleMinor >= 0 && l.NewBeneficiaryMinor >= 0, "tier %q: limits must not be negative", t.ID)
			p.check(l.SaleMinor <= l.DayMinor && l.DayMinor <= l.MonthMinor, "tier %q: limits must rise from sale_minor to day_minor to month_minor", t.ID)
		}
		ids[t.ID] = true
	}
}

// checkNames refuses a name that means two things among chains, or among assets and fiats.
func checkNames(p *problems, d Document) {
	owners := map[string]string{}
	claim := func(space, owner string, keys []string) {
		for _, k := range keys {
			p.check(k != "", "%s: an empty name", owner)
			other, taken := owners[space+k]
			p.check(!taken || other == owner, "%s: name %q is also that of %s", owner, k, other)
			owners[space+k] = owner
		}
	}
	for _, c := range d.Chains {
		claim("chain:", c.ID, c.keys())
	}
	for _, a := range d.Assets {
		claim("unit:", a.ID, a.keys())
	}
	for _, f := range d.Fiats {
		claim("unit:", f.Code, f.keys())
	}
}
