package money

import (
	"errors"
	"math/big"
)

// MicroDecimals is how many decimals a micro-unit has.
const MicroDecimals = 6

// Kind is what a typed amount is an amount of.
type Kind string

// The kinds.
const (
	Token Kind = "token" // of a stablecoin; Value is micro-units
	Fiat  Kind = "fiat"  // of a currency; Value is its minor units
	Half  Kind = "half"  // half of what the person has; no value
	All   Kind = "all"   // everything the person has; no value
	Plain Kind = "plain" // a number without a unit; Value is micro-units, read it in a unit with In
)

var (
	// ErrUnit: a word beside the number is no unit, or two units contradict each other.
	ErrUnit = errors.New("not a unit")
	// ErrAmbiguous: the text has two readings, which are the Candidates of what came back. Nobody guesses (P54).
	ErrAmbiguous = errors.New("amount has two readings")
	// ErrZero: the amount is nothing.
	ErrZero = errors.New("amount is zero")
)

// Unit is a unit that people may name beside an amount. The registry makes the list (assets.Registry.Units).
type Unit struct {
	ID       string // USDT, NGN; empty for the dollar sign, which says how much and not of what
	Kind     Kind   // Token or Fiat
	Decimals int    // MicroDecimals, or the fiat's exponent
	Names    []string
}

// ParseContext is what Parse knows about the question that was asked.
type ParseContext struct {
	Units []Unit
	// Bare is the unit of a number without one, on a screen or step that asks for one unit. Nil: such a number is Plain.
	Bare *Unit
}

// Parsed is an amount that a person typed.
type Parsed struct {
	Kind  Kind
	Unit  string // the unit's id; may be empty, see Unit.ID
	Value int64  // positive, in the unit that Kind says; 0 for Half and All
	Text  string // the number in ParseDecimal's form, for In and for showing it back
	// Candidates are the two readings when Parse returned ErrAmbiguous, the larger first.
	Candidates []Parsed
}

// Micro is the value as crypto, and whether the amount is one of crypto.
func (p Parsed) Micro() (Micro, bool) { return Micro(p.Value), p.Kind == Token }

// Minor is the value as fiat, and whether the amount is one of fiat.
func (p Parsed) Minor() (Minor, bool) { return Minor(p.Value), p.Kind == Fiat }

// In reads a plain number in a unit. ErrDecimals when the number has more decimals than the unit, ErrUnit when the
// amount is not Plain, ErrOverflow.
func (p Parsed) In(u Unit) (Parsed, error) {
	if p.Kind != Plain {
		return Parsed{}, ErrUnit
	}
	v, err := ParseDecimal(p.Text, u.Decimals)
	if err != nil {
		return Parsed{}, err
	}
	if !v.IsInt64() {
		return Parsed{}, ErrOverflow
	}
	return Parsed{Kind: u.Kind, Unit: u.ID, Value: v.Int64(), Text: p.Text}, nil
}

// parsed makes the result of one reading: whole.part × 10^exp in a unit, or a plain number when the unit is nil.
func parsed(r reading, exp int, u *Unit) (Parsed, error) {
	out, decimals := Parsed{Kind: Plain}, MicroDecimals
	if u != nil {
		out.Kind, out.Unit, decimals = u.Kind, u.ID, u.Decimals
	}
	v, err := scaled(r.whole, r.part, decimals+exp)
	switch {
	case err != nil:
		return Parsed{}, err
	case v.Sign() == 0:
		return Parsed{}, ErrZero
	case !v.IsInt64():
		return Parsed{}, ErrOverflow
	}
	out.Value, out.Text = v.Int64(), text(r, exp)
	return out, nil
}

// text is whole.part × 10^exp in ParseDecimal's form, without zeros at the end.
func text(r reading, exp int) string {
	v, _ := new(big.Int).SetString(r.whole+r.part, 10) // both are digits, the caller has scaled them already
	if len(r.part) >= exp {
		return trimZeros(decimal(v, len(r.part)-exp))
	}
	return v.Mul(v, power(exp-len(r.part))).String()
}
