// Package money holds the integer types of the product and the only arithmetic on them: crypto in micro-units (10⁻⁶ of
// a token on every chain), fiat in minor units, rates as integer pairs. There is no floating point near money (D17).
package money

import (
	"errors"
	"math/big"
	"math/bits"
)

// Micro is an amount of a stablecoin in micro-units: 1 USDT = 1_000_000 on every chain.
type Micro int64

// Minor is an amount of fiat in its minor unit, kobo for NGN; the exponent comes from the registry.
type Minor int64

// Rate is a price: Num minor units of fiat for Den micro-units of crypto, both positive.
// 1 USDT = 1500.25 NGN is {150025, 1000000}.
type Rate struct {
	Num int64 `bson:"num" json:"num"`
	Den int64 `bson:"den" json:"den"`
}

var (
	// ErrOverflow: a result does not fit in 64 bits.
	ErrOverflow = errors.New("amount overflows")
	// ErrRate: a rate is not two positive integers.
	ErrRate = errors.New("rate is not positive")
)

// Fraction is what is left below one minor unit after flooring: Num/Den of a minor unit, 0 ≤ Num < Den.
type Fraction struct {
	Num int64 `bson:"num" json:"num"`
	Den int64 `bson:"den" json:"den"`
}

// Valid reports whether the rate can be used.
func (r Rate) Valid() bool { return r.Num > 0 && r.Den > 0 }

// Apply converts crypto to fiat and floors: the result never exceeds amount × rate and loses less than one minor unit,
// which is returned as the fraction (W: never round up a payout).
func (r Rate) Apply(amount Micro) (Minor, Fraction, error) {
	if !r.Valid() {
		return 0, Fraction{}, ErrRate
	}
	if amount < 0 {
		return 0, Fraction{}, ErrOverflow
	}
	hi, lo := bits.Mul64(uint64(amount), uint64(r.Num))
	if hi >= uint64(r.Den) {
		return 0, Fraction{}, ErrOverflow
	}
	q, rem := bits.Div64(hi, lo, uint64(r.Den))
	if q > 1<<63-1 {
		return 0, Fraction{}, ErrOverflow
	}
	return Minor(q), Fraction{Num: int64(rem), Den: r.Den}, nil
}

// Cost is the smallest amount of crypto whose Apply is at least fiat: the inverse for "sell ₦20k", rounded up.
func (r Rate) Cost(fiat Minor) (Micro, error) {
	if !r.Valid() {
		return 0, ErrRate
	}
	if fiat < 0 {
		return 0, ErrOverflow
	}
	n := new(big.Int).Mul(big.NewInt(int64(fiat)), big.NewInt(r.Den))
	n.Add(n, big.NewInt(r.Num-1)).Quo(n, big.NewInt(r.Num))
	if !n.IsInt64() {
		return 0, ErrOverflow
	}
	return Micro(n.Int64()), nil
}
