package money

// MicroDecimals is how many decimals a micro-unit has.
const MicroDecimals = 6

// Kind is what a typed amount is an amount of.
type Kind string

// The kinds.
const (
	Token Kind = "token" // of a stablecoin; Value is micro-units
	Fiat  Kind = "fiat"  // of a currency; Value is its minor units
	Half  Kind = "half"  // half of what the person has
	All   Kind = "all"   // everything the person has
	Plain Kind = "plain" // a number without a unit; read it with Parsed.In
)

// Unit is a unit that people may name beside an amount. The registry makes the list (assets.Registry.Units).
type Unit struct {
	ID       string // USDT, NGN; empty for the dollar sign, which says how much and not of what
	Kind     Kind   // Token or Fiat
	Decimals int    // MicroDecimals, or the fiat's exponent
	Names    []string
}
