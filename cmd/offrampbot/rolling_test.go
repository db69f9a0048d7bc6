package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

// TestServe_rollingRestartLosesNothing restarts two processes in turn while sales are offered by the clock. Nobody tries
// anything twice, so every answer that a restart swallowed would show as a failed webhook or a sale that broke off.
func TestServe_rollingRestartLosesNothing(t *testing.T) {
	t.Parallel()
	bin := buildBot(t)
	uri, database := testkit.Mongo(t)
	redisURL, _ := testkit.Redis(t)
	addrs := []string{quietAddress(t), quietAddress(t)}
	b := newFollower(t, addrs...)
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
