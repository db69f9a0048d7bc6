package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"offrampbot/services/assets"
)

// Token is one token of a simulated chain.
type Token struct {
	Symbol   string `json:"symbol"`
	Contract string `json:"contract"` // 0x and 40 hex digits
	Decimals int    `json:"decimals"`
}

// Chain is one simulated chain; the caller fills it from the registry, so that names, ids and contracts agree.
type Chain struct {
	Name           string        // as in the registry: the part after /rpc/ and, in upper case, of CHAIN_<NAME>_RPC_URLS
	ID             uint64        // EIP-155 chain id
	Tokens         []Token       //
	SafeDepth      uint64        // blocks between tip and the tag "safe"; default 100
	FinalizedDepth uint64        // blocks between tip and the tag "finalized"; default 450, a quarter of an hour (8.1)
	BlockTime      time.Duration // between the times of two blocks; default 2 s
	StartHeight    uint64        // blocks mined before anything happens; default 1,000
	RangeLimit     uint64        // widest block range of eth_getLogs; default 2,000 (B49)
}

// ChainsOf gives every chain of a registry, under its id, with its tokens.
func ChainsOf(registry *assets.Registry) []Chain {
	var out []Chain
	for _, chain := range registry.Chains() {
		each := Chain{Name: chain.ID, ID: uint64(chain.ChainID), BlockTime: max(chain.BlockTime(), time.Second)}
		for _, token := range registry.TokensOf(chain.ID) {
			each.Tokens = append(each.Tokens, Token{Symbol: token.Asset, Contract: token.Contract, Decimals: token.Decimals})
		}
		out = append(out, each)
	}
	return out
}

// FlowDocument is one published Flow: the name that flow_name in a message names, and the Flow JSON.
type FlowDocument struct {
	Name string
	JSON []byte
}

// Operator is the seeded operator's login, printed by demo and sandbox.
type Operator struct {
	Email    string
	Password string
	TOTP     string // base-32 secret
}

// Config is everything the world is made from. Now, Log, BaseURL, BotURL and Chains are required.
type Config struct {
	Now     func() time.Time
	Log     *slog.Logger
	Client  *http.Client // delivers webhooks; default: 10 s, many idle connections, no redirects
	BaseURL string       // where the world is reachable, without a final slash
	BotURL  string       // where the bot is reachable; webhooks go below it
	Seed    string       // ids derive from it; default "sandbox"

	Chains   []Chain
	Flows    []FlowDocument
	Orders   OrderTable        // the life of the bot's orders, for the page's picture; empty: none is drawn
	Operator Operator          // default: DefaultOperator
	Env      map[string]string // more lines of the environment file (STORE, MONGO_URI, …), written as given

	Window         time.Duration    // free-form messages after the last inbound one; default 24 h
	PairPerMinute  int              // messages a minute to one person before 131056; 0 = no limit
	StatusDelay    time.Duration    // between sent, delivered and read; default 30 ms
	NoReadReceipts bool             // people who never send "read"
	FlowTimeout    time.Duration    // patience of the Flow client; default 10 s
	KeyRefresh     time.Duration    // pause before the one retry after 421; default 500 ms
	Approval       bool             // Paystack asks the bot's approval route before it pays
	BankAuto       time.Duration    // pays a pending transfer after this time; 0 = by hand
	ChainAuto      time.Duration    // mines a block in this interval; 0 = by hand
	Balance        map[string]int64 // opening balance at Paystack, minor units per currency; default NGN 50,000,000.00
	RetryBase      time.Duration    // first pause after a webhook that was not answered 200, doubling; default 1 s
}

var chainNamePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// withDefaults returns a copy whose zero fields hold the documented defaults.
func (c Config) withDefaults() Config {
	c.BaseURL, c.BotURL = strings.TrimRight(c.BaseURL, "/"), strings.TrimRight(c.BotURL, "/")
	if c.Seed == "" {
		c.Seed = "sandbox"
	}
	if c.Client == nil {
		c.Client = defaultClient()
	}
	if c.Operator == (Operator{}) {
		c.Operator = DefaultOperator()
	}
	c.Window = orDuration(c.Window, 24*time.Hour)
	c.StatusDelay = orDuration(c.StatusDelay, 30*time.Millisecond)
	c.FlowTimeout = orDuration(c.FlowTimeout, 10*time.Second)
	c.KeyRefresh = orDuration(c.KeyRefresh, 500*time.Millisecond)
	c.RetryBase = orDuration(c.RetryBase, time.Second)
	if c.Balance == nil {
		c.Balance = map[string]int64{"NGN": 5_000_000_000, "GHS": 100_000_000}
	}
	chains := make([]Chain, len(c.Chains))
	for i, chain := range c.Chains {
		chains[i] = chain.withDefaults()
	}
	c.Chains = chains
	return c
}

func (c Chain) withDefaults() Chain {
	if c.SafeDepth == 0 {
		c.SafeDepth = 100
	}
	if c.FinalizedDepth == 0 {
		c.FinalizedDepth = 450
	}
	if c.StartHeight == 0 {
		c.StartHeight = 1000
	}
	if c.RangeLimit == 0 {
		c.RangeLimit = 2000
	}
	c.BlockTime = orDuration(c.BlockTime, 2*time.Second)
	return c
}

func orDuration(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// validate lists every problem, each a sentence that starts with the field.
func (c Config) validate() error {
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Now == nil, "Now cannot be nil")
	refuse(c.Log == nil, "Log cannot be nil")
	refuse(!isHTTP(c.BaseURL), "BaseURL must be an http address")
	refuse(!isHTTP(c.BotURL), "BotURL must be an http address")
	refuse(len(c.Chains) == 0, "Chains cannot be empty")
	refuse(c.PairPerMinute < 0, "PairPerMinute cannot be negative")
	names := make(map[string]bool)
	for _, chain := range c.Chains {
		refuse(!chainNamePattern.MatchString(chain.Name), "Chains: name %q is not lower-case letters, digits, - and _", chain.Name)
		refuse(names[chain.Name], "Chains: %q appears twice", chain.Name)
		refuse(chain.ID == 0, "Chains: %q has no id", chain.Name)
		names[chain.Name] = true
		for _, token := range chain.Tokens {
			refuse(!addressPattern.MatchString(token.Contract), "Chains: %s on %q has no contract address", token.Symbol, chain.Name)
			refuse(token.Decimals < 0 || token.Decimals > 36, "Chains: %s on %q has impossible decimals", token.Symbol, chain.Name)
		}
	}
	return errors.Join(problems...)
}

func isHTTP(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func defaultClient() *http.Client {
	return &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			MaxIdleConns: 512, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
