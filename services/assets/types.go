package assets

import (
	"time"

	"offrampbot/services/money"
)

// Chain is one EVM chain. Depths count blocks including the one that holds the deposit, not minutes.
type Chain struct {
	ID          string      `json:"id"`           // base, bnb, polygon: used in refs, routes and environment names
	Name        string      `json:"name"`         // shown to people
	ChainID     int64       `json:"chain_id"`     // the chain's own id, checked against the node at start
	Depth       int64       `json:"depth"`        // default confirmation depth (R101), at least 1
	ReorgWindow int64       `json:"reorg_window"` // a deposit this deep is settled for good; at least every depth
	FinalityTag string      `json:"finality_tag"` // "finalized", "safe", or empty where the node knows none
	DepthTiers  []DepthTier `json:"depth_tiers,omitempty"`
	BlockMillis int64       `json:"block_ms"` // usual time between blocks; for estimates only
	Aliases     []string    `json:"aliases,omitempty"`
}

// BlockTime is the usual time between blocks. It is good for telling a person how long it may take and for nothing else.
func (c Chain) BlockTime() time.Duration { return time.Duration(c.BlockMillis) * time.Millisecond }

// DepthTier asks for more depth from an amount on.
type DepthTier struct {
	FromMicro money.Micro `json:"from_micro"`
	Depth     int64       `json:"depth"`
}

// Asset is a stablecoin whatever the chain.
type Asset struct {
	ID           string      `json:"id"` // USDT, USDC
	Name         string      `json:"name"`
	MinimumMicro money.Micro `json:"minimum_micro"` // smallest sale
	Aliases      []string    `json:"aliases,omitempty"`
}

// Token is an asset on a chain: one contract.
type Token struct {
	Asset    string `json:"asset"`
	Chain    string `json:"chain"`
	Contract string `json:"contract"` // canonical form: lower case, see CanonicalAddress
	Decimals int    `json:"decimals"`
	Depth    int64  `json:"depth,omitempty"` // replaces the chain's default depth when set (R101)
}

// Fiat is a currency that we pay out.
type Fiat struct {
	Code          string   `json:"code"` // NGN
	Name          string   `json:"name"`
	Symbol        string   `json:"symbol"`
	Exponent      int      `json:"exponent"` // decimals of the minor unit
	Country       string   `json:"country"`  // ISO 3166 code whose people are paid in it
	Zone          string   `json:"zone"`     // time zone of "today"
	AccountDigits int      `json:"account_digits"`
	Fee           Fee      `json:"fee"`
	Aliases       []string `json:"aliases,omitempty"`
}

// Tier is what a person may sell, by how well we know them.
type Tier struct {
	ID     string           `json:"id"` // tier0 … tier3
	Name   string           `json:"name"`
	Limits map[string]Limit `json:"limits"` // by fiat code; a currency without an entry cannot be sold for
}

// Limit is a tier's limit in one fiat, in minor units. They count from Placed over everything that is not cancelled,
// failed or returned (I12). Zero means that nothing may be sold.
type Limit struct {
	SaleMinor           money.Minor `json:"sale_minor"`            // one sale
	DayMinor            money.Minor `json:"day_minor"`             // rolling 24 hours
	MonthMinor          money.Minor `json:"month_minor"`           // rolling 30 days
	NewBeneficiaryMinor money.Minor `json:"new_beneficiary_minor"` // all sales to a beneficiary in its first 24 hours
}
