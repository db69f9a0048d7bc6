package user

import (
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

// Deps are what the service needs; all are required.
type Deps struct {
	Engine    store.Engine
	Hasher    Hasher
	Addresses AddressBook
	Guards    Guards
	Now       func() time.Time // UTC
	// CountryOf is the two-letter country of a WhatsApp number, empty when it is not known. It is pure.
	CountryOf func(whatsAppID string) string
}

// Config is what an operator chooses.
type Config struct {
	LookupKey []byte // key of the digests in ids and links, at least 32 bytes
	Tier      string // tier of a new user, from the registry; required
	Language  string // of a new user; "en" when empty
	Parallel  int    // PIN hashes at once; 2 when zero (D4s)
	Queue     int    // PIN hashes waiting; 50 when zero
}

// withDefaults is a copy with zero fields filled.
func (c Config) withDefaults() Config {
	if c.Language == "" {
		c.Language = "en"
	}
	if c.Parallel == 0 {
		c.Parallel = 2
	}
	if c.Queue == 0 {
		c.Queue = 50
	}
	return c
}

// validate names everything that is wrong.
func (c Config) validate() error {
	var problems []error
	if len(c.LookupKey) < 32 {
		problems = append(problems, errors.New("field LookupKey is shorter than 32 bytes"))
	}
	if c.Tier == "" {
		problems = append(problems, errors.New("field Tier is missing"))
	}
	if c.Parallel < 1 || c.Queue < 0 {
		problems = append(problems, errors.New("field Parallel or Queue is negative"))
	}
	return errors.Join(problems...)
}

// Service is everything that happens to people. Methods that take a Tx run inside the caller's transaction; those that
// take a ctx make their own.
type Service struct {
	deps Deps
	cfg  Config
	gate *gate
	// decoy is a hash of nothing, compared for people who do not exist, so that they cost the same.
	decoy, decoyPepper string
}

// NewService makes the service. It hashes once, for the decoy.
func NewService(deps Deps, cfg Config) (*Service, error) {
	for name, missing := range map[string]bool{
		"Engine": deps.Engine == nil, "Hasher": deps.Hasher == nil, "Addresses": deps.Addresses == nil,
		"Guards": deps.Guards == nil, "Now": deps.Now == nil, "CountryOf": deps.CountryOf == nil,
	} {
		if missing {
			return nil, errors.New("make user service: " + name + " is missing")
		}
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("make user service: %w", err)
	}
	decoy, pepper, err := deps.Hasher.Hash("000000")
	if err != nil {
		return nil, fmt.Errorf("make user service: hash decoy: %w", err)
	}
	return &Service{deps: deps, cfg: cfg, gate: newGate(cfg.Parallel, cfg.Queue), decoy: decoy, decoyPepper: pepper}, nil
}

// now is the clock in the precision that every engine keeps.
func (s *Service) now() time.Time { return s.deps.Now().UTC().Truncate(time.Millisecond) }
