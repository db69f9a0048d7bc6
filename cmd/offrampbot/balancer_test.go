package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// balancer gives each new connection to one of its backends, each in turn. It never breaks a connection off.
type balancer struct {
	listener net.Listener
	backends []string
	follows  bool // only ready backends are tried, and one only; else whoever takes the connection gets it
	all      sync.WaitGroup
	mu       sync.Mutex
	next     int
	ready    map[string]bool
	open     map[net.Conn]bool
}

// newBalancer tries the backends until one takes the connection.
func newBalancer(t *testing.T, backends ...string) *balancer {
	t.Helper()
	return startBalancer(t, &balancer{backends: backends})
}

// newFollower tries one backend that said it is ready when it was last asked: what goes wrong is the bot's to prevent.
func newFollower(t *testing.T, backends ...string) *balancer {
	t.Helper()
	b := &balancer{backends: backends, follows: true, ready: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	b.all.Go(func() { b.follow(ctx) })
	startBalancer(t, b)
	t.Cleanup(cancel)
	return b
}

func startBalancer(t *testing.T, b *balancer) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.listener, b.open = l, map[net.Conn]bool{}
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

// followed is how often a follower asks; a bot's drain must be longer than a few of these.
const followed = 200 * time.Millisecond

// follow asks every backend whether it is ready, each time on a connection of its own.
func (b *balancer) follow(ctx context.Context) {
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

// knows reports what a follower believes of a backend.
func (b *balancer) knows(addr string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[addr]
}

// turn lists the backends to try for one connection, in order.
func (b *balancer) turn() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	var out []string
	for i := range b.backends {
		addr := b.backends[(b.next+i)%len(b.backends)]
		if !b.follows || b.ready[addr] {
			out = append(out, addr)
		}
	}
	if b.follows {
		return out[:min(len(out), 1)]
	}
	return out
}

func (b *balancer) carry(client net.Conn) {
	defer b.keep(client)()
	for _, addr := range b.turn() {
		server, err := net.DialTimeout("tcp", addr, time.Second) //nolint:noctx // loopback
		if err != nil {
			continue
		}
		defer b.keep(server)()
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		both.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
		both.Wait()
		return
	}
}

func (b *balancer) keep(c net.Conn) (forget func()) {
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
