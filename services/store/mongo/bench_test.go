package mongo_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// five are the collections that one benchmarked transaction writes to.
var five = []store.Collection{"one", "two", "three", "four", "five"}

// BenchmarkUpdate writes one document to each of five collections, beside the same through the bare driver.
func BenchmarkUpdate(b *testing.B) {
	var indexes []store.Index
	for _, c := range five {
		indexes = append(indexes, store.Index{Collection: c, Name: "count", Fields: []string{"count"}})
	}
	for _, callers := range []int{1, 8, 32} {
		b.Run(fmt.Sprintf("engine/%d", callers), func(b *testing.B) {
			e := testkit.OpenMongo(b, indexes)
			var n atomic.Int64
			parallel(b, callers, func(ctx context.Context) error {
				id := fmt.Sprint(n.Add(1))
				return e.Update(ctx, func(_ context.Context, tx store.Tx) error {
					for _, c := range five {
						if err := tx.Insert(c, a(id)); err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
		b.Run(fmt.Sprintf("driver/%d", callers), func(b *testing.B) {
			uri, database := testkit.Mongo(b)
			testkit.OpenMongo(b, indexes)
			journal := true
			client, err := driver.Connect(options.Client().ApplyURI(uri))
			require.NoError(b, err)
			defer func() { require.NoError(b, client.Disconnect(context.WithoutCancel(b.Context()))) }()
			o := options.Transaction().SetReadConcern(readconcern.Snapshot()).
				SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal})
			for _, c := range five {
				_, err := client.Database(database).Collection(string(c)).Indexes().CreateOne(b.Context(),
					driver.IndexModel{Keys: bson.D{{Key: "count", Value: 1}, {Key: "_id", Value: 1}}})
				require.NoError(b, err)
			}
			var n atomic.Int64
			parallel(b, callers, func(ctx context.Context) error {
				session, err := client.StartSession()
				if err != nil {
					return err
				}
				defer session.EndSession(ctx)
				if err := session.StartTransaction(o); err != nil {
					return err
				}
				id := fmt.Sprint(n.Add(1))
				for _, c := range five {
					if _, err := client.Database(database).Collection(string(c)).InsertOne(driver.NewSessionContext(ctx, session), a(id)); err != nil {
						return err
					}
				}
				return session.CommitTransaction(ctx)
			})
		})
	}
}

func parallel(b *testing.B, callers int, call func(ctx context.Context) error) {
	b.Helper()
	b.SetParallelism(max(callers/2, 1)) // two processors
	if callers == 1 {
		for b.Loop() {
			require.NoError(b, call(b.Context()))
		}
	} else {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := call(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportMetric(float64(b.N)/(float64(b.Elapsed())/float64(time.Second)), "commits/s")
}
