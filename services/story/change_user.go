package story

import (
	"context"
	"strings"
	"unicode/utf8"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// People lets a locked PIN be tried again. user.Service is one.
type People interface {
	// UnlockPIN clears every lock in the caller's transaction, with its audit entry. Fault codes: user_unknown,
	// user_not_active.
	UnlockPIN(tx store.Tx, userID, why, actor string) error
}

// byStaff begins the reason of a freeze that a person asked for, so that no typed reason is one of those that end by
// themselves (identity_changed, shortfall).
const byStaff = "staff: "

// FreezeUser stops a user's money from starting to move. Fault codes: forbidden, approval_invalid (the reason),
// user_unknown, idempotency_conflict.
func (s *Story) FreezeUser(ctx context.Context, c admin.Change, id string) (admin.Changed, error) {
	return s.aboutUser(ctx, c, admin.FreezeUser, id, func(u *user.User) error {
		return s.orders.FreezeUser(ctx, u.ID, byStaff+strings.TrimSpace(c.Reason), c.Who.Actor())
	})
}

// UnfreezeUser lets a user's money move again, whatever it was frozen for, and starts what is covered. Fault codes:
// those of FreezeUser, and evidence_missing while the user owes something.
func (s *Story) UnfreezeUser(ctx context.Context, c admin.Change, id string) (admin.Changed, error) {
	return s.aboutUser(ctx, c, admin.UnfreezeUser, id, func(u *user.User) error {
		err := s.orders.UnfreezeUser(ctx, u.ID, strings.TrimSpace(c.Reason), c.Who.Actor())
		if fault.Is(err, "evidence_missing") {
			return fault.As(err).With("why", "The user owes what a reorganisation took back")
		}
		return err
	})
}

// aboutUser carries out what is safe to repeat and commits by itself, then stores the answer under the request's key. A
// crash in between leaves a change without a stored answer; the repeat finds it done.
func (s *Story) aboutUser(
	ctx context.Context, c admin.Change, p admin.Permission, id string, carryOut func(u *user.User) error,
) (admin.Changed, error) {
	if err := mayChange(c, p); err != nil {
		return admin.Changed{}, err
	}
	var stored *admin.Answer
	var who *user.User
	err := s.view(ctx, func(r store.Reader) (err error) {
		if stored, err = admin.Recall(r, c.Request); err != nil || stored != nil {
			return err
		}
		who, err = s.person(r, id)
		return err
	})
	if err != nil || stored != nil {
		return answerOf(stored), err
	}
	if err := carryOut(who); err != nil {
		return admin.Changed{}, err
	}
	return s.once(ctx, c, statusOK, func(tx store.Tx) (any, error) { return loadRow(tx, who.ID) })
}

// UnlockUser lets a locked or blocked PIN be tried again. Fault codes: forbidden, approval_invalid (the reason),
// user_unknown, user_not_active, idempotency_conflict.
func (s *Story) UnlockUser(ctx context.Context, c admin.Change, id string) (admin.Changed, error) {
	if err := mayChange(c, admin.UnlockUser); err != nil {
		return admin.Changed{}, err
	}
	return s.once(ctx, c, statusOK, func(tx store.Tx) (any, error) {
		u, err := s.person(tx, id)
		if err != nil {
			return nil, err
		}
		if err := s.people.UnlockPIN(tx, u.ID, strings.TrimSpace(c.Reason), c.Who.Actor()); err != nil {
			return nil, err
		}
		return loadRow(tx, u.ID)
	})
}

func loadRow(r store.Reader, userID string) (any, error) {
	u, err := user.Load(r, userID)
	if err != nil {
		return nil, err
	}
	return userRow(u), nil
}

// person is the one person that an id leads to. With two, staff must say which, by the user's own id.
func (s *Story) person(r store.Reader, id string) (*user.User, error) {
	if u, err := user.Load(r, id); err == nil || !fault.Is(err, "user_unknown") {
		return u, err
	}
	people, err := s.peopleOf(r, id)
	if err != nil {
		return nil, err
	}
	if len(people) != 1 {
		return nil, fault.New("user_unknown", nil)
	}
	return people[0], nil
}

// mayChange checks role and reason.
func mayChange(c admin.Change, p admin.Permission) error {
	if !admin.Can(c.Who.Role, p) {
		return fault.New("forbidden", nil)
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(c.Reason)); n < 3 || n > 500 {
		return fault.New("approval_invalid", nil).With("what", "the reason (3 to 500 characters)")
	}
	return nil
}
