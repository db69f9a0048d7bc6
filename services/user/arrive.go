package user

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/store"
)

// inboxActor is who freezes because of what WhatsApp delivered.
const inboxActor = "system:inbox"

// Arrive finds or makes the user of an inbound message by either of its ids, in the caller's transaction, and moves
// LastInbound forward. name is the WhatsApp profile name; it names only people who have not signed up. At least one id
// must be given.
//
// An id that differs from the one on record means that the number was recycled or moved without notice: the user is
// frozen until the PIN is given and the cool-down is over (S8). Ids move, authority over money does not.
func (s *Service) Arrive(tx store.Tx, whatsAppID, scopedID, name string, at time.Time) (*User, error) {
	if whatsAppID == "" && scopedID == "" {
		return nil, errors.New("receive user: no WhatsApp id and no scoped id")
	}
	m, err := s.match(tx, whatsAppID, scopedID)
	if err != nil {
		return nil, err
	}
	u := m.user
	if u == nil {
		return s.create(tx, whatsAppID, scopedID, name, at)
	}
	if profile := profileName(name); u.Status == New && profile != "" {
		u.Name = profile
	}
	if at = at.UTC().Truncate(time.Millisecond); at.After(u.LastInbound) {
		u.LastInbound = at
	}
	if m.hasLearnt {
		if err := s.link(tx, u); err != nil {
			return nil, err
		}
	}
	if m.isChanged && u.Status != New { // who has not signed up has nothing to protect
		return u, s.freeze(tx, u, IdentityChanged, inboxActor)
	}
	if err := tx.Replace(store.Users, u); err != nil {
		return nil, fmt.Errorf("save user %s: %w", u.ID, err)
	}
	return u, nil
}

// matched is whose message it is.
type matched struct {
	user      *User // nil: a new person
	isChanged bool  // an id on record was another one
	hasLearnt bool  // an id is new to this user
}

// match finds whose message it is and joins the ids.
func (s *Service) match(tx store.Tx, whatsAppID, scopedID string) (matched, error) {
	byPhone, err := maybe(ByWhatsApp(tx, whatsAppID))
	if err != nil {
		return matched{}, err
	}
	byScope, err := maybe(ByScopedID(tx, scopedID))
	if err != nil {
		return matched{}, err
	}
	switch {
	case byPhone == nil && byScope == nil:
		return matched{}, nil
	case byScope == nil:
		m := matched{user: byPhone, isChanged: scopedID != "" && byPhone.ScopedID != "", hasLearnt: scopedID != ""}
		if scopedID != "" {
			byPhone.ScopedID = scopedID
		}
		return m, nil
	case byPhone == nil:
		m := matched{user: byScope, isChanged: whatsAppID != "" && byScope.WhatsAppID != "", hasLearnt: whatsAppID != ""}
		if whatsAppID != "" {
			byScope.WhatsAppID = whatsAppID
		}
		return m, nil
	case byPhone.ID == byScope.ID:
		return matched{user: byPhone}, nil
	}
	return s.join(tx, byPhone, byScope)
}

// join settles a message whose two ids belong to two users. Two halves of one person become one, unless both have
// signed up; otherwise the number has moved to the person of the scoped id, and its former owner is frozen too.
func (s *Service) join(tx store.Tx, byPhone, byScope *User) (matched, error) {
	areHalves := byPhone.ScopedID == "" && byScope.WhatsAppID == ""
	phone, scope := byPhone.WhatsAppID, byScope.ScopedID
	switch {
	case areHalves && byScope.Status == New:
		byScope.ScopedID = ""
		byPhone.ScopedID = scope
		return matched{user: byPhone, hasLearnt: true}, s.release(tx, byScope)
	case areHalves && byPhone.Status != New:
		// Both signed up: neither gets the other's id, and a person must look.
		if !byScope.FrozenFor(IdentityChanged) {
			if err := s.freeze(tx, byScope, IdentityChanged, inboxActor); err != nil {
				return matched{}, err
			}
		}
		return matched{user: byPhone, isChanged: !byPhone.FrozenFor(IdentityChanged)}, nil
	}
	isChanged := byScope.WhatsAppID != ""
	byPhone.WhatsAppID = ""
	byScope.WhatsAppID = phone
	return matched{user: byScope, isChanged: isChanged, hasLearnt: true}, s.release(tx, byPhone)
}

// release saves a user who lost an id; one who has signed up is frozen with it.
func (s *Service) release(tx store.Tx, u *User) error {
	if u.Status != New {
		return s.freeze(tx, u, IdentityChanged, inboxActor)
	}
	if err := tx.Replace(store.Users, u); err != nil {
		return fmt.Errorf("save user %s: %w", u.ID, err)
	}
	return nil
}

// create makes a new user. The id is a digest of the first id learnt, so that the same message twice makes one user;
// when it belongs to somebody whose number has moved on, the next number is tried.
func (s *Service) create(tx store.Tx, whatsAppID, scopedID, name string, at time.Time) (*User, error) {
	at = at.UTC().Truncate(time.Millisecond)
	seed := whatsAppID
	if seed == "" {
		seed = scopedID
	}
	for n := 0; ; n++ {
		u := &User{
			Meta:       store.Meta{ID: "u_" + ids.Digest(s.cfg.LookupKey, "user", seed, strconv.Itoa(n))[:22], Version: 1},
			WhatsAppID: whatsAppID, ScopedID: scopedID, Name: profileName(name), Country: s.deps.CountryOf(whatsAppID),
			Language: s.cfg.Language, Status: New, Tier: s.cfg.Tier, LastInbound: at, CreatedAt: at,
		}
		inserted, err := tx.Ensure(store.Users, u)
		if err != nil {
			return nil, fmt.Errorf("save new user: %w", err)
		}
		if inserted {
			return u, s.link(tx, u)
		}
	}
}

// maybe turns "unknown" into nil.
func maybe(u *User, err error) (*User, error) {
	if fault.Is(err, "user_unknown") {
		return nil, nil //nolint:nilnil // absent is not an error here
	}
	return u, err
}

// link writes what leads to the user into `links`: the digest of the number, the scoped id, the deposit address. Old
// ones stay, because any id ever learnt finds its story.
func (s *Service) link(tx store.Tx, u *User) error {
	known := map[string]string{"scoped_id": u.ScopedID, "address": u.Address}
	if u.WhatsAppID != "" {
		known["phone"] = PhoneDigest(s.cfg.LookupKey, u.WhatsAppID)
	}
	for _, kind := range []string{"phone", "scoped_id", "address"} {
		id := known[kind]
		if id == "" {
			continue
		}
		if err := store.Relate(tx, ids.NormalID(id), "user", Stream(u.ID)); err != nil {
			return fmt.Errorf("link %s of user %s: %w", kind, u.ID, err)
		}
	}
	return nil
}
