package money

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// ErrDust: an amount cannot be written in the token's own units without a rest.
var ErrDust = errors.New("amount is finer than the token's unit")

// RawToMicro converts a token's own units to micro-units and floors (B66). What is left below one micro-unit comes back
// as dust, a decimal integer of the token's units, or "" when nothing is left; it is recorded on the deposit, so that
// micro × 10^(decimals−6) + dust is the raw amount again. ErrOverflow when the result does not fit, or for a negative raw
// amount or number of decimals.
func RawToMicro(raw *big.Int, decimals int) (amount Micro, dust string, err error) {
	if raw == nil || raw.Sign() < 0 || decimals < 0 {
		return 0, "", ErrOverflow
	}
	q, rem := new(big.Int), new(big.Int)
	if decimals >= MicroDecimals {
		q.QuoRem(raw, power(decimals-MicroDecimals), rem)
	} else {
		q.Mul(raw, power(MicroDecimals-decimals))
	}
	if !q.IsInt64() {
		return 0, "", ErrOverflow
	}
	if rem.Sign() > 0 {
		dust = rem.String()
	}
	return Micro(q.Int64()), dust, nil
}

// MicroToRaw converts micro-units to a token's own units. ErrDust when the token has fewer than six decimals and the
// amount does not divide; ErrOverflow for a negative amount or number of decimals.
func MicroToRaw(amount Micro, decimals int) (*big.Int, error) {
	if amount < 0 || decimals < 0 {
		return nil, ErrOverflow
	}
	v := big.NewInt(int64(amount))
	if decimals >= MicroDecimals {
		return v.Mul(v, power(decimals-MicroDecimals)), nil
	}
	q, rem := v.QuoRem(v, power(MicroDecimals-decimals), new(big.Int))
	if rem.Sign() != 0 {
		return nil, ErrDust
	}
	return q, nil
}

// Add is m + n. ErrOverflow when the sum does not fit in 64 bits.
func (m Micro) Add(n Micro) (Micro, error) {
	v, err := add(int64(m), int64(n))
	return Micro(v), err
}

// Sub is m − n. ErrOverflow when the difference does not fit in 64 bits.
func (m Micro) Sub(n Micro) (Micro, error) {
	v, err := sub(int64(m), int64(n))
	return Micro(v), err
}

// Add is m + n. ErrOverflow when the sum does not fit in 64 bits.
func (m Minor) Add(n Minor) (Minor, error) {
	v, err := add(int64(m), int64(n))
	return Minor(v), err
}

// Sub is m − n. ErrOverflow when the difference does not fit in 64 bits.
func (m Minor) Sub(n Minor) (Minor, error) {
	v, err := sub(int64(m), int64(n))
	return Minor(v), err
}

func add(a, b int64) (int64, error) {
	if (b > 0 && a > math.MaxInt64-b) || (b < 0 && a < math.MinInt64-b) {
		return 0, fmt.Errorf("add %d and %d: %w", a, b, ErrOverflow)
	}
	return a + b, nil
}

func sub(a, b int64) (int64, error) {
	if (b < 0 && a > math.MaxInt64+b) || (b > 0 && a < math.MinInt64+b) {
		return 0, fmt.Errorf("subtract %d from %d: %w", b, a, ErrOverflow)
	}
	return a - b, nil
}
