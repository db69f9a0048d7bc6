// Package redishook makes the one Redis client that guard, lock, ratelimit and session share. A hook on it gives every
// call a short deadline and passes it through the choke point point.Redis, so that no call can be forgotten in either.
//
// Redis is speed, never truth (DESIGN §9): a stopped, flushed, slow or silent server costs speed and chat drafts only.
// The same code runs against a real server and against miniredis in the embedded mode.
package redishook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"offrampbot/services/point"
)

// DefaultTimeout is how long a Redis call may take, connecting included.
const DefaultTimeout = 250 * time.Millisecond

// ErrSlow is the cause of a context that ended because Redis did not answer in time.
var ErrSlow = errors.New("redis did not answer in time")

// Config tunes the client; the zero value is right for production.
type Config struct {
	// Timeout is how long a call may take. Zero: DefaultTimeout.
	Timeout time.Duration
	// PoolSize is the most connections of one process. Zero: 32.
	PoolSize int
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.PoolSize <= 0 {
		c.PoolSize = 32
	}
	return c
}

// New returns a client for a URL of the form redis://[user:password@]host:port[/database] or rediss://…. It connects
// on the first call, so a Redis that is down never keeps the process from starting. It repeats nothing by itself: a
// call whose reply was lost is the caller's to judge.
func New(url string, cfg Config) (*redis.Client, error) {
	cfg = cfg.withDefaults()
	opt, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("parse REDIS_URL: not a redis:// or rediss:// URL") // the cause may quote the password
	}
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout = cfg.Timeout, cfg.Timeout, cfg.Timeout
	opt.PoolTimeout = cfg.Timeout
	opt.ContextTimeoutEnabled = true
	opt.MaxRetries, opt.DialerRetries = -1, 1
	opt.PoolSize = cfg.PoolSize
	opt.DisableIdentity = true
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(opt)
	client.AddHook(Hook{timeout: cfg.Timeout})
	return client, nil
}

// Hook is the choke point of every Redis call.
type Hook struct{ timeout time.Duration }

var _ redis.Hook = Hook{}

// DialHook leaves connecting as it is; the command that needs the connection carries the deadline.
func (h Hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook wraps a single command.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isHandshake(cmd) {
			return next(ctx, cmd)
		}
		return h.through(ctx, func(ctx context.Context) error { return next(ctx, cmd) }, cmd)
	}
}

// ProcessPipelineHook wraps a pipeline or transaction as one call.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 && isHandshake(cmds[0]) {
			return next(ctx, cmds)
		}
		return h.through(ctx, func(ctx context.Context) error { return next(ctx, cmds) }, cmds...)
	}
}

// through makes one call between the two halves of the choke point. An error of either half stands for the reply.
func (h Hook) through(ctx context.Context, call func(context.Context) error, cmds ...redis.Cmder) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, ErrSlow)
	defer cancel()
	if err := point.Before(ctx, point.Redis); err != nil {
		return fail(err, cmds)
	}
	err := call(ctx)
	if lost := point.After(ctx, point.Redis); lost != nil {
		return fail(lost, cmds)
	}
	if err != nil && errors.Is(context.Cause(ctx), ErrSlow) {
		return fail(fmt.Errorf("%w: %w", ErrSlow, err), cmds)
	}
	return err
}

// fail gives every command the error, because callers read it there.
func fail(err error, cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

// isHandshake reports whether a command belongs to a new connection and not to a call of ours.
func isHandshake(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "auth", "select", "client":
		return true
	}
	return false
}
