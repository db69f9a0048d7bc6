package money

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFormat_writesForPeople(t *testing.T) {
	t.Parallel()
	for in, want := range map[Micro]string{
		0: "0", 1: "0.000001", 25_500_000: "25.5", 1_000_000: "1", 1_234_000_001: "1,234.000001", 999_000_000: "999",
		1_000_000_000_000: "1,000,000", -25_500_000: "-25.5", math.MaxInt64: "9,223,372,036,854.775807",
		math.MinInt64: "-9,223,372,036,854.775808",
	} {
		require.Equal(t, want, FormatMicro(in))
		require.Equal(t, strings.ReplaceAll(want, ",", ""), in.Decimal())
	}
	tests := []struct {
		in       Minor
		exponent int
		symbol   string
		want     string
	}{
		{3_750_625, 2, "₦", "₦37,506.25"}, {3_750_000, 2, "₦", "₦37,500.00"}, {5, 2, "₦", "₦0.05"}, {0, 2, "₦", "₦0.00"},
		{-3_750_625, 2, "₦", "-₦37,506.25"}, {1234, 0, "FCFA ", "FCFA 1,234"}, {100, 0, "", "100"}, {12_345, 3, "", "12.345"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, FormatMinor(tt.in, tt.exponent, tt.symbol))
	}
}

func TestParseDecimal_isStrict(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "1": "1000000", "0.25": "250000", "1500.250000": "1500250000", "0.0": "0",
		strings.Repeat("9", 40): strings.Repeat("9", 40) + "000000",
	} {
		got, err := ParseDecimal(in, 6)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String(), in)
	}
	for in, want := range map[string]error{
		"": ErrSyntax, ".": ErrSyntax, ".5": ErrSyntax, "5.": ErrSyntax, "00": ErrSyntax, "01": ErrSyntax, "-1": ErrSyntax, "+1": ErrSyntax,
		"1e5": ErrSyntax, "0x10": ErrSyntax, "1,000": ErrSyntax, "1 000": ErrSyntax, " 1": ErrSyntax, "1_000": ErrSyntax, "Inf": ErrSyntax,
		"NaN": ErrSyntax, "٥": ErrSyntax, "1.2.3": ErrSyntax, "1.1234567": ErrDecimals, "1.1000000": ErrDecimals,
		strings.Repeat("9", 41): ErrSyntax, "0." + strings.Repeat("0", 40): ErrSyntax,
	} {
		_, err := ParseDecimal(in, 6)
		require.ErrorIs(t, err, want, "%q", in)
	}
}

func TestDecimal_roundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Micro(rapid.Int64Range(0, math.MaxInt64).Draw(t, "micro"))
		back, err := ParseDecimal(m.Decimal(), MicroDecimals)
		require.NoError(t, err)
		require.Equal(t, int64(m), back.Int64())
		require.Equal(t, m.Decimal(), strings.ReplaceAll(FormatMicro(m), ",", ""))
	})
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"0", "1500.25", "1e5", "0x10", "-1", "00012", "1.", ".5", "١", strings.Repeat("9", 41)} {
		f.Add(s, uint8(6))
	}
	f.Fuzz(func(t *testing.T, s string, decimals uint8) {
		got, err := ParseDecimal(s, int(decimals%40))
		if err != nil {
			require.Nil(t, got)
			return
		}
		want, ok := new(big.Rat).SetString(s)
		require.True(t, ok, "whatever is accepted is a number")
		want.Mul(want, new(big.Rat).SetInt(power(int(decimals%40))))
		require.True(t, want.IsInt())
		require.Zero(t, want.Num().Cmp(got))
		require.NotContains(t, s, "-")
	})
}
