package money

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	usdt = Unit{ID: "USDT", Kind: Token, Decimals: 6, Names: []string{"usdt", "tether", "tether usd"}}
	usdc = Unit{ID: "USDC", Kind: Token, Decimals: 6, Names: []string{"usdc", "USD Coin"}}
	usd  = Unit{Kind: Token, Decimals: 6, Names: []string{"$", "usd", "dollars"}}
	ngn  = Unit{ID: "NGN", Kind: Fiat, Decimals: 2, Names: []string{"ngn", "₦", "naira", "n", "#"}}
	xof  = Unit{ID: "XOF", Kind: Fiat, Decimals: 0, Names: []string{"xof"}}
)

func testContext() ParseContext { return ParseContext{Units: []Unit{usd, usdt, usdc, ngn, xof}} }

func TestParse_readsWhatPeopleType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		kind  Kind
		unit  string
		value int64
	}{
		// P55: marks, units and suffixes.
		{"50 usdt", Token, "USDT", 50_000_000}, {"50usdt", Token, "USDT", 50_000_000}, {"USDT 50", Token, "USDT", 50_000_000},
		{"0.5 usdc", Token, "USDC", 500_000}, {"usdc 0.5", Token, "USDC", 500_000}, {"usdc0.5", Token, "USDC", 500_000},
		{".5 usdt", Token, "USDT", 500_000}, {"0.000001 usdt", Token, "USDT", 1}, {"5 tether usd", Token, "USDT", 5_000_000},
		{"3 usd coin", Token, "USDC", 3_000_000}, {"$20", Token, "", 20_000_000}, {"20 usd", Token, "", 20_000_000},
		{"$20 usdt", Token, "USDT", 20_000_000}, {"usdt $20", Token, "USDT", 20_000_000}, {"$20 dollars", Token, "", 20_000_000},
		{"₦5k", Fiat, "NGN", 500_000}, {"N5000", Fiat, "NGN", 500_000}, {"n 5000", Fiat, "NGN", 500_000}, {"#5000", Fiat, "NGN", 500_000},
		{"₦50,000", Fiat, "NGN", 5_000_000}, {"50,000 naira", Fiat, "NGN", 5_000_000}, {"₦50,000.50", Fiat, "NGN", 5_000_050},
		{"₦500 naira", Fiat, "NGN", 50_000}, {"20 thousand naira", Fiat, "NGN", 2_000_000}, {"₦1 million", Fiat, "NGN", 100_000_000},
		{"2.5m ngn", Fiat, "NGN", 250_000_000}, {"2.5mngn", Fiat, "NGN", 250_000_000}, {"5K NGN", Fiat, "NGN", 500_000},
		{"5kusdt", Token, "USDT", 5_000_000_000}, {"0.0000005m usdt", Token, "USDT", 500_000}, {"1 k usdt", Token, "USDT", 1_000_000_000},
		{"500 xof", Fiat, "XOF", 500}, {"1,500 xof", Fiat, "XOF", 1500},
		// A number alone.
		{"5k", Plain, "", 5_000_000_000}, {"2.5m", Plain, "", 2_500_000_000_000}, {"50", Plain, "", 50_000_000}, {" 50 ", Plain, "", 50_000_000},
		// P53: separators.
		{"1,000.50", Plain, "", 1_000_500_000}, {"1.000,50", Plain, "", 1_000_500_000}, {"1 000,50", Plain, "", 1_000_500_000},
		{"1'000.50", Plain, "", 1_000_500_000}, {"1’000.50", Plain, "", 1_000_500_000}, {"1 000", Plain, "", 1_000_000_000},
		{"1'000'000", Plain, "", 1_000_000_000_000}, {"1,000,000", Plain, "", 1_000_000_000_000}, {"1.000.000", Plain, "", 1_000_000_000_000},
		{"1,000.500 usdt", Token, "USDT", 1_000_500_000}, {"12,34", Plain, "", 12_340_000}, {"1234,567", Plain, "", 1_234_567_000},
		{"0,500", Plain, "", 500_000}, {"0.500", Plain, "", 500_000}, {"1,2345", Plain, "", 1_234_500},
		// P56: other scripts, spaces and invisible characters.
		{"٥٠٠ usdt", Token, "USDT", 500_000_000}, {"۵۰۰", Plain, "", 500_000_000}, {"५००", Plain, "", 500_000_000},
		{"５００　ＵＳＤＴ", Token, "USDT", 500_000_000}, {"１，０００．５０", Plain, "", 1_000_500_000},
		{"٠٫٥", Plain, "", 500_000}, {"١٬٠٠٠", Plain, "", 1_000_000_000}, {"١٬٠٠٠٫٥", Plain, "", 1_000_500_000},
		{"1\u00a0000,50", Plain, "", 1_000_500_000}, {"1\u202f000", Plain, "", 1_000_000_000}, {"\u200f50\u200b usdt\u200e", Token, "USDT", 50_000_000},
		{"₦\u00a05,000", Fiat, "NGN", 500_000}, {"５\tusdt", Token, "USDT", 5_000_000},
		// Shares.
		{"half", Half, "", 0}, {"ALL", All, "", 0}, {"everything", All, "", 0}, {"max", All, "", 0}, {"all my usdt", All, "USDT", 0},
		{"half of my usdc", Half, "USDC", 0}, {"half usdt", Half, "USDT", 0}, {"all of it", All, "", 0}, {"all in usd coin", All, "USDC", 0},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(tt.in, testContext())
			require.NoError(t, err)
			require.Equal(t, tt.kind, got.Kind)
			require.Equal(t, tt.unit, got.Unit)
			require.Equal(t, tt.value, got.Value)
			require.Empty(t, got.Candidates)
		})
	}
}

func TestParse_asksWhenThereAreTwoReadings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in            string
		kind          Kind
		first, second string
	}{
		{"1,000", Plain, "1000", "1"}, {"1.000", Plain, "1000", "1"}, {"1,500 usdt", Token, "1500", "1.5"},
		{"usdt 12.345", Token, "12345", "12.345"}, {"999,999 usdc", Token, "999999", "999.999"}, {"$1,000", Token, "1000", "1"},
		{"₦1.500", Fiat, "1500", "1.5"}, {"₦1,500k", Fiat, "1500000", "1500"}, {"1.500k", Plain, "1500000", "1500"}, {"１，０００", Plain, "1000", "1"},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in, testContext())
		require.ErrorIs(t, err, ErrAmbiguous, tt.in)
		require.Equal(t, tt.kind, got.Kind, tt.in)
		require.Zero(t, got.Value, tt.in)
		require.Len(t, got.Candidates, 2, tt.in)
		require.Equal(t, tt.first, got.Candidates[0].Text, tt.in)
		require.Equal(t, tt.second, got.Candidates[1].Text, tt.in)
		for _, c := range got.Candidates {
			require.Equal(t, got.Unit, c.Unit)
			require.Equal(t, got.Kind, c.Kind)
			require.Positive(t, c.Value)
		}
	}
}

func TestParse_refusesEverythingElse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		want error
		in   []string
	}{
		{ErrSyntax, []string{
			"", " ", "usdt", "5 usdt.e", "-5", "+5", "−5", "- 5 usdt", "5-", "1e5", "1E5 usdt", "0x10", "NaN", "Inf", "infinity",
			"5.", "5,", ".", ",", ".5.", "1..5", "1,,000", "1,.5", "00012", "007", "0801", "00", "01.5", "1/2", "½", "10²", "①", "5%", "5*", "5 + 5",
			"(5)", "5 usdt 6", "5 & 6", "12 34", "1 00", "1000 000", "1,00,000", "1,0000.5", "1.000.00", "1,000 000", "1'00", "1 000.000,5", "1.000,50.5",
			"٫", "١٫٠٠٠٫٠", "1٫000.5", "0 500", "0,500,000", "5\x00", "5\nusdt", "1\n000", "1\u2028000", "5_000", "\uFFFD5", strings.Repeat("9", 41), "1" + strings.Repeat(" ", 130),
			"👍", "5👍", "~5", "5=5", "0.0٬5",
		}},
		{ErrUnit, []string{
			"5 euros", "5 usdt ngn", "₦5 usdt", "5x", "5kk", "5 k m", "5 usd naira", "sell 5", "5 usdt please", "all naira", "half of everything", "half 5",
			"five 5", "5 usdte", "half life 5", "all usdt usdc", "5 usdc usdt", "5 thousand thousand", "five hundred 500",
		}},
		{ErrDecimals, []string{"0.0000001 usdt", "1.1234567", "₦1.505", "₦0.001", "₦5.123456", "0.5 xof", "1.50 xof", "0,5000000 usdt", "₦1.0000"}},
		{ErrZero, []string{"0", "0.00", "₦0", "0k", "0.000000 usdt", "٠"}},
		{ErrOverflow, []string{"9999999999999 usdt", strings.Repeat("9", 40), "9223372036854.775808 usdt", "92233720368547758.08 ngn", "9223372036855m"}},
	}
	for _, tt := range tests {
		for _, in := range tt.in {
			got, err := Parse(in, testContext())
			require.ErrorIs(t, err, tt.want, "%q", in)
			require.Empty(t, got, "%q", in)
		}
	}
}

func TestParse_readsABareNumberInTheUnitThatWasAskedFor(t *testing.T) {
	t.Parallel()
	ctx := testContext()
	ctx.Bare = &ngn
	got, err := Parse("50,000", ctx)
	require.NoError(t, err)
	require.Equal(t, Parsed{Kind: Fiat, Unit: "NGN", Value: 5_000_000, Text: "50000"}, got)
	minor, ok := got.Minor()
	require.True(t, ok)
	require.Equal(t, Minor(5_000_000), minor)
	_, ok = got.Micro()
	require.False(t, ok)

	got, err = Parse("50 usdt", ctx)
	require.NoError(t, err)
	micro, ok := got.Micro()
	require.True(t, ok, "a unit that is there wins over the one that was asked for")
	require.Equal(t, Micro(50_000_000), micro)
	_, ok = got.Minor()
	require.False(t, ok)
}

func TestParsed_inReadsAPlainNumberInAUnit(t *testing.T) {
	t.Parallel()
	plain, err := Parse("2.5k", testContext())
	require.NoError(t, err)
	require.Equal(t, "2500", plain.Text)
	got, err := plain.In(ngn)
	require.NoError(t, err)
	require.Equal(t, Parsed{Kind: Fiat, Unit: "NGN", Value: 250_000, Text: "2500"}, got)
	_, err = got.In(usdt)
	require.ErrorIs(t, err, ErrUnit)
	fine, err := Parse("0.125", testContext())
	require.NoError(t, err)
	_, err = fine.In(ngn)
	require.ErrorIs(t, err, ErrDecimals)
	large, err := Parse("9000000000000", testContext())
	require.NoError(t, err)
	_, err = large.In(Unit{Kind: Fiat, ID: "X", Decimals: 9})
	require.ErrorIs(t, err, ErrOverflow)
}

func TestParse_readsBackWhatIsFormatted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(1, math.MaxInt64).Draw(t, "value")
		readsBack := func(text string) {
			got, err := Parse(text, testContext())
			if err != nil {
				require.ErrorIs(t, err, ErrAmbiguous, text)
				require.Contains(t, []int64{got.Candidates[0].Value, got.Candidates[1].Value}, v, text)
				return
			}
			require.Equal(t, v, got.Value, text)
		}
		readsBack(FormatMicro(Micro(v)) + " usdt")
		readsBack("usdc" + Micro(v).Decimal())
		readsBack(FormatMinor(Minor(v), 2, "₦"))
		readsBack(FormatMinor(Minor(v), 0, "XOF "))
	})
}

func TestParse_valueIsTheNumberTimesItsUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringMatching(`[1-9][0-9]{3,5}`).Draw(t, "whole")
		part := rapid.StringMatching(`[0-9]{1,2}`).Draw(t, "part")
		suffix := rapid.SampledFrom([]string{"", "k", "m"}).Draw(t, "suffix")
		u := rapid.SampledFrom([]Unit{usdt, usdc, ngn}).Draw(t, "unit")
		got, err := Parse(whole+"."+part+suffix+" "+u.Names[0], testContext())
		want, _ := new(big.Rat).SetString(whole + "." + part)
		want.Mul(want, new(big.Rat).SetInt(power(u.Decimals+map[string]int{"": 0, "k": 3, "m": 6}[suffix])))
		require.NoError(t, err)
		require.Zero(t, want.Cmp(rat(got.Value, 1)))
	})
}

func TestDigitOf_knowsEveryScript(t *testing.T) {
	t.Parallel()
	zeros := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.Is(unicode.Nd, r) {
			continue
		}
		if DigitOf(r) == '0' {
			zeros++
			for i := range rune(10) {
				require.True(t, unicode.Is(unicode.Nd, r+i))
				require.Equal(t, byte('0'+i), DigitOf(r+i))
			}
		}
	}
	require.Greater(t, zeros, 60)
	require.Equal(t, byte('0'), DigitOf('x'))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"50 usdt", "₦50,000", "N5k", "1.000,50", "1,000", "half", "all my usdt", "٥٠٠", "1e5", "0x10", "-5", "5kusdt", "１，０００", "10²", "1 000 000 ngn",
	} {
		f.Add(s)
	}
	ctx := testContext()
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s, ctx)
		readings := []Parsed{got}
		switch {
		case errors.Is(err, ErrAmbiguous):
			readings = got.Candidates
			require.Len(t, readings, 2)
			require.Greater(t, readings[0].Value, readings[1].Value)
		case err != nil:
			require.Empty(t, got)
			return
		}
		for _, r := range readings {
			if r.Kind == Half || r.Kind == All {
				require.Zero(t, r.Value)
				continue
			}
			require.Positive(t, r.Value)
			decimals := map[string]int{"NGN": 2, "XOF": 0}
			scale, ok := decimals[r.Unit]
			if !ok {
				scale = MicroDecimals
			}
			exact, err := ParseDecimal(r.Text, scale)
			require.NoError(t, err)
			require.Equal(t, r.Value, exact.Int64())
			require.NotContains(t, s, "-")
		}
	})
}
