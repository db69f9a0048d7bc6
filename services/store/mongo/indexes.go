package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/store"
)

// found is one index as the server describes it.
type found struct {
	Name    string `bson:"name"`
	Keys    bson.D `bson:"key"`
	Unique  bool   `bson:"unique"`
	Partial bson.D `bson:"partialFilterExpression"`
	// Options that a declared index never has.
	Sparse    bool     `bson:"sparse"`
	Expiry    any      `bson:"expireAfterSeconds"`
	Collation bson.Raw `bson:"collation"`
	Hidden    bool     `bson:"hidden"`
}

// CompareIndexes says what the database lacks or holds differently, one sentence each; `serve` refuses to start on any.
// Extra collections and indexes are tolerated: the release before or after this one may need them (B83).
func (e *Engine) CompareIndexes(ctx context.Context) ([]string, error) {
	ctx, cancel := e.deadline(ctx, schemaTimeout)
	defer cancel()
	have, err := e.collectionsHeld(ctx)
	if err != nil {
		return nil, err
	}
	var differences []string
	for _, c := range e.collections {
		if !have[c] {
			differences = append(differences, fmt.Sprintf("collection %s is missing", c))
			continue
		}
		missing, differing, err := e.compare(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, ix := range missing {
			differences = append(differences, fmt.Sprintf("index %s of %s is missing", ix.Name, c))
		}
		differences = append(differences, differing...)
	}
	return differences, nil
}

// EnsureIndexes makes the collections and indexes that are missing; transactions then find everything in place. An index
// that exists in another form is an error: give the new form a new name, and drop the old one after the release. It is
// safe to repeat, and to run while others use the database.
func (e *Engine) EnsureIndexes(ctx context.Context) error {
	ctx, cancel := e.deadline(ctx, schemaTimeout)
	defer cancel()
	have, err := e.collectionsHeld(ctx)
	if err != nil {
		return err
	}
	var problems []string
	for _, c := range e.collections {
		missing := e.declared(c)
		if have[c] {
			var differing []string
			if missing, differing, err = e.compare(ctx, c); err != nil {
				return err
			}
			problems = append(problems, differing...)
		}
		if err := e.create(ctx, c, have[c], missing); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(problems, "; "), store.ErrIndex)
	}
	return nil
}

func (e *Engine) create(ctx context.Context, c store.Collection, exists bool, missing []store.Index) error {
	if len(missing) == 0 {
		if exists {
			return nil
		}
		err := e.database.CreateCollection(ctx, string(c))
		if err != nil && !hasCode(err, codeNamespaceExists) { // another process was faster
			return fmt.Errorf("create collection %s: %w", c, unavailable(ctx, err))
		}
		return nil
	}
	models := make([]driver.IndexModel, len(missing))
	for i, ix := range missing {
		models[i] = model(ix)
	}
	// On a collection that does not exist this makes it as well.
	if _, err := e.collection(c).Indexes().CreateMany(ctx, models); err != nil {
		if hasCode(err, codeDuplicateKey) {
			return fmt.Errorf("create indexes of %s: stored documents clash: %w", c, duplicateOf(c, err.Error()))
		}
		return fmt.Errorf("create indexes of %s: %w", c, unavailable(ctx, err))
	}
	return nil
}

// DropExtra removes the indexes that this release does not declare. Collections stay.
func (e *Engine) DropExtra(ctx context.Context) error {
	ctx, cancel := e.deadline(ctx, schemaTimeout)
	defer cancel()
	have, err := e.collectionsHeld(ctx)
	if err != nil {
		return err
	}
	for _, c := range e.collections {
		if !have[c] {
			continue
		}
		indexes, err := e.indexesHeld(ctx, c)
		if err != nil {
			return err
		}
		for name := range indexes {
			if _, declared := e.catalogue.Find(c, name); declared || name == "_id_" {
				continue
			}
			err := e.collection(c).Indexes().DropOne(ctx, name)
			if err != nil && !hasCode(err, codeIndexNotFound) {
				return fmt.Errorf("drop index %s of %s: %w", name, c, unavailable(ctx, err))
			}
		}
	}
	return nil
}

func (e *Engine) declared(c store.Collection) []store.Index {
	return slices.DeleteFunc(e.catalogue.Indexes(), func(ix store.Index) bool { return ix.Collection != c })
}

func model(ix store.Index) driver.IndexModel {
	keys := bson.D{}
	for _, key := range indexKeys(ix.Fields, ix.Unique) {
		keys = append(keys, bson.E{Key: key, Value: int32(1)})
	}
	covers := bson.D{}
	for _, field := range ix.Fields {
		covers = append(covers, bson.E{Key: field, Value: bson.D{{Key: "$exists", Value: true}}})
	}
	o := options.Index().SetName(ix.Name).SetPartialFilterExpression(covers)
	if ix.Unique {
		o.SetUnique(true)
	}
	return driver.IndexModel{Keys: keys, Options: o}
}

func (e *Engine) collectionsHeld(ctx context.Context) (map[store.Collection]bool, error) {
	if e.closed.Load() {
		return nil, store.ErrClosed
	}
	names, err := e.database.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return nil, fmt.Errorf("list collections: %w", unavailable(ctx, err))
	}
	have := make(map[store.Collection]bool, len(names))
	for _, name := range names {
		have[store.Collection(name)] = true
	}
	return have, nil
}

func (e *Engine) indexesHeld(ctx context.Context, c store.Collection) (map[string]found, error) {
	rows, err := e.collection(c).Indexes().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list indexes of %s: %w", c, unavailable(ctx, err))
	}
	var list []found
	if err := rows.All(ctx, &list); err != nil {
		return nil, fmt.Errorf("list indexes of %s: %w", c, unavailable(ctx, err))
	}
	have := make(map[string]found, len(list))
	for _, f := range list {
		have[f.Name] = f
	}
	return have, nil
}

// compare looks at one collection: which declared indexes are missing, and which differ, in a sentence each.
func (e *Engine) compare(ctx context.Context, c store.Collection) (missing []store.Index, differing []string, err error) {
	declared := e.declared(c)
	if len(declared) == 0 {
		return nil, nil, nil
	}
	have, err := e.indexesHeld(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	for _, ix := range declared {
		f, ok := have[ix.Name]
		if !ok {
			missing = append(missing, ix)
		} else if err := f.differs(ix); err != nil {
			differing = append(differing, fmt.Sprintf("index %s of %s %s", ix.Name, c, err))
		}
	}
	return missing, differing, nil
}

// differs says in what an index is not what was declared.
func (f found) differs(ix store.Index) error {
	var keys []string
	for _, k := range f.Keys {
		if !isOne(k.Value) {
			return fmt.Errorf("has key %s in order %v, declared ascending", k.Key, k.Value)
		}
		keys = append(keys, k.Key)
	}
	want := indexKeys(ix.Fields, ix.Unique)
	covers := make([]string, 0, len(f.Partial))
	for _, p := range f.Partial {
		d, ok := p.Value.(bson.D)
		if !ok || len(d) != 1 || d[0].Key != "$exists" || d[0].Value != true {
			return errors.New("covers other documents than those that have all of its fields")
		}
		covers = append(covers, p.Key)
	}
	switch {
	case !slices.Equal(keys, want):
		return fmt.Errorf("has keys %s, declared %s", strings.Join(keys, ", "), strings.Join(want, ", "))
	case f.Unique != ix.Unique:
		return fmt.Errorf("has unique %t, declared %t", f.Unique, ix.Unique)
	case !slices.Equal(slices.Sorted(slices.Values(covers)), slices.Sorted(slices.Values(ix.Fields))):
		return errors.New("covers other documents than those that have all of its fields")
	case f.Sparse || f.Expiry != nil || f.Collation != nil || f.Hidden:
		return errors.New("has options that are not declared (sparse, expiry, collation or hidden)")
	}
	return nil
}

func isOne(v any) bool {
	switch v := v.(type) {
	case int32:
		return v == 1
	case int64:
		return v == 1
	case float64: // what a shell writes
		return v == 1
	}
	return false
}
