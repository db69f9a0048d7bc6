package money

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// rat is the oracle: exact rational numbers that share no code with this package.
func rat(num, den int64) *big.Rat { return big.NewRat(num, den) }

func drawRate(t *rapid.T) Rate {
	positive := rapid.Int64Range(1, math.MaxInt64)
	usual := rapid.Int64Range(1, 10_000_000)
	if rapid.Bool().Draw(t, "usual") {
		return Rate{Num: usual.Draw(t, "num"), Den: 1_000_000}
	}
	return Rate{Num: positive.Draw(t, "num"), Den: positive.Draw(t, "den")}
}

func TestApply_neverExceedsAmountTimesRateAndLosesLessThanOneMinorUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		amount := rapid.Int64Range(0, math.MaxInt64).Draw(t, "amount")
		exact := new(big.Rat).Mul(rat(amount, 1), rat(r.Num, r.Den))
		got, left, err := r.Apply(Micro(amount))
		if err != nil {
			require.ErrorIs(t, err, ErrOverflow)
			require.Positive(t, exact.Cmp(rat(math.MaxInt64, 1)), "only what does not fit may overflow")
			return
		}
		// Invariant: never more than amount × rate, never one minor unit or more lost.
		require.LessOrEqual(t, rat(int64(got), 1).Cmp(exact), 0)
		lost := new(big.Rat).Sub(exact, rat(int64(got), 1))
		require.Negative(t, lost.Cmp(rat(1, 1)))
		require.Zero(t, lost.Cmp(rat(left.Num, left.Den)), "the fraction is exactly what was lost")
	})
}

func TestCost_isTheSmallestAmountThatBuysTheFiat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		fiat := Minor(rapid.Int64Range(0, 1<<60).Draw(t, "fiat"))
		cost, err := r.Cost(fiat)
		if err != nil {
			require.ErrorIs(t, err, ErrOverflow)
			return
		}
		if got, _, err := r.Apply(cost); err == nil {
			require.GreaterOrEqual(t, got, fiat)
		}
		if cost > 0 {
			less, _, err := r.Apply(cost - 1)
			require.NoError(t, err)
			require.Less(t, less, fiat)
		}
	})
}

func TestRate_refusesWhatIsNoRate(t *testing.T) {
	t.Parallel()
	for _, r := range []Rate{{}, {Num: 1}, {Den: 1}, {Num: -1, Den: 1}, {Num: 1, Den: -1}} {
		require.False(t, r.Valid())
		_, _, err := r.Apply(1)
		require.ErrorIs(t, err, ErrRate)
		_, err = r.Cost(1)
		require.ErrorIs(t, err, ErrRate)
		require.NotEmpty(t, r.Price(2, "₦"))
	}
	good := Rate{Num: 150025, Den: 1_000_000}
	_, _, err := good.Apply(-1)
	require.ErrorIs(t, err, ErrOverflow)
	_, err = good.Cost(-1)
	require.ErrorIs(t, err, ErrOverflow)
	_, _, err = Rate{Num: math.MaxInt64, Den: 1}.Apply(math.MaxInt64)
	require.ErrorIs(t, err, ErrOverflow)
	_, _, err = Rate{Num: math.MaxInt64, Den: 1}.Apply(2)
	require.ErrorIs(t, err, ErrOverflow, "fits in 64 bits without a sign, but not with one")
	_, err = Rate{Num: 1, Den: math.MaxInt64}.Cost(math.MaxInt64)
	require.ErrorIs(t, err, ErrOverflow)
}

func TestRateFromDecimal_isExactAndWrittenInOneForm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in       string
		exponent int
		want     Rate
	}{
		{"1500.25", 2, Rate{150025, 1_000_000}},
		{"1500.250000", 2, Rate{150025, 1_000_000}},
		{"1500", 2, Rate{150000, 1_000_000}},
		{"1500", 0, Rate{1500, 1_000_000}},
		{"0.995", 2, Rate{995, 10_000_000}},
		{"1500.123456", 2, Rate{1500123456, 10_000_000_000}},
		{"0.000000000001", 2, Rate{1, 10_000_000_000_000_000}},
	}
	for _, tt := range tests {
		got, err := RateFromDecimal(tt.in, tt.exponent)
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.want, got, tt.in)
	}
	for in, want := range map[string]error{
		"0": ErrRate, "0.00": ErrRate, "": ErrSyntax, "-1": ErrSyntax, "1e3": ErrSyntax, "1,500": ErrSyntax,
		"1.0000000000001": ErrDecimals, "99999999999999999999": ErrOverflow,
	} {
		_, err := RateFromDecimal(in, 2)
		require.ErrorIs(t, err, want, "%q", in)
	}
	r := Rate{150025, 1_000_000}
	require.Equal(t, "150025/1000000", r.String())
	require.Equal(t, "₦1,500.25", r.Price(2, "₦"))
}

func TestRateFromDecimal_equalsItsTextForEveryPrice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := Micro(rapid.Int64Range(1, 1_000_000_000_000).Draw(t, "price")).Decimal()
		exponent := rapid.IntRange(0, 4).Draw(t, "exponent")
		r, err := RateFromDecimal(text, exponent)
		require.NoError(t, err)
		want, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		want.Mul(want, new(big.Rat).SetFrac(power(exponent), power(MicroDecimals)))
		require.Zero(t, want.Cmp(rat(r.Num, r.Den)))
	})
}

func TestAddSub_areExactOrRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		check := func(got int64, err error, want *big.Int) {
			require.Equal(t, !want.IsInt64(), err != nil)
			if err == nil {
				require.Equal(t, want.Int64(), got)
			} else {
				require.ErrorIs(t, err, ErrOverflow)
			}
		}
		sum, diff := new(big.Int).Add(big.NewInt(a), big.NewInt(b)), new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
		micro, err := Micro(a).Add(Micro(b))
		check(int64(micro), err, sum)
		micro, err = Micro(a).Sub(Micro(b))
		check(int64(micro), err, diff)
		minor, err := Minor(a).Add(Minor(b))
		check(int64(minor), err, sum)
		minor, err = Minor(a).Sub(Minor(b))
		check(int64(minor), err, diff)
	})
	_, err := Micro(math.MinInt64).Sub(1)
	require.ErrorIs(t, err, ErrOverflow)
	_, err = Micro(0).Sub(math.MinInt64)
	require.ErrorIs(t, err, ErrOverflow)
}

func TestRawToMicro_floorsAndKeepsTheDust(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		decimals := rapid.IntRange(0, 24).Draw(t, "decimals")
		raw, _ := new(big.Int).SetString(rapid.StringMatching(`[1-9][0-9]{0,40}|0`).Draw(t, "raw"), 10)
		micro, dust, err := RawToMicro(raw, decimals)
		if err != nil {
			require.ErrorIs(t, err, ErrOverflow)
			return
		}
		// Invariant: micro-units and dust together are the raw amount again.
		back := new(big.Rat).Mul(rat(int64(micro), 1), new(big.Rat).SetFrac(power(decimals), power(MicroDecimals)))
		if dust != "" {
			d, ok := new(big.Int).SetString(dust, 10)
			require.True(t, ok)
			require.Negative(t, d.Cmp(power(decimals-MicroDecimals)))
			back.Add(back, new(big.Rat).SetInt(d))
		}
		require.Zero(t, back.Cmp(new(big.Rat).SetInt(raw)))
		again, err := MicroToRaw(micro, decimals)
		require.NoError(t, err)
		require.LessOrEqual(t, again.Cmp(raw), 0)
	})
}

func TestRawToMicro_knowsBNBChainsEighteenDecimals(t *testing.T) {
	t.Parallel()
	raw, _ := new(big.Int).SetString("27500000000000000001", 10)
	micro, dust, err := RawToMicro(raw, 18)
	require.NoError(t, err)
	require.Equal(t, Micro(27_500_000), micro)
	require.Equal(t, "1", dust)
	micro, dust, err = RawToMicro(big.NewInt(27_500_000), 6)
	require.NoError(t, err)
	require.Equal(t, Micro(27_500_000), micro)
	require.Empty(t, dust)
	for _, refused := range []*big.Int{nil, big.NewInt(-1), power(40)} {
		_, _, err = RawToMicro(refused, 6)
		require.ErrorIs(t, err, ErrOverflow)
	}
	_, _, err = RawToMicro(big.NewInt(1), -1)
	require.ErrorIs(t, err, ErrOverflow)
	_, err = MicroToRaw(-1, 6)
	require.ErrorIs(t, err, ErrOverflow)
	_, err = MicroToRaw(1, 2)
	require.ErrorIs(t, err, ErrDust)
	v, err := MicroToRaw(1_230_000, 2)
	require.NoError(t, err)
	require.Equal(t, "123", v.String())
}
