//go:build torture

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

const (
	torturePeople = 50
	tortureSales  = 10 // apiece
	tortureKills  = 30
)

// torture is two bots in processes of their own, on servers of their own, in a world that lies.
type torture struct {
	*crowd
	bin   string
	mongo *ownMongo
	redis *daemon
}

// TestTorture_killsAndFaultsOfEveryKind sells for minutes while processes are killed, servers are stopped, frozen, emptied
// and told to fail, and providers lose replies, repeat themselves and break; one of the processes has its clock ten
// minutes off for a time. In the end each sale is paid exactly once, and everything agrees.
func TestTorture_killsAndFaultsOfEveryKind(t *testing.T) {
	w := newTorture(t)
	ended := make(chan struct{})
	var chaos errgroup.Group
	kills := 0
	chaos.Go(func() error { kills = w.killing(ended); return nil })
	chaos.Go(func() error { w.servers(ended); return nil })
	chaos.Go(func() error { w.providers(ended); return nil })
	w.sellEverything()
	close(ended)
	require.NoError(t, chaos.Wait())
	w.call("DELETE", "/world/faults", nil)
	for ; kills < tortureKills; kills++ { // the sales were faster
		w.crash(w.children[rand.IntN(len(w.children))])
	}
	w.settled()
	fmt.Printf("kills %d sales %d violations 0\n", kills, len(w.orders()))
}

func newTorture(t *testing.T) *torture {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "offrampbot")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack,crashpoints", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	w := &torture{bin: bin, mongo: newOwnMongo(t)}
	w.redis = newDaemon(t, "REDIS_SERVER", func(port, dir string) []string {
		return []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir}
	})
	w.crowd = processesOn(t, bin, 2, map[string]string{
		"MONGO_URI": w.mongo.uri, "MONGO_DATABASE": "torture", "REDIS_URL": "redis://127.0.0.1:" + w.redis.port, "VISIBILITY_BOUND": "2s",
		"PENDING_TOO_LONG": "10s",
	})
	for i := range torturePeople {
		w.robots = append(w.robots, &robot{world: w.world, phone: fmt.Sprintf("2348031%06d", i)})
	}
	var g errgroup.Group
	g.SetLimit(8)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, r := range w.robots {
		g.Go(func() error { return r.joins(ctx, "130") })
	}
	require.NoError(t, g.Wait(), w.tail())
	return w
}

// sellEverything lets each person sell until every one of their sales is accepted, whatever happens to a single try.
func (w *torture) sellEverything() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 15*time.Minute)
	defer cancel()
	var g errgroup.Group
	for i, r := range w.robots {
		g.Go(func() error {
			for amount := smallestSale; amount < smallestSale+tortureSales; amount++ {
				if err := w.sellsOnce(ctx, r, amount); err != nil {
					return fmt.Errorf("person %d: %w", i, err)
				}
			}
			return nil
		})
	}
	require.NoError(w.t, g.Wait(), w.tail())
}

// sellsOnce tries one sale until the store has it. A try whose outcome was lost may have been accepted, and one that was
// told "already in progress" may be held off by the claim of a process that was killed before it stored anything.
func (w *torture) sellsOnce(ctx context.Context, r *robot, amount int) error {
	var last error
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, 40*time.Second)
		last = r.sells(try, amount)
		cancel()
		is, err := w.isPlaced(ctx, r.phone, amount)
		if is && err == nil {
			return nil
		}
		last = errors.Join(last, err)
		after(ctx.Done(), time.Second)
	}
	return errors.Join(ctx.Err(), last)
}

func (w *torture) isPlaced(ctx context.Context, phone string, amount int) (is bool, err error) {
	err = w.db.View(ctx, func(_ context.Context, r store.Reader) error {
		is = false
		u, err := store.First[user.User](r, store.Query{Collection: store.Users, Index: "whatsapp_id", Equal: []any{phone}})
		if err != nil {
			return err
		}
		orders, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "user", Equal: []any{u.ID}})
		for _, o := range orders {
			is = is || int64(o.Amount) == int64(amount)*1_000_000
		}
		return err
	})
	return is, err
}

// crash ends a process as a power cut does and starts it again; with an offset its clock is that far off.
func (w *torture) crash(one *child, env ...string) {
	one.kill()
	kept := one.env
	one.env = append(append([]string{}, kept...), env...)
	one.start()
	one.env = kept
	deadline := time.Now().Add(time.Minute)
	for len(env) == 0 && !one.ready() { // one whose clock is off never says that it is ready
		if time.Now().After(deadline) {
			w.t.Errorf("a process does not come back: %s", w.tail())
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// killing kills one of the processes now and then, and lets one run with its clock off for a while.
func (w *torture) killing(ended <-chan struct{}) (kills int) {
	for kills < tortureKills {
		one := w.children[rand.IntN(len(w.children))]
		switch kills {
		case 8:
			w.crash(one, "CRASHPOINTS_CLOCK=10m")
			after(ended, 8*time.Second)
			w.crash(one)
			kills++
		case 16:
			w.crash(one, "CRASHPOINTS_CLOCK=-10m")
			after(ended, 8*time.Second)
			w.crash(one)
			kills++
		default:
			w.crash(one)
		}
		kills++
		if after(ended, time.Duration(2000+rand.IntN(7000))*time.Millisecond) {
			return kills
		}
	}
	return kills
}

// after waits, and reports whether everything has ended meanwhile.
func after(ended <-chan struct{}, long time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(long):
		return false
	}
}

// servers stops, freezes and empties Redis, restarts MongoDB, and lets commands fail.
func (w *torture) servers(ended <-chan struct{}) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + w.redis.port})
	defer func() { _ = client.Close() }()
	flush := func() { _ = client.FlushAll(context.WithoutCancel(w.t.Context())).Err() }
	for _, trouble := range []func(){
		flush,
		func() {
			w.mongo.failPoint(10, bson.D{
				{Key: "failCommands", Value: bson.A{"commitTransaction"}}, {Key: "errorCode", Value: 112}, {Key: "errorLabels", Value: bson.A{"TransientTransactionError"}},
			})
		},
		func() { w.redis.freeze(3 * time.Second) },
		func() {
			w.mongo.failPoint(10, bson.D{
				{Key: "failCommands", Value: bson.A{"commitTransaction"}}, {Key: "closeConnection", Value: true},
			})
		},
		w.mongo.restart,
		func() {
			w.redis.stop()
			time.Sleep(3 * time.Second)
			w.redis.start()
		},
		func() {
			w.mongo.failPoint(10, bson.D{
				{Key: "failCommands", Value: bson.A{"commitTransaction"}},
				{Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}, {Key: "errmsg", Value: "waiting for replication timed out"}}},
			})
		},
		flush,
		func() {
			w.mongo.failPoint(10, bson.D{{Key: "failCommands", Value: bson.A{"insert", "update"}}, {Key: "errorCode", Value: 112}, {Key: "errorLabels", Value: bson.A{"TransientTransactionError"}}})
		},
	} {
		if after(ended, 9*time.Second) {
			return
		}
		trouble()
	}
}

// providers lets bank and WhatsApp misbehave, a few calls at a time.
func (w *torture) providers(ended <-chan struct{}) {
	troubles := []struct{ target, operation, kind string }{
		{"paystack", "transfer", "lost_reply"}, {"paystack", "transfer", "http_500_after"}, {"paystack", "transfer", "rate_limited"},
		{"paystack", "transfer", "webhook_twice"}, {"paystack", "transfer", "webhook_first"}, {"paystack", "transfer", "webhook_never"},
		{"paystack", "transfer", "no_effect_timeout"}, {"paystack", "verify", "http_500"}, {"paystack", "verify", "empty"}, {"paystack", "verify", "reset"},
		{"meta", "messages", "http_500"}, {"meta", "messages", "lost_reply"}, {"meta", "messages", "rate_limited"},
		{"base", "eth_getLogs", "http_500"}, {"base", "eth_blockNumber", "empty"},
	}
	for i := 0; !after(ended, 1500*time.Millisecond); i++ {
		if waiting, _ := w.call("GET", "/world/state", nil)["faults"].(float64); waiting > 6 { // or one message would meet them all
			continue
		}
		trouble := troubles[i%len(troubles)]
		w.faults(trouble.target, trouble.operation, trouble.kind, 1+rand.IntN(3))
	}
}

// settled waits until nothing is on its way, and then accounts for every sale.
func (w *torture) settled() {
	w.t.Helper()
	patience(w.t, 5*time.Minute, "every order is final", func() bool {
		for _, o := range w.orders() {
			if o.State != offramp.Success {
				return false
			}
		}
		return true
	}, w.tail)
	patience(w.t, 2*time.Minute, "no receipt is left", func() bool { return w.waiting() == 0 }, w.tail)
	orders := w.orders()
	require.GreaterOrEqual(w.t, len(orders), torturePeople*tortureSales)
	requirePaidRight(w.t, orders, w.bank())
	require.Empty(w.t, w.receipts(delivery.Parked), "no accepted webhook is unprocessed")
	for _, command := range []string{"verify", "reconcile"} {
		exit, out, said := runBotFor(w.t, 3*time.Minute, w.bin, w.children[0].env, command, "--json")
		require.Equal(w.t, 0, exit, "%s: %s\n%s", command, out, said)
	}
	require.NotContains(w.t, w.log.String(), "panicked")
	_ = os.Stdout.Sync()
}

func patience(t *testing.T, long time.Duration, what string, is func() bool, tail func() string) {
	t.Helper()
	for deadline := time.Now().Add(long); !is(); time.Sleep(500 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "never happened: "+what, tail())
		}
	}
}
