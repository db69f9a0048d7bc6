package admin

import (
	"context"
	"errors"

	"offrampbot/services/store"
)

// Once runs a mutation at most once per request: a stored answer is returned as it was (repeated is true), otherwise fn
// runs in a transaction that also stores its answer. A refusal (an error of fn) stores nothing, so that it can be tried
// again. fn follows the rules of Engine.Update.
func (s *Service) Once(
	ctx context.Context, q Request, fn func(ctx context.Context, tx store.Tx) (status int, body []byte, err error),
) (answer *Answer, repeated bool, err error) {
	at := s.now()
	run := func() error {
		return s.engine.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			var err error
			answer, err = Recall(tx, q)
			if repeated = answer != nil; err != nil || repeated {
				return err
			}
			status, body, err := fn(ctx, tx)
			if err != nil {
				return err
			}
			answer = &Answer{Hash: q.Hash, Status: status, Body: body, AnsweredAt: at}
			return Remember(tx, q, status, body, at)
		})
	}
	err = run()
	if errors.Is(err, &store.ErrDuplicate{Collection: store.Counters}) { // the same request at the same moment won
		err = run()
	}
	if err != nil {
		return nil, false, Judge(err)
	}
	return answer, repeated, nil
}
