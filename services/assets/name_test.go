package assets

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/money"
)

func TestNames_ofPeopleMapToIDs(t *testing.T) {
	t.Parallel()
	r := Default()
	chain := func(s string) (string, error) { c, err := r.ChainNamed(s); return c.ID, err }
	asset := func(s string) (string, error) { a, err := r.AssetNamed(s); return a.ID, err }
	fiat := func(s string) (string, error) { f, err := r.FiatNamed(s); return f.Code, err }
	pair := func(s string) (string, error) {
		tok, err := r.TokenNamed(s)
		return strings.TrimSpace(tok.Asset + " " + tok.Chain), err
	}
	tests := []struct {
		by   func(string) (string, error)
		want string
		in   []string
	}{
		{chain, "base", []string{"base", "Base", "BASE", " base ", "base mainnet", "Base-Mainnet", "base chain"}},
		{chain, "bnb", []string{"bnb", "bsc", "BSC", "bep20", "BEP-20", "bep 20", "bnb chain", "BNB Smart Chain", "binance smart chain", "ＢＳＣ"}},
		{chain, "polygon", []string{"polygon", "matic", "MATIC", "pol", "Polygon PoS"}},
		{asset, "USDT", []string{"usdt", "USDT", "tether", "Tether USD", "USD₮"}},
		{asset, "USDC", []string{"usdc", "USD Coin", "usd-coin"}},
		{fiat, "NGN", []string{"ngn", "naira", "₦", "N", "#", "Nigerian Naira"}},
		{pair, "USDT bnb", []string{"usdt bep20", "USDT (BEP-20)", "bep20 usdt", "tether on bsc", "usdt on bnb chain", "tether usd bnb smart chain", "usdt-bep20"}},
		{pair, "USDC base", []string{"base usdc", "USDC/Base", "usd coin on base mainnet", "usdc, base"}},
		{pair, "USDT polygon", []string{"usdt matic"}},
	}
	for _, tt := range tests {
		for _, in := range tt.in {
			got, err := tt.by(in)
			require.NoError(t, err, in)
			require.Equal(t, tt.want, got, in)
		}
	}
}

func TestNames_unknownAreRefusedWithTheListNeverGuessed(t *testing.T) {
	t.Parallel()
	r := Default()
	for _, s := range []string{"", " ", "bas", "base2", "bnbb", "eth", "erc20", "trc20", "tron", "solana", "arbitrum", "op bnb", "usdt"} {
		_, err := r.ChainNamed(s)
		require.True(t, fault.Is(err, "asset_unsupported"), "%q", s)
		require.Equal(t, r.Supported(), fault.As(err).Args["supported"])
		require.Equal(t, strings.TrimSpace(s), fault.As(err).Args["given"])
	}
	for _, s := range []string{"", "usd", "$", "usdt.e", "usdc.e", "usdbc", "busd", "usdt0", "usdtt", "ust", "dai", "naira", "USDТ"} { // the last T is Cyrillic
		_, err := r.AssetNamed(s)
		require.True(t, fault.Is(err, "asset_unsupported"), "%q", s)
	}
	for _, s := range []string{"", "usd", "$", "ghs", "cedi", "nairaa", "€"} {
		_, err := r.FiatNamed(s)
		require.True(t, fault.Is(err, "asset_unsupported"), "%q", s)
	}
	for _, s := range []string{"", "usdt", "base", "usdt solana", "dai base", "usdt base bnb", "usdt usdc", "on base", "usdt on", "on"} {
		_, err := r.TokenNamed(s)
		require.True(t, fault.Is(err, "asset_unsupported"), "%q", s)
	}
	_, err := r.ChainNamed(strings.Repeat("x", 500))
	require.Len(t, []rune(fault.As(err).Args["given"]), 32, "a stranger's text is shortened")
}

func TestTokenNamed_refusesAPairThatIsNotThere(t *testing.T) {
	t.Parallel()
	d := defaultDocument()
	d.Tokens = d.Tokens[1:] // no USDT on Base
	r, err := build(d)
	require.NoError(t, err)
	_, err = r.TokenNamed("usdt base")
	require.True(t, fault.Is(err, "asset_unsupported"))
	_, err = r.DepthFor("base", "USDT", 1)
	require.Equal(t, "USDT base", fault.As(err).Args["given"])
	require.Equal(t, "USDT (BNB Chain, Polygon), USDC (Base, BNB Chain, Polygon)", r.Supported())
}

func TestUnits_letTheAmountParserKnowEveryName(t *testing.T) {
	t.Parallel()
	ctx := money.ParseContext{Units: Default().Units()}
	for in, want := range map[string]money.Parsed{
		"50 usdt":           {Kind: money.Token, Unit: "USDT", Value: 50_000_000, Text: "50"},
		"0.5 usd coin":      {Kind: money.Token, Unit: "USDC", Value: 500_000, Text: "0.5"},
		"5 USD₮":            {Kind: money.Token, Unit: "USDT", Value: 5_000_000, Text: "5"},
		"₦20k":              {Kind: money.Fiat, Unit: "NGN", Value: 2_000_000, Text: "20000"},
		"20,000 nairas":     {Kind: money.Fiat, Unit: "NGN", Value: 2_000_000, Text: "20000"},
		"N5000":             {Kind: money.Fiat, Unit: "NGN", Value: 500_000, Text: "5000"},
		"$20":               {Kind: money.Token, Value: 20_000_000, Text: "20"},
		"20 US$":            {Kind: money.Token, Value: 20_000_000, Text: "20"},
		"all my tether usd": {Kind: money.All, Unit: "USDT"},
	} {
		got, err := money.Parse(in, ctx)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
}
