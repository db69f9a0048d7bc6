// Package lock serialises work over all processes: one user's messages, one order's workers. A lock only saves work;
// no code path relies on it alone, because the fence is the revision of the document that is written.
package lock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrHeld: somebody else has the lock. The function did not run.
	ErrHeld = errors.New("lock is held")
	// ErrLost: the lock ran out or was taken while the function ran. It is the cause of the ended context.
	ErrLost = errors.New("lock was lost")
	// ErrUnavailable: Redis did not say whether the lock is free, which never means that it is. The function did not
	// run; a caller that needs no lock to be right may run it without.
	ErrUnavailable = errors.New("lock is unavailable")
)

// extend prolongs a lock that is still ours.
//
//	KEYS[1] the lock · ARGV[1] our token · ARGV[2] its life in milliseconds
//	returns 1 prolonged, 0 somebody else's or gone
var extend = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

// free deletes a lock that is still ours.
//
//	KEYS[1] the lock · ARGV[1] our token
//	returns 1 deleted, 0 somebody else's or gone
var free = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
end
return 0`)

// Config tunes a Locker.
type Config struct {
	// Prefix of every key; with the installation id in it, databases that share a Redis do not meet. Empty: "offramp:lock:".
	Prefix string
	// Life of a lock without renewal; renewal comes at a third of it. Zero: 15 s.
	Life time.Duration
}

func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "offramp:lock:"
	}
	if c.Life == 0 {
		c.Life = 15 * time.Second
	}
	return c
}

// Locker takes locks in one Redis.
type Locker struct {
	client redis.UniversalClient
	cfg    Config
}

// New returns a Locker. The client's own deadlines bound every call, see package redishook.
func New(client redis.UniversalClient, cfg Config) (*Locker, error) {
	cfg = cfg.withDefaults()
	switch {
	case client == nil:
		return nil, errors.New("make locker: client is missing")
	case cfg.Life < 3*time.Millisecond:
		return nil, errors.New("make locker: Life cannot be less than 3 ms")
	}
	return &Locker{client: client, cfg: cfg}, nil
}

// Do runs fn while it holds the lock of key and returns fn's error. It fails at once with ErrHeld when somebody else
// has it, and with ErrUnavailable when Redis cannot tell. The context of fn ends with cause ErrLost as soon as the lock
// cannot be renewed; then Do returns ErrLost beside fn's own error. The key holds no personal data: ids and digests.
func (l *Locker) Do(ctx context.Context, key string, fn func(ctx context.Context) error) error {
	key = l.cfg.Prefix + key
	token, err := newToken()
	if err != nil {
		return fmt.Errorf("take lock %s: %w", key, err)
	}
	taken, err := l.client.SetNX(ctx, key, token, l.cfg.Life).Result()
	if err != nil {
		l.release(ctx, key, token) // the reply may have been lost behind a lock that was set
		return fmt.Errorf("take lock %s: %w: %w", key, ErrUnavailable, err)
	}
	if !taken {
		return fmt.Errorf("take lock %s: %w", key, ErrHeld)
	}
	defer l.release(ctx, key, token)

	held, lose := context.WithCancelCause(ctx)
	done := make(chan struct{})
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		l.renew(held, key, token, lose, done)
	}()
	defer func() { // a panic of fn ends the renewal too
		close(done)
		<-renewed
		lose(nil)
	}()
	err = fn(held)
	if errors.Is(context.Cause(held), ErrLost) {
		return errors.Join(fmt.Errorf("hold lock %s: %w", key, ErrLost), err)
	}
	return err
}

// renew prolongs the lock at a third of its life until done. A lock of somebody else is lost at once; a Redis that does
// not answer is asked once more, and the lock given up before its life is over.
func (l *Locker) renew(
	ctx context.Context, key, token string, lose context.CancelCauseFunc, done <-chan struct{},
) {
	third := l.cfg.Life / 3
	tick := time.NewTicker(third)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		call, cancel := context.WithTimeoutCause(ctx, third/2, ErrLost)
		n, err := extend.Eval(call, l.client, []string{key}, token, l.cfg.Life.Milliseconds()).Int()
		cancel()
		switch {
		case err == nil && n == 1:
			misses = 0
		case err == nil:
			lose(ErrLost)
			return
		default:
			if misses++; misses >= 2 {
				lose(ErrLost)
				return
			}
		}
	}
}

// release deletes the lock if it is still ours, also when the caller's context has ended. Its error means nothing: the
// lock runs out by itself.
func (l *Locker) release(ctx context.Context, key, token string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Life/3)
	defer cancel()
	_ = free.Eval(ctx, l.client, []string{key}, token).Err()
}

// newToken tells this holder from every other one, of this process too (B27, B30).
func newToken() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("draw token: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
