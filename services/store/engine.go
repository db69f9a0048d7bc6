package store

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
)

// This file holds the small parts that both engines share.

type markKey struct{ engine any }

// Enter marks ctx as being inside a transaction of the engine, or fails with ErrNested when it already is. Engines
// compare by identity, so an engine passes a pointer to itself.
func Enter(ctx context.Context, engine any) (context.Context, error) {
	if ctx.Value(markKey{engine}) != nil {
		return ctx, ErrNested
	}
	return context.WithValue(ctx, markKey{engine}, true), nil
}

// Wakes delivers the wake-ups of Engine.Watch. The zero value is ready.
type Wakes struct {
	mu       sync.Mutex
	watchers map[Collection][]watcher
}

type watcher struct {
	ch     chan struct{}
	topics []string // none: everything
}

// Watch returns a new channel that holds one wake-up at most; every caller has its own.
func (w *Wakes) Watch(c Collection, topics ...string) <-chan struct{} {
	ch := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = map[Collection][]watcher{}
	}
	w.watchers[c] = append(w.watchers[c], watcher{ch, topics})
	return ch
}

// Wake wakes whom these changes concern and never blocks.
func (w *Wakes) Wake(changes ...Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, change := range changes {
		for _, one := range w.watchers[change.collection] {
			if !change.concerns(one) {
				continue
			}
			select {
			case one.ch <- struct{}{}:
			default: // a wake-up is already waiting; one is enough
			}
		}
	}
}

// Change is one written document, as far as watchers need to know.
type Change struct {
	collection Collection
	topic      string
	toEveryone bool
}

// ChangeOf is the change of a document that is written now; nil for one that is deleted.
func ChangeOf(c Collection, doc Document) Change {
	waker, ok := doc.(Waker)
	if !ok {
		return Change{collection: c, toEveryone: true}
	}
	return Change{collection: c, topic: waker.Wakes()}
}

func (c Change) concerns(w watcher) bool {
	return c.toEveryone || len(w.topics) == 0 || slices.Contains(w.topics, c.topic)
}

// Blank empties the struct behind a document before a row is decoded into it. Otherwise a field that the row does not
// have would keep what an earlier row, or an earlier run of the same callback, had left there.
func Blank(into Document) { reflect.ValueOf(into).Elem().SetZero() }

// Run is what an engine keeps about one run of a transaction. The zero value is ready.
type Run struct {
	Revisions Revisions
	err       error
	written   []Change
}

// Do makes one call of the transaction unless an earlier one failed. The first error poisons it: later calls and the
// commit return it, because the server has usually aborted by then, and going on could only loop (B80). That a document
// is not there is an answer and poisons nothing.
func (r *Run) Do(call func() error) error {
	if r.err != nil {
		return r.err
	}
	err := call()
	if err != nil && !errors.Is(err, ErrNotFound) {
		r.err = err
	}
	return err
}

// Err is what poisoned the transaction.
func (r *Run) Err() error { return r.err }

// Wrote remembers what the transaction has written, nil for a document it has deleted; the commit wakes whom it concerns.
func (r *Run) Wrote(c Collection, doc Document) { r.written = append(r.written, ChangeOf(c, doc)) }

// Written lists what the transaction has written.
func (r *Run) Written() []Change { return r.written }

// Revisions remembers the revisions that a transaction wrote into documents, so that an abort can take them back: a
// caller that runs the same callback again must find its documents as they were. The zero value is ready.
type Revisions struct{ written []revision }

type revision struct {
	head     *Meta
	id       string
	old, new int64
}

// Set gives a document a new revision.
func (r *Revisions) Set(m *Meta, to int64) {
	r.written = append(r.written, revision{m, m.ID, m.Revision, to})
	m.Revision = to
}

// Restore takes every revision back, the last one first, unless the struct has come to hold another document since: one
// document with another's revision could overwrite what it has not seen.
func (r *Revisions) Restore() {
	for i := len(r.written) - 1; i >= 0; i-- {
		if w := r.written[i]; w.head.ID == w.id && w.head.Revision == w.new {
			w.head.Revision = w.old
		}
	}
	r.written = nil
}
