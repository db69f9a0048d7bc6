package mongo

import (
	"context"
	"errors"
	"fmt"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/store"
)

// probeTimeout bounds the question to each single server that explains why no primary was found.
const probeTimeout = time.Second

var (
	// ErrStandalone refuses a server without replication: it has no transactions.
	ErrStandalone = errors.New("this MongoDB server is standalone and has no transactions; make it a replica set of one: " +
		"start mongod with --replSet rs0, run rs.initiate() once in mongosh, and add ?replicaSet=rs0 to MONGO_URI")
	// ErrNotInitiated refuses a replica set that was never initiated.
	ErrNotInitiated = errors.New("this MongoDB server waits for its replica set to be made: run rs.initiate() once in mongosh")
)

// checkTopology asks the primary what it is. When there is none, it asks each server of the URI by itself, so that the
// usual mistake is answered with what to do about it instead of a time-out.
func (e *Engine) checkTopology(ctx context.Context, uri string) error {
	selecting, cancel := context.WithTimeout(ctx, e.timeout/2)
	defer cancel()
	answer, err := e.hello(selecting, e.client)
	if err == nil {
		return judge(answer)
	}
	for _, host := range options.Client().ApplyURI(uri).Hosts {
		if said := e.probe(ctx, uri, host); said != nil {
			return said
		}
	}
	return unavailable(ctx, err)
}

func (e *Engine) probe(ctx context.Context, uri, host string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	single := options.Client().ApplyURI(uri)
	single.ReplicaSet = nil
	client, err := driver.Connect(single.SetHosts([]string{host}).SetDirect(true))
	if err != nil {
		return nil
	}
	defer func() { _ = client.Disconnect(ctx) }() // a probe has nothing to lose
	answer, err := e.hello(ctx, client)
	if err != nil {
		return nil
	}
	return judge(answer)
}

func judge(answer helloAnswer) error {
	switch {
	case answer.SetName != "" || answer.Message == "isdbgrid": // a member, or a router of a sharded cluster
		return nil
	case answer.IsReplicaSet:
		return ErrNotInitiated
	}
	return ErrStandalone
}

// unavailable classifies an error that came before anything could have been committed. An ended context is named by its
// cause, because the driver's own text does not say whose deadline it was.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, context.Cause(ctx), err)
	}
	if server := (driver.ServerError)(nil); errors.As(err, &server) && !isNetwork(err) && !isTransient(err) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
