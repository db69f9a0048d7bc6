package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// Token is a bearer token; Text is the secret part.
type Token struct {
	Text    string
	ID      string
	JTI     string
	Expires time.Time
}

// Login compares e-mail, password and one-time code and returns a token. Every refusal is the one fault code
// login_refused, whether the account exists, is locked or is disabled (ASVS 6.3.8). The attempt is counted, durably,
// before anything is compared, so parallel guesses cannot pass the limit.
func (s *Service) Login(ctx context.Context, email, password, code string) (Token, error) {
	id, err := normalEmail(email)
	if err != nil {
		id = "" // goes the same way as an account that does not exist
	}
	at := s.now()
	before, err := s.countLogin(ctx, id, at)
	if err != nil {
		return Token{}, err
	}
	stored := s.hashes.dummy
	if before != nil {
		stored = before.Password
	}
	if len(password) > maxPassword {
		password = ""
	}
	right, err := s.hashes.matches(ctx, password, stored)
	if err != nil {
		return Token{}, fmt.Errorf("compare password: %w", err)
	}
	if before == nil {
		return Token{}, fault.New("login_refused", nil)
	}
	if !right {
		return Token{}, s.refuseLogin(ctx, id, "password", at)
	}
	return s.finishLogin(ctx, id, code, at)
}

// countLogin counts an attempt and returns the account, or nil when no login is possible: unknown, disabled or locked.
func (s *Service) countLogin(ctx context.Context, id string, at time.Time) (*Admin, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // nil means "no such account" here, on purpose
	}
	var out *Admin
	err := s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		out = nil
		var a Admin
		err := tx.Get(store.Admins, id, &a)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if a.Disabled || a.isLocked(at) {
			return s.trail(tx, id, "login_refused", "locked or disabled", at)
		}
		a.count(at, s.cfg.LoginLimit, s.cfg.LoginLock)
		if err := tx.Replace(store.Admins, &a); err != nil {
			return err
		}
		if a.isLocked(at) {
			if err := s.trail(tx, id, "login_locked", "too many attempts", at); err != nil {
				return err
			}
		}
		out = &a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count login: %w", err)
	}
	return out, nil
}

// finishLogin accepts the code at most once and makes the token.
func (s *Service) finishLogin(ctx context.Context, id, code string, at time.Time) (Token, error) {
	jti, err := s.random()
	if err != nil {
		return Token{}, err
	}
	var accepted bool
	var epoch int
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		accepted = false
		var a Admin
		if err := tx.Get(store.Admins, id, &a); err != nil {
			return err
		}
		secret, err := s.sealer.Open(a.TOTP, id)
		if err != nil {
			return fmt.Errorf("open one-time secret: %w", err)
		}
		counter, ok := acceptedCounter(string(secret), code, at, a.LastCounter)
		if !ok || a.Disabled {
			return s.trail(tx, id, "login_refused", "code", at)
		}
		a.succeed(at, counter)
		if err := tx.Replace(store.Admins, &a); err != nil {
			return err
		}
		accepted, epoch = true, a.Epoch
		return s.trail(tx, id, "login", "", at)
	})
	if err != nil {
		return Token{}, fmt.Errorf("finish login: %w", err)
	}
	if !accepted {
		return Token{}, fault.New("login_refused", nil)
	}
	return s.tokens.sign(id, jti, epoch, at, at)
}

func (s *Service) refuseLogin(ctx context.Context, id, why string, at time.Time) error {
	err := s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		return s.trail(tx, id, "login_refused", why, at)
	})
	if err != nil {
		return fmt.Errorf("record refused login: %w", err)
	}
	return fault.New("login_refused", nil)
}

// Issue makes a token without a password: for scripts of somebody who is on the host already. Fault code:
// staff_unknown.
func (s *Service) Issue(ctx context.Context, email string) (Token, error) {
	id, err := normalEmail(email)
	if err != nil {
		return Token{}, err
	}
	jti, err := s.random()
	if err != nil {
		return Token{}, err
	}
	at, epoch := s.now(), 0
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		var a Admin
		if err := tx.Get(store.Admins, id, &a); err != nil {
			return err
		}
		if a.Disabled {
			return store.ErrNotFound
		}
		epoch = a.Epoch
		return audit.Append(tx, audit.Entry{Stream: "staff:" + id, At: at, Actor: "host", Action: "token_issued"})
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Token{}, fault.New("staff_unknown", err)
	case err != nil:
		return Token{}, fmt.Errorf("issue token: %w", err)
	}
	return s.tokens.sign(id, jti, epoch, at, time.Time{})
}

// Verify returns who a token belongs to, with the role that the account has now. Fault code: unauthorized.
func (s *Service) Verify(ctx context.Context, text string) (Identity, error) {
	c, err := s.tokens.read(text)
	if err != nil {
		return Identity{}, fault.New("unauthorized", err)
	}
	var a Admin
	err = s.engine.View(ctx, func(_ context.Context, r store.Reader) error { return r.Get(store.Admins, c.Subject, &a) })
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Identity{}, fault.New("unauthorized", err)
	case err != nil:
		return Identity{}, fmt.Errorf("read staff account: %w", err)
	case !a.accepts(c.Epoch, c.ID):
		return Identity{}, fault.New("unauthorized", errors.New("token was revoked"))
	}
	return Identity{ID: a.ID, Role: a.Role, JTI: c.ID, Expires: c.ExpiresAt.Time, Since: c.since(), epoch: c.Epoch}, nil
}

// Logout voids a session: its token and all that Renew made of it.
func (s *Service) Logout(ctx context.Context, who Identity) error {
	return s.change(ctx, who.ID, who.Actor(), "logout", "", func(a *Admin, at time.Time) {
		a.revoke(who.JTI, at.Add(maxTokenLife+clockTolerance), at)
	})
}

// RevokeAll voids every token of an account. Fault code: staff_unknown.
func (s *Service) RevokeAll(ctx context.Context, email, by, why string) error {
	return s.change(ctx, email, by, "tokens_revoked", why, func(a *Admin, _ time.Time) { a.Epoch++ })
}

// SetRole changes a role; tokens stay good and have the new role. Fault codes: staff_unknown, staff_invalid.
func (s *Service) SetRole(ctx context.Context, email string, role Role, by, why string) error {
	if !Can(role, Read) {
		return fault.New("staff_invalid", nil).With("what", "the role")
	}
	return s.change(ctx, email, by, "role_changed", why, func(a *Admin, _ time.Time) { a.Role = role })
}

// SetDisabled closes or opens an account; closing voids its tokens. Fault code: staff_unknown.
func (s *Service) SetDisabled(ctx context.Context, email string, disabled bool, by, why string) error {
	action := "staff_enabled"
	if disabled {
		action = "staff_disabled"
	}
	return s.change(ctx, email, by, action, why, func(a *Admin, _ time.Time) {
		a.Disabled = disabled
		a.Epoch++
	})
}

// change loads, changes and stores an account with its audit entry.
func (s *Service) change(ctx context.Context, email, by, action, why string, apply func(*Admin, time.Time)) error {
	id, err := normalEmail(email)
	if err != nil {
		return err
	}
	at := s.now()
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		var a Admin
		if err := tx.Get(store.Admins, id, &a); err != nil {
			return err
		}
		before := a.summary()
		apply(&a, at)
		if err := tx.Replace(store.Admins, &a); err != nil {
			return err
		}
		return audit.Append(tx, audit.Entry{
			Stream: "staff:" + id, At: at, Actor: by, Action: action, Why: why, Before: before, After: a.summary(),
		})
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fault.New("staff_unknown", err)
	case err != nil:
		return fmt.Errorf("change staff account: %w", err)
	}
	return nil
}

// summary is what a change of an account shows in the trail.
func (a *Admin) summary() string {
	state := "enabled"
	if a.Disabled {
		state = "disabled"
	}
	return fmt.Sprintf("%s, %s, epoch %d", a.Role, state, a.Epoch)
}

// trail appends an entry that the account itself caused.
func (s *Service) trail(tx store.Tx, id, action, why string, at time.Time) error {
	return audit.Append(tx, audit.Entry{Stream: "staff:" + id, At: at, Actor: "staff:" + id, Action: action, Why: why})
}
