package money

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

var (
	// ErrSyntax: a text is not an amount.
	ErrSyntax = errors.New("not an amount")
	// ErrDecimals: an amount has more decimals than its unit. It is refused, not rounded (P57).
	ErrDecimals = errors.New("too many decimals")
)

// maxDigits is the most digits of an amount that is looked at (P57): a whole uint256 has 78, but nothing that a person or
// a provider writes as a decimal number comes near.
const maxDigits = 40

// ParseDecimal reads a decimal number as machines write it, "1500", "0.25", and returns it as an integer of 10^-decimals.
// No sign, no exponent, no separators, no leading zero but that of "0.…", digits on both sides of a point, at most
// 40 digits. ErrSyntax, or ErrDecimals when the number has more decimals than asked for, zeros included.
func ParseDecimal(text string, decimals int) (*big.Int, error) {
	whole, part, point := strings.Cut(text, ".")
	if !isDigits(whole) || (point && !isDigits(part)) || len(whole)+len(part) > maxDigits {
		return nil, ErrSyntax
	}
	if len(whole) > 1 && whole[0] == '0' {
		return nil, ErrSyntax
	}
	return scaled(whole, part, decimals)
}

// scaled is whole.part × 10^decimals, both being digits. ErrDecimals when it is not an integer by the digits written.
func scaled(whole, part string, decimals int) (*big.Int, error) {
	if len(part) > decimals {
		return nil, ErrDecimals
	}
	v, ok := new(big.Int).SetString(whole+part+strings.Repeat("0", decimals-len(part)), 10)
	if !ok {
		return nil, ErrSyntax
	}
	return v, nil
}

// isDigits reports whether s is one ASCII digit or more.
func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

// decimal writes v × 10^-decimals with exactly that many decimals and without grouping; v is not negative.
func decimal(v *big.Int, decimals int) string {
	s := v.String()
	if decimals == 0 {
		return s
	}
	if missing := decimals + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	return s[:len(s)-decimals] + "." + s[len(s)-decimals:]
}

// trimZeros drops the zeros at the end of a decimal part, and the point if nothing is left behind it.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// group puts a comma before each three digits of the whole part.
func group(s string) string {
	whole, part, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		return whole + "." + part
	}
	return whole
}

// signed writes the absolute value with text and puts a minus before it when v is negative.
func signed(v int64, text func(abs *big.Int) string) string {
	b := big.NewInt(v)
	if v >= 0 {
		return text(b)
	}
	return "-" + text(b.Abs(b))
}

// FormatMicro writes an amount of crypto for people: "25.5", "1,234.000001"; no zeros at the end, no unit.
func FormatMicro(m Micro) string {
	return signed(int64(m), func(abs *big.Int) string { return group(trimZeros(decimal(abs, MicroDecimals))) })
}

// FormatMinor writes an amount of fiat for people with all its decimals and its symbol: "₦37,506.25". The exponent is
// that of the registry.
func FormatMinor(m Minor, exponent int, symbol string) string {
	return signed(int64(m), func(abs *big.Int) string { return symbol + group(decimal(abs, exponent)) })
}

// Decimal is the amount as machines write it, ParseDecimal's form: "1234.5".
func (m Micro) Decimal() string {
	return signed(int64(m), func(abs *big.Int) string { return trimZeros(decimal(abs, MicroDecimals)) })
}

// RateFromDecimal reads a price of one whole token in fiat, "1500.25", exactly: the exponent is the fiat's, and the price
// may have more decimals than it. It fails with ErrSyntax, ErrDecimals beyond twelve decimals, ErrRate for zero, and
// ErrOverflow.
func RateFromDecimal(text string, exponent int) (Rate, error) {
	const most = 12
	v, err := ParseDecimal(text, most)
	if err != nil {
		return Rate{}, fmt.Errorf("read rate: %w", err)
	}
	// price × 10^exponent minor units for 10^6 micro-units, both sides times 10^12 and reduced.
	v.Mul(v, power(exponent))
	den := new(big.Int).Mul(power(MicroDecimals), power(most))
	return reduced(v, den)
}

// reduced is num/den in lowest terms, but for powers of ten that keep a den of one token: {150025, 1000000} reads better
// than {6001, 40000}, and equal prices must be equal structs.
func reduced(num, den *big.Int) (Rate, error) {
	if num.Sign() <= 0 {
		return Rate{}, ErrRate
	}
	ten := big.NewInt(10)
	for den.Cmp(power(MicroDecimals)) > 0 {
		q, rem := new(big.Int).QuoRem(num, ten, new(big.Int))
		if rem.Sign() != 0 {
			break
		}
		num, den = q, new(big.Int).Quo(den, ten)
	}
	if !num.IsInt64() || !den.IsInt64() {
		return Rate{}, ErrOverflow
	}
	return Rate{Num: num.Int64(), Den: den.Int64()}, nil
}

// power is 10^n.
func power(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// String is the pair itself, "150025/1000000": exact, and the same for every currency. Price shows it to people.
func (r Rate) String() string { return fmt.Sprintf("%d/%d", r.Num, r.Den) }

// Price writes the price of one whole token for people, floored to the fiat's minor unit: "₦1,500.25".
func (r Rate) Price(exponent int, symbol string) string {
	price, _, err := r.Apply(Micro(power(MicroDecimals).Int64()))
	if err != nil {
		return r.String()
	}
	return FormatMinor(price, exponent, symbol)
}
