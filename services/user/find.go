package user

import (
	"errors"
	"fmt"
	"strings"

	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/phone"
	"offrampbot/services/store"
)

// Load reads a user; fault code user_unknown when there is none.
func Load(r store.Reader, userID string) (*User, error) {
	var u User
	err := r.Get(store.Users, userID, &u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New("user_unknown", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read user %s: %w", userID, err)
	}
	return &u, nil
}

// ByWhatsApp finds a user by the digits WhatsApp gives, or by their other form (P36); fault code user_unknown.
func ByWhatsApp(r store.Reader, whatsAppID string) (*User, error) {
	for _, form := range phone.Variants(whatsAppID) {
		u, err := by(r, "whatsapp_id", form)
		if !fault.Is(err, "user_unknown") {
			return u, err
		}
	}
	return nil, fault.New("user_unknown", nil)
}

// ByScopedID finds a user by the business-scoped id (P31); fault code user_unknown.
func ByScopedID(r store.Reader, scopedID string) (*User, error) { return by(r, "scoped_id", scopedID) }

// ByAddress finds the owner of a deposit address in canonical form; fault code user_unknown.
func ByAddress(r store.Reader, address string) (*User, error) { return by(r, "address", address) }

// by finds a user over a unique index.
func by(r store.Reader, index, value string) (*User, error) {
	if value == "" {
		return nil, fault.New("user_unknown", nil)
	}
	u, err := store.First[User](r, store.Query{Collection: store.Users, Index: index, Equal: []any{value}})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New("user_unknown", err)
	}
	if err != nil {
		return nil, fmt.Errorf("find user by %s: %w", index, err)
	}
	return u, nil
}

// Addresses calls each for every deposit address and its owner's id, in the order of addresses. Addresses are watched
// for ever, whatever the user's status (B46).
func Addresses(r store.Reader, each func(address, userID string) error) error {
	q := store.Query{Collection: store.Users, Index: "address"}
	err := r.Find(q, func(decode store.Decode) (bool, error) {
		var u User
		if err := decode(&u); err != nil {
			return false, err
		}
		return true, each(u.Address, u.ID)
	})
	if err != nil {
		return fmt.Errorf("list deposit addresses: %w", err)
	}
	return nil
}

// PhoneDigest is the keyed digest of a WhatsApp number under which `links` finds its user: the number itself is not
// stored there. A search takes digits only, so spaces and signs are dropped first.
func PhoneDigest(key []byte, number string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, number)
	return ids.Digest(key, "phone", digits)
}

// isSameNumber reports whether two WhatsApp ids are forms of one number.
func isSameNumber(a, b string) bool {
	for _, form := range phone.Variants(a) {
		if form == b {
			return true
		}
	}
	return false
}
