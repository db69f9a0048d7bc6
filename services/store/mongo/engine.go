// Package mongo is the store engine on a MongoDB replica set, the system of record (DESIGN §5). It owns the transaction
// loop instead of using the driver's helper, which commits past the caller's deadline and turns a lost commit into a
// plain error (B81).
package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"offrampbot/services/store"
)

const (
	defaultTimeout = 5 * time.Second
	viewTimeout    = 10 * time.Second
	schemaTimeout  = time.Hour
	cleanUpTimeout = 500 * time.Millisecond
)

// Options says which database to use and how.
type Options struct {
	URI      string // mongodb://…, of a replica set
	Database string
	Indexes  []store.Index
	// Collections are made by EnsureIndexes besides those that have an index; nil means store.Collections.
	Collections []store.Collection
	// Timeout bounds every Update, Append and Now, retries included; 0 is five seconds.
	Timeout time.Duration
	// Now is this process's clock; Engine.Now uses it to halve the round trip. It may be nil.
	Now func() time.Time
	// AppName is how the server's log names this process; empty is "offrampbot" and the database's name. All processes of
	// one database have the same, see EndAbandoned.
	AppName string

	monitor *event.CommandMonitor // tests look at the commands that are sent
}

// Engine implements store.Engine on one database.
type Engine struct {
	client      *driver.Client
	database    *driver.Database
	catalogue   *store.Catalogue
	collections []store.Collection
	durable     *writeconcern.WriteConcern
	wakes       store.Wakes
	now         func() time.Time
	timeout     time.Duration
	appName     string
	closed      atomic.Bool
}

var _ store.Engine = (*Engine)(nil)

// Open connects and checks that the server can do transactions: a standalone server is refused with a sentence that
// says what to do. It creates and checks nothing else, see CompareIndexes and EnsureIndexes.
func Open(ctx context.Context, o Options) (*Engine, error) {
	e, err := newEngine(o)
	if err != nil {
		return nil, fmt.Errorf("open MongoDB: %w", err)
	}
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	if err := e.checkTopology(ctx, o.URI); err != nil {
		return nil, errors.Join(fmt.Errorf("open MongoDB: %w", err), e.client.Disconnect(ctx))
	}
	return e, nil
}

func newEngine(o Options) (*Engine, error) {
	if o.URI == "" || o.Database == "" {
		return nil, errors.New("URI or Database is empty")
	}
	catalogue, err := store.NewCatalogue(o.Indexes)
	if err != nil {
		return nil, err
	}
	e := &Engine{catalogue: catalogue, collections: o.Collections, now: o.Now, timeout: o.Timeout}
	if e.collections == nil {
		e.collections = store.Collections()
	}
	for _, ix := range o.Indexes {
		if !slices.Contains(e.collections, ix.Collection) {
			e.collections = append(slices.Clip(e.collections), ix.Collection)
		}
	}
	if e.timeout <= 0 {
		e.timeout = defaultTimeout
	}
	if o.AppName == "" {
		o.AppName = "offrampbot " + o.Database
	}
	e.appName = o.AppName
	journal := true
	e.durable = &writeconcern.WriteConcern{W: "majority", Journal: &journal}
	client := options.Client().ApplyURI(o.URI).SetAppName(o.AppName).SetTimeout(e.timeout).
		SetRetryReads(true).SetRetryWrites(true).SetReadPreference(readpref.Primary()).
		SetReadConcern(readconcern.Majority()).SetWriteConcern(e.durable)
	if o.monitor != nil {
		client.SetMonitor(o.monitor)
	}
	if e.client, err = driver.Connect(client); err != nil {
		return nil, fmt.Errorf("read URI: %w", err)
	}
	e.database = e.client.Database(o.Database)
	return e, nil
}

// Name implements store.Engine.
func (e *Engine) Name() string { return "mongo" }

// Watch implements store.Engine.
func (e *Engine) Watch(c store.Collection, topics ...string) <-chan struct{} {
	return e.wakes.Watch(c, topics...)
}

// Now implements store.Engine: the primary's clock.
func (e *Engine) Now(ctx context.Context) (time.Time, error) {
	if e.closed.Load() {
		return time.Time{}, store.ErrClosed
	}
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	var before, after time.Time
	if e.now != nil {
		before = e.now()
	}
	answer, err := e.hello(ctx, e.client)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask the store's clock: %w", unavailable(ctx, err))
	}
	if e.now != nil {
		after = e.now()
	}
	at := answer.LocalTime.UTC().Add(after.Sub(before) / 2)
	return at.Truncate(time.Millisecond), nil
}

// Close ends all connections. Calls that are under way fail.
func (e *Engine) Close(ctx context.Context) error {
	if e.closed.Swap(true) {
		return nil
	}
	if err := e.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("close MongoDB: %w", err)
	}
	return nil
}

func (e *Engine) deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("store time-out of %s: %w", d, context.DeadlineExceeded))
}

// cleanUp is a context for telling the server that something is over, also after the caller's own has ended.
func cleanUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
}

// View implements store.Engine: snapshot reads outside a transaction, so that nothing has to be ended on the server.
func (e *Engine) View(ctx context.Context, fn func(ctx context.Context, r store.Reader) error) error {
	ctx, err := e.enter(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := e.deadline(ctx, viewTimeout)
	defer cancel()
	session, err := e.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return fmt.Errorf("start session: %w", unavailable(ctx, err))
	}
	defer session.EndSession(ctx)
	return fn(ctx, &reader{ctx: driver.NewSessionContext(ctx, session), engine: e, view: true})
}

func (e *Engine) enter(ctx context.Context) (context.Context, error) {
	if e.closed.Load() {
		return ctx, store.ErrClosed
	}
	return store.Enter(ctx, e)
}

func (e *Engine) collection(c store.Collection) *driver.Collection {
	return e.database.Collection(string(c))
}

type helloAnswer struct {
	SetName      string    `bson:"setName"`
	Message      string    `bson:"msg"`
	IsReplicaSet bool      `bson:"isreplicaset"` // started for a replica set that nobody has initiated
	LocalTime    time.Time `bson:"localTime"`
}

func (e *Engine) hello(ctx context.Context, client *driver.Client) (helloAnswer, error) {
	var answer helloAnswer
	err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&answer)
	return answer, err
}
