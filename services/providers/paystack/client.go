// Package paystack pays naira through Paystack Transfers. Every answer is read by an allow-list: what is not recognised,
// word for word, is Unknown, and only a look-up by our reference moves an unknown on (DESIGN §8, D5). The reference is
// the idempotency key, but a repeat is answered with an error and not with the old answer, so "duplicate reference"
// means "it exists": the transfer is looked up.
//
// Nothing that leaves this package names an account number, a key or a URL (I13).
package paystack

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"offrampbot/services/config"
	"offrampbot/services/outside"
	"offrampbot/services/payout"
)

// Name is the name of the rail in switches, routes and documents.
const Name = "paystack"

// Defaults of Config.
const (
	defaultTimeout        = 15 * time.Second
	defaultResolveTimeout = 2 * time.Second // a Flow screen waits for it (DESIGN §10)
	defaultBanksTTL       = 10 * time.Minute
	defaultRecipients     = 10_000
)

// maxBody is the most that an answer may hold; more is not read and is Unknown.
const maxBody = 4 << 20

// Config is what an operator chooses.
type Config struct {
	URL               string
	SecretKey         config.Secret // calls, and the key of webhook signatures
	SecretKeyPrevious config.Secret // webhooks signed before a rotation; may be unset
	Timeout           time.Duration // of one Send, LookUp or Balance as a whole; 15s when zero
	ResolveTimeout    time.Duration // of Banks and ResolveAccount; 2s when zero
	BanksTTL          time.Duration // life of the list of banks; 10m when zero
	Recipients        int           // recipient codes kept in memory; 10000 when zero
}

// withDefaults is a copy with zero fields filled.
func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.ResolveTimeout == 0 {
		c.ResolveTimeout = defaultResolveTimeout
	}
	if c.BanksTTL == 0 {
		c.BanksTTL = defaultBanksTTL
	}
	if c.Recipients == 0 {
		c.Recipients = defaultRecipients
	}
	return c
}

// validate names everything that is wrong, by name and never by value.
func (c Config) validate() error {
	var problems []error
	base, err := url.Parse(c.URL)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.RawQuery != "" || base.User != nil {
		problems = append(problems, errors.New("URL is not an http address without user and query"))
	}
	if !c.SecretKey.IsSet() {
		problems = append(problems, errors.New("SecretKey is missing"))
	}
	if c.Timeout < 0 || c.ResolveTimeout < 0 || c.BanksTTL < 0 || c.Recipients < 0 {
		problems = append(problems, errors.New("a time or size is negative"))
	}
	return errors.Join(problems...)
}

// Client is the rail. It is safe for concurrent use.
type Client struct {
	cfg        Config
	base       string
	http       *http.Client
	now        func() time.Time
	secrets    [][]byte // of webhook signatures, the active one first
	recipients *recipients
	banks      banks
}

// banks is the cached list of banks by currency.
type banks struct {
	mu   sync.Mutex
	list map[string]bankList
}

type bankList struct {
	banks []payout.Bank
	until time.Time
}

// New makes the rail. transport carries the calls; nil means an own one. now is the clock.
func New(cfg Config, transport http.RoundTripper, now func() time.Time) (*Client, error) {
	if now == nil {
		return nil, errors.New("make paystack rail: now is missing")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make paystack rail: %w", err)
	}
	if transport == nil {
		transport = ownTransport(cfg.Timeout)
	}
	c := &Client{
		cfg: cfg, base: strings.TrimRight(cfg.URL, "/"), now: now, recipients: newRecipients(cfg.Recipients, cfg.SecretKey.Bytes()),
		secrets: [][]byte{cfg.SecretKey.Bytes()},
		banks:   banks{list: map[string]bankList{}},
		http: &http.Client{
			Transport: outside.Transport{Next: transport},
			// A redirect of a money call is not an answer that we know.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if cfg.SecretKeyPrevious.IsSet() {
		c.secrets = append(c.secrets, cfg.SecretKeyPrevious.Bytes())
	}
	return c, nil
}

// ownTransport never repeats a POST by itself: Go's transport only repeats what was not written at all.
func ownTransport(timeout time.Duration) http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: timeout / 3, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   timeout / 3,
		ResponseHeaderTimeout: timeout,
	}
}

// Name is "paystack".
func (c *Client) Name() string { return Name }

// currencies is what this rail pays, with the exponent of the minor unit that Paystack takes.
var currencies = map[string]int{"NGN": 2}

// Currencies is naira in kobo; anything else is refused.
func (c *Client) Currencies() map[string]int { return maps.Clone(currencies) }

// SameReferenceSafe is true: Paystack refuses a second transfer of one reference.
func (c *Client) SameReferenceSafe() bool { return true }

var (
	referenceForm = regexp.MustCompile(`^[a-z0-9_-]{16,50}$`)
	accountForm   = regexp.MustCompile(`^[0-9]{10}$`) // NUBAN
	bankForm      = regexp.MustCompile(`^[A-Za-z0-9_-]{1,20}$`)
	transferForm  = regexp.MustCompile(`^TRF_[A-Za-z0-9_]+$`)
	recipientForm = regexp.MustCompile(`^RCP_[A-Za-z0-9_]+$`)
)

var _ payout.Rail = (*Client)(nil)
