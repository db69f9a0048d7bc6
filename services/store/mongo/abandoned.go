package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

// EndAbandoned ends the transactions of this database's processes that have stood still for longer than any transaction
// of a living process may take: their process died in the middle. Until then every document that they wrote refuses all
// others, and the server by itself waits for a minute or more. It may run in many processes at once; a transaction that
// is ended by mistake is run again by its owner. It needs no privilege beyond that of being the same user.
func (e *Engine) EndAbandoned(ctx context.Context) (ended int, err error) {
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	admin := e.client.Database("admin", options.Database().SetReadConcern(readconcern.Local()))
	cursor, err := admin.Aggregate(ctx, driver.Pipeline{
		{{Key: "$currentOp", Value: bson.D{{Key: "idleSessions", Value: true}}}},
		{{Key: "$match", Value: bson.D{
			{Key: "type", Value: "idleSession"}, {Key: "appName", Value: e.appName},
			{Key: "transaction.timeInactiveMicros", Value: bson.D{{Key: "$gt", Value: e.timeout.Microseconds()}}},
		}}},
	})
	if err != nil {
		return 0, fmt.Errorf("look for abandoned transactions: %w", unavailable(ctx, err))
	}
	var idle []struct {
		Session struct {
			ID bson.Binary `bson:"id"`
		} `bson:"lsid"`
	}
	if err := cursor.All(ctx, &idle); err != nil {
		return 0, fmt.Errorf("look for abandoned transactions: %w", unavailable(ctx, err))
	}
	if len(idle) == 0 {
		return 0, nil
	}
	sessions := bson.A{}
	for _, one := range idle {
		sessions = append(sessions, bson.D{{Key: "id", Value: one.Session.ID}})
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "killSessions", Value: sessions}}).Err(); err != nil {
		return 0, fmt.Errorf("end abandoned transactions: %w", unavailable(ctx, err))
	}
	return len(idle), nil
}
