package deposit_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/deposit"
	"offrampbot/services/money"
)

func TestPolicyOf_takesTheRegistryAsItIs(t *testing.T) {
	t.Parallel()
	for _, registry := range []*assets.Registry{assets.Default(), assets.Sandbox()} {
		for _, chain := range registry.Chains() {
			p, err := deposit.PolicyOf(registry, chain.ID)
			require.NoError(t, err)
			require.Equal(t, chain.ReorgWindow, p.Window)
			require.NotEmpty(t, p.Tokens)
			for _, token := range p.Tokens {
				for _, amount := range []money.Micro{0, 999_999_999, 1_000_000_000, 50_000_000_000} {
					want, err := registry.DepthFor(chain.ID, token.Asset, amount)
					require.NoError(t, err)
					require.Equal(t, want, token.DepthFor(amount), "%s on %s, %d", token.Asset, chain.ID, amount)
				}
			}
		}
	}
	_, err := deposit.PolicyOf(assets.Default(), "tron")
	require.ErrorContains(t, err, `"tron"`)
}

func TestPolicy_theArticlesExample(t *testing.T) {
	t.Parallel()
	// Default 6, ETH 12, USDT 12 (R101).
	p := deposit.Policy{Chain: "eth", Window: 12, Tokens: []deposit.Token{
		{Contract: "0x1", Asset: "DAI", Decimals: 18, Depth: 6}, {Contract: "0x2", Asset: "USDT", Decimals: 6, Depth: 12},
	}}
	require.NoError(t, p.Validate())
	require.EqualValues(t, 6, p.Tokens[0].DepthFor(1))
	require.EqualValues(t, 12, p.Tokens[1].DepthFor(1))
}

func TestPolicy_refusesWhatWouldCreditTooEarly(t *testing.T) {
	t.Parallel()
	good := deposit.Token{Contract: "0x1", Asset: "USDT", Decimals: 6, Depth: 3}
	tests := []struct {
		name   string
		change func(*deposit.Policy, *deposit.Token)
		want   string
	}{
		{"no chain", func(p *deposit.Policy, _ *deposit.Token) { p.Chain = "" }, "no chain"},
		{"no depth", func(_ *deposit.Policy, t *deposit.Token) { t.Depth = 0 }, "depth 0 is below 1"},
		{"a tier without depth", func(_ *deposit.Policy, t *deposit.Token) { t.Tiers = []deposit.Tier{{From: 1}} }, "tier from 1"},
		{"a tier beyond the window", func(_ *deposit.Policy, t *deposit.Token) { t.Tiers = []deposit.Tier{{From: 1, Depth: 11}} }, "deepest depth 11"},
		{"no contract", func(_ *deposit.Policy, t *deposit.Token) { t.Contract = "" }, "no contract"},
		{"no window", func(p *deposit.Policy, _ *deposit.Token) { p.Window = 0 }, "window 0"},
		{"impossible decimals", func(_ *deposit.Policy, t *deposit.Token) { t.Decimals = 37 }, "37 decimals"},
		{"a contract twice", func(p *deposit.Policy, t *deposit.Token) { p.Tokens = append(p.Tokens, *t) }, "listed twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, token := deposit.Policy{Chain: "base", Window: 10}, good
			tt.change(&p, &token)
			p.Tokens = append(p.Tokens, token)
			require.ErrorContains(t, p.Validate(), tt.want)
		})
	}
}

func TestToken_unitsKeepTheDust(t *testing.T) {
	t.Parallel()
	token := deposit.Token{Decimals: 18}
	raw, _ := new(big.Int).SetString("25000001999999999999", 10)
	micro, dust, ok := token.Units(raw)
	require.True(t, ok)
	require.EqualValues(t, 25_000_001, micro)
	require.Equal(t, "999999999999", dust)
	_, _, ok = token.Units(new(big.Int).Lsh(big.NewInt(1), 255))
	require.False(t, ok)
	_, _, ok = token.Units(nil)
	require.False(t, ok)
}
