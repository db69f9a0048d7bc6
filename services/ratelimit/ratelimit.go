// Package ratelimit bounds how often something may happen, over all processes: per user, per number, per admin. It is
// GCRA in one Redis script; while Redis does not answer each process counts for itself, so a lost Redis neither stops
// everybody nor lets everybody through.
package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// Limit allows Rate events per Period, of which up to Burst may come at once.
type Limit struct {
	Rate   int
	Burst  int // zero: Rate
	Period time.Duration
}

// valid reports whether the limit lets anything through at all.
func (l Limit) valid() bool { return l.Rate > 0 && l.Burst >= 0 && l.Period > 0 }

// every is the time one event costs.
func (l Limit) every() time.Duration { return max(1, l.Period/time.Duration(l.Rate)) }

func (l Limit) burst() int {
	if l.Burst == 0 {
		return l.Rate
	}
	return l.Burst
}

// Deps are what a Limiter needs; all are required.
type Deps struct {
	Client redis.UniversalClient
	Now    func() time.Time
	Log    *slog.Logger
}

// Config tunes a Limiter.
type Config struct {
	// Prefix of every key, behind the library's own "rate:"; with the installation id in it, databases that share a Redis
	// do not meet. Empty: "offramp:rate:".
	Prefix string
	// LocalKeys bounds the memory of the local counters. Zero: 10,000.
	LocalKeys int
}

// Limiter counts in Redis, or locally while Redis does not answer.
type Limiter struct {
	redis *redis_rate.Limiter
	local *local
	now   func() time.Time
	log   *slog.Logger
	cfg   Config
}

// New returns a Limiter.
func New(deps Deps, cfg Config) (*Limiter, error) {
	switch {
	case deps.Client == nil:
		return nil, errors.New("make rate limiter: Client is missing")
	case deps.Now == nil:
		return nil, errors.New("make rate limiter: Now is missing")
	case deps.Log == nil:
		return nil, errors.New("make rate limiter: Log is missing")
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "offramp:rate:"
	}
	if cfg.LocalKeys <= 0 {
		cfg.LocalKeys = 10_000
	}
	return &Limiter{
		redis: redis_rate.NewLimiter(deps.Client), local: newLocal(cfg.LocalKeys), now: deps.Now, log: deps.Log, cfg: cfg,
	}, nil
}

// Allow counts one event of id within scope and says whether it may happen, and if not, after which time it may. The id
// is a digest or an id of ours: keys hold no personal data, so callers hash numbers and addresses first. A limit that
// allows nothing (a zero Rate or Period) refuses.
func (l *Limiter) Allow(ctx context.Context, scope, id string, limit Limit) (ok bool, retryAfter time.Duration) {
	if !limit.valid() {
		return false, max(limit.Period, time.Second)
	}
	key := l.cfg.Prefix + scope + ":" + id
	res, err := l.redis.Allow(ctx, key, redis_rate.Limit{Rate: limit.Rate, Burst: limit.burst(), Period: limit.Period})
	if err != nil {
		l.log.WarnContext(ctx, "rate limit counted locally", "scope", scope, "error", err)
		return l.local.allow(key, limit, l.now())
	}
	if res.Allowed > 0 {
		return true, 0
	}
	return false, max(res.RetryAfter, time.Millisecond)
}
