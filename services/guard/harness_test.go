package guard_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/guard"
	"offrampbot/services/redishook/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

var noon = time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)

var content = guard.Content{
	User: "user-1", Amount: 27_500_000, Bank: "058", Account: "0123456789", Asset: "USDT", Chain: "bsc",
}

// orders is a store of orders by intent.
type orders struct {
	mu    sync.Mutex
	has   map[string]bool
	found guard.Found
	err   error
}

func (o *orders) Exists(_ context.Context, intent string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.has[intent], o.err
}

func (o *orders) FindOpenOrRecent(context.Context, string) (guard.Found, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.found, o.err
}

// set makes the intent's order the one with this content.
func (o *orders) set(f guard.Found) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.has[f.Intent] = true
	o.found = f
}

// forget takes the order out of what FindOpenOrRecent finds: it failed, or was completed long ago.
func (o *orders) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found = guard.Found{}
}

type metrics struct {
	mu               sync.Mutex
	blocked          map[string]int
	intervals        []time.Duration
	expired, cleanup int
}

func (m *metrics) DuplicateBlocked(channel string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocked[channel]++
}

func (m *metrics) DuplicateInterval(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.intervals = append(m.intervals, d)
}

func (m *metrics) Expired() { m.mu.Lock(); defer m.mu.Unlock(); m.expired++ }
func (m *metrics) Cleanup() { m.mu.Lock(); defer m.mu.Unlock(); m.cleanup++ }

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// counter counts the round trips of a client.
type counter struct{ n atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "hello" {
			c.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 && cmds[0].Name() != "hello" {
			c.n.Add(1)
		}
		return next(ctx, cmds)
	}
}

// harness is a guard with everything around it.
type harness struct {
	t       *testing.T
	server  redistest.Server
	guard   *guard.Guard
	orders  *orders
	metrics *metrics
	log     *syncBuffer
	trips   *counter
	now     time.Time
	digest  string
}

func newHarness(t *testing.T, s redistest.Server, cfg guard.Config) *harness {
	t.Helper()
	h := &harness{
		t: t, server: s, orders: &orders{has: map[string]bool{}}, metrics: &metrics{blocked: map[string]int{}},
		log: &syncBuffer{}, trips: &counter{}, now: noon, digest: guard.Key([]byte("a lookup key"), content),
	}
	s.Client.AddHook(h.trips)
	cfg.Prefix = s.Prefix
	g, err := guard.New(guard.Deps{
		Client: s.Client, Orders: h.orders, Metrics: h.metrics,
		Log: slog.New(slog.NewJSONHandler(h.log, nil)), Now: func() time.Time { return h.now },
	}, cfg)
	require.NoError(t, err)
	h.guard = g
	return h
}

func (h *harness) claim(channel guard.Channel, intent string) guard.Decision {
	h.t.Helper()
	d, err := h.guard.Claim(h.t.Context(), h.digest, channel, intent, h.now)
	require.NoError(h.t, err)
	return d
}

// place is what the flow does behind a claim that was allowed.
func (h *harness) place(intent string) {
	h.orders.set(guard.Found{Intent: intent, Reference: "7K3M9QX2B", State: guard.Processing, At: h.now})
}

// wait lets time pass, on the server too where that is possible.
func (h *harness) wait(d time.Duration) {
	h.now = h.now.Add(d)
	if h.server.AdvanceFunc != nil {
		h.server.AdvanceFunc(d)
	}
}

func (h *harness) key(channel guard.Channel) string {
	if channel == guard.Page {
		return h.server.Prefix + "offramp:pin:" + h.digest
	}
	return h.server.Prefix + "offramp:transaction:" + h.digest
}

func (h *harness) value(channel guard.Channel) string {
	h.t.Helper()
	v, err := h.server.Client.Get(h.t.Context(), h.key(channel)).Result()
	if errors.Is(err, redis.Nil) {
		return ""
	}
	require.NoError(h.t, err)
	return v
}

func (h *harness) wantLife(channel guard.Channel, want time.Duration) {
	h.t.Helper()
	ttl := h.server.Client.PTTL(h.t.Context(), h.key(channel)).Val()
	require.LessOrEqual(h.t, ttl, want)
	require.Greater(h.t, ttl, want-10*time.Second)
}
