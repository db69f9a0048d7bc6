package user

import (
	"context"
	"errors"
	"fmt"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// walletCounter is the `_id` in `counters` of the next address index.
const walletCounter = "wallet_index"

// counter is a number that only rises.
type counter struct {
	store.Meta `bson:",inline"`
	Next       int64 `bson:"next"`
}

// SignUp makes a new user active: name, PIN and a deposit address of their own, allotted in the same transaction and
// never used again. Fault codes name_invalid, pin_format, pin_weak, pin_busy, user_unknown, user_not_active (closed).
// For somebody who has signed up it changes nothing and returns the user, so that a second copy of a form is harmless.
func (s *Service) SignUp(ctx context.Context, userID, name string, pin TypedPIN) (*User, error) {
	name, err := CleanName(name)
	if err != nil {
		return nil, err
	}
	known, err := s.view(ctx, userID)
	if err != nil {
		return nil, err
	}
	if known.Status != New {
		return known, notNew(known)
	}
	if err := CheckNewPIN(pin, known.WhatsAppID); err != nil {
		return nil, err
	}
	sealed, err := s.hash(ctx, pin)
	if err != nil {
		return nil, err
	}
	var out *User
	err = s.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		u, err := Load(tx, userID)
		if err != nil {
			return err
		}
		out = u
		if u.Status != New {
			return notNew(u)
		}
		return s.activate(tx, u, name, sealed)
	})
	if err != nil {
		return nil, fmt.Errorf("sign up: %w", err)
	}
	return out, nil
}

// notNew is what SignUp says about somebody who is not new.
func notNew(u *User) error {
	if u.Status == Active {
		return nil
	}
	return fault.New("user_not_active", nil)
}

// activate completes a user and allots the address.
func (s *Service) activate(tx store.Tx, u *User, name string, sealed PIN) error {
	now := s.now()
	if u.Address == "" {
		index, err := nextIndex(tx)
		if err != nil {
			return err
		}
		address, err := s.deps.Addresses.Address(index)
		if err != nil {
			return fmt.Errorf("derive address %d: %w", index, err)
		}
		u.AddressIndex, u.Address = &index, address
	}
	u.Name, u.Status, u.SignedUpAt = name, Active, &now
	sealed.ChangedAt = now
	u.PIN = &sealed
	if err := tx.Replace(store.Users, u); err != nil {
		return fmt.Errorf("save user %s: %w", u.ID, err)
	}
	if err := s.link(tx, u); err != nil {
		return err
	}
	return audit.Append(tx, audit.Entry{
		Stream: Stream(u.ID), At: now, Actor: Stream(u.ID), Action: "user.sign_up", After: "address " + u.Address,
	})
}

// nextIndex allots an address index. The counter document is the guard: two sign-ups cannot get one index.
func nextIndex(tx store.Tx) (int64, error) {
	c := counter{}
	err := tx.Get(store.Counters, walletCounter, &c)
	write := tx.Replace
	if errors.Is(err, store.ErrNotFound) {
		c.Meta, write = store.Meta{ID: walletCounter, Version: 1}, tx.Insert
	} else if err != nil {
		return 0, fmt.Errorf("read address index: %w", err)
	}
	index := c.Next
	c.Next++
	if err := write(store.Counters, &c); err != nil {
		return 0, fmt.Errorf("allot address index %d: %w", index, err)
	}
	return index, nil
}

// view loads a user outside a transaction.
func (s *Service) view(ctx context.Context, userID string) (u *User, err error) {
	err = s.deps.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		u, err = Load(r, userID)
		return err
	})
	return u, err
}

// hash hashes a PIN within the bounds of the gate.
func (s *Service) hash(ctx context.Context, pin TypedPIN) (sealed PIN, err error) {
	if err := s.gate.enter(); err != nil {
		return PIN{}, err
	}
	defer s.gate.leave()
	var failed error
	if err := s.gate.run(ctx, func() { sealed.Hash, sealed.Pepper, failed = s.deps.Hasher.Hash(pin) }); err != nil {
		return PIN{}, err
	}
	if failed != nil {
		return PIN{}, fmt.Errorf("hash PIN: %w", failed)
	}
	return sealed, nil
}
