package setting

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"offrampbot/services/money"
)

const (
	maxDigits   = 15             // of a typed rate or band end, point left out
	maxFlat     = int64(1) << 40 // flat fee in minor units
	maxDecimals = 8
)

// rate adds the rate of a pair. Setting the same value again renews its age.
func (c *Catalogue) rate(asset, fiat string, exponent int) {
	pair := Pair(asset, fiat)
	c.fields["rate."+asset+"."+fiat] = field{
		help: fmt.Sprintf("%s for one %s, before the spread", fiat, asset),
		get: func(s *Settings) string {
			r, ok := s.Rates[pair]
			if !ok {
				return ""
			}
			return formatRate(r.Rate, exponent)
		},
		set: func(s *Settings, value string, at stamp) error {
			rate, err := parseRate(value, exponent)
			if err != nil {
				return err
			}
			s.Rates[pair] = Rate{Rate: rate, SetAt: at.at, SetBy: at.by}
			return nil
		},
		meta: func(s *Settings) (time.Time, string) { return s.Rates[pair].SetAt, s.Rates[pair].SetBy },
	}
}

// fiat adds fee and band of a fiat.
func (c *Catalogue) fiat(fiat string, exponent int) {
	c.fields["fee."+fiat+".flat_minor"] = field{
		help: "flat fee of a sale in minor units of " + fiat,
		get:  func(s *Settings) string { return strconv.FormatInt(s.Fees[fiat].FlatMinor, 10) },
		set: func(s *Settings, value string, _ stamp) error {
			n, err := whole(value, 0, maxFlat)
			fee := s.Fees[fiat]
			fee.FlatMinor = n
			s.Fees[fiat] = fee
			return err
		},
	}
	c.fields["fee."+fiat+".bps"] = field{
		help: "fee of a sale in hundredths of a percent of the gross, 0 to 2000",
		get:  func(s *Settings) string { return strconv.FormatInt(s.Fees[fiat].Bps, 10) },
		set: func(s *Settings, value string, _ stamp) error {
			n, err := whole(value, 0, 2000)
			fee := s.Fees[fiat]
			fee.Bps = n
			s.Fees[fiat] = fee
			return err
		},
	}
	c.bandEnd(fiat, "low", exponent, func(b *Band) *int64 { return &b.LowMinor })
	c.bandEnd(fiat, "high", exponent, func(b *Band) *int64 { return &b.HighMinor })
}

// bandEnd adds one end of a fiat's band, typed in whole units of the fiat a token.
func (c *Catalogue) bandEnd(fiat, end string, exponent int, of func(*Band) *int64) {
	c.fields["band."+fiat+"."+end] = field{
		help: end + " end of the believed rates, in " + fiat + " for one token",
		get: func(s *Settings) string {
			band, ok := s.Band(fiat)
			if !ok {
				return ""
			}
			return formatRate(money.Rate{Num: *of(&band), Den: microPerToken}, exponent)
		},
		set: func(s *Settings, value string, _ stamp) error {
			rate, err := parseRate(value, exponent)
			if err != nil || rate.Den != microPerToken {
				return fmt.Errorf("must be a positive number with at most %d decimals", exponent)
			}
			band, _ := s.Band(fiat)
			*of(&band) = rate.Num
			s.Bands[fiat] = band
			return nil
		},
	}
}

// parseRate reads fiat a token, "1500.25", into minor units for micro-units, exactly. Only digits and one point are
// taken: a separator or a sign in a rate is a mistake.
func parseRate(value string, exponent int) (money.Rate, error) {
	bad := fmt.Errorf("must be a positive number like 1500.25, at most %d digits and %d decimals", maxDigits, maxDecimals)
	before, after, hasPoint := strings.Cut(value, ".")
	digits := before + after
	if before == "" || hasPoint && after == "" || len(digits) > maxDigits || len(after) > maxDecimals {
		return money.Rate{}, bad
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return money.Rate{}, bad
		}
	}
	after = strings.TrimRight(after, "0")
	num, ok := new(big.Int).SetString(before+after, 10)
	if !ok || num.Sign() <= 0 {
		return money.Rate{}, bad
	}
	den := big.NewInt(microPerToken)
	if shift := exponent - len(after); shift >= 0 {
		num.Mul(num, power(shift))
	} else {
		den.Mul(den, power(-shift))
	}
	if !num.IsInt64() || !den.IsInt64() {
		return money.Rate{}, errors.New("is too large")
	}
	return money.Rate{Num: num.Int64(), Den: den.Int64()}, nil
}

// formatRate is the inverse of parseRate, without needless zeros.
func formatRate(rate money.Rate, exponent int) string {
	decimals := exponent
	for den := rate.Den; den > microPerToken; den /= 10 {
		decimals++
	}
	digits := strconv.FormatInt(rate.Num, 10)
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals-len(digits)+1) + digits
	}
	text := digits[:len(digits)-decimals]
	if rest := strings.TrimRight(digits[len(digits)-decimals:], "0"); rest != "" {
		text += "." + rest
	}
	return text
}

// power is 10ⁿ.
func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
