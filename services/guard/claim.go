package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Claim claims the sale of this content digest for an intent, before its PIN is counted, so that copies of one
// submission count once. Of concurrent claims exactly one is allowed (R66, R67). It fails only when neither Redis nor
// the store can answer; then nothing may be placed. Every refusal is to be written to the audit trail by the caller.
func (g *Guard) Claim(
	ctx context.Context, digest string, channel Channel, intent string, now time.Time,
) (Decision, error) {
	return g.claim(ctx, digest, channel, intent, now, g.cfg.ContentCheckOff)
}

// ClaimSecond is Claim for a user who ticked "yes, I mean a second payment" on a fresh quote: equal content of another
// intent does not refuse, a copy of this one still does.
func (g *Guard) ClaimSecond(
	ctx context.Context, digest string, channel Channel, intent string, now time.Time,
) (Decision, error) {
	return g.claim(ctx, digest, channel, intent, now, true)
}

func (g *Guard) claim(
	ctx context.Context, digest string, channel Channel, intent string, now time.Time, second bool,
) (Decision, error) {
	d, err := g.decide(ctx, digest, channel, intent, now, second)
	if err != nil {
		return Decision{}, fmt.Errorf("claim sale: %w", err)
	}
	d = d.withTexts()
	if d.Allowed() {
		g.log.InfoContext(ctx, "[OFFRAMP] Idempotency check passed. Transaction marked as processing",
			"order_id", intent, "channel", string(channel), "from_store", d.FromStore)
		return d, nil
	}
	message := "[OFFRAMP] Duplicate transaction attempt detected"
	if channel == Page {
		message = "[OFFRAMP] Duplicate PIN submission detected"
	}
	g.log.WarnContext(ctx, message,
		"order_id", intent, "held_by", d.Intent, "state", string(d.State), "channel", string(channel))
	g.metrics.DuplicateBlocked(string(channel))
	g.metrics.DuplicateInterval(d.Interval)
	return d, nil
}

// decide asks Redis and, wherever Redis is not enough, the store.
func (g *Guard) decide(
	ctx context.Context, digest string, channel Channel, intent string, now time.Time, second bool,
) (Decision, error) {
	keys := g.keysFor(channel, digest)
	c, err := g.ask(ctx, claimScript, keys, intent, now.UnixMilli(), Processing.life().Milliseconds(), flag(second))
	if err != nil {
		g.log.WarnContext(ctx, "guard asked the store", "order_id", intent, "error", err)
		d, err := g.fromStore(ctx, digest, intent, now, second)
		d.FromStore = true
		return d, err
	}
	if c.verdict != "claimed" {
		d, abandoned := g.judge(ctx, c, intent, now)
		if !abandoned {
			return g.withReference(ctx, digest, d), nil
		}
		taken, err := g.ask(ctx, takeOverScript, keys, c.raw, intent, now.UnixMilli(), Processing.life().Milliseconds())
		if err != nil || taken.verdict != "claimed" { // somebody else was faster, or Redis went away: refused as judged
			return g.withReference(ctx, digest, d), nil
		}
		g.metrics.Cleanup()
		d, err = g.confirm(ctx, digest, intent, now, second)
		d.TakenOver = d.Allowed()
		return d, err
	}
	return g.confirm(ctx, digest, intent, now, second)
}

// confirm checks a fresh claim against the store: an absent key may only mean that Redis forgot. A claim that the store
// contradicts, or cannot be asked about, is taken back.
//
// Invariant: an absent key never means free by itself.
func (g *Guard) confirm(
	ctx context.Context, digest, intent string, now time.Time, second bool,
) (Decision, error) {
	d, err := g.fromStore(ctx, digest, intent, now, second)
	if err != nil || d.Verdict == Refused {
		g.Free(ctx, digest, intent)
	}
	return d, err
}

// fromStore decides by the orders alone.
func (g *Guard) fromStore(
	ctx context.Context, digest, intent string, now time.Time, second bool,
) (Decision, error) {
	found, err := g.orders.FindOpenOrRecent(ctx, digest)
	if err != nil {
		return Decision{}, fmt.Errorf("look for an order of the same content: %w", err)
	}
	d := Decision{
		Verdict: Refused, State: found.State, Intent: found.Intent, Reference: found.Reference,
		Interval: since(found.At, now), Ordered: true,
	}
	switch {
	case found.Intent == "" || found.State == Failed, found.Intent != intent && second:
		return Decision{Verdict: Claimed}, nil
	case found.Intent == intent:
		d.Verdict = Own
	}
	return d, nil
}

// judge turns a claim that is there into a decision, and says whether it was abandoned: it is old enough, still in
// processing and has no order. An order that cannot be looked up counts as there.
func (g *Guard) judge(ctx context.Context, c claimed, intent string, now time.Time) (d Decision, abandoned bool) {
	d = Decision{Verdict: Refused, State: c.state, Intent: c.intent, Interval: since(c.at, now)}
	if c.verdict == "own" {
		d.Verdict = Own
	}
	if c.intent == "" { // not a value of ours
		return d, false
	}
	mayBeAbandoned := c.state == Processing && now.Sub(c.at) >= g.cfg.TakeOverAfter
	if d.Verdict == Refused && !mayBeAbandoned {
		return d, false
	}
	ordered, err := g.orders.Exists(ctx, c.intent)
	if err != nil {
		g.log.WarnContext(ctx, "guard did not find out whether an order exists", "order_id", c.intent, "error", err)
		return d, false
	}
	d.Ordered = ordered
	return d, mayBeAbandoned && !ordered
}

// withReference adds the human reference of a completed order, which only the store knows. Without one the texts do
// without: nobody can find an order by a part of its intent.
func (g *Guard) withReference(ctx context.Context, digest string, d Decision) Decision {
	if d.State != Completed || d.Reference != "" {
		return d
	}
	found, err := g.orders.FindOpenOrRecent(ctx, digest)
	if err == nil && found.Intent == d.Intent && found.Reference != "" {
		d.Reference = found.Reference
	}
	return d
}

// ask runs a claiming script within the guard's short deadline.
func (g *Guard) ask(ctx context.Context, s *redis.Script, keys []string, args ...any) (claimed, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.cfg.Timeout, errSlow)
	defer cancel()
	answer, err := s.Eval(ctx, g.client, keys, args...).Slice()
	if err != nil {
		return claimed{}, err
	}
	return parse(answer)
}

// since is the time from at to now, never negative, also when the clocks differ (R59).
func since(at, now time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(0, now.Sub(at))
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
