package main

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"offrampbot/services/loop"
	"offrampbot/services/obs"
	"offrampbot/services/store"
)

// measured is a database whose transactions are timed.
type measured struct {
	database
	metrics *obs.Metrics
}

// Update implements store.Engine.
func (m measured) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	start := now()
	err := m.database.Update(ctx, fn)
	m.metrics.Store("update", storeOutcome(err), now().Sub(start))
	return err
}

// View implements store.Engine.
func (m measured) View(ctx context.Context, fn func(ctx context.Context, r store.Reader) error) error {
	start := now()
	err := m.database.View(ctx, fn)
	m.metrics.Store("view", storeOutcome(err), now().Sub(start))
	return err
}

// storeOutcome tells trouble of the store from what the callback decided: a refusal is no failure of the store.
func storeOutcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, store.ErrCommitUnknown):
		return "unknown"
	case errors.Is(err, store.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, store.ErrStale):
		return "stale"
	default:
		return "refused"
	}
}

// redisTimes times every command and pipeline.
type redisTimes struct{ metrics *obs.Metrics }

// DialHook implements redis.Hook.
func (redisTimes) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (t redisTimes) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		start := now()
		err := next(ctx, cmd)
		t.metrics.Redis(cmd.Name(), redisOutcome(err), now().Sub(start))
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (t redisTimes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		start := now()
		err := next(ctx, cmds)
		t.metrics.Redis("pipeline", redisOutcome(err), now().Sub(start))
		return err
	}
}

func redisOutcome(err error) string {
	if err == nil || errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "NOSCRIPT") {
		return "ok"
	}
	return "error"
}

// counted is a worker's step that is counted and timed.
func (a *app) counted(worker string, step loop.Step) loop.Step {
	return func(ctx context.Context) (bool, error) {
		start := now()
		worked, err := step(ctx)
		a.metrics.Step(worker, worked, err, now().Sub(start))
		return worked, err
	}
}

// chainGauges tells how far each chain is read. A process that does not watch a chain says nothing about it.
func (a *app) chainGauges() {
	for chain, w := range a.health.chains {
		if h := w.Health(); h.Leading && !h.PolledAt.IsZero() {
			a.metrics.Chain(chain, h.Cursor, h.Head, h.PolledAt)
		}
	}
}
