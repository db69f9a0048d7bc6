package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"offrampbot/services/store"
)

const (
	resealPage  = 100 // documents per snapshot
	resealTries = 5   // how often a document is read again because somebody else changed it
)

// reseal walks one collection. A document that somebody changes meanwhile is read again.
func reseal[T any, P interface {
	*T
	store.Document
}](ctx context.Context, db store.Engine, keys keyring, c store.Collection, r *rotation, fields func(P) []sealedField) error {
	after := store.Cursor(nil)
	for {
		var docs []P
		err := db.View(ctx, func(_ context.Context, rd store.Reader) (err error) {
			docs, err = store.All[T, P](rd, store.Query{Collection: c, Index: store.ByID, Limit: resealPage, After: after})
			return err
		})
		if err != nil {
			return fmt.Errorf("walk %s: %w", c, err)
		}
		for _, d := range docs {
			if err := resealOne(ctx, db, keys, c, r, d, fields); err != nil {
				return fmt.Errorf("seal %s of %s anew: %w", d.Head().ID, c, err)
			}
		}
		if len(docs) < resealPage {
			return nil
		}
		after = store.CursorOf(docs[len(docs)-1])
	}
}

// resealOne opens and seals the fields of one document outside the transaction, because sealing needs randomness, and
// stores them where the document still holds what was opened.
func resealOne[T any, P interface {
	*T
	store.Document
}](ctx context.Context, db store.Engine, keys keyring, c store.Collection, r *rotation, d P, fields func(P) []sealedField) error {
	id := d.Head().ID
	for range resealTries {
		fresh, left, problem := sealAnew(keys, fields(d))
		if len(fresh) == 0 {
			r.add(c, id, 0, left, problem)
			return nil
		}
		stored := false
		err := db.Update(ctx, func(_ context.Context, tx store.Tx) error {
			stored = false
			now := P(new(T))
			if err := tx.Get(c, id, now); err != nil {
				return err
			}
			for i, f := range fields(now) {
				if pair, ok := fresh[i]; ok {
					if !bytes.Equal(*f.value, pair[0]) {
						d = now
						return nil // sealed anew by somebody else: look again
					}
					*f.value = pair[1]
				}
			}
			stored = true
			return tx.Replace(c, now)
		})
		switch {
		case errors.Is(err, store.ErrNotFound): // swept meanwhile
			return nil
		case errors.Is(err, store.ErrStale):
			continue
		case err != nil:
			return err
		case stored:
			r.add(c, id, len(fresh), left, problem)
			return nil
		}
	}
	return store.ErrStale
}

// add counts what became of one document.
func (r *rotation) add(c store.Collection, id string, sealed, left int, problem error) {
	r.Sealed += sealed
	r.Left += left
	if problem != nil {
		r.Unreadable = append(r.Unreadable, unreadable{Collection: string(c), ID: id, Text: problem.Error()})
	}
}

// sealAnew seals what is not under the active key: by place, what was there and what shall be. The error names the first
// field that does not open; the others are sealed all the same.
func sealAnew(keys keyring, fields []sealedField) (fresh map[int][2][]byte, left int, err error) {
	fresh = map[int][2][]byte{}
	for i, f := range fields {
		if len(*f.value) == 0 {
			continue
		}
		if !keys.NeedsReseal(*f.value) {
			left++
			continue
		}
		plain, problem := keys.Open(*f.value, f.record)
		if problem != nil {
			err = problem
			continue
		}
		sealed, problem := keys.Seal(plain, f.record)
		if problem != nil {
			err = problem
			continue
		}
		fresh[i] = [2][]byte{*f.value, sealed}
	}
	return fresh, left, err
}
