package main

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/config"
	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

// asked is one question to the database, with what the server did to answer it, as its profiler wrote it down.
type asked struct {
	Collection string `bson:"ns"`
	Op         string `bson:"op"`
	Plan       string `bson:"planSummary"`
	Returned   int64  `bson:"nreturned"`
	Docs       int64  `bson:"docsExamined"`
	Keys       int64  `bson:"keysExamined"`
	Sorted     bool   `bson:"hasSortStage"`
	Command    bson.M `bson:"command"`
}

// scans reports whether a whole collection was read, or an answer sorted in memory.
func (a asked) scans() bool { return strings.Contains(a.Plan, "COLLSCAN") || a.Sorted }

// usesIndex reports whether the answer came out of an index; EOF is a collection that is not there.
func (a asked) usesIndex() bool {
	return strings.HasPrefix(a.Plan, "IXSCAN") || strings.HasPrefix(a.Plan, "IDHACK") || strings.HasPrefix(a.Plan, "EOF")
}

// proportionate is what an answer may cost: each document once, and a key or two more to see where a range ends.
func (a asked) proportionate() bool { return a.Docs <= a.Returned+1 && a.Keys <= a.Returned+2 }

// profile lets the server write down every question to a database, in a collection that is large enough for a test.
func profile(t *testing.T, db *mongodriver.Database) {
	t.Helper()
	require.NoError(t, db.CreateCollection(t.Context(), "system.profile", options.CreateCollection().SetCapped(true).SetSizeInBytes(64<<20)))
	require.NoError(t, db.RunCommand(t.Context(), bson.D{{Key: "profile", Value: 2}}).Err())
}

// profiled reads what the server wrote down about finds, and stops it.
func profiled(t *testing.T, db *mongodriver.Database) (out []asked) {
	t.Helper()
	require.NoError(t, db.RunCommand(t.Context(), bson.D{{Key: "profile", Value: 0}}).Err())
	rows, err := db.Collection("system.profile").Find(t.Context(), bson.D{{Key: "op", Value: "query"}})
	require.NoError(t, err)
	require.NoError(t, rows.All(t.Context(), &out))
	for i := range out {
		out[i].Collection = strings.TrimPrefix(out[i].Collection, db.Name()+".")
	}
	return out
}

// bareDatabase is the database of a test through the bare driver.
func bareDatabase(t *testing.T, uri, name string) *mongodriver.Database {
	t.Helper()
	client, err := mongodriver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	return client.Database(name)
}

// TestQueries_areEachAnsweredByAnIndex plays a sale through the whole product on a store with a history, and looks at what
// the server did for every find. Then it lets the server explain one query for every index that the product names
// anywhere in its source.
func TestQueries_areEachAnsweredByAnIndex(t *testing.T) {
	t.Parallel()
	uri, name, db, _ := seededMongo(t, 300)
	bare := bareDatabase(t, uri, name)
	profile(t, bare)
	url, _ := testkit.Redis(t)
	w := newTown(t, db, url, nil)
	p := w.newPerson()
	p.signsUp()
	p.sells("25 usdt on base", "0123456789")
	p.deposits("base", "USDT", "25")
	p.hears("🎉 Paid")
	p.says("history")
	p.hears("25")
	w.holds() // verify reads too
	w.stop()
	kinds := map[string]bool{}
	for _, a := range profiled(t, bare) {
		kinds[a.Collection+" "+a.Plan] = true
		require.False(t, a.scans(), "%+v", a)
		require.True(t, a.usesIndex(), "%+v", a)
		require.True(t, a.proportionate(), "%+v", a)
	}
	require.Greater(t, len(kinds), 15, "a sale asks many kinds of questions: %v", kinds)
	for _, q := range namedQueries(t) {
		stages, err := db.Explain(t.Context(), q) // fails when the plan uses another index than the query's
		require.NoError(t, err, "%s by %s", q.Collection, q.Index)
		require.NotContains(t, stages, "COLLSCAN")
		require.NotContains(t, stages, "SORT")
	}
}

var namedQuery = regexp.MustCompile(`Collection:\s*store\.(\w+),\s*Index:\s*(?:"(\w+)"|store\.(ByID))`)

// namedQueries finds every pair of collection and index that a store.Query of the product names in its source.
func namedQueries(t *testing.T) (out []store.Query) {
	t.Helper()
	collections := map[string]store.Collection{}
	for _, c := range store.Collections() {
		collections[strings.ReplaceAll(string(c), "_", "")] = c
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "chaintest") {
			return err
		}
		source, err := os.ReadFile(path) //nolint:gosec // our own source
		if err != nil {
			return err
		}
		for _, m := range namedQuery.FindAllStringSubmatch(string(source), -1) {
			c, known := collections[strings.ToLower(m[1])]
			require.True(t, known, "%s: %s", path, m[0])
			index := m[2]
			if m[3] != "" {
				index = store.ByID
			}
			q := store.Query{Collection: c, Index: index}
			if index == "attempt" { // an array gives no order without a value, and nobody asks it for one
				q.Equal = []any{"x"}
			}
			out = append(out, q)
		}
		return nil
	}))
	require.Greater(t, len(out), 40)
	return out
}

// TestProfiled_noticesAScan shows that the judgement above can fail.
func TestProfiled_noticesAScan(t *testing.T) {
	t.Parallel()
	uri, name := testkit.Mongo(t)
	db := bareDatabase(t, uri, name)
	for i := range 20 {
		_, err := db.Collection("things").InsertOne(t.Context(), bson.D{{Key: "n", Value: i}})
		require.NoError(t, err)
	}
	profile(t, db)
	require.NoError(t, db.Collection("things").FindOne(t.Context(), bson.D{{Key: "n", Value: 7}}).Err())
	found := profiled(t, db)
	require.Len(t, found, 1)
	require.True(t, found[0].scans())
	require.False(t, found[0].usesIndex())
	require.False(t, found[0].proportionate())
}

// seededMongo is a database of MongoDB that holds so many orders; seeder is what filled it.
func seededMongo(t *testing.T, orders int) (uri, name string, db *mongo.Engine, seeder *app) {
	t.Helper()
	uri, name = testkit.Mongo(t)
	db, err := mongo.Open(t.Context(), mongo.Options{URI: uri, Database: name, Indexes: indexes(), Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	require.NoError(t, db.EnsureIndexes(t.Context()))
	return uri, name, db, seed(t, db, orders)
}

// seed fills a store with final orders of a month ago, as `load --seed-orders` does.
func seed(t *testing.T, db database, orders int) (seeder *app) {
	t.Helper()
	world := openWorld(t, "http://127.0.0.1:1", map[string]string{"STORE": "embedded"})
	cfg, err := config.Load(environment(world.file), os.ReadFile, nil)
	require.NoError(t, err)
	seeder = &app{cfg: cfg, log: slog.New(slog.DiscardHandler), db: db}
	require.NoError(t, seeder.openLeaves(t.Context(), tune{}))
	require.NoError(t, seedStore(t.Context(), seeder, orders, time.Now()))
	return seeder
}
