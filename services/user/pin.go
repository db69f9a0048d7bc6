package user

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/store"
)

// The PIN counter (S1, B90–B93): one per user over all channels.
const (
	triesPerLock = 5
	triesPerDay  = 10
	firstLock    = 15 * time.Minute
	longestLock  = 24 * time.Hour
	day          = 24 * time.Hour
)

// CheckPIN says whether a PIN is the user's: nil, or fault code pin_wrong (arg left), pin_locked (RetryAfter, arg
// minutes), pin_blocked (support must unlock), pin_format, pin_busy (nothing was counted), user_unknown,
// user_not_active. channel names where it was typed ("flow", "page", "chat") for the audit trail.
//
// Invariant: a try is counted before it is compared, in a commit of its own. Five tries without a right PIN lock for 15
// minutes, each next lock twice as long up to a day; ten in a day block until support unlocks. The right PIN clears the
// count. A crash between the two commits leaves the try counted.
func (s *Service) CheckPIN(ctx context.Context, userID string, pin TypedPIN, channel string) error {
	if !isPIN(string(pin)) {
		return fault.New("pin_format", nil)
	}
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	stored, err := s.countTry(ctx, userID)
	if fault.Is(err, "user_unknown") || fault.Is(err, "user_not_active") {
		// The same work for nobody: how long an answer takes tells nothing.
		if _, _, busy := s.verify(ctx, PIN{Hash: s.decoy, Pepper: s.decoyPepper}, pin); busy != nil {
			return busy
		}
		return err
	}
	if err != nil {
		return err
	}
	right, outdated, err := s.verify(ctx, stored, pin)
	if err != nil {
		return err
	}
	if !right {
		return s.refuse(ctx, userID, channel)
	}
	return s.accept(ctx, userID, stored, pin, outdated)
}

// verify compares within the bounds of the gate; the caller has a place in it.
func (s *Service) verify(ctx context.Context, stored PIN, pin TypedPIN) (right, outdated bool, err error) {
	var failed error
	err = s.gate.run(ctx, func() { right, outdated, failed = s.deps.Hasher.Verify(stored.Hash, stored.Pepper, pin) })
	if err != nil {
		return false, false, err
	}
	if failed != nil {
		return false, false, fmt.Errorf("verify PIN: %w", failed)
	}
	return right, outdated, nil
}

// countTry counts one try and returns the PIN to compare with, or says why none is allowed now.
func (s *Service) countTry(ctx context.Context, userID string) (stored PIN, err error) {
	now := s.now()
	err = s.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		u, err := Load(tx, userID)
		if err != nil {
			return err
		}
		if u.PIN == nil || u.Status != Active {
			return fault.New("user_not_active", nil)
		}
		if err := u.PIN.refusal(now); err != nil {
			return err
		}
		u.PIN.count(now)
		stored = *u.PIN
		return tx.Replace(store.Users, u)
	})
	return stored, err
}

// refusal says why no try is allowed at a time: pin_blocked or pin_locked.
func (p *PIN) refusal(now time.Time) error {
	if p.Blocked {
		return fault.New("pin_blocked", nil)
	}
	if p.LockedUntil != nil && now.Before(*p.LockedUntil) {
		return locked(p.LockedUntil.Sub(now))
	}
	return nil
}

// locked is the refusal during a lock.
func locked(wait time.Duration) error {
	minutes := int64((wait + time.Minute - 1) / time.Minute)
	f := fault.New("pin_locked", nil).With("minutes", strconv.FormatInt(minutes, 10))
	f.RetryAfter = wait
	return f
}

// count adds one try, and locks or blocks when it is the last one allowed: the lock is in force before the comparison,
// so that of many tries at once no more than five are compared.
func (p *PIN) count(now time.Time) {
	if now.Sub(p.DayStart) >= day || p.DayStart.IsZero() {
		p.DayStart, p.DayFailures = now, 0
	}
	p.Failures++
	p.DayFailures++
	if p.Failures >= triesPerLock {
		until := now.Add(lockFor(p.Locks))
		p.LockedUntil, p.Failures = &until, 0
		p.Locks++
	}
	p.Blocked = p.Blocked || p.DayFailures >= triesPerDay
}

// lockFor is how long the next lock lasts after so many in a row.
func lockFor(locks int) time.Duration {
	wait := firstLock
	for range locks {
		if wait *= 2; wait >= longestLock {
			return longestLock
		}
	}
	return wait
}

// refuse records a wrong PIN in the audit trail and says what is left. The counter itself stands already.
func (s *Service) refuse(ctx context.Context, userID, channel string) error {
	now := s.now()
	var answer error
	err := s.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		u, err := Load(tx, userID)
		if err != nil {
			return err
		}
		action := "pin.wrong"
		answer = fault.New("pin_wrong", nil).With("left", strconv.Itoa(triesPerLock-u.PIN.Failures))
		if err := u.PIN.refusal(now); err != nil {
			answer = err
			action = "pin.locked"
			if u.PIN.Blocked {
				action = "pin.blocked"
			}
		}
		return audit.Append(tx, audit.Entry{
			Stream: Stream(u.ID), At: now, Actor: Stream(u.ID), Action: action, Why: channel,
			After: fmt.Sprintf("%d today", u.PIN.DayFailures),
		})
	})
	if err != nil {
		return fmt.Errorf("record wrong PIN: %w", err)
	}
	return answer
}

// accept clears the count after the right PIN, and stores it under the active pepper and cost when they changed.
func (s *Service) accept(ctx context.Context, userID string, compared PIN, pin TypedPIN, outdated bool) error {
	fresh := PIN{}
	if outdated {
		var failed error
		if err := s.gate.run(ctx, func() { fresh.Hash, fresh.Pepper, failed = s.deps.Hasher.Hash(pin) }); err != nil || failed != nil {
			fresh = PIN{} // the old hash goes on; the next right PIN tries again
		}
	}
	err := s.deps.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		u, err := Load(tx, userID)
		if err != nil {
			return err
		}
		if u.PIN == nil || !u.PIN.ChangedAt.Equal(compared.ChangedAt) {
			return fault.New("pin_busy", nil) // changed in between: what was compared is no longer the PIN
		}
		u.PIN.clear()
		if fresh.Hash != "" {
			u.PIN.Hash, u.PIN.Pepper = fresh.Hash, fresh.Pepper
		}
		return tx.Replace(store.Users, u)
	})
	if err != nil {
		return fmt.Errorf("accept PIN: %w", err)
	}
	return nil
}

// clear forgets the tries in a row and takes this one from the day's; wrong ones of the day stay counted.
func (p *PIN) clear() {
	p.Failures, p.Locks, p.LockedUntil = 0, 0, nil
	p.DayFailures = max(p.DayFailures-1, 0)
	p.Blocked = false
}
