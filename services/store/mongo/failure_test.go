package mongo_test

import (
	"context"
	"net"
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

// failing is an engine whose commands the server can be told to fail. Fail points are the server's, so they name the
// engine's application and leave everybody else alone.
type failing struct {
	*mongo.Engine
	t       *testing.T
	app     string
	control *driver.Client
}

func newFailing(t *testing.T, timeout time.Duration) *failing {
	t.Helper()
	uri, database := testkit.Mongo(t)
	f := &failing{t: t, app: "failing-" + testkit.Random(t)}
	f.Engine = open(t, mongo.Options{URI: uri, Database: database, AppName: f.app, Timeout: timeout, Indexes: []store.Index{
		{Collection: things, Name: "count", Fields: []string{"count"}},
	}})
	var err error
	f.control, err = driver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() {
		f.stop(context.WithoutCancel(t.Context()))
		require.NoError(t, f.control.Disconnect(context.WithoutCancel(t.Context())))
	})
	return f
}

// fail makes the next commands fail; times 0 is until stop.
func (f *failing) fail(times int, how bson.D, commands ...string) {
	f.t.Helper()
	mode := any("alwaysOn")
	if times > 0 {
		mode = bson.D{{Key: "times", Value: times}}
	}
	data := append(bson.D{{Key: "failCommands", Value: commands}, {Key: "appName", Value: f.app}}, how...)
	require.NoError(f.t, f.control.Database("admin").RunCommand(f.t.Context(), bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: mode}, {Key: "data", Value: data},
	}).Err())
}

func (f *failing) stop(ctx context.Context) {
	f.t.Helper()
	require.NoError(f.t, f.control.Database("admin").RunCommand(ctx, bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "off"},
	}).Err())
}

func refused(code int, labels ...string) bson.D {
	return bson.D{{Key: "errorCode", Value: code}, {Key: "errorLabels", Value: labels}}
}

var dropped = bson.D{{Key: "closeConnection", Value: true}}

const (
	transient = "TransientTransactionError"
	unknown   = "UnknownTransactionCommitResult"
)

// TestUpdate_meetsFailures runs one after the other, because the server has one fail point of this kind.
func TestUpdate_meetsFailures(t *testing.T) {
	f := newFailing(t, 2*time.Second)
	runs := 0
	work := func(id string) error {
		runs = 0
		return f.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
			runs++
			return tx.Insert(things, a(id))
		})
	}

	f.fail(2, refused(112, transient), "insert")
	require.NoError(t, work("conflict"))
	require.Equal(t, 3, runs, "the callback runs again after a conflict")

	f.fail(1, refused(251, transient), "commitTransaction")
	require.NoError(t, work("commit refused"))
	require.Equal(t, 2, runs, "a commit that the server denies starts the transaction again")

	f.fail(3, refused(64, unknown), "commitTransaction")
	require.NoError(t, work("commit unclear"))
	require.Equal(t, 1, runs, "an unclear commit is asked about, the callback does not run again")
	require.True(t, exists(t, f, "commit unclear"))

	f.fail(1, dropped, "commitTransaction")
	require.NoError(t, work("commit cut off"))
	require.Equal(t, 1, runs)

	f.fail(1, dropped, "insert")
	require.NoError(t, work("insert cut off"))
	require.Equal(t, 2, runs)

	// The commit happens, its answer is a write concern that did not come true: what is durable is not known.
	lost := bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 100}, {Key: "errmsg", Value: "no majority"}}}}
	f.fail(0, lost, "commitTransaction")
	woken := f.Watch(things)
	require.ErrorIs(t, work("outcome unknown"), store.ErrCommitUnknown)
	f.stop(t.Context())
	require.Len(t, woken, 1, "the workers look, in case it was committed")
	require.NoError(t, work("later"), "whatever was committed before is then known to a majority")
	require.True(t, exists(t, f, "outcome unknown"), "it may have been committed")
	require.ErrorIs(t, work("outcome unknown"), &store.ErrDuplicate{Index: "_id"}, "the same again finds that out")

	f.fail(0, refused(64, unknown), "commitTransaction")
	doc := a("never committed")
	require.ErrorIs(t, f.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		return tx.Insert(things, doc)
	}), store.ErrCommitUnknown)
	f.stop(t.Context())
	require.Zero(t, doc.Revision, "a revision that may not be stored is taken back")
	require.False(t, exists(t, f, "never committed"), "or it may not")
	require.NoError(t, work("never committed"))

	f.fail(0, refused(2), "insert")
	err := work("wrong")
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrUnavailable, "an error of our own making is no outage")
	require.Equal(t, 1, runs)
	f.stop(t.Context())

	f.fail(0, refused(64, unknown), "commitTransaction")
	err = f.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		require.ErrorIs(t, tx.Get(things, "nobody", &thing{}), store.ErrNotFound)
		return nil
	})
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrCommitUnknown, "nothing was written, so nothing is unclear")
	f.stop(t.Context())

	f.fail(2, refused(246), "find")
	require.True(t, exists(t, f, "conflict"), "a view that starts while a collection is made starts again")

	f.fail(1, dropped, "insert")
	isNew, err := f.Append(t.Context(), things, []store.Document{a("appended")})
	require.NoError(t, err, "the driver repeats a cut-off insert once, under its own number")
	require.Equal(t, []bool{true}, isNew)

	f.fail(0, bson.D{{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 100}, {Key: "errmsg", Value: "no majority"}}}}, "insert")
	_, err = f.Append(t.Context(), things, []store.Document{a("undurable")})
	require.ErrorIs(t, err, store.ErrCommitUnknown, "stored, but not by a majority, is not acknowledged")
	f.stop(t.Context())
	isNew, err = f.Append(t.Context(), things, []store.Document{a("undurable")})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, isNew)

	f.deadline(t)
}

// deadline shows that retries end with the caller's deadline, whatever the server does.
func (f *failing) deadline(t *testing.T) {
	t.Helper()
	const patience = 300 * time.Millisecond
	bounded := func(call func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		late, stop := context.WithTimeout(t.Context(), 10*patience)
		defer stop()
		err := call(ctx)
		require.NoError(t, late.Err(), "it ended long after its deadline")
		f.stop(t.Context())
		return err
	}
	work := func(ctx context.Context) error {
		return f.Update(ctx, func(_ context.Context, tx store.Tx) error { return tx.Insert(things, a("late")) })
	}
	hang := bson.D{{Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 2000}}

	f.fail(0, refused(112, transient), "insert")
	require.ErrorIs(t, bounded(work), store.ErrUnavailable, "conflicts without end")

	f.fail(1, hang, "insert")
	require.ErrorIs(t, bounded(work), store.ErrUnavailable, "a server that hangs before anything is committed")

	f.fail(1, hang, "commitTransaction")
	require.ErrorIs(t, bounded(work), store.ErrCommitUnknown, "a server that hangs at the commit")

	f.fail(1, hang, "insert")
	require.ErrorIs(t, bounded(func(ctx context.Context) error {
		_, err := f.Append(ctx, things, []store.Document{a("late append")})
		return err
	}), store.ErrCommitUnknown)
}

func TestOpen_saysUnavailableWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err = mongo.Open(t.Context(), mongo.Options{
		URI: "mongodb://" + address + "/?replicaSet=rs0", Database: "d", Timeout: 300 * time.Millisecond,
	})
	require.ErrorIs(t, err, store.ErrUnavailable)
	_, err = mongo.Open(t.Context(), mongo.Options{URI: "http://" + address, Database: "d"})
	require.Error(t, err)
	_, err = mongo.Open(t.Context(), mongo.Options{URI: "mongodb://" + address})
	require.ErrorContains(t, err, "Database is empty")
}
