package offramp

import (
	"context"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/ledger"
	"offrampbot/services/limits"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// FreezeUser stops a user's money from starting to move, with a reason; a frozen user stays frozen for the first one.
func (s *Service) FreezeUser(ctx context.Context, userID, why, who string) error {
	return s.ofUser(ctx, userID, func(u *unit) error {
		if err := u.freeze(why); err != nil {
			return err
		}
		for i := range u.entries {
			u.entries[i].Actor = who
		}
		return nil
	})
}

// UnfreezeUser lets a user's money move again and starts what is covered. It is refused while the user owes anything:
// fault code evidence_missing.
func (s *Service) UnfreezeUser(ctx context.Context, userID, why, who string) error {
	return s.ofUser(ctx, userID, func(u *unit) error {
		if u.user.Frozen == nil {
			return nil
		}
		for _, a := range s.registry.Assets() {
			account, err := u.account(a.ID)
			if err != nil {
				return err
			}
			if account.Shortfall() {
				return fault.New("evidence_missing", nil).With("owed", a.ID)
			}
		}
		u.entries = append(u.entries, audit.Entry{
			Stream: "user:" + u.user.ID, At: u.now, Actor: who, Action: "user unfrozen", Why: why, Before: u.user.Frozen.Why,
		})
		user.Thaw(u.user)
		u.frozen = true
		return u.freed("unfrozen")
	})
}

// Freed lets a user's unfunded orders start, in the transaction that thawed the user: thaw runs first.
func (s *Service) Freed(ctx context.Context, userID string, thaw func(tx store.Tx) (thawed bool, err error)) error {
	return s.commit(ctx, func(tx store.Tx, now time.Time) (*unit, error) {
		thawed, err := thaw(tx)
		if err != nil {
			return nil, err
		}
		u, err := s.unit(tx, userID, now)
		if err != nil || !thawed {
			return u, err
		}
		return u, u.freed("reauthenticated")
	})
}

// thawPaid ends the freeze for a shortfall in the transaction that pays the last of the debt (rule 8), and lets the
// unfunded orders start. Any other reason stays.
func (u *unit) thawPaid() error {
	if len(u.touched) == 0 || !u.user.FrozenFor(user.Shortfall) {
		return nil
	}
	for _, a := range u.s.registry.Assets() {
		if account, err := u.account(a.ID); err != nil || account.Shortfall() {
			return err
		}
	}
	before := u.user.Frozen.Why
	thawed := user.ThawReason(u.user, user.Shortfall)
	u.frozen = true
	u.touchAll()
	u.entries = append(u.entries, audit.Entry{
		Stream: "user:" + u.user.ID, At: u.now, Actor: "system", Action: "shortfall paid", Before: before,
	})
	if !thawed {
		return nil
	}
	return u.freed("shortfall paid")
}

// freed re-evaluates every asset's unfunded order.
func (u *unit) freed(why string) error {
	u.touchAll()
	for _, a := range u.s.registry.Assets() {
		if err := u.reevaluate(a.ID, Occurrence{On: FundsFreed, ID: why, By: ByWorker, At: u.now}); err != nil {
			return err
		}
	}
	return nil
}

// TouchUser replaces a user's guard documents without a change, in a transaction that freezes or thaws the user (rule 6).
func (s *Service) TouchUser(tx store.Tx, userID string) error {
	if err := limits.Touch(tx, userID); err != nil {
		return err
	}
	for _, a := range s.registry.Assets() {
		account, err := ledger.Load(tx, userID, a.ID)
		if err != nil {
			return err
		}
		if err := account.Save(tx); err != nil {
			return err
		}
	}
	return nil
}
