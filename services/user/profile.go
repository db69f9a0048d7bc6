package user

import (
	"fmt"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/store"
)

// SetTier moves a user to another tier of the registry in the caller's transaction; the caller knows that it exists.
func (s *Service) SetTier(tx store.Tx, userID, tier, why, actor string) error {
	return s.change(tx, userID, actor, "user.tier", why, func(u *User) *string { return &u.Tier }, tier)
}

// SetLanguage chooses the language of a user's messages in the caller's transaction.
func (s *Service) SetLanguage(tx store.Tx, userID, language string) error {
	return s.change(tx, userID, Stream(userID), "user.language", "", func(u *User) *string { return &u.Language }, language)
}

// change sets one text of a profile and audits it; the value on record changes nothing.
func (s *Service) change(tx store.Tx, userID, actor, action, why string, field func(*User) *string, value string) error {
	u, err := Load(tx, userID)
	if err != nil || *field(u) == value {
		return err
	}
	before := *field(u)
	*field(u) = value
	if err := tx.Replace(store.Users, u); err != nil {
		return fmt.Errorf("save user %s: %w", userID, err)
	}
	return audit.Append(tx, audit.Entry{
		Stream: Stream(u.ID), At: s.now(), Actor: actor, Action: action, Why: why, Before: before, After: value,
	})
}

// SetStopped records that a user wants no notices but those about money (true), or wants them again, in the caller's
// transaction.
func (s *Service) SetStopped(tx store.Tx, userID string, isStopped bool) error {
	u, err := Load(tx, userID)
	if err != nil || (u.StoppedAt != nil) == isStopped {
		return err
	}
	u.StoppedAt = nil
	action := "user.start"
	if isStopped {
		at := s.now()
		u.StoppedAt, action = &at, "user.stop"
	}
	if err := tx.Replace(store.Users, u); err != nil {
		return fmt.Errorf("save user %s: %w", userID, err)
	}
	return audit.Append(tx, audit.Entry{Stream: Stream(u.ID), At: s.now(), Actor: Stream(u.ID), Action: action})
}

// Window reports whether a free-form message may be sent: the user wrote in the last 24 hours.
func (u *User) Window(now time.Time) bool { return now.Sub(u.LastInbound) < 24*time.Hour }
