//go:build bench

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// anything is a stored document as it is.
type anything struct {
	store.Meta `bson:",inline"`
	Rest       map[string]any `bson:",inline"`
}

// write is one write of a transaction.
type write struct {
	how string
	c   store.Collection
	id  string
	rev int64 // before a replace
	doc bson.Raw
}

// recorder is an engine that remembers what its transactions wrote.
type recorder struct {
	store.Engine
	mu    sync.Mutex
	on    bool
	units [][]write
}

// record begins to remember, or returns what was remembered and ends.
func (r *recorder) record(on bool) [][]write {
	r.mu.Lock()
	defer r.mu.Unlock()
	units := r.units
	r.on, r.units = on, nil
	return units
}

// Update implements store.Engine.
func (r *recorder) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	r.mu.Lock()
	on := r.on
	r.mu.Unlock()
	if !on {
		return r.Engine.Update(ctx, fn)
	}
	var seen *recordedTx
	err := r.Engine.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		seen = &recordedTx{Tx: tx}
		return fn(ctx, seen)
	})
	if err == nil && len(seen.writes) > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.units = append(r.units, seen.writes)
	}
	return err
}

type recordedTx struct {
	store.Tx
	writes []write
}

func (t *recordedTx) wrote(how string, c store.Collection, d store.Document, err error) error {
	if err != nil {
		return err
	}
	raw, err := bson.Marshal(d)
	t.writes = append(t.writes, write{how, c, d.Head().ID, d.Head().Revision - 1, raw})
	return err
}

func (t *recordedTx) Insert(c store.Collection, d store.Document) error {
	return t.wrote("insert", c, d, t.Tx.Insert(c, d))
}

func (t *recordedTx) Ensure(c store.Collection, d store.Document) (bool, error) {
	inserted, err := t.Tx.Ensure(c, d)
	return inserted, t.wrote("ensure", c, d, err)
}

func (t *recordedTx) Replace(c store.Collection, d store.Document) error {
	return t.wrote("replace", c, d, t.Tx.Replace(c, d))
}

func (t *recordedTx) Delete(store.Collection, string, int64) error {
	return errors.New("a sale deletes nothing")
}

// replay makes recorded writes again through the bare driver, each time with other ids.
type replay struct {
	t      *testing.T
	db     *mongodriver.Database
	client *mongodriver.Client
	base   []write // what is there before
	units  [][]write
}

// everything and onlyThree choose writes. Three are those of an inbox, a compare-and-set and an outbox.
func everything(units [][]write) [][]write { return units }

func onlyThree(units [][]write) [][]write {
	var out []write
	for _, w := range slices.Concat(units...) {
		fits := w.c == store.Inbox || w.c == store.Orders || w.c == store.Outbox && strings.Contains(w.doc.String(), string(operation.StartExchange))
		if fits {
			out = append(out, w)
		}
	}
	return [][]write{out}
}

func newReplay(t *testing.T, units [][]write, choose func([][]write) [][]write) *replay {
	t.Helper()
	uri, name := testkit.Mongo(t)
	client, err := mongodriver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	units = choose(units)
	require.NotEmpty(t, slices.Concat(units...))
	r := &replay{t: t, db: client.Database(name), client: client, units: units}
	for _, index := range indexes() { // the same indexes cost the same
		keys := bson.D{}
		partial := bson.D{}
		for _, f := range index.Fields {
			keys = append(keys, bson.E{Key: f, Value: 1})
			partial = append(partial, bson.E{Key: f, Value: bson.D{{Key: "$exists", Value: true}}})
		}
		_, err := r.db.Collection(string(index.Collection)).Indexes().CreateOne(t.Context(),
			mongodriver.IndexModel{Keys: keys, Options: options.Index().SetName(index.Name).SetPartialFilterExpression(partial)})
		require.NoError(t, err)
	}
	return r
}

// prepare stores what n copies find: what was there before, and what is replaced and was not inserted by the copy itself.
func (r *replay) prepare(first, n int) {
	r.t.Helper()
	mine, found := map[string]bool{}, map[store.Collection][]write{}
	for _, w := range r.base {
		found[w.c] = append(found[w.c], w)
		mine[string(w.c)+w.id] = true
	}
	for _, w := range slices.Concat(r.units...) {
		if w.how == "replace" && !mine[string(w.c)+w.id] {
			found[w.c] = append(found[w.c], w)
		}
		mine[string(w.c)+w.id] = true
	}
	for c, writes := range found {
		var docs []any
		for i := range n {
			for _, w := range writes {
				d := copyOf(w.doc, first+i)
				if w.how == "replace" {
					d = withRevision(d, w.rev)
				}
				docs = append(docs, d)
			}
		}
		_, err := r.db.Collection(string(c)).InsertMany(r.t.Context(), docs)
		require.NoError(r.t, err)
	}
}

// play makes the writes of one copy.
func (r *replay) play(ctx context.Context, i int) error {
	journal := true
	o := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal})
	for _, unit := range r.units {
		session, err := r.client.StartSession()
		if err != nil {
			return err
		}
		defer session.EndSession(ctx)
		if err := session.StartTransaction(o); err != nil {
			return err
		}
		for _, w := range unit {
			if err := r.write(mongodriver.NewSessionContext(ctx, session), w, i); err != nil {
				return fmt.Errorf("%s %s: %w", w.how, w.c, err)
			}
		}
		if err := session.CommitTransaction(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) write(ctx context.Context, w write, i int) error {
	c, doc := r.db.Collection(string(w.c)), copyOf(w.doc, i)
	id := bson.E{Key: "_id", Value: fmt.Sprintf("%s~%d", w.id, i)}
	switch w.how {
	case "insert":
		_, err := c.InsertOne(ctx, doc)
		return err
	case "ensure":
		_, err := c.UpdateOne(ctx, bson.D{id}, bson.D{{Key: "$setOnInsert", Value: doc}}, options.UpdateOne().SetUpsert(true))
		return err
	default:
		done, err := c.ReplaceOne(ctx, bson.D{id, {Key: "rev", Value: w.rev}}, doc)
		if err == nil && done.MatchedCount != 1 {
			err = errors.New("nothing was replaced")
		}
		return err
	}
}

// copyOf is a document with every text of its own, so that no copy meets another one in a unique index.
func copyOf(raw bson.Raw, n int) bson.D {
	var d bson.D
	if err := bson.Unmarshal(raw, &d); err != nil {
		panic(err)
	}
	own, _ := ownTexts(d, n).(bson.D)
	return own
}

func ownTexts(v any, n int) any {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%s~%d", v, n)
	case bson.D:
		for i := range v {
			v[i].Value = ownTexts(v[i].Value, n)
		}
		return v
	case bson.A:
		for i := range v {
			v[i] = ownTexts(v[i], n)
		}
		return v
	default:
		return v
	}
}

func withRevision(d bson.D, rev int64) bson.D {
	for i := range d {
		if d[i].Key == "rev" {
			d[i].Value = rev
		}
	}
	return d
}
