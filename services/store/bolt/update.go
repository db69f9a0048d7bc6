package bolt

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"offrampbot/services/point"
	"offrampbot/services/store"
)

// Update implements store.Engine. There is one writer at a time, so fn runs once and never meets a conflict.
func (e *Engine) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	ctx, err := store.Enter(ctx, e)
	if err != nil {
		return err
	}
	return e.write(ctx, point.StoreCommit, func(ctx context.Context, t *tx) error {
		if err := fn(ctx, t); err != nil {
			return err
		}
		return t.run.Err()
	})
}

// Append implements store.Engine: one transaction in which each document that is already there is passed over.
func (e *Engine) Append(ctx context.Context, c store.Collection, docs []store.Document) ([]bool, error) {
	ctx, err := store.Enter(ctx, e)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, nil
	}
	isNew := make([]bool, len(docs))
	var clash error
	err = e.write(ctx, point.StoreAppend, func(_ context.Context, t *tx) error {
		for i, doc := range docs {
			switch err := t.insert(c, doc); {
			case err == nil:
				isNew[i] = true
			case errors.Is(err, &store.ErrDuplicate{Index: store.ByID}):
			case store.IsDuplicate(err):
				clash = fmt.Errorf("append to %s: %w", c, err)
			default:
				return fmt.Errorf("append to %s: %w", c, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return isNew, clash
}

// write runs fn as the one writer and commits, passing the choke point if anything was written.
func (e *Engine) write(ctx context.Context, name string, fn func(ctx context.Context, t *tx) error) (err error) {
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	if err := e.takeTurn(ctx); err != nil {
		return err
	}
	defer e.giveTurn()
	btx, err := e.begin(true)
	if err != nil {
		return err
	}
	t := &tx{reader: reader{ctx: ctx, engine: e, tx: btx}}
	done := false
	defer func() { // also when fn panics
		if !done {
			_ = btx.Rollback() // after a commit that went wrong it is closed already
		}
		if !done || err != nil {
			t.run.Revisions.Restore()
		}
	}()
	if err := fn(ctx, t); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("commit: %w: %w", store.ErrUnavailable, context.Cause(ctx))
	}
	if len(t.run.Written()) == 0 {
		return nil
	}
	if err := point.Before(ctx, name); err != nil {
		return err
	}
	if err := btx.Commit(); err != nil {
		return fmt.Errorf("commit: %w: %w", store.ErrCommitUnknown, err)
	}
	done = true
	e.wakes.Wake(t.run.Written()...)
	if err := point.After(ctx, name); err != nil {
		return fmt.Errorf("commit: %w: %w", store.ErrCommitUnknown, err)
	}
	return nil
}

// CompareIndexes says what a database lacks or holds differently, one sentence each. Open has already built everything
// that was declared, so there is nothing to find.
func (e *Engine) CompareIndexes(context.Context) ([]string, error) { return nil, nil }

// EnsureIndexes has nothing to add: Open built every declared index.
func (e *Engine) EnsureIndexes(context.Context) error { return nil }

// DropExtra removes the indexes that an earlier release declared and this one does not.
func (e *Engine) DropExtra(ctx context.Context) error {
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	if err := e.takeTurn(ctx); err != nil {
		return err
	}
	defer e.giveTurn()
	var kept map[store.Collection][]store.Index
	err := e.db.Update(func(btx *bbolt.Tx) (err error) {
		kept, err = e.syncIndexes(btx, true)
		return err
	})
	if err != nil {
		return fmt.Errorf("drop extra indexes: %w", err)
	}
	e.kept = kept
	return nil
}
