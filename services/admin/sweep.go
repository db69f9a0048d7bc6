package admin

import (
	"context"
	"fmt"
	"time"

	"offrampbot/services/store"
)

const sweepBatch = 10 // documents per transaction

// Step expires approvals that nobody decided and forgets old stored answers. It reports whether it found any.
func (s *Service) Step(ctx context.Context) (worked bool, err error) {
	at := s.now()
	err = s.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		expired, err := s.expire(tx, at)
		if err != nil {
			return err
		}
		forgotten, err := s.forget(tx, at)
		worked = expired+forgotten > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("sweep approvals and answers: %w", err)
	}
	return worked, nil
}

func (s *Service) expire(tx store.Tx, at time.Time) (int, error) {
	old, err := store.All[Approval](tx, store.Query{
		Collection: store.Approvals, Index: "state", Equal: []any{string(Open)},
		Until: at.Add(-s.cfg.ApprovalTTL), Limit: sweepBatch,
	})
	if err != nil {
		return 0, err
	}
	for _, a := range old {
		if err := a.close(tx, Expired, "", "timer", "", at); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

func (s *Service) forget(tx store.Tx, at time.Time) (int, error) {
	old, err := store.All[Answer](tx, store.Query{
		Collection: store.Counters, Index: "answered", Until: at.Add(-s.cfg.AnswerTTL), Limit: sweepBatch,
	})
	if err != nil {
		return 0, err
	}
	for _, a := range old {
		if err := tx.Delete(store.Counters, a.ID, a.Revision); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}
