package bolt

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
	"go.mongodb.org/mongo-driver/v2/bson"

	"offrampbot/services/store"
)

// reader implements store.Reader on one bbolt transaction.
type reader struct {
	ctx    context.Context // a Reader lives inside one call, whose context this is
	engine *Engine
	tx     *bbolt.Tx
}

// Get implements store.Reader.
func (r *reader) Get(c store.Collection, id string, into store.Document) error {
	if err := r.check(); err != nil {
		return err
	}
	doc := r.document(c, id)
	if doc == nil {
		return fmt.Errorf("get %s of %s: %w", id, c, store.ErrNotFound)
	}
	return decode(doc, into)
}

func (r *reader) check() error {
	if r.ctx.Err() != nil {
		return fmt.Errorf("use transaction: %w: %w", store.ErrUnavailable, context.Cause(r.ctx))
	}
	return nil
}

func (r *reader) document(c store.Collection, id string) bson.Raw {
	b := r.tx.Bucket(documentsBucket(c))
	if b == nil {
		return nil
	}
	return b.Get([]byte(id))
}

func decode(doc bson.Raw, into store.Document) error {
	store.Blank(into)
	if err := bson.Unmarshal(doc, into); err != nil {
		return fmt.Errorf("decode document: %w", err)
	}
	return nil
}

// tx implements store.Tx.
type tx struct {
	reader
	run store.Run
}

var _ store.Tx = (*tx)(nil)

// Get implements store.Reader.
func (t *tx) Get(c store.Collection, id string, into store.Document) error {
	return t.run.Do(func() error { return t.reader.Get(c, id, into) })
}

// Find implements store.Reader.
func (t *tx) Find(q store.Query, each func(store.Decode) (bool, error)) error {
	return t.run.Do(func() error { return t.findAll(q, each) })
}

// Insert implements store.Tx.
func (t *tx) Insert(c store.Collection, doc store.Document) error {
	return t.run.Do(func() error { return t.insert(c, doc) })
}

// Ensure implements store.Tx.
func (t *tx) Ensure(c store.Collection, doc store.Document) (inserted bool, err error) {
	err = t.run.Do(func() error {
		if t.document(c, doc.Head().ID) != nil {
			return t.check()
		}
		inserted = true
		return t.insert(c, doc)
	})
	return inserted && err == nil, err
}

// Replace implements store.Tx.
func (t *tx) Replace(c store.Collection, doc store.Document) error {
	return t.run.Do(func() error {
		head := doc.Head()
		old, err := t.current(c, head.ID, head.Revision)
		if err != nil {
			return fmt.Errorf("replace %s of %s: %w", head.ID, c, err)
		}
		return t.put(c, doc, old, head.Revision+1)
	})
}

// Delete implements store.Tx.
func (t *tx) Delete(c store.Collection, id string, revision int64) error {
	return t.run.Do(func() error {
		old, err := t.current(c, id, revision)
		if err != nil {
			return fmt.Errorf("delete %s of %s: %w", id, c, err)
		}
		if err := t.reindex(c, id, old, nil); err != nil {
			return err
		}
		t.run.Wrote(c, nil)
		if err := t.tx.Bucket(documentsBucket(c)).Delete([]byte(id)); err != nil {
			return fmt.Errorf("delete %s of %s: %w", id, c, err)
		}
		return nil
	})
}

func (t *tx) insert(c store.Collection, doc store.Document) error {
	if err := t.check(); err != nil {
		return err
	}
	id := doc.Head().ID
	if id == "" {
		return fmt.Errorf("insert into %s: the document has no id", c)
	}
	if t.document(c, id) != nil {
		return &store.ErrDuplicate{Collection: c, Index: store.ByID}
	}
	return t.put(c, doc, nil, 1)
}

// current returns the stored document if it still has this revision.
func (t *tx) current(c store.Collection, id string, revision int64) (bson.Raw, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	old := t.document(c, id)
	if old == nil {
		return nil, store.ErrStale
	}
	if have, ok := old.Lookup("rev").AsInt64OK(); !ok || have != revision {
		return nil, store.ErrStale
	}
	return old, nil
}

func (t *tx) put(c store.Collection, doc store.Document, old bson.Raw, revision int64) error {
	id := doc.Head().ID
	t.run.Revisions.Set(doc.Head(), revision)
	raw, err := bson.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode %s of %s: %w", id, c, err)
	}
	if err := t.reindex(c, id, old, raw); err != nil {
		return err
	}
	b, err := t.tx.CreateBucketIfNotExists(documentsBucket(c))
	if err != nil {
		return fmt.Errorf("create collection %s: %w", c, err)
	}
	t.run.Wrote(c, doc)
	if err := b.Put([]byte(id), raw); err != nil {
		return fmt.Errorf("write %s of %s: %w", id, c, err)
	}
	return nil
}

// change is what a write does to one index.
type change struct {
	index    store.Index
	old, new [][]byte
}

// reindex moves the entries of a document from its old to its new form. All unique indexes are checked before the first
// entry is written: Append goes on after a duplicate, and must find nothing half written.
func (t *tx) reindex(c store.Collection, id string, old, doc bson.Raw) error {
	kept := t.engine.kept[c]
	changes := make([]change, 0, len(kept))
	for _, ix := range kept {
		ch, err := t.changeOf(ix, id, old, doc)
		if err != nil {
			return err
		}
		if len(ch.old)+len(ch.new) > 0 {
			changes = append(changes, ch)
		}
	}
	for _, ch := range changes {
		b := t.tx.Bucket(indexBucket(c, ch.index.Name))
		if err := deleteEntries(b, ch.index, ch.old, id); err != nil {
			return err
		}
		if err := putEntries(b, ch.index, ch.new, id); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) changeOf(ix store.Index, id string, old, doc bson.Raw) (change, error) {
	ch := change{index: ix}
	var err error
	if old != nil {
		if ch.old, err = entries(old, ix); err != nil {
			return ch, err
		}
	}
	if doc != nil {
		if ch.new, err = entries(doc, ix); err != nil {
			return ch, err
		}
	}
	if slices.EqualFunc(ch.old, ch.new, bytes.Equal) {
		return change{}, nil
	}
	if ix.Unique {
		b := t.tx.Bucket(indexBucket(ix.Collection, ix.Name))
		for _, key := range ch.new {
			if taken(b, key, id) {
				return ch, &store.ErrDuplicate{Collection: ix.Collection, Index: ix.Name}
			}
		}
	}
	return ch, nil
}
