package assets

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/fault"
	"offrampbot/services/money"
)

func TestDefault_holdsTheContractsOfTheMainNetworks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		chain, asset, contract string
		chainID                int64
		decimals               int
	}{
		{"base", "USDC", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 8453, 6},
		{"base", "USDT", "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2", 8453, 6},
		{"polygon", "USDC", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", 137, 6},
		{"polygon", "USDT", "0xc2132D05D31c914a87C6611C10748AEb04B58e8F", 137, 6},
		{"bnb", "USDT", "0x55d398326f99059fF775485246999027B3197955", 56, 18},
		{"bnb", "USDC", "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", 56, 18},
	}
	for _, r := range []*Registry{Default(), Sandbox()} {
		for _, tt := range tests {
			token, ok := r.Token(tt.asset, tt.chain)
			require.True(t, ok)
			require.Equal(t, tt.decimals, token.Decimals, "B61: decimals belong to chain and contract")
			require.Equal(t, strings.ToLower(tt.contract), token.Contract, "one form")
			require.Equal(t, tt.contract, ChecksumAddress(token.Contract), "EIP-55")
			chain, ok := r.Chain(tt.chain)
			require.True(t, ok)
			require.Equal(t, tt.chainID, chain.ChainID)
			for _, spelling := range []string{tt.contract, strings.ToLower(tt.contract)} {
				found, ok := r.TokenByContract(tt.chain, spelling)
				require.True(t, ok)
				require.Equal(t, token, found)
			}
		}
		require.Len(t, r.tokens, len(tests))
	}
}

func TestRegistry_saysSoWhenSomethingIsUnknown(t *testing.T) {
	t.Parallel()
	r := Default()
	_, ok := r.Chain("solana")
	require.False(t, ok)
	_, ok = r.Chain("Base")
	require.False(t, ok, "ids are exact; names go through ChainNamed")
	_, ok = r.Asset("DAI")
	require.False(t, ok)
	_, ok = r.Token("USDT", "solana")
	require.False(t, ok)
	_, ok = r.TokenByContract("bnb", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
	require.False(t, ok, "a contract counts on its own chain only")
	_, ok = r.Fiat("USD")
	require.False(t, ok)
	_, ok = r.FiatOf("GH")
	require.False(t, ok)
	_, ok = r.Tier("tier9")
	require.False(t, ok)
	_, ok = r.Limit("tier9", "NGN")
	require.False(t, ok)
	_, ok = r.Limit("tier1", "GHS")
	require.False(t, ok)
	_, ok = r.MinimumMicro("DAI")
	require.False(t, ok)
	require.Empty(t, r.TokensOf("solana"))
	require.Empty(t, r.ChainsOf("DAI"))
	for _, pair := range [][2]string{{"solana", "USDT"}, {"base", "DAI"}, {"", ""}} {
		_, err := r.DepthFor(pair[0], pair[1], 1)
		require.True(t, fault.Is(err, "asset_unsupported"))
	}
}

func TestRegistry_listsWhatThereIs(t *testing.T) {
	t.Parallel()
	r := Default()
	require.Len(t, r.Chains(), 3)
	require.Len(t, r.Assets(), 2)
	require.Len(t, r.Fiats(), 1)
	require.Len(t, r.Tiers(), 4)
	require.Len(t, r.TokensOf("bnb"), 2)
	var ids []string
	for _, c := range r.ChainsOf("USDT") {
		ids = append(ids, c.ID)
	}
	require.Equal(t, []string{"base", "bnb", "polygon"}, ids)
	require.Equal(t, "USDT (Base, BNB Chain, Polygon), USDC (Base, BNB Chain, Polygon)", r.Supported())
	require.Equal(t, "3 chains, 6 tokens, 1 fiats, 4 tiers", r.String())

	ngn, ok := r.FiatOf("NG")
	require.True(t, ok)
	require.Equal(t, 2, ngn.Exponent)
	require.Equal(t, "₦", ngn.Symbol)
	require.Equal(t, 10, ngn.AccountDigits)
	_, err := time.LoadLocation(ngn.Zone)
	require.NoError(t, err)
	byCode, ok := r.Fiat("NGN")
	require.True(t, ok)
	require.Equal(t, ngn, byCode)
	base, _ := r.Chain("base")
	require.Equal(t, 2*time.Second, base.BlockTime())
}

func TestRegistry_isNotChangedThroughWhatItReturns(t *testing.T) {
	t.Parallel()
	r := Default()
	tier, _ := r.Tier("tier1")
	tier.Limits["NGN"] = Limit{}
	r.Tiers()[1].Limits["NGN"] = Limit{}
	r.Chains()[0].ID = "x"
	limit, ok := r.Limit("tier1", "NGN")
	require.True(t, ok)
	require.Equal(t, money.Minor(5_000_000), limit.DayMinor)
	require.Equal(t, "base", r.Chains()[0].ID)
}

func TestDepthFor_usesTheTokensDepthAndTheAmountsTier(t *testing.T) {
	t.Parallel()
	d := defaultDocument()
	d.Chains[0].Depth = 6
	d.Chains[0].DepthTiers = []DepthTier{{100 * token, 9}, {1_000 * token, 30}}
	d.Tokens[0].Depth = 12 // USDT on Base: R101's own depth per asset
	r, err := build(d)
	require.NoError(t, err)
	tests := []struct {
		asset  string
		amount money.Micro
		want   int64
	}{
		{"USDC", 1, 6}, {"USDC", 100*token - 1, 6}, {"USDC", 100 * token, 9}, {"USDC", 999 * token, 9}, {"USDC", 1_000 * token, 30},
		{"USDC", math.MaxInt64, 30}, {"USDC", 0, 6}, {"USDT", 1, 12}, {"USDT", 100 * token, 12}, {"USDT", 1_000 * token, 30},
	}
	for _, tt := range tests {
		got, err := r.DepthFor("base", tt.asset, tt.amount)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, "%s %d", tt.asset, tt.amount)
	}
}

func TestDepthFor_neverAsksForLessDepthWhenThereIsMoreMoney(t *testing.T) {
	t.Parallel()
	for _, r := range []*Registry{Default(), Sandbox()} {
		rapid.Check(t, func(t *rapid.T) {
			tok := rapid.SampledFrom(r.tokens).Draw(t, "token")
			a := rapid.Int64Range(0, 1<<40).Draw(t, "a")
			b := rapid.Int64Range(a, 1<<41).Draw(t, "b")
			da, err := r.DepthFor(tok.Chain, tok.Asset, money.Micro(a))
			require.NoError(t, err)
			db, err := r.DepthFor(tok.Chain, tok.Asset, money.Micro(b))
			require.NoError(t, err)
			require.GreaterOrEqual(t, da, int64(1))
			require.LessOrEqual(t, da, db)
			chain, _ := r.Chain(tok.Chain)
			require.LessOrEqual(t, db, chain.ReorgWindow, "no deposit settles before it may be credited")
		})
	}
}

func TestSandbox_letsANewPersonTryEverything(t *testing.T) {
	t.Parallel()
	r := Sandbox()
	rate := money.Rate{Num: 150_000, Den: 1_000_000} // ₦1,500
	first := r.Tiers()[0]
	limit, ok := r.Limit(first.ID, "NGN")
	require.True(t, ok)
	worth := func(whole money.Micro) money.Minor {
		fiat, _, err := rate.Apply(whole * token)
		require.NoError(t, err)
		return fiat
	}
	require.GreaterOrEqual(t, limit.DayMinor, worth(150), "DESIGN §14: at least 150 USDT a day")
	require.GreaterOrEqual(t, limit.SaleMinor, worth(150))
	require.GreaterOrEqual(t, limit.NewBeneficiaryMinor, worth(150), "all of the day may go to the first beneficiary")
	require.Less(t, limit.NewBeneficiaryMinor, limit.DayMinor, "a new beneficiary has a lower first-day limit")
	for _, a := range r.Assets() {
		require.LessOrEqual(t, a.MinimumMicro, 5*token)
	}
	for _, c := range r.Chains() {
		depth, err := r.DepthFor(c.ID, "USDT", 25*token)
		require.NoError(t, err)
		require.LessOrEqual(t, depth, int64(3), "a demo takes seconds")
	}
	var last Limit
	for _, tier := range r.Tiers() {
		l := tier.Limits["NGN"]
		require.GreaterOrEqual(t, l.DayMinor, last.DayMinor, "a higher tier never sells less")
		require.GreaterOrEqual(t, l.SaleMinor, last.SaleMinor)
		require.GreaterOrEqual(t, l.MonthMinor, last.MonthMinor)
		require.GreaterOrEqual(t, l.NewBeneficiaryMinor, last.NewBeneficiaryMinor)
		last = l
	}
}

func TestDefault_hasTheNigerianTiers(t *testing.T) {
	t.Parallel()
	r := Default()
	for tier, naira := range map[string]money.Minor{"tier1": 50_000, "tier2": 200_000, "tier3": 5_000_000} {
		l, ok := r.Limit(tier, "NGN")
		require.True(t, ok)
		require.Equal(t, naira*100, l.DayMinor)
		require.LessOrEqual(t, l.NewBeneficiaryMinor, l.DayMinor)
	}
	zero, _ := r.Limit("tier0", "NGN")
	require.Less(t, zero.DayMinor, money.Minor(5_000_000))
}

func TestFee_isFlatPlusAPartAndNeverOverItsCap(t *testing.T) {
	t.Parallel()
	f := Fee{FlatMinor: 5_000, BasisPoints: 50, CapMinor: 200_000}
	tests := []struct{ gross, want money.Minor }{
		{0, 5_000}, {199, 5_000}, {200, 5_001}, {3_750_000, 23_750}, {39_000_000, 200_000}, {39_000_200, 200_000}, {math.MaxInt64, 200_000},
	}
	for _, tt := range tests {
		got, err := f.On(tt.gross)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, "%d", tt.gross)
	}
	_, err := f.On(-1)
	require.ErrorIs(t, err, money.ErrOverflow)
	_, err = Fee{FlatMinor: math.MaxInt64, BasisPoints: 9_999}.On(math.MaxInt64)
	require.ErrorIs(t, err, money.ErrOverflow)
	got, err := Fee{FlatMinor: 3}.On(1_000_000)
	require.NoError(t, err)
	require.Equal(t, money.Minor(3), got)
}

func TestCanonicalAddress_isLowerCaseAndWantsARightChecksum(t *testing.T) {
	t.Parallel()
	for _, sum := range []string{ // the examples of EIP-55
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB", "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
		"0x52908400098527886E0F7030069857D2E4169EE7", "0xde709f2102306220921060314715629080e2fb77",
	} {
		lower := strings.ToLower(sum)
		for _, in := range []string{sum, lower, "0x" + strings.ToUpper(sum[2:])} {
			got, err := CanonicalAddress(in)
			require.NoError(t, err, in)
			require.Equal(t, lower, got)
		}
		require.Equal(t, sum, ChecksumAddress(lower))
	}
	for _, in := range []string{
		"", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
		" 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg",
	} {
		_, err := CanonicalAddress(in)
		require.ErrorIs(t, err, ErrAddress, "%q", in)
	}
}
