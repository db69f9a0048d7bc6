package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
)

// Sweeper empties bodies and deletes receipts when their time has come.
type Sweeper struct {
	engine store.Engine
	now    func() time.Time
}

// sweepBatch is how many receipts one transaction touches.
const sweepBatch = 10

// NewSweeper returns a Sweeper.
func NewSweeper(engine store.Engine, now func() time.Time) (*Sweeper, error) {
	if engine == nil || now == nil {
		return nil, errors.New("make inbox sweeper: engine or now is missing")
	}
	return &Sweeper{engine: engine, now: now}, nil
}

// Step sweeps one batch and says whether there was one. Several processes may sweep at once: each change is conditional.
func (s *Sweeper) Step(ctx context.Context) (worked bool, err error) {
	now := s.now()
	q := store.Query{
		Collection: store.Inbox, Index: "sweep", Until: now.Add(time.Millisecond), Limit: sweepBatch,
	}
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		due, err := store.All[delivery.Receipt](tx, q)
		if err != nil {
			return err
		}
		worked = len(due) > 0
		for _, r := range due {
			if err := delivery.Sweep(tx, r, now); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrStale) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("sweep inbox: %w", err)
	}
	return worked, nil
}
