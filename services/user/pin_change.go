package user

import (
	"context"
	"fmt"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// ChangePIN replaces the PIN of a user who knows the old one (D35). It fails as CheckPIN and CheckNewPIN do; a new PIN
// that is the old one is pin_weak.
func (s *Service) ChangePIN(ctx context.Context, userID string, old, fresh TypedPIN, channel string) error {
	known, err := s.view(ctx, userID)
	if err != nil {
		return err
	}
	if err := CheckNewPIN(fresh, known.WhatsAppID); err != nil {
		return err
	}
	if err := s.CheckPIN(ctx, userID, old, channel); err != nil {
		return err
	}
	if old == fresh {
		return fault.New("pin_weak", nil)
	}
	sealed, err := s.hash(ctx, fresh)
	if err != nil {
		return err
	}
	err = s.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		u, err := Load(tx, userID)
		if err != nil {
			return err
		}
		replaced := sealed
		replaced.ChangedAt = s.now()
		u.PIN = &replaced
		if err := tx.Replace(store.Users, u); err != nil {
			return err
		}
		return audit.Append(tx, audit.Entry{
			Stream: Stream(u.ID), At: s.now(), Actor: Stream(u.ID), Action: "pin.change", Why: channel,
		})
	})
	if err != nil {
		return fmt.Errorf("change PIN: %w", err)
	}
	return nil
}

// UnlockPIN lifts lock and block in the caller's transaction: support has made sure who is asking. The PIN stays the
// same. actor is "staff:<id>".
func (s *Service) UnlockPIN(tx store.Tx, userID, why, actor string) error {
	u, err := Load(tx, userID)
	if err != nil {
		return err
	}
	if u.PIN == nil {
		return fault.New("user_not_active", nil)
	}
	before := fmt.Sprintf("blocked %t, %d today, %d locks", u.PIN.Blocked, u.PIN.DayFailures, u.PIN.Locks)
	pin := *u.PIN
	pin.Failures, pin.DayFailures, pin.Locks, pin.LockedUntil, pin.Blocked = 0, 0, 0, nil, false
	u.PIN = &pin
	if err := tx.Replace(store.Users, u); err != nil {
		return fmt.Errorf("unlock PIN of %s: %w", userID, err)
	}
	return audit.Append(tx, audit.Entry{
		Stream: Stream(u.ID), At: s.now(), Actor: actor, Action: "pin.unlock", Why: why, Before: before, After: "free",
	})
}
