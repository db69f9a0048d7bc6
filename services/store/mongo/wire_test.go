package mongo_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

// TestUpdate_sendsSnapshotMajorityAndJournal looks at the commands on the wire (R31), and counts them: an Update makes
// one round trip per call and one for the commit, a View one per call, an Append one.
func TestUpdate_sendsSnapshotMajorityAndJournal(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent []bson.Raw
	uri, database := testkit.Mongo(t)
	o := mongo.Options{URI: uri, Database: database, Collections: []store.Collection{things}}
	e := open(t, o.WithMonitor(&event.CommandMonitor{Started: func(_ context.Context, s *event.CommandStartedEvent) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, append(bson.Raw(nil), s.Command...))
	}}))
	commands := func() (names []string, all []bson.Raw) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range sent {
			elements, err := c.Elements()
			require.NoError(t, err)
			names = append(names, elements[0].Key())
		}
		all, sent = sent, nil
		return names, all
	}
	commands()

	require.NoError(t, e.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		i := a("a")
		if err := tx.Insert(things, i); err != nil {
			return err
		}
		if err := tx.Replace(things, i); err != nil {
			return err
		}
		_, err := tx.Ensure(things, a("b"))
		return err
	}))
	names, all := commands()
	require.Equal(t, []string{"insert", "update", "update", "commitTransaction"}, names)
	require.True(t, all[0].Lookup("startTransaction").Boolean())
	require.Equal(t, "snapshot", all[0].Lookup("readConcern", "level").StringValue())
	require.Equal(t, "majority", all[3].Lookup("writeConcern", "w").StringValue())
	require.True(t, all[3].Lookup("writeConcern", "j").Boolean())
	require.Positive(t, all[3].Lookup("maxTimeMS").AsInt64(), "the server knows the deadline")

	require.NoError(t, e.Update(t.Context(), func(context.Context, store.Tx) error { return nil }))
	names, _ = commands()
	require.Empty(t, names, "a transaction begins with its first call")

	require.Error(t, insert(t, e, a("a")))
	names, all = commands()
	require.Equal(t, []string{"insert", "abortTransaction"}, names)
	require.Equal(t, int64(1), all[1].Lookup("writeConcern", "w").AsInt64(), "an abort waits for nobody")
	_, err := all[1].LookupErr("writeConcern", "j")
	require.Error(t, err)

	require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
		if err := r.Get(things, "a", &thing{}); err != nil {
			return err
		}
		_, err := store.All[thing](r, store.Query{Collection: things, Index: store.ByID, Limit: 1})
		return err
	}))
	names, all = commands()
	require.Equal(t, []string{"find", "find"}, names)
	require.Equal(t, "snapshot", all[0].Lookup("readConcern", "level").StringValue())
	require.Equal(t, "snapshot", all[1].Lookup("readConcern", "level").StringValue())
	_, err = all[1].LookupErr("readConcern", "atClusterTime")
	require.NoError(t, err, "the second read is of the first one's moment")

	_, err = e.Append(t.Context(), things, []store.Document{a("c"), a("d"), a("c")})
	require.NoError(t, err)
	names, all = commands()
	require.Equal(t, []string{"insert"}, names)
	require.False(t, all[0].Lookup("ordered").Boolean())
	require.Equal(t, "majority", all[0].Lookup("writeConcern", "w").StringValue())
	require.True(t, all[0].Lookup("writeConcern", "j").Boolean())
}
