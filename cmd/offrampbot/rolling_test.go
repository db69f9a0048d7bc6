package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

// rollingBalancer gives each new connection to a backend that said it is ready when it was last asked. It tries no
// second one, and it never breaks a connection off: what goes wrong is the bot's to prevent.
type rollingBalancer struct {
	listener net.Listener
	backends []string
	all      sync.WaitGroup
	mu       sync.Mutex
	next     int
	ready    map[string]bool
	open     map[net.Conn]bool
}

// followed is how often the balancer asks; a bot's drain must be longer than a few of these.
const followed = 200 * time.Millisecond

func newRollingBalancer(t *testing.T, backends ...string) *rollingBalancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &rollingBalancer{listener: l, backends: backends, ready: map[string]bool{}, open: map[net.Conn]bool{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	b.all.Go(func() { b.follow(ctx) })
	b.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.all.Go(func() { b.carry(c) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		b.mu.Lock()
		for c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.all.Wait()
	})
	return b
}

// follow asks every backend whether it is ready, each time on a connection of its own.
func (b *rollingBalancer) follow(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	tick := time.NewTicker(followed)
	defer tick.Stop()
	for {
		for _, addr := range b.backends {
			res, err := client.Get("http://" + addr + "/readyz") //nolint:noctx // a test on loopback
			ok := err == nil && res.StatusCode == http.StatusOK
			if err == nil {
				_ = res.Body.Close()
			}
			b.mu.Lock()
			b.ready[addr] = ok
			b.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// knows reports what the balancer believes of a backend.
func (b *rollingBalancer) knows(addr string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[addr]
}

func (b *rollingBalancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.backends {
		b.next++
		if addr := b.backends[b.next%len(b.backends)]; b.ready[addr] {
			return addr
		}
	}
	return ""
}

func (b *rollingBalancer) carry(client net.Conn) {
	defer b.keep(client)()
	server, err := net.DialTimeout("tcp", b.pick(), time.Second) //nolint:noctx // loopback
	if err != nil {
		return
	}
	defer b.keep(server)()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	both.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	both.Wait()
}

func (b *rollingBalancer) keep(c net.Conn) (forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
	return func() {
		_ = c.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
	}
}

// TestServe_rollingRestartLosesNothing restarts two processes in turn while sales are offered by the clock. Nobody tries
// anything twice, so every answer that a restart swallowed would show as a failed webhook or a sale that broke off.
func TestServe_rollingRestartLosesNothing(t *testing.T) {
	t.Parallel()
	bin := buildBot(t)
	uri, database := testkit.Mongo(t)
	redisURL, _ := testkit.Redis(t)
	addrs := []string{quietAddress(t), quietAddress(t)}
	b := newRollingBalancer(t, addrs...)
	front := "http://" + b.listener.Addr().String()
	w := openWorld(t, front, map[string]string{
		"STORE": "mongo", "MONGO_URI": uri, "MONGO_DATABASE": database, "REDIS_URL": redisURL, "CHAIN_POLL": "200ms",
	})
	var children []*child
	for _, addr := range addrs {
		env := append(environment(w.file), "HTTP_ADDR="+addr, "INTERNAL_ADDR="+quietAddress(t))
		one := &child{t: t, bin: bin, env: plainEnv(env...), addr: addr, log: w.log, args: []string{"--drain", "2s"}}
		one.start()
		t.Cleanup(one.kill)
		w.eventually("the balancer has the process", func() bool { return b.knows(addr) }) // the first one makes the indexes
		children = append(children, one)
	}
	db, err := mongo.Open(t.Context(), mongo.Options{URI: uri, Database: database, Indexes: indexes(), Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	w.db = db

	const rate, seconds = 20, 3 // more than two processors do at once, so the restarts find work everywhere
	var exit int
	var out, said string
	var load sync.WaitGroup
	load.Go(func() {
		exit, out, said = runBotFor(t, 4*time.Minute, bin, plainEnv(), "load", "--json", "--rate", fmt.Sprint(rate), "--duration", fmt.Sprintf("%ds", seconds),
			"--world", w.world, "--bot", front, "--block-seconds", "-1", "--bank-seconds", "-1", "--people", "20")
	})
	w.eventually("sales are coming in", func() bool { return w.soldSoFar() > rate/4 })
	for _, c := range children {
		require.Zero(t, c.terminate(), "a process that was asked to end ends well: %s", w.tail())
		c.start()
		w.eventually("the balancer has the process again", func() bool { return b.knows(c.addr) })
	}
	restarted := w.soldSoFar()
	load.Wait()
	require.Zero(t, exit, "%s\n%s\n%s", out, said, w.tail())
	require.Less(t, restarted, rate*seconds, "both restarts fell among the sales")
	var report loadReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Empty(t, report.Problems)
	require.Equal(t, rate*seconds, report.Paid)
	require.Zero(t, report.Failed)
	requirePaidRight(t, w.finals(rate*seconds), w.bank())
	exit, out, said = runBot(t, bin, children[0].env, "verify", "--json")
	require.Equal(t, 0, exit, "%s\n%s", out, said)
}

// soldSoFar is how many sales were placed.
func (w *town) soldSoFar() (n int) {
	w.t.Helper()
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		all, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "created"})
		n = len(all)
		return err
	}))
	return n
}

// finals waits until so many orders are a success, and returns them.
func (w *town) finals(n int) (orders []*offramp.Order) {
	w.t.Helper()
	w.eventually("every order is a success", func() bool {
		require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
			orders, err = store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "state", Equal: []any{string(offramp.Success)}})
			return err
		}))
		return len(orders) == n
	})
	return orders
}
