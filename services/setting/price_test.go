package setting_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/setting"
)

// priced is settings with one rate of USDT in NGN.
func priced(num int64, spread int64) *setting.Settings {
	return &setting.Settings{
		Rates:      map[string]setting.Rate{"USDT/NGN": {Rate: money.Rate{Num: num, Den: 1_000_000}, SetAt: noon}},
		SpreadBps:  spread,
		RateMaxAge: setting.DefaultRateMaxAge,
	}
}

func TestPrice_takesTheSpreadExactly(t *testing.T) {
	t.Parallel()
	price, err := priced(150025, 100).Price("USDT", "NGN", noon)
	require.NoError(t, err)
	require.Equal(t, noon, price.At)
	// 1500.25 less 1 % is 1485.2475 naira a token.
	got, rest, err := price.Rate.Apply(1_000_000)
	require.NoError(t, err)
	require.Equal(t, money.Minor(148524), got)
	require.Zero(t, big.NewRat(rest.Num, rest.Den).Cmp(big.NewRat(3, 4)))
}

func TestPrice_isRefusedWhenItIsNotToBeTrusted(t *testing.T) {
	t.Parallel()
	banded := priced(150025, 0)
	banded.Bands = map[string]setting.Band{"NGN": {LowMinor: 160000, HighMinor: 170000}}
	tests := []struct {
		name  string
		s     *setting.Settings
		asset string
		fiat  string
		at    time.Time
		fails bool
	}{
		{"fresh", priced(150025, 0), "USDT", "NGN", noon, false},
		{"just not too old", priced(150025, 0), "USDT", "NGN", noon.Add(24 * time.Hour), false},
		{"too old", priced(150025, 0), "USDT", "NGN", noon.Add(24*time.Hour + time.Millisecond), true},
		{"of another asset", priced(150025, 0), "USDC", "NGN", noon, true},
		{"of another fiat", priced(150025, 0), "USDT", "GHS", noon, true},
		{"below the operator's band", banded, "USDT", "NGN", noon, true},
		{"at the low end of the built-in band", priced(50_000, 0), "USDT", "NGN", noon, false},
		{"below the built-in band", priced(49_999, 0), "USDT", "NGN", noon, true},
		{"at the high end of the built-in band", priced(500_000, 0), "USDT", "NGN", noon, false},
		{"above the built-in band", priced(500_001, 0), "USDT", "NGN", noon, true},
		{"not positive", priced(0, 0), "USDT", "NGN", noon, true},
		{"a spread of everything", priced(150025, 10_000), "USDT", "NGN", noon, true},
		{"a negative spread", priced(150025, -1), "USDT", "NGN", noon, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.s.Price(tt.asset, tt.fiat, tt.at)
			require.Equal(t, tt.fails, err != nil, "%v", err)
			if tt.fails {
				require.True(t, fault.Is(err, "rate_unavailable"))
			}
		})
	}
}

func TestPrice_hasNoPriceInAFiatWithoutABand(t *testing.T) {
	t.Parallel()
	s := priced(150025, 0)
	s.Rates["USDT/XOF"] = s.Rates["USDT/NGN"]
	_, err := s.Price("USDT", "XOF", noon)
	require.ErrorContains(t, err, "set band.XOF.low")
}

func TestPrice_neverExceedsTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.Int64Range(50_000, 500_000).Draw(t, "num")
		spread := rapid.Int64Range(0, 2000).Draw(t, "spread")
		amount := money.Micro(rapid.Int64Range(1, 1_000_000_000_000).Draw(t, "amount"))
		price, err := priced(num, spread).Price("USDT", "NGN", noon)
		require.NoError(t, err)
		got, _, err := price.Rate.Apply(amount)
		require.NoError(t, err)
		exact := new(big.Rat).Mul(big.NewRat(num, 1_000_000), big.NewRat(10_000-spread, 10_000))
		exact.Mul(exact, big.NewRat(int64(amount), 1))
		diff := new(big.Rat).Sub(exact, big.NewRat(int64(got), 1))
		require.True(t, diff.Sign() >= 0 && diff.Cmp(big.NewRat(1, 1)) < 0, "off by %s minor units", diff.FloatString(6))
	})
}
