package assets

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"offrampbot/services/fault"
	"offrampbot/services/money"
)

// nameKey is a name reduced to what counts: letters, digits and currency symbols in lower case, so that "BEP-20",
// "bep 20" and "bep20" are one name. It drops nothing that could turn one known name into another ("usdc.e" stays
// different from "usdc").
func nameKey(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(norm.NFKC.String(s)) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Sc, r) || r == '#' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// keys are the keys under which a chain is known: its id, its name and its aliases.
func (c Chain) keys() []string { return keysOf(c.ID, c.Name, c.Aliases...) }

// keys are the keys under which an asset is known.
func (a Asset) keys() []string { return keysOf(a.ID, a.Name, a.Aliases...) }

// keys are the keys under which a currency is known, its symbol among them.
func (f Fiat) keys() []string {
	return append(keysOf(f.Code, f.Name, f.Aliases...), nameKey(f.Symbol))
}

func keysOf(id, name string, aliases ...string) []string {
	keys := []string{nameKey(id), nameKey(name)}
	for _, a := range aliases {
		keys = append(keys, nameKey(a))
	}
	return keys
}

// ChainNamed returns the chain of a name that people use: "bsc", "BEP-20", "matic", "base mainnet". Fault code
// asset_unsupported with the list of what is known.
func (r *Registry) ChainNamed(text string) (Chain, error) {
	if i, ok := r.chainNames[nameKey(text)]; ok {
		return r.chains[i], nil
	}
	return Chain{}, r.unsupported(text)
}

// AssetNamed returns the asset of a name that people use. Fault code asset_unsupported.
func (r *Registry) AssetNamed(text string) (Asset, error) {
	if i, ok := r.assetNames[nameKey(text)]; ok {
		return r.assets[i], nil
	}
	return Asset{}, r.unsupported(text)
}

// FiatNamed returns the currency of a name or symbol that people use. Fault code asset_unsupported.
func (r *Registry) FiatNamed(text string) (Fiat, error) {
	if i, ok := r.fiatNames[nameKey(text)]; ok {
		return r.fiats[i], nil
	}
	return Fiat{}, r.unsupported(text)
}

// TokenNamed returns the token of an asset and a chain named together, in either order and with or without "on":
// "usdt bep20", "base usdc", "USDC on BNB Chain". Fault code asset_unsupported, also when only one of the two is named.
func (r *Registry) TokenNamed(text string) (Token, error) {
	words := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("/()-_,", c) })
	for i := 1; i < len(words); i++ {
		first, second := strings.Join(words[:i], " "), words[i:]
		if strings.EqualFold(second[0], "on") {
			second = second[1:]
		}
		rest := strings.Join(second, " ")
		for _, pair := range [][2]string{{first, rest}, {rest, first}} {
			a, errAsset := r.AssetNamed(pair[0])
			c, errChain := r.ChainNamed(pair[1])
			if errAsset != nil || errChain != nil {
				continue
			}
			if t, ok := r.Token(a.ID, c.ID); ok {
				return t, nil
			}
		}
	}
	return Token{}, r.unsupported(text)
}

// Supported lists what is taken, for people: "USDT (Base, BNB Chain, Polygon), USDC (Base)".
func (r *Registry) Supported() string {
	parts := make([]string, 0, len(r.assets))
	for _, a := range r.assets {
		var names []string
		for _, c := range r.ChainsOf(a.ID) {
			names = append(names, c.Name)
		}
		parts = append(parts, a.ID+" ("+strings.Join(names, ", ")+")")
	}
	return strings.Join(parts, ", ")
}

// unsupported is the refusal of a name, with the list of what is known. The name is shortened: it is a stranger's text.
func (r *Registry) unsupported(text string) error {
	shown := []rune(strings.TrimSpace(text))
	if len(shown) > 32 {
		shown = append(shown[:31], '…')
	}
	return fault.New("asset_unsupported", nil).With("given", string(shown)).With("supported", r.Supported())
}

// Units are the registry's assets and currencies as the amount parser wants them. The dollar is listed as a token
// without an id: "$20" says how much, not which stablecoin.
func (r *Registry) Units() []money.Unit {
	units := []money.Unit{{Kind: money.Token, Decimals: money.MicroDecimals, Names: []string{"$", "usd", "dollar", "dollars", "us$"}}}
	for _, a := range r.assets {
		units = append(units, money.Unit{ID: a.ID, Kind: money.Token, Decimals: money.MicroDecimals, Names: a.keys()})
	}
	for _, f := range r.fiats {
		units = append(units, money.Unit{ID: f.Code, Kind: money.Fiat, Decimals: f.Exponent, Names: f.keys()})
	}
	return units
}
