package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/store"
)

// reader implements store.Reader inside one session.
type reader struct {
	ctx    context.Context // of the one call that a Reader lives in; it carries the session
	engine *Engine
	view   bool // outside a transaction
	fixed  bool // the snapshot's time is fixed: something was read
}

// read runs one read. A view may start at a time at which a collection was just being made; as long as nothing else was
// read at that time, it can start again at a later one. (A transaction is run again as a whole.)
func read[T any](r *reader, call func() (T, error)) (T, error) {
	for n := 1; ; n++ {
		v, err := call()
		if !r.view || r.fixed || !hasCode(err, codeSnapshotUnavailable) || n == maxAttempts || !pause(r.ctx, n) {
			r.fixed = true
			return v, err
		}
	}
}

// Get implements store.Reader.
func (r *reader) Get(c store.Collection, id string, into store.Document) error {
	raw, err := read(r, func() (bson.Raw, error) {
		return r.engine.collection(c).FindOne(r.ctx, bson.D{{Key: "_id", Value: id}}).Raw()
	})
	if errors.Is(err, driver.ErrNoDocuments) {
		return fmt.Errorf("get %s of %s: %w", id, c, store.ErrNotFound)
	}
	if err != nil {
		return classify(r.ctx, "read", c, err)
	}
	return decode(raw, into)
}

func decode(doc bson.Raw, into store.Document) error {
	store.Blank(into)
	if err := bson.Unmarshal(doc, into); err != nil {
		return fmt.Errorf("decode document: %w", err)
	}
	return nil
}

// tx implements store.Tx in one transaction.
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
	return t.run.Do(func() error { return t.reader.Find(q, each) })
}

// Insert implements store.Tx.
func (t *tx) Insert(c store.Collection, doc store.Document) error {
	return t.run.Do(func() error {
		raw, err := encodeNew(&t.run.Revisions, c, doc)
		if err != nil {
			return err
		}
		if _, err := t.engine.collection(c).InsertOne(t.ctx, raw); err != nil {
			return classify(t.ctx, "insert into", c, err)
		}
		t.run.Wrote(c, doc)
		return nil
	})
}

// Ensure implements store.Tx in one round trip: an upsert that sets fields only when it inserts.
func (t *tx) Ensure(c store.Collection, doc store.Document) (inserted bool, err error) {
	err = t.run.Do(func() error {
		head := doc.Head()
		before := head.Revision
		raw, err := encodeNew(&t.run.Revisions, c, doc)
		if err != nil {
			return err
		}
		result, err := t.engine.collection(c).UpdateOne(t.ctx, bson.D{{Key: "_id", Value: head.ID}},
			bson.D{{Key: "$setOnInsert", Value: raw}}, options.UpdateOne().SetUpsert(true))
		if err != nil {
			return classify(t.ctx, "insert into", c, err)
		}
		if inserted = result.UpsertedCount == 1; inserted {
			t.run.Wrote(c, doc)
		} else {
			t.run.Revisions.Set(head, before)
		}
		return nil
	})
	return inserted, err
}

// Replace implements store.Tx.
func (t *tx) Replace(c store.Collection, doc store.Document) error {
	return t.run.Do(func() error {
		head := doc.Head()
		match := byRevision(head.ID, head.Revision)
		t.run.Revisions.Set(head, head.Revision+1)
		raw, err := encode(c, doc)
		if err != nil {
			return err
		}
		result, err := t.engine.collection(c).ReplaceOne(t.ctx, match, raw)
		if err != nil {
			return classify(t.ctx, "replace in", c, err)
		}
		if result.MatchedCount != 1 {
			return fmt.Errorf("replace %s of %s: %w", head.ID, c, store.ErrStale)
		}
		t.run.Wrote(c, doc)
		return nil
	})
}

// Delete implements store.Tx.
func (t *tx) Delete(c store.Collection, id string, revision int64) error {
	return t.run.Do(func() error {
		result, err := t.engine.collection(c).DeleteOne(t.ctx, byRevision(id, revision))
		if err != nil {
			return classify(t.ctx, "delete from", c, err)
		}
		if result.DeletedCount != 1 {
			return fmt.Errorf("delete %s of %s: %w", id, c, store.ErrStale)
		}
		t.run.Wrote(c, nil)
		return nil
	})
}

func byRevision(id string, revision int64) bson.D {
	return bson.D{{Key: "_id", Value: id}, {Key: "rev", Value: revision}}
}
