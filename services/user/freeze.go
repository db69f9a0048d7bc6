package user

import (
	"fmt"
	"slices"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/store"
)

// IdentityChanged is the freeze after a number or identity change: the only one that the user can end, with the PIN and
// after the cool-down (S8, DESIGN §11).
const IdentityChanged = "identity_changed"

// Shortfall is the freeze of a user who owes what a reorganisation took back after it was used; it ends with the debt.
const Shortfall = "shortfall"

// CoolDown is how long an identity change freezes money even when the PIN was given.
const CoolDown = 24 * time.Hour

// Frozen freezes a user for one more reason. The same reason again starts the time anew when it is an identity change;
// a second reason joins the first. The caller replaces the user, `accounts` and `limits` in the same transaction.
func Frozen(u *User, why string, now time.Time) {
	now = now.UTC().Truncate(time.Millisecond)
	switch {
	case u.Frozen == nil:
		u.Frozen = &Freeze{Since: now, Why: why}
	case why == IdentityChanged && u.FrozenFor(why):
		u.Frozen.Since, u.Frozen.ProvenAt = now, nil
	case u.FrozenFor(why):
	case u.Frozen.Why == IdentityChanged:
		// A reason that only an operator ends comes first: it is what the user is told.
		u.Frozen.Also = append(u.Frozen.Also, u.Frozen.Why)
		u.Frozen.Why = why
	default:
		u.Frozen.Also = append(u.Frozen.Also, why)
		if why == IdentityChanged {
			u.Frozen.ProvenAt = nil
		}
	}
}

// Thaw ends a freeze, whatever its reasons: an operator's decision.
func Thaw(u *User) { u.Frozen = nil }

// ThawReason takes one reason away and reports whether the user is free now. A user who is not frozen stays so and is
// reported as not thawed.
func ThawReason(u *User, why string) (thawed bool) {
	if u.Frozen == nil || !u.FrozenFor(why) {
		return false
	}
	rest := slices.DeleteFunc(append([]string{u.Frozen.Why}, u.Frozen.Also...), func(r string) bool { return r == why })
	if len(rest) == 0 {
		u.Frozen = nil
		return true
	}
	f := *u.Frozen
	f.Why, f.Also = rest[0], rest[1:]
	if len(f.Also) == 0 {
		f.Also = nil
	}
	u.Frozen = &f
	return false
}

// FrozenFor reports whether a reason is among those of the freeze.
func (u *User) FrozenFor(why string) bool {
	return u.Frozen != nil && (u.Frozen.Why == why || slices.Contains(u.Frozen.Also, why))
}

// Freeze freezes a user in the caller's transaction: user, guard documents and audit entry. It is safe to repeat.
func (s *Service) Freeze(tx store.Tx, userID, why, actor string) error {
	u, err := Load(tx, userID)
	if err != nil {
		return err
	}
	return s.freeze(tx, u, why, actor)
}

// freeze is Freeze for a user who is loaded; other changes of u are saved with it.
func (s *Service) freeze(tx store.Tx, u *User, why, actor string) error {
	before := freezeText(u)
	Frozen(u, why, s.now())
	return s.commitFreeze(tx, u, audit.Entry{Actor: actor, Action: "user.freeze", Why: why, Before: before})
}

// Unfreeze ends a freeze for all its reasons in the caller's transaction. A user who is not frozen is left as is. The
// caller re-evaluates the user's unfunded orders (FundsFreed, DESIGN §7 rule 5).
func (s *Service) Unfreeze(tx store.Tx, userID, why, actor string) error {
	u, err := Load(tx, userID)
	if err != nil || u.Frozen == nil {
		return err
	}
	before := freezeText(u)
	Thaw(u)
	return s.commitFreeze(tx, u, audit.Entry{Actor: actor, Action: "user.unfreeze", Why: why, Before: before})
}

// Reauthenticated records that the user gave the PIN after an identity change, in the caller's transaction; the caller
// has had it checked by CheckPIN. thawed says that the user is free now (then the caller re-evaluates unfunded orders);
// wait is how long the cool-down still runs. The same call later, after the cool-down, thaws without a new PIN, because
// the proof is stored. A user frozen for another reason stays frozen for it.
func (s *Service) Reauthenticated(tx store.Tx, userID string, proven bool) (thawed bool, wait time.Duration, err error) {
	u, err := Load(tx, userID)
	if err != nil || !u.FrozenFor(IdentityChanged) {
		return false, 0, err
	}
	now := s.now()
	freeze := *u.Frozen
	if proven && freeze.ProvenAt == nil {
		freeze.ProvenAt = &now
	}
	u.Frozen = &freeze
	wait = max(CoolDown-now.Sub(freeze.Since), 0)
	if freeze.ProvenAt == nil {
		return false, wait, nil
	}
	before := freezeText(u)
	action := "user.reauthenticated"
	if wait == 0 {
		thawed = ThawReason(u, IdentityChanged)
		action = "user.unfreeze"
	}
	entry := audit.Entry{Actor: "user:" + u.ID, Action: action, Why: IdentityChanged, Before: before}
	return thawed, wait, s.commitFreeze(tx, u, entry)
}

// commitFreeze writes the user, touches the guard documents and appends the entry, completed by what is true after it.
func (s *Service) commitFreeze(tx store.Tx, u *User, entry audit.Entry) error {
	if err := tx.Replace(store.Users, u); err != nil {
		return fmt.Errorf("save freeze of user %s: %w", u.ID, err)
	}
	if err := s.deps.Guards.TouchUser(tx, u.ID); err != nil {
		return fmt.Errorf("touch guards of user %s: %w", u.ID, err)
	}
	entry.Stream, entry.At, entry.After = Stream(u.ID), s.now(), freezeText(u)
	return audit.Append(tx, entry)
}

// freezeText is a freeze for the audit trail.
func freezeText(u *User) string {
	if u.Frozen == nil {
		return "free"
	}
	text := "frozen since " + u.Frozen.Since.Format(time.RFC3339) + ": " + u.Frozen.Why
	for _, also := range u.Frozen.Also {
		text += ", " + also
	}
	return text
}

// Stream is a user's audit stream.
func Stream(userID string) string { return "user:" + userID }
