package bolt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
	"go.mongodb.org/mongo-driver/v2/bson"

	"offrampbot/services/store"
)

var (
	metaBucket = []byte("meta")
	indexesKey = []byte("indexes")
)

func documentsBucket(c store.Collection) []byte { return []byte("documents/" + c) }

func indexBucket(c store.Collection, name string) []byte {
	return []byte("index/" + string(c) + "/" + name)
}

// stored is the set of indexes that the file holds, by "collection/name".
type stored map[string]store.Index

func (e *Engine) loadIndexes() error {
	return e.db.Update(func(btx *bbolt.Tx) (err error) {
		e.kept, err = e.syncIndexes(btx, false)
		return err
	})
}

// syncIndexes makes the file hold what is declared, removing extra indexes only when asked, and returns what it holds.
func (e *Engine) syncIndexes(btx *bbolt.Tx, dropExtra bool) (map[store.Collection][]store.Index, error) {
	meta, err := btx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return nil, fmt.Errorf("create bucket: %w", err)
	}
	have := stored{}
	if text := meta.Get(indexesKey); text != nil {
		if err := json.Unmarshal(text, &have); err != nil {
			return nil, fmt.Errorf("read stored indexes: %w", err)
		}
	}
	want := stored{}
	for _, ix := range e.catalogue.Indexes() {
		key := string(ix.Collection) + "/" + ix.Name
		want[key] = ix
		if old, ok := have[key]; ok && old.Unique == ix.Unique && slices.Equal(old.Fields, ix.Fields) {
			continue
		}
		if err := buildIndex(btx, ix); err != nil {
			return nil, err
		}
		have[key] = ix
	}
	for key, ix := range have {
		if _, ok := want[key]; ok || !dropExtra {
			continue
		}
		if err := btx.DeleteBucket(indexBucket(ix.Collection, ix.Name)); err != nil {
			return nil, fmt.Errorf("drop index %s: %w", key, err)
		}
		delete(have, key)
	}
	text, err := json.Marshal(have)
	if err != nil {
		return nil, fmt.Errorf("write stored indexes: %w", err)
	}
	if err := meta.Put(indexesKey, text); err != nil {
		return nil, fmt.Errorf("write stored indexes: %w", err)
	}
	return have.byCollection(), nil
}

// byCollection sorts by name, so that of two violated indexes the same one is always named.
func (s stored) byCollection() map[store.Collection][]store.Index {
	out := map[store.Collection][]store.Index{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		out[s[key].Collection] = append(out[s[key].Collection], s[key])
	}
	return out
}

func buildIndex(btx *bbolt.Tx, ix store.Index) error {
	name := indexBucket(ix.Collection, ix.Name)
	if btx.Bucket(name) != nil {
		if err := btx.DeleteBucket(name); err != nil {
			return fmt.Errorf("rebuild index %s of %s: %w", ix.Name, ix.Collection, err)
		}
	}
	b, err := btx.CreateBucket(name)
	if err != nil {
		return fmt.Errorf("build index %s of %s: %w", ix.Name, ix.Collection, err)
	}
	documents := btx.Bucket(documentsBucket(ix.Collection))
	if documents == nil {
		return nil
	}
	return documents.ForEach(func(id, doc []byte) error {
		keys, err := entries(bson.Raw(doc), ix)
		if err != nil {
			return err
		}
		return putEntries(b, ix, keys, string(id))
	})
}

// putEntries stores the entries of one document, or fails with ErrDuplicate.
func putEntries(b *bbolt.Bucket, ix store.Index, keys [][]byte, id string) error {
	for _, key := range keys {
		if ix.Unique && taken(b, key, id) {
			return &store.ErrDuplicate{Collection: ix.Collection, Index: ix.Name}
		}
		key, err := appendValue(slices.Clip(key), id)
		if err != nil {
			return err
		}
		if err := b.Put(key, []byte(id)); err != nil {
			return fmt.Errorf("write index %s of %s: %w", ix.Name, ix.Collection, err)
		}
	}
	return nil
}

// taken reports whether another document has an entry of these values.
func taken(b *bbolt.Bucket, values []byte, id string) bool {
	c := b.Cursor()
	for key, owner := c.Seek(values); key != nil && bytes.HasPrefix(key, values); key, owner = c.Next() {
		if string(owner) != id {
			return true
		}
	}
	return false
}

func deleteEntries(b *bbolt.Bucket, ix store.Index, keys [][]byte, id string) error {
	for _, key := range keys {
		key, err := appendValue(slices.Clip(key), id)
		if err != nil {
			return err
		}
		if err := b.Delete(key); err != nil {
			return fmt.Errorf("write index %s of %s: %w", ix.Name, ix.Collection, err)
		}
	}
	return nil
}
