package mongo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"offrampbot/services/point"
	"offrampbot/services/store"
)

const (
	maxAttempts  = 100 // of one Update; the deadline usually ends it earlier
	maxCommits   = 10  // of one attempt whose outcome stays unknown
	firstBackoff = 2 * time.Millisecond
	lastBackoff  = 100 * time.Millisecond
)

// errAgain marks an attempt that the server aborted for a reason that may have passed: a conflict, a new primary.
type errAgain struct{ cause error }

func (e *errAgain) Error() string { return e.cause.Error() }
func (e *errAgain) Unwrap() error { return e.cause }

// Update implements store.Engine. The whole, with all its retries, ends at the caller's deadline or the engine's
// time-out, whichever comes first.
func (e *Engine) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	ctx, err := e.enter(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	session, err := e.client.StartSession(options.Session().SetCausalConsistency(false))
	if err != nil {
		return fmt.Errorf("start session: %w", unavailable(ctx, err))
	}
	defer func() {
		ctx, cancel := cleanUp(ctx)
		defer cancel()
		session.EndSession(ctx)
	}()
	for n := 1; ; n++ {
		err := e.attempt(ctx, session, fn)
		again := (*errAgain)(nil)
		if !errors.As(err, &again) {
			return err
		}
		if store.IsOnce(ctx) && hasCode(again.cause, codeWriteConflict) {
			return fmt.Errorf("update: %w: %w", store.ErrStale, again.cause)
		}
		if n == maxAttempts || !pause(ctx, n) {
			return fmt.Errorf("update, after %d attempts: %w", n, unavailable(ctx, again.cause))
		}
	}
}

// pause waits between two attempts, with jitter so that rivals do not meet again; false means that ctx has ended.
func pause(ctx context.Context, n int) bool {
	d := min(firstBackoff<<min(n-1, 10), lastBackoff)
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(d)) + 1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt runs fn in one transaction and commits it. The transaction begins on the server with fn's first call.
func (e *Engine) attempt(ctx context.Context, session *driver.Session, fn func(context.Context, store.Tx) error) (err error) {
	concern := *e.durable
	err = session.StartTransaction(options.Transaction().SetReadConcern(readconcern.Snapshot()).
		SetWriteConcern(&concern).SetReadPreference(readpref.Primary()))
	if err != nil {
		return fmt.Errorf("start transaction: %w", err)
	}
	t := &tx{reader: reader{ctx: driver.NewSessionContext(ctx, session), engine: e}}
	committing := false
	defer func() { // also when fn panics
		if !committing {
			abort(ctx, session, &concern)
		}
		if !committing || err != nil {
			t.run.Revisions.Restore()
		}
	}()
	err = fn(ctx, t)
	switch {
	case t.run.Err() != nil && isTransient(t.run.Err()):
		// Whatever fn made of it: the server has aborted, and what fn decided on may be gone.
		return &errAgain{t.run.Err()}
	case err != nil:
		return err
	case t.run.Err() != nil:
		return t.run.Err()
	case ctx.Err() != nil:
		return fmt.Errorf("commit: %w", unavailable(ctx, ctx.Err()))
	}
	if len(t.run.Written()) > 0 {
		if err := point.Before(ctx, point.StoreCommit); err != nil {
			return err
		}
	}
	committing = true
	return e.commit(ctx, session, t)
}

// abort ends a transaction that will not be committed. There is nothing to make durable, and to wait for a majority and
// the journal would cost each retry after a conflict as much as a commit; the driver sends the concern that the
// transaction was started with, so that one is relaxed.
func abort(ctx context.Context, session *driver.Session, concern *writeconcern.WriteConcern) {
	concern.W, concern.Journal = 1, nil
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	// An abort that does not arrive is made up for by the server, which ends idle transactions itself.
	_ = session.AbortTransaction(ctx)
}

// commit asks for the commit until its outcome is known, or says that it is not.
func (e *Engine) commit(ctx context.Context, session *driver.Session, t *tx) error {
	for n := 1; ; n++ {
		err := session.CommitTransaction(ctx)
		switch {
		case err == nil && len(t.run.Written()) == 0:
			return nil
		case err == nil:
			e.wakes.Wake(t.run.Written()...)
			if err := point.After(ctx, point.StoreCommit); err != nil {
				return fmt.Errorf("commit: %w: %w", store.ErrCommitUnknown, err)
			}
			return nil
		case isTransient(err) && !hasLabel(err, labelUnknown):
			return &errAgain{err} // the server says that it was not committed
		case len(t.run.Written()) == 0:
			return fmt.Errorf("commit: %w", unavailable(ctx, err)) // nothing to be unsure of
		case !hasLabel(err, labelUnknown) || n == maxCommits || !pause(ctx, n):
			e.wakes.Wake(t.run.Written()...)
			return fmt.Errorf("commit: %w: %w", store.ErrCommitUnknown, err)
		}
	}
}
