package main

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// wire is a TCP proxy in front of a server, which a test can cut or make silent.
type wire struct {
	t       *testing.T
	addr    string
	backend string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	silent   chan struct{} // not nil: nothing passes until it is closed
	sent     bytes.Buffer  // everything that clients have sent
	all      sync.WaitGroup
}

func newWire(t *testing.T, backend string) *wire {
	t.Helper()
	w := &wire{t: t, backend: backend, conns: map[net.Conn]bool{}}
	w.listen("127.0.0.1:0")
	w.addr = w.listener.Addr().String()
	t.Cleanup(func() {
		w.cut()
		w.speak()
		w.all.Wait()
	})
	return w
}

func (w *wire) listen(addr string) {
	w.t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(w.t, err)
	w.mu.Lock()
	w.listener = l
	w.mu.Unlock()
	w.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.all.Go(func() { w.carry(c) })
		}
	})
}

// cut refuses new connections and drops the old ones, as a server that was stopped.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for c := range w.conns {
		_ = c.Close()
	}
}

// mend ends a cut.
func (w *wire) mend() { w.listen(w.addr) }

// hush accepts everything from now on and never answers.
func (w *wire) hush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = make(chan struct{})
}

// speak ends a hush.
func (w *wire) speak() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent != nil {
		close(w.silent)
		w.silent = nil
	}
}

func (w *wire) keep(c net.Conn) (forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = true
	return func() {
		_ = c.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.conns, c)
	}
}

// carry joins one connection with the backend until either side ends.
func (w *wire) carry(client net.Conn) {
	defer w.keep(client)()
	w.wait()
	server, err := net.Dial("tcp", w.backend) //nolint:noctx // loopback, ended by closing it
	if err != nil {
		return
	}
	defer w.keep(server)()
	var both sync.WaitGroup
	both.Go(func() { w.pump(server, client, true) })
	both.Go(func() { w.pump(client, server, false) })
	both.Wait()
}

func (w *wire) pump(to, from net.Conn, note bool) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.wait()
		if n > 0 {
			if note {
				w.mu.Lock()
				w.sent.Write(buf[:n])
				w.mu.Unlock()
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) wait() {
	w.mu.Lock()
	silent := w.silent
	w.mu.Unlock()
	if silent != nil {
		<-silent
	}
}

// troubledRedis is a Redis of the test's own behind a wire. Its clock goes on: what should run out does.
type troubledRedis struct {
	*wire
	server *miniredis.Miniredis
}

func newTroubledRedis(t *testing.T) *troubledRedis {
	t.Helper()
	server := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				server.FastForward(100 * time.Millisecond)
			}
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return &troubledRedis{newWire(t, server.Addr()), server}
}

// onBothWired is onBoth with a Redis that can be troubled.
func onBothWired(t *testing.T, env map[string]string, story func(t *testing.T, w *town, r *troubledRedis)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) database{
		"bolt":  func(t *testing.T) database { t.Helper(); return testkit.Bolt(t, indexes()) },
		"mongo": func(t *testing.T) database { t.Helper(); return testkit.OpenMongo(t, indexes()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTroubledRedis(t)
			story(t, newTown(t, open(t), "redis://"+r.addr, env), r)
		})
	}
}

// orders are all orders of the store.
func (w *town) orders() []*offramp.Order {
	w.t.Helper()
	var all []*offramp.Order
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		all, err = store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "created", Limit: 1000})
		return err
	}))
	return all
}

// paysRight compares what the bank really did with what the orders say: exactly one transfer of the exact net for each
// successful order, none that went through for any other, and none that no order asked for. Then it checks every invariant.
func (w *town) paysRight() {
	w.t.Helper()
	requirePaidRight(w.t, w.orders(), w.bank())
	w.holds()
}

func requirePaidRight(t *testing.T, orders []*offramp.Order, bank []transfer) {
	t.Helper()
	paid := map[string][]transfer{}
	owner := map[string]*offramp.Order{}
	for _, o := range orders {
		for _, a := range o.Attempts {
			owner[a.Reference] = o
		}
	}
	for _, tr := range bank {
		o := owner[tr.Reference]
		require.NotNil(t, o, "the bank has a transfer that no order asked for: %s", tr.Reference)
		if tr.Status == "success" {
			paid[o.ID] = append(paid[o.ID], tr)
		}
	}
	for _, o := range orders {
		if o.State != offramp.Success {
			require.Empty(t, paid[o.ID], "order %s is %s and was paid", o.Reference, o.State)
			continue
		}
		require.Len(t, paid[o.ID], 1, "order %s is paid exactly once", o.Reference)
		require.Equal(t, int64(o.Net), paid[o.ID][0].AmountMinor)
	}
}

// passed is the states an order went through.
func passed(o *offramp.Order) []offramp.State {
	var out []offramp.State
	for _, f := range o.History {
		if len(out) == 0 || out[len(out)-1] != f.To {
			out = append(out, f.To)
		}
	}
	return out
}

// copies submits a screen several times at once.
func (p *person) copies(s screen, data map[string]any, n int) []screen {
	p.t.Helper()
	out := p.call("POST", "/world/flows/submit", map[string]any{"session": s.Session, "screen": s.Screen, "data": data, "copies": n})
	var all []screen
	for _, item := range out["items"].([]any) { //nolint:forcetypeassert // the schema was checked by the world
		all = append(all, asScreen(item.(map[string]any))) //nolint:forcetypeassert // likewise
	}
	return all
}
