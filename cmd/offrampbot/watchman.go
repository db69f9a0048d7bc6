package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"offrampbot/services/invariant"
	"offrampbot/services/store"
)

const (
	statementEvery  = 10 * time.Minute // how often the providers' statements are compared
	statementWindow = 24 * time.Hour   // how far back
)

// openWatchman makes what looks for differences while the product runs: invariants of what has moved, and the providers'
// statements (D20, D24). What the chains hold is compared by `reconcile`, because that asks for every address.
func (a *app) openWatchman() (watchman, statements func(context.Context) (bool, error), err error) {
	checker, err := invariant.New(a.db, a.registry)
	if err != nil {
		return nil, nil, err
	}
	w, err := invariant.NewWatchman(checker, func(ctx context.Context, d invariant.Difference) error {
		return a.differs(ctx, "invariant", d.ID, d.Rule, d.Text)
	}, now)
	if err != nil {
		return nil, nil, err
	}
	r, err := a.reconciler(statementWindow)
	if err != nil {
		return nil, nil, err
	}
	turn := &turn{db: a.db, id: "turn:statements", every: statementEvery}
	return w.Step, func(ctx context.Context) (bool, error) {
		if mine, err := turn.take(ctx); !mine || err != nil {
			return false, err
		}
		report, err := r.Statements(ctx)
		if err != nil {
			return false, err
		}
		for _, d := range report.Differences {
			if strings.HasPrefix(d.ID, "statement:") { // no answer proves nothing, and other alarms tell of it
				a.log.WarnContext(ctx, "statement not compared", "provider", d.ID, "why", d.Text)
				continue
			}
			if err := a.differs(ctx, "statement", d.ID, d.Rule, d.Text); err != nil {
				return false, err
			}
		}
		return false, nil
	}, nil
}

// differs tells people that something does not hold.
func (a *app) differs(ctx context.Context, kind, id, rule, text string) error {
	a.log.ErrorContext(ctx, "books differ", "kind", kind, "id", id, "rule", rule, "why", text)
	return alarms{a}.RaiseAlarm(ctx, kind, id, rule+": "+text)
}

// turn lets one of all processes do something every so often.
type turn struct {
	db    store.Engine
	id    string
	every time.Duration
}

// taken is when the last turn began.
type taken struct {
	store.Meta `bson:",inline"`
	At         time.Time `bson:"at"`
}

// take reports whether it is this process's turn now. Of two that ask at once one gets it.
func (t *turn) take(ctx context.Context) (mine bool, err error) {
	err = t.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
		mine = false
		last := taken{Meta: store.Meta{ID: t.id, Version: 1}}
		err := tx.Get(store.Leases, t.id, &last)
		switch {
		case errors.Is(err, store.ErrNotFound):
			last = taken{Meta: store.Meta{ID: t.id, Version: 1}, At: nowMillis()}
			_, err = tx.Ensure(store.Leases, &last) // the first turn is when so much time has passed
			return err
		case err != nil:
			return err
		case nowMillis().Sub(last.At).Abs() < t.every:
			return nil
		}
		last.At, mine = nowMillis(), true
		return tx.Replace(store.Leases, &last)
	})
	if errors.Is(err, store.ErrStale) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take the turn of %s: %w", t.id, err)
	}
	return mine, nil
}
