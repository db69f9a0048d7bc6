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
	"offrampbot/services/testkit"
)

// dying is a process that has written to a document inside a transaction and does nothing more.
func dying(t *testing.T, uri, database, app string, c store.Collection, id string) *driver.Session {
	t.Helper()
	client, err := driver.Connect(options.Client().ApplyURI(uri).SetAppName(app))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	session, err := client.StartSession()
	require.NoError(t, err)
	require.NoError(t, session.StartTransaction())
	done, err := client.Database(database).Collection(string(c)).UpdateByID(
		driver.NewSessionContext(t.Context(), session), id, bson.D{{Key: "$set", Value: bson.D{{Key: "touched", Value: true}}}})
	require.NoError(t, err)
	require.EqualValues(t, 1, done.MatchedCount)
	return session
}

func TestEndAbandoned_freesWhatADeadProcessHasWritten(t *testing.T) {
	t.Parallel()
	uri, database := testkit.Mongo(t)
	const timeout = time.Second
	e := open(t, mongo.Options{URI: uri, Database: database, Timeout: timeout})
	require.NoError(t, insert(t, e, a("a")))
	other := dying(t, uri, database, "somebody else", things, "a")
	replace := func(ctx context.Context) error {
		return e.Update(ctx, func(_ context.Context, tx store.Tx) error {
			var d thing
			if err := tx.Get(things, "a", &d); err != nil {
				return err
			}
			d.Count++
			return tx.Replace(things, &d)
		})
	}
	require.ErrorIs(t, replace(t.Context()), store.ErrUnavailable, "the document refuses everybody")
	require.ErrorIs(t, replace(store.Once(t.Context())), store.ErrStale, "who does not want to wait is told at once")
	ended, err := e.EndAbandoned(t.Context())
	require.NoError(t, err)
	require.Zero(t, ended, "another application's transaction is its own affair")
	require.NoError(t, other.AbortTransaction(t.Context()))

	ours := dying(t, uri, database, "offrampbot "+database, things, "a")
	require.Eventually(t, func() bool {
		ended, err := e.EndAbandoned(t.Context())
		require.NoError(t, err)
		return ended == 1
	}, 20*time.Second, 50*time.Millisecond)
	require.NoError(t, replace(t.Context()))
	require.Error(t, ours.CommitTransaction(t.Context()))
	ended, err = e.EndAbandoned(t.Context())
	require.NoError(t, err)
	require.Zero(t, ended)
}
