package mongo_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

func TestEngine_conforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, indexes []store.Index) store.Engine { return testkit.OpenMongo(t, indexes) })
}

func TestEngine_keepsAcknowledgedCommitsThroughAKill(t *testing.T) {
	t.Parallel()
	uri, database := testkit.Mongo(t)
	storetest.Kill(t, database, func(t *testing.T, database string, indexes []store.Index) store.Engine {
		return open(t, mongo.Options{URI: uri, Database: database, Indexes: indexes})
	})
}

func TestEngine_addsAndDropsIndexes(t *testing.T) {
	t.Parallel()
	uri, database := testkit.Mongo(t)
	storetest.Migrate(t, func(t *testing.T, indexes []store.Index) storetest.Migrator {
		return open(t, mongo.Options{URI: uri, Database: database, Indexes: indexes})
	})
}

// open opens an engine and makes what it declares.
func open(t *testing.T, o mongo.Options) *mongo.Engine {
	t.Helper()
	if o.Collections == nil {
		o.Collections = []store.Collection{}
	}
	e, err := mongo.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, e.EnsureIndexes(t.Context()))
	return e
}

type thing struct {
	store.Meta `bson:",inline"`
	Name       string    `bson:"name,omitempty"`
	Count      int64     `bson:"count"`
	At         time.Time `bson:"at"`
	Tags       []string  `bson:"tags,omitempty"`
}

const things store.Collection = "things"

func a(id string) *thing { return &thing{Meta: store.Meta{ID: id, Version: 1}} }

func insert(t *testing.T, e store.Engine, docs ...*thing) error {
	t.Helper()
	return e.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		for _, d := range docs {
			if err := tx.Insert(things, d); err != nil {
				return err
			}
		}
		return nil
	})
}

func exists(t *testing.T, e store.Engine, id string) bool {
	t.Helper()
	found := true
	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		if err := r.Get(things, id, &thing{}); err != nil {
			require.ErrorIs(t, err, store.ErrNotFound)
			found = false
		}
		return nil
	}))
	return found
}

func indexes() []store.Index {
	return []store.Index{
		{Collection: things, Name: "name", Fields: []string{"name"}, Unique: true},
		{Collection: things, Name: "name_at", Fields: []string{"name", "at"}, Unique: true},
		{Collection: things, Name: "count_at", Fields: []string{"count", "at"}},
		{Collection: things, Name: "tag_at", Fields: []string{"tags", "at"}},
	}
}

// TestFind_usesTheIndexWithoutASort explains queries of every form.
func TestFind_usesTheIndexWithoutASort(t *testing.T) {
	t.Parallel()
	e := testkit.OpenMongo(t, indexes())
	at := time.UnixMilli(0)
	for i, id := range []string{"x", "y", "z"} {
		d := a(id)
		d.Name, d.Tags, d.At = id, []string{"p", "q"}, at.Add(time.Duration(i)*time.Second)
		require.NoError(t, insert(t, e, d))
	}
	tests := []struct {
		name  string
		query store.Query
		want  []string
	}{
		{"all", store.Query{Index: "count_at"}, []string{"FETCH", "IXSCAN"}},
		{"a prefix", store.Query{Index: "count_at", Equal: []any{0}}, []string{"FETCH", "IXSCAN"}},
		{"a range", store.Query{Index: "count_at", Equal: []any{0}, From: at, Until: at.Add(time.Hour)}, []string{"FETCH", "IXSCAN"}},
		{"one bound", store.Query{Index: "count_at", From: 0}, []string{"FETCH", "IXSCAN"}},
		{"a page", store.Query{Index: "count_at", Equal: []any{0}, After: store.Cursor{0, at, "x"}, Limit: 10}, []string{"LIMIT", "FETCH", "IXSCAN"}},
		{"every field", store.Query{Index: "count_at", Equal: []any{0, at}}, []string{"FETCH", "IXSCAN"}},
		{"unique", store.Query{Index: "name", Equal: []any{"x"}}, []string{"FETCH", "IXSCAN"}},
		{"unique, a page", store.Query{Index: "name_at", Equal: []any{"x"}, After: store.Cursor{"x", at, "x"}, Limit: 1}, []string{"LIMIT", "FETCH", "IXSCAN"}},
		{"an array", store.Query{Index: "tag_at", Equal: []any{"p"}, Limit: 2}, []string{"LIMIT", "FETCH", "IXSCAN"}},
		{"ids", store.Query{Index: store.ByID, From: "x"}, []string{"FETCH", "IXSCAN"}},
		{"ids, a page", store.Query{Index: store.ByID, After: store.Cursor{"x"}}, []string{"FETCH", "IXSCAN"}},
	}
	for _, tt := range tests {
		for _, descending := range []bool{false, true} {
			tt.query.Collection, tt.query.Descending = things, descending
			stages, err := e.Explain(t.Context(), tt.query)
			require.NoError(t, err, tt.name)
			require.Equal(t, tt.want, stages, "%s, descending %t", tt.name, descending)
		}
	}
	_, err := e.Explain(t.Context(), store.Query{Collection: things, Index: "none"})
	require.ErrorIs(t, err, store.ErrIndex)
	stages, err := e.Explain(t.Context(), store.Query{Collection: things, Index: "tag_at"})
	require.NoError(t, err)
	require.Contains(t, stages, "SORT", "the whole of an index over an array has no order; the test above can fail")
}

func TestCompareIndexes_namesEveryDifference(t *testing.T) {
	t.Parallel()
	uri, name := testkit.Mongo(t)
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Disconnect(context.WithoutCancel(t.Context()))) })
	db := client.Database(name)
	covers := func(fields ...string) bson.D {
		d := bson.D{}
		for _, f := range fields {
			d = append(d, bson.E{Key: f, Value: bson.D{{Key: "$exists", Value: true}}})
		}
		return d
	}
	create := func(name string, keys bson.D, o *options.IndexOptionsBuilder) {
		_, err := db.Collection("things").Indexes().CreateOne(t.Context(), driver.IndexModel{Keys: keys, Options: o.SetName(name)})
		require.NoError(t, err, name)
	}
	key := func(fields ...string) (d bson.D) {
		for _, f := range fields {
			d = append(d, bson.E{Key: f, Value: 1})
		}
		return d
	}
	create("keys", key("a", "b", "_id"), options.Index().SetPartialFilterExpression(covers("a")))
	create("unique", key("b"), options.Index().SetPartialFilterExpression(covers("b")))
	create("direction", bson.D{{Key: "c", Value: -1}, {Key: "_id", Value: 1}}, options.Index().SetPartialFilterExpression(covers("c")))
	create("everything", key("d", "_id"), options.Index())
	create("fewer", key("e", "f", "_id"), options.Index().SetPartialFilterExpression(covers("e")))
	create("other", key("g", "_id"), options.Index().SetPartialFilterExpression(bson.D{{Key: "g", Value: 5}}))
	create("expiring", key("h"), options.Index().SetUnique(true).SetExpireAfterSeconds(60).SetPartialFilterExpression(covers("h")))
	create("shell", bson.D{{Key: "i", Value: 1.0}, {Key: "_id", Value: int64(1)}}, options.Index().SetPartialFilterExpression(covers("i")))
	create("extra", key("z"), options.Index())

	declare := func(name string, unique bool, fields ...string) store.Index {
		return store.Index{Collection: things, Name: name, Fields: fields, Unique: unique}
	}
	e, err := mongo.Open(t.Context(), mongo.Options{URI: uri, Database: name, Collections: []store.Collection{"others"}, Indexes: []store.Index{
		declare("keys", false, "a"), declare("unique", true, "b"), declare("direction", false, "c"),
		declare("everything", false, "d"), declare("fewer", false, "e", "f"), declare("other", false, "g"),
		declare("expiring", true, "h"), declare("shell", false, "i"), declare("absent", false, "j"),
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.WithoutCancel(t.Context()))) })
	differences, err := e.CompareIndexes(t.Context())
	require.NoError(t, err)
	const covering = " covers other documents than those that have all of its fields"
	require.Equal(t, []string{
		"collection others is missing",
		"index absent of things is missing",
		"index keys of things has keys a, b, _id, declared a, _id",
		"index unique of things has unique false, declared true",
		"index direction of things has key c in order -1, declared ascending",
		"index everything of things" + covering,
		"index fewer of things" + covering,
		"index other of things" + covering,
		"index expiring of things has options that are not declared (sparse, expiry, collation or hidden)",
	}, differences)

	err = e.EnsureIndexes(t.Context())
	require.ErrorIs(t, err, store.ErrIndex, "what differs is not replaced silently")
	require.ErrorContains(t, err, "index unique of things")
	differences, err = e.CompareIndexes(t.Context())
	require.NoError(t, err)
	require.Len(t, differences, 7, "what was missing is there now")
}

func TestEnsureIndexes_namesTheIndexThatStoredDocumentsViolate(t *testing.T) {
	t.Parallel()
	uri, name := testkit.Mongo(t)
	e := open(t, mongo.Options{URI: uri, Database: name})
	one, two := a("1"), a("2")
	one.Name, two.Name = "same", "same"
	require.NoError(t, insert(t, e, one, two))
	next, err := mongo.Open(t.Context(), mongo.Options{URI: uri, Database: name, Indexes: indexes()[:1]})
	require.NoError(t, err)
	require.ErrorIs(t, next.EnsureIndexes(t.Context()), &store.ErrDuplicate{Collection: things, Index: "name"})
	require.NoError(t, next.Close(t.Context()))
}

func TestEnsureIndexes_makesEveryCollectionByDefault(t *testing.T) {
	t.Parallel()
	uri, name := testkit.Mongo(t)
	e, err := mongo.Open(t.Context(), mongo.Options{URI: uri, Database: name, Timeout: 30 * time.Second})
	require.NoError(t, err)
	differences, err := e.CompareIndexes(t.Context())
	require.NoError(t, err)
	require.Len(t, differences, len(store.Collections()))
	require.NoError(t, e.EnsureIndexes(t.Context()))
	require.NoError(t, e.EnsureIndexes(t.Context()), "it is safe to repeat")
	differences, err = e.CompareIndexes(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)
	require.NoError(t, e.Close(t.Context()))
}

func TestNow_isTheServersClock(t *testing.T) {
	t.Parallel()
	uri, name := testkit.Mongo(t)
	clock := testkit.Noon()
	asked := 0
	e := open(t, mongo.Options{URI: uri, Database: name, Now: func() time.Time {
		asked++
		return clock.Advance(time.Duration(asked) * time.Hour)
	}})
	plain := open(t, mongo.Options{URI: uri, Database: name})
	server, err := plain.Now(t.Context())
	require.NoError(t, err)
	at, err := e.Now(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, server.Add(time.Hour), at, 10*time.Second, "half of the round trip, two hours on this clock, is added")
}
