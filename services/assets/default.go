package assets

import "offrampbot/services/money"

// Default is the registry of production: three chains, two stablecoins, naira. An operator replaces it with
// REGISTRY_FILE. The contracts are those of the issuers on the main networks.
func Default() *Registry { return mustBuild(defaultDocument()) }

// mustBuild builds a registry that is written in this package; a problem in it is a programmer's error, and a test
// builds both.
func mustBuild(d Document) *Registry {
	r, err := build(d)
	if err != nil {
		panic(err)
	}
	return r
}

// token is one whole token, naira one whole naira.
const (
	token money.Micro = 1_000_000
	naira money.Minor = 100
)

func defaultDocument() Document {
	return Document{
		Chains: []Chain{
			// A rollup: its own sequencer hardly ever takes blocks back, the chain below it can. The finality tag follows
			// the chain below and lags by about a quarter of an hour.
			{
				ID: "base", Name: "Base", ChainID: 8453, Depth: 12, ReorgWindow: 900, FinalityTag: "finalized", BlockMillis: 2000,
				DepthTiers: []DepthTier{{1_000 * token, 30}, {10_000 * token, 150}},
				Aliases:    []string{"base mainnet", "base chain", "base network", "coinbase base"},
			},
			{
				ID: "bnb", Name: "BNB Chain", ChainID: 56, Depth: 15, ReorgWindow: 600, FinalityTag: "finalized", BlockMillis: 450,
				DepthTiers: []DepthTier{{1_000 * token, 30}, {10_000 * token, 100}},
				Aliases: []string{
					"bsc", "bep20", "bep 20", "bnb smart chain", "bsc mainnet", "bnb network", "binance smart chain",
					"binance chain", "bnb mainnet",
				},
			},
			// Polygon has taken back more than a hundred blocks in its time.
			{
				ID: "polygon", Name: "Polygon", ChainID: 137, Depth: 64, ReorgWindow: 600, FinalityTag: "finalized", BlockMillis: 2000,
				DepthTiers: []DepthTier{{1_000 * token, 96}, {10_000 * token, 256}},
				Aliases:    []string{"matic", "pol", "polygon pos", "polygon mainnet", "polygon network", "matic network"},
			},
		},
		Assets: []Asset{
			{ID: "USDT", Name: "Tether", MinimumMicro: 5 * token, Aliases: []string{"tether usd", "usd tether", "usd₮"}},
			{ID: "USDC", Name: "USD Coin", MinimumMicro: 5 * token, Aliases: []string{"circle usd", "usdcoin"}},
		},
		Tokens: []Token{
			{Asset: "USDT", Chain: "base", Contract: "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2", Decimals: 6},
			{Asset: "USDT", Chain: "bnb", Contract: "0x55d398326f99059fF775485246999027B3197955", Decimals: 18},
			{Asset: "USDT", Chain: "polygon", Contract: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F", Decimals: 6},
			{Asset: "USDC", Chain: "base", Contract: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", Decimals: 6},
			{Asset: "USDC", Chain: "bnb", Contract: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", Decimals: 18},
			{Asset: "USDC", Chain: "polygon", Contract: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", Decimals: 6},
		},
		Fiats: []Fiat{{
			Code: "NGN", Name: "Naira", Symbol: "₦", Exponent: 2, Country: "NG", Zone: "Africa/Lagos", AccountDigits: 10,
			Fee:     Fee{FlatMinor: 50 * naira, BasisPoints: 50, CapMinor: 2_000 * naira},
			Aliases: []string{"n", "#", "nairas", "nigerian naira"},
		}},
		Tiers: nigerianTiers(),
	}
}

// nigerianTiers follow the central bank's three-tier rule for wallets: ₦50,000, ₦200,000 and ₦5,000,000 a day. Tier 0 is
// somebody who has only signed up. They are defaults: banks publish other numbers, so an operator sets their own.
func nigerianTiers() []Tier {
	ngn := func(sale, day, month, fresh money.Minor) map[string]Limit {
		return map[string]Limit{"NGN": {SaleMinor: sale * naira, DayMinor: day * naira, MonthMinor: month * naira, NewBeneficiaryMinor: fresh * naira}}
	}
	return []Tier{
		{ID: "tier0", Name: "Signed up", Limits: ngn(20_000, 20_000, 100_000, 15_000)},
		{ID: "tier1", Name: "Tier 1", Limits: ngn(50_000, 50_000, 300_000, 25_000)},
		{ID: "tier2", Name: "Tier 2", Limits: ngn(200_000, 200_000, 2_000_000, 100_000)},
		{ID: "tier3", Name: "Tier 3", Limits: ngn(5_000_000, 5_000_000, 50_000_000, 1_000_000)},
	}
}

// Sandbox is the registry of demo and sandbox (DESIGN §14): the same chains and tokens, shallow depths so that a sale
// takes seconds, and limits within which a new person can try everything at about ₦1,500 for a dollar: at least 150 USDT
// a day, 25 USDT a sale to a new beneficiary, from 5 USDT.
func Sandbox() *Registry {
	d := defaultDocument()
	for i := range d.Chains {
		d.Chains[i].Depth = 2
		d.Chains[i].ReorgWindow = 64
		d.Chains[i].BlockMillis = 1000
		d.Chains[i].DepthTiers = []DepthTier{{1_000 * token, 5}}
	}
	fresh := d.Tiers[0].Limits
	fresh["NGN"] = Limit{SaleMinor: 450_000 * naira, DayMinor: 900_000 * naira, MonthMinor: 9_000_000 * naira, NewBeneficiaryMinor: 300_000 * naira}
	d.Tiers[1].Limits, d.Tiers[2].Limits = fresh, fresh // no tier of the sandbox is below the first
	return mustBuild(d)
}
