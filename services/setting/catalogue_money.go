package setting

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/money"
)

const (
	maxRate  = 24             // characters of a typed rate or band end
	maxMinor = int64(1) << 50 // of a fee or limit
)

// rate adds the rate of a pair. Setting the same value again renews its age.
func (c *Catalogue) rate(asset string, of assets.Fiat) {
	fiat, exponent := of.Code, of.Exponent
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

// fees adds the fee of a fiat. The first change of one part starts from the registry's fee.
func (c *Catalogue) fees(fiat assets.Fiat) {
	add := func(name, help string, high int64, part func(*Fee) *int64) {
		c.fields["fee."+fiat.Code+"."+name] = field{
			help: help,
			get: func(s *Settings) string {
				fee := s.feeOf(fiat)
				return strconv.FormatInt(*part(&fee), 10)
			},
			set: func(s *Settings, value string, _ stamp) (err error) {
				fee := s.feeOf(fiat)
				*part(&fee), err = whole(value, 0, high)
				s.Fees[fiat.Code] = fee
				return err
			},
		}
	}
	add("flat_minor", "flat fee of a sale in minor units of "+fiat.Code, maxMinor, func(f *Fee) *int64 { return &f.FlatMinor })
	add("bps", "fee of a sale in hundredths of a percent of the gross, 0 to 2000", 2000, func(f *Fee) *int64 { return &f.Bps })
	add("cap_minor", "the most that a fee comes to in minor units, 0 for no cap", maxMinor, func(f *Fee) *int64 { return &f.CapMinor })
}

// limits adds the limits of a tier in a fiat. The first change of one part starts from the registry's limits.
func (c *Catalogue) limits(tier assets.Tier, fiat assets.Fiat) {
	if _, ok := tier.Limits[fiat.Code]; !ok {
		return // a tier that may not sell into a fiat is the registry's decision
	}
	add := func(name, help string, part func(*Limit) *int64) {
		c.fields["limit."+tier.ID+"."+fiat.Code+"."+name] = field{
			help: help + " in minor units of " + fiat.Code + ", 0 allows nothing",
			get: func(s *Settings) string {
				limit := s.limitOf(tier, fiat.Code)
				return strconv.FormatInt(*part(&limit), 10)
			},
			set: func(s *Settings, value string, _ stamp) (err error) {
				limit := s.limitOf(tier, fiat.Code)
				*part(&limit), err = whole(value, 0, maxMinor)
				s.Limits[limitKey(tier.ID, fiat.Code)] = limit
				return err
			},
		}
	}
	add("sale_minor", "one sale", func(l *Limit) *int64 { return &l.SaleMinor })
	add("day_minor", "24 hours", func(l *Limit) *int64 { return &l.DayMinor })
	add("month_minor", "30 days", func(l *Limit) *int64 { return &l.MonthMinor })
	add("new_beneficiary_minor", "a beneficiary's first 24 hours", func(l *Limit) *int64 { return &l.NewBeneficiaryMinor })
}

// bands adds both ends of the band of a fiat.
func (c *Catalogue) bands(fiat assets.Fiat) {
	c.bandEnd(fiat.Code, "low", fiat.Exponent, func(b *Band) *int64 { return &b.LowMinor })
	c.bandEnd(fiat.Code, "high", fiat.Exponent, func(b *Band) *int64 { return &b.HighMinor })
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

// parseRate reads fiat a token, "1500.25", into minor units for micro-units, exactly.
func parseRate(value string, exponent int) (money.Rate, error) {
	if len(value) > maxRate {
		return money.Rate{}, errors.New("is too long")
	}
	rate, err := money.RateFromDecimal(value, exponent)
	if err != nil {
		return money.Rate{}, fmt.Errorf("must be a positive number like 1500.25: %w", err)
	}
	return rate, nil
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
