package admin

import (
	"context"
	"fmt"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// sessionLife is how long a login lasts at most, however busy its owner is; without a request it ends with its token.
const sessionLife = 8 * time.Hour

// Renew makes a fresh token for a session in use, for a browser that asks for pages. It keeps the session's id, so that a
// log-out ends every token of it. ok is false when the session is as old as one may be, or was not begun by a login. The
// identity must have been verified for this very request.
func (s *Service) Renew(who Identity) (token Token, ok bool, err error) {
	at := s.now()
	if who.Since.IsZero() || !at.Before(who.Since.Add(sessionLife)) {
		return Token{}, false, nil
	}
	token, err = s.tokens.sign(who.ID, who.JTI, who.epoch, at, who.Since)
	return token, err == nil, err
}

// Staff lists every account by its e-mail address.
func (s *Service) Staff(ctx context.Context) ([]*Admin, error) {
	var out []*Admin
	err := s.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		out, err = store.All[Admin](r, store.Query{Collection: store.Admins, Index: store.ByID})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list staff: %w", err)
	}
	return out, nil
}

// ChangeRole is SetRole asked for by a member of staff, about somebody else. Fault codes: forbidden, own_account,
// approval_invalid (the reason), staff_unknown, staff_invalid.
func (s *Service) ChangeRole(ctx context.Context, who Identity, email string, role Role, why string) error {
	if err := mayManage(who, email, why); err != nil {
		return err
	}
	return s.SetRole(ctx, email, role, who.Actor(), clean(why))
}

// CloseAccount closes or opens an account of somebody else; its tokens are void either way. Fault codes as for
// ChangeRole.
func (s *Service) CloseAccount(ctx context.Context, who Identity, email string, closed bool, why string) error {
	if err := mayManage(who, email, why); err != nil {
		return err
	}
	return s.SetDisabled(ctx, email, closed, who.Actor(), clean(why))
}

// EndSessions voids every token of somebody else's account. Fault codes as for ChangeRole.
func (s *Service) EndSessions(ctx context.Context, who Identity, email, why string) error {
	if err := mayManage(who, email, why); err != nil {
		return err
	}
	return s.RevokeAll(ctx, email, who.Actor(), clean(why))
}

// mayManage gives the reason why somebody may not manage an account, or nil. Nobody manages their own: the last owner
// could not be locked out by a slip, and whoever steals a session cannot raise it.
func mayManage(who Identity, email, why string) error {
	if !Can(who.Role, ManageStaff) {
		return fault.New("forbidden", nil)
	}
	id, err := normalEmail(email)
	if err != nil {
		return fault.New("staff_unknown", err)
	}
	if id == who.ID {
		return fault.New("own_account", nil)
	}
	return checkReason(why)
}
