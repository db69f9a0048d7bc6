package setting

import (
	"fmt"
	"math/big"
	"time"

	"offrampbot/services/exchange"
	"offrampbot/services/fault"
	"offrampbot/services/money"
)

// bpsWhole is 100 % in hundredths of a percent.
const bpsWhole = 10_000

// microPerToken is a whole token in micro-units.
const microPerToken = 1_000_000

// defaultBands are believed until the operator sets others: wide enough for years of one-dollar tokens, narrow enough
// that a slipped decimal point is noticed. A fiat without a band has no price.
var defaultBands = map[string]Band{
	"NGN": {LowMinor: 500_00, HighMinor: 5_000_00},
	"GHS": {LowMinor: 5_00, HighMinor: 50_00},
	"KES": {LowMinor: 50_00, HighMinor: 500_00},
	"ZAR": {LowMinor: 8_00, HighMinor: 50_00},
}

// Price is the operator's rate less the spread. It fails with fault code rate_unavailable when the rate is missing, older
// than RateMaxAge, or outside its band; the cause says which. The spread is taken from what the user gets, and the
// result is exact: no rounding happens before the amount is known.
func (s *Settings) Price(asset, fiat string, now time.Time) (exchange.Price, error) {
	pair := Pair(asset, fiat)
	rate, ok := s.Rates[pair]
	switch {
	case !ok || !rate.Rate.Valid():
		return exchange.Price{}, unavailable(pair, "is not set")
	case now.Sub(rate.SetAt) > s.RateMaxAge:
		return exchange.Price{}, unavailable(pair, "is older than "+s.RateMaxAge.String())
	}
	if err := s.inBand(fiat, rate.Rate); err != nil {
		return exchange.Price{}, unavailable(pair, err.Error())
	}
	price, err := withSpread(rate.Rate, s.SpreadBps)
	if err != nil {
		return exchange.Price{}, unavailable(pair, err.Error())
	}
	return exchange.Price{Rate: price, At: rate.SetAt}, nil
}

// unavailable is the refusal of a price.
func unavailable(pair, why string) error {
	return fault.New("rate_unavailable", fmt.Errorf("rate %s %s", pair, why)).With("pair", pair)
}

// Band is the band of a fiat: the operator's, else the built-in one; ok is false when there is neither.
func (s *Settings) Band(fiat string) (band Band, ok bool) {
	if b, set := s.Bands[fiat]; set {
		return b, true
	}
	b, ok := defaultBands[fiat]
	return b, ok
}

// inBand says why a rate is not believed: low × den ≤ num × 10⁶ ≤ high × den must hold.
func (s *Settings) inBand(fiat string, rate money.Rate) error {
	band, ok := s.Band(fiat)
	if !ok {
		return fmt.Errorf("has no band: set band.%s.low and band.%s.high", fiat, fiat)
	}
	perToken := new(big.Int).Mul(big.NewInt(rate.Num), big.NewInt(microPerToken))
	low := new(big.Int).Mul(big.NewInt(band.LowMinor), big.NewInt(rate.Den))
	high := new(big.Int).Mul(big.NewInt(band.HighMinor), big.NewInt(rate.Den))
	if perToken.Cmp(low) < 0 || perToken.Cmp(high) > 0 {
		return fmt.Errorf("is outside its band of %d to %d minor units a token", band.LowMinor, band.HighMinor)
	}
	return nil
}

// withSpread is rate × (1 − bps/10⁴), in lowest terms.
func withSpread(rate money.Rate, bps int64) (money.Rate, error) {
	if bps < 0 || bps >= bpsWhole {
		return money.Rate{}, fmt.Errorf("has a spread of %d bps", bps)
	}
	num := new(big.Int).Mul(big.NewInt(rate.Num), big.NewInt(bpsWhole-bps))
	den := new(big.Int).Mul(big.NewInt(rate.Den), big.NewInt(bpsWhole))
	common := new(big.Int).GCD(nil, nil, num, den)
	num.Quo(num, common)
	den.Quo(den, common)
	if !num.IsInt64() || !den.IsInt64() {
		return money.Rate{}, money.ErrOverflow
	}
	return money.Rate{Num: num.Int64(), Den: den.Int64()}, nil
}
