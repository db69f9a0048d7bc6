package user

import (
	"fmt"

	"offrampbot/services/store"
)

// Move is a system message of WhatsApp: somebody's number or business-scoped id is another one now. Empty fields were
// not in the message.
type Move struct {
	OldWhatsAppID    string // the sender of the message
	WhatsAppID       string
	PreviousScopedID string
	ScopedID         string
}

// Moved applies a change of number or id in the caller's transaction and returns the user concerned, nil when nobody of
// ours is or the move was applied before. The ids move; authority over money does not: the user is frozen until the PIN
// is given and the cool-down is over, and so is whoever held the new number (F7, S8). The caller sends nothing to the old
// number.
func (s *Service) Moved(tx store.Tx, m Move) (*User, error) {
	u, err := s.mover(tx, m)
	if err != nil || u == nil {
		return nil, err
	}
	isTaken, err := s.displace(tx, u, m)
	if err != nil {
		return nil, err
	}
	if !isTaken {
		if m.WhatsAppID != "" {
			u.WhatsAppID = m.WhatsAppID
		}
		if m.ScopedID != "" {
			u.ScopedID = m.ScopedID
		}
		if err := s.link(tx, u); err != nil {
			return nil, err
		}
	}
	return u, s.release(tx, u)
}

// mover finds whom a move is about: by the previous scoped id, else by the old number when that user's scoped id does
// not say otherwise, because a number may already belong to somebody else.
func (s *Service) mover(tx store.Tx, m Move) (*User, error) {
	if u, err := maybe(ByScopedID(tx, m.PreviousScopedID)); err != nil || u != nil {
		return u, err
	}
	u, err := maybe(ByWhatsApp(tx, m.OldWhatsAppID))
	if err != nil || u == nil {
		return nil, err
	}
	isOther := m.PreviousScopedID != "" && u.ScopedID != "" && u.ScopedID != m.PreviousScopedID
	isDone := m.WhatsAppID != "" && isSameNumber(u.WhatsAppID, m.WhatsAppID) && (m.ScopedID == "" || u.ScopedID == m.ScopedID)
	if isOther || isDone {
		return nil, nil //nolint:nilnil // nobody of ours moved
	}
	return u, nil
}

// displace takes the new ids away from whoever holds them. isTaken says that they stay where they are: their holder has
// the new scoped id and has signed up, so the person already uses another account of ours, and support must join the two.
func (s *Service) displace(tx store.Tx, u *User, m Move) (isTaken bool, err error) {
	byScope, err := maybe(ByScopedID(tx, m.ScopedID))
	if err != nil {
		return false, err
	}
	if byScope != nil && byScope.ID != u.ID {
		if byScope.Status != New {
			return true, s.release(tx, byScope)
		}
		byScope.ScopedID = ""
		if isSameNumber(byScope.WhatsAppID, m.WhatsAppID) {
			byScope.WhatsAppID = ""
		}
		if err := s.release(tx, byScope); err != nil {
			return false, err
		}
	}
	byPhone, err := maybe(ByWhatsApp(tx, m.WhatsAppID))
	if err != nil || byPhone == nil || byPhone.ID == u.ID {
		return false, err
	}
	byPhone.WhatsAppID = ""
	if err := s.release(tx, byPhone); err != nil {
		return false, fmt.Errorf("displace holder of a number: %w", err)
	}
	return false, nil
}
