package deposit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

// leaseTolerance is how far two processes' clocks may be apart: a lease is not used in its last two seconds and not
// taken over before two seconds after its end.
const leaseTolerance = 2 * time.Second

// errLeaseLost: another process watches the chain now, so this poll commits nothing more.
var errLeaseLost = errors.New("lease lost")

// Lease is the exclusive right of one process to watch a chain, id `watch:<chain>` (G13). Its revision is the fence: a
// commit replaces it, so a process that was overtaken cannot commit.
type Lease struct {
	store.Meta `bson:",inline"`
	Owner      string    `bson:"owner" json:"owner"`
	Until      time.Time `bson:"until" json:"until"`
}

// LeaseID is the id of the lease on a chain's watcher.
func LeaseID(chain string) string { return "watch:" + chain }

// takeLease takes or renews the lease for holder. ok is false while another process holds it.
func takeLease(ctx context.Context, engine store.Engine, id, holder string, now time.Time, life time.Duration) (
	held Lease, ok bool, err error,
) {
	err = engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		held, ok = Lease{}, false
		l := Lease{}
		err := tx.Get(store.Leases, id, &l)
		fresh := errors.Is(err, store.ErrNotFound)
		if err != nil && !fresh {
			return err
		}
		if !fresh && l.Owner != holder && !now.After(l.Until.Add(leaseTolerance)) {
			return nil
		}
		l.Owner, l.Until = holder, now.Add(life)
		if fresh {
			l.ID, l.Version = id, 1
			err = tx.Insert(store.Leases, &l)
		} else {
			err = tx.Replace(store.Leases, &l)
		}
		held, ok = l, err == nil
		return err
	})
	if store.IsDuplicate(err) || errors.Is(err, store.ErrStale) {
		return Lease{}, false, nil // another process was faster
	}
	if err != nil {
		return Lease{}, false, fmt.Errorf("take lease %s: %w", id, err)
	}
	return held, ok, nil
}

// usable reports whether the lease may still be relied on.
func (l Lease) usable(now time.Time) bool { return now.Before(l.Until.Add(-leaseTolerance)) }
