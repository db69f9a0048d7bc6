package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

// A process that was killed leaves its transaction open at the server, and with it what it wrote to.
func TestClaim_whatADeadProcessHasInHandHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	for name, isOrdered := range map[string]bool{"in any order": false, "each lane in order": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uri, database := testkit.Mongo(t)
			engine, err := mongo.Open(t.Context(), mongo.Options{
				URI: uri, Database: database, Indexes: operation.Indexes, Collections: []store.Collection{}, Timeout: 30 * time.Second,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, engine.Close(context.WithoutCancel(t.Context()))) })
			require.NoError(t, engine.EnsureIndexes(t.Context()))
			at := testkit.Noon().Now()
			require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
				for i, id := range []string{"payout:a", "payout:b"} {
					due := at.Add(time.Duration(i) * time.Second)
					if _, err := operation.Record(tx, operation.New(operation.Payout, id, id, "", "order:"+id, due, at)); err != nil {
						return err
					}
				}
				return nil
			}))

			client, err := driver.Connect(options.Client().ApplyURI(uri))
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
			session, err := client.StartSession()
			require.NoError(t, err)
			require.NoError(t, session.StartTransaction())
			_, err = client.Database(database).Collection(string(store.Outbox)).UpdateByID(
				driver.NewSessionContext(t.Context(), session), "payout:a", bson.D{{Key: "$set", Value: bson.D{{Key: "tries", Value: 1}}}})
			require.NoError(t, err)

			now := at.Add(time.Minute)
			for most, owner := range map[int]string{1: "owner-1", 8: "owner-8"} {
				c := operation.Claimer{Kind: operation.Payout, Lease: time.Second, Most: most, Ordered: isOrdered}
				ops, _, err := c.Some(t.Context(), engine, owner, now)
				require.NoError(t, err)
				require.Len(t, ops, 1)
				require.Equal(t, "payout:b", ops[0].ID)
				now = now.Add(time.Minute) // that lease has run out
			}
			c := operation.Claimer{
				Kind: operation.Payout, Lease: time.Second, Ordered: isOrdered,
				SkipFunc: func(op *operation.Operation) bool { return op.ID == "payout:b" },
			}
			ops, next, err := c.Some(t.Context(), engine, "owner", now)
			require.NoError(t, err)
			require.Empty(t, ops)
			require.True(t, next.After(now), "not at once, or it would turn in circles")
			require.Less(t, next.Sub(now), time.Second)
			require.NoError(t, session.AbortTransaction(t.Context()))
			op, _, err := c.Next(t.Context(), engine, "owner-2", now)
			require.NoError(t, err)
			require.Equal(t, "payout:a", op.ID)
		})
	}
}
