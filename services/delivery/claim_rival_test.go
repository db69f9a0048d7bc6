package delivery_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

// A process that was killed leaves its transaction open at the server, and with it what it wrote to.
func TestClaim_whatADeadProcessHasInHandHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	uri, database := testkit.Mongo(t)
	engine, err := mongo.Open(t.Context(), mongo.Options{
		URI: uri, Database: database, Indexes: delivery.Indexes, Collections: []store.Collection{}, Timeout: 30 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, engine.EnsureIndexes(t.Context()))
	at := testkit.Noon().Now()
	docs := []store.Document{
		delivery.New("wa:1", delivery.Message, "text", "ann", "f", nil, at, at),
		delivery.New("wa:2", delivery.Message, "text", "ben", "f", nil, at.Add(time.Second), at.Add(time.Second)),
	}
	_, err = engine.Append(t.Context(), store.Inbox, docs)
	require.NoError(t, err)

	client, err := driver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	session, err := client.StartSession()
	require.NoError(t, err)
	require.NoError(t, session.StartTransaction())
	_, err = client.Database(database).Collection(string(store.Inbox)).UpdateByID(
		driver.NewSessionContext(t.Context(), session), "wa:1", bson.D{{Key: "$set", Value: bson.D{{Key: "tries", Value: 1}}}})
	require.NoError(t, err)

	now := at.Add(time.Minute)
	for _, most := range []int{1, 8} {
		claims, _, err := delivery.Claimer{Lease: time.Second, Most: most}.Some(t.Context(), engine, "owner-"+string(rune('0'+most)), now)
		require.NoError(t, err)
		require.Len(t, claims, 1)
		require.Equal(t, "wa:2", claims[0].Receipt.ID)
		now = now.Add(time.Minute) // that lease has run out
	}
	claims, next, err := delivery.Claimer{
		Lease: time.Second, SkipFunc: func(partition string) bool { return partition == "ben" },
	}.Some(t.Context(), engine, "owner", now)
	require.NoError(t, err)
	require.Empty(t, claims)
	require.True(t, next.After(now), "not at once, or it would turn in circles")
	require.Less(t, next.Sub(now), time.Second)
	require.NoError(t, session.AbortTransaction(t.Context()))
	claim, _, err := delivery.Claimer{Lease: time.Second}.Next(t.Context(), engine, "owner-2", now)
	require.NoError(t, err)
	require.Equal(t, "wa:1", claim.Receipt.ID)
}
