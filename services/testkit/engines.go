package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/store"
	"offrampbot/services/store/bolt"
	"offrampbot/services/store/mongo"
)

const (
	answerTimeout  = 5 * time.Second // a service that takes longer to answer is missing
	cleanUpTimeout = time.Minute     // many tests drop their databases at once, some behind a transaction of a killed process
)

// Engines runs a sub-test on each store engine, "bolt" and "mongo", each on an empty database of its own that serves
// these indexes and vanishes with the test. The sub-tests run in parallel.
func Engines(t *testing.T, indexes []store.Index, test func(t *testing.T, engine store.Engine)) {
	t.Helper()
	t.Run("bolt", func(t *testing.T) {
		t.Parallel()
		test(t, Bolt(t, indexes))
	})
	t.Run("mongo", func(t *testing.T) {
		t.Parallel()
		test(t, OpenMongo(t, indexes))
	})
}

// Bolt returns an empty embedded engine that vanishes with the test.
func Bolt(t testing.TB, indexes []store.Index) *bolt.Engine {
	t.Helper()
	now := time.Now //nolint:forbidigo // the engine stands for a real database, and that has a real clock
	engine, err := bolt.Open(bolt.Options{Indexes: indexes, Now: now, Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) })
	return engine
}

// Mongo returns the address of a real replica set that has fail points, and the name of a database that nobody else
// uses and that is dropped with the test.
func Mongo(t testing.TB) (uri, database string) {
	t.Helper()
	uri, database = address("MONGO_URI", ownMongoURI), "test_"+Random(t)
	client, err := driver.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(answerTimeout))
	require.NoError(t, err)
	if err := client.Ping(t.Context(), nil); err != nil {
		_ = client.Disconnect(t.Context())
		missing(t, "MongoDB", "MONGO_URI", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanUpTimeout)
		defer cancel()
		require.NoError(t, client.Database(database).Drop(ctx))
		require.NoError(t, client.Disconnect(ctx))
	})
	return uri, database
}

// OpenMongo returns an empty MongoDB engine whose database vanishes with the test. Collections without an index are
// made by the first transaction that writes to them, which spares most tests most of the time.
func OpenMongo(t testing.TB, indexes []store.Index) *mongo.Engine {
	t.Helper()
	uri, database := Mongo(t)
	engine, err := mongo.Open(t.Context(), mongo.Options{
		URI: uri, Database: database, Indexes: indexes, Collections: []store.Collection{}, Timeout: 30 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, engine.EnsureIndexes(t.Context()))
	return engine
}
