package admin

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// Deps is what the service needs; all of it is required.
type Deps struct {
	Engine store.Engine
	Sealer Sealer
	Now    func() time.Time
	Rand   io.Reader // crypto/rand.Reader
}

// Config steers the service.
type Config struct {
	Keys        []Key         // the first signs, all verify
	TokenLife   time.Duration // 15 minutes, which is also the most
	LoginLimit  int           // failed logins until a lock: 5
	LoginLock   time.Duration // first lock: 15 minutes
	ApprovalTTL time.Duration // how long an approval stays open: 24 hours
	AnswerTTL   time.Duration // how long an answer is kept for its idempotency key: 7 days
}

// Service manages staff accounts and their tokens.
type Service struct {
	engine store.Engine
	sealer Sealer
	now    func() time.Time
	rand   io.Reader
	hashes *hasher
	tokens *signer
	cfg    Config
}

// New returns the service, or says what is missing.
func New(deps Deps, cfg Config) (*Service, error) {
	switch {
	case deps.Engine == nil:
		return nil, errors.New("admin: Engine is missing")
	case deps.Sealer == nil:
		return nil, errors.New("admin: Sealer is missing")
	case deps.Now == nil:
		return nil, errors.New("admin: Now is missing")
	case deps.Rand == nil:
		return nil, errors.New("admin: Rand is missing")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	hashes, err := newHasher(deps.Rand)
	if err != nil {
		return nil, err
	}
	keys := map[string][]byte{}
	for _, k := range cfg.Keys {
		keys[k.ID] = k.Secret
	}
	return &Service{
		engine: deps.Engine, sealer: deps.Sealer, now: deps.Now, rand: deps.Rand, hashes: hashes, cfg: cfg,
		tokens: &signer{keys: keys, head: cfg.Keys[0].ID, life: cfg.TokenLife, now: deps.Now},
	}, nil
}

func (c Config) withDefaults() Config {
	if c.TokenLife == 0 {
		c.TokenLife = maxTokenLife
	}
	if c.LoginLimit == 0 {
		c.LoginLimit = 5
	}
	if c.LoginLock == 0 {
		c.LoginLock = 15 * time.Minute
	}
	if c.ApprovalTTL == 0 {
		c.ApprovalTTL = 24 * time.Hour
	}
	if c.AnswerTTL == 0 {
		c.AnswerTTL = 7 * 24 * time.Hour
	}
	return c
}

func (c Config) validate() error {
	if len(c.Keys) == 0 {
		return errors.New("admin: Keys cannot be empty")
	}
	seen := map[string]bool{}
	for _, k := range c.Keys {
		if k.ID == "" || seen[k.ID] || len(k.Secret) < 32 {
			return errors.New("admin: Keys need different ids and 32 bytes each")
		}
		seen[k.ID] = true
	}
	if c.TokenLife < time.Second || c.TokenLife > maxTokenLife {
		return errors.New("admin: TokenLife cannot be less than a second or more than 15 minutes")
	}
	if c.LoginLimit < 1 || c.LoginLock <= 0 || c.ApprovalTTL <= 0 || c.AnswerTTL <= 0 {
		return errors.New("admin: limits cannot be zero or negative")
	}
	return nil
}

// NewAdmin is a member of staff to be created.
type NewAdmin struct {
	Email    string
	Role     Role
	Password string
	TOTP     string // base32 secret; empty: one is made
	By       string // who creates it, for the trail: "host" for the command line
}

// Created is a new account and what its owner puts into an authenticator app; it is shown once.
type Created struct {
	ID     string
	Secret string
	URL    string
}

// Create stores a new account. Fault codes: staff_invalid, staff_exists.
func (s *Service) Create(ctx context.Context, in NewAdmin) (Created, error) {
	id, err := normalEmail(in.Email)
	if err != nil {
		return Created{}, err
	}
	if err := checkNew(in); err != nil {
		return Created{}, err
	}
	secret := in.TOTP
	if secret == "" {
		if secret, err = newTOTP(s.rand); err != nil {
			return Created{}, err
		}
	}
	sealed, err := s.sealer.Seal([]byte(secret), id)
	if err != nil {
		return Created{}, fmt.Errorf("seal one-time secret: %w", err)
	}
	hash, err := s.hashes.hash(ctx, in.Password)
	if err != nil {
		return Created{}, err
	}
	at := s.now()
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		a := &Admin{
			Meta: store.Meta{ID: id, Version: 1}, Role: in.Role, Password: hash, TOTP: sealed, CreatedAt: at,
		}
		if err := tx.Insert(store.Admins, a); err != nil {
			return err
		}
		return audit.Append(tx, audit.Entry{
			Stream: "staff:" + id, At: at, Actor: in.By, Action: "staff_created", After: string(in.Role),
		})
	})
	switch {
	case store.IsDuplicate(err):
		return Created{}, fault.New("staff_exists", err)
	case err != nil:
		return Created{}, fmt.Errorf("create staff account: %w", err)
	}
	return Created{ID: id, Secret: secret, URL: totpURL(issuer, id, secret)}, nil
}

func checkNew(in NewAdmin) error {
	invalid := func(what string) error { return fault.New("staff_invalid", nil).With("what", what) }
	if !Can(in.Role, Read) {
		return invalid("the role")
	}
	if len(in.Password) < minPassword || len(in.Password) > maxPassword {
		return invalid("the password (8 to 256 characters)")
	}
	if in.TOTP != "" {
		if b, err := totpEncoding.DecodeString(in.TOTP); err != nil || len(b) < 10 {
			return invalid("the one-time secret")
		}
	}
	if in.By == "" {
		return invalid("who creates it")
	}
	return nil
}

// random returns 128 bits as hex.
func (s *Service) random() (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(s.rand, b); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return hex.EncodeToString(b), nil
}
