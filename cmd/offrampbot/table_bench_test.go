//go:build bench

package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"offrampbot/services/invariant"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// row prints one line of the table. Nothing is asserted: a machine that does other things must not fail a build.
func row(t *testing.T, what, ours, baseline string, ratio, limit float64, atLeast bool) {
	t.Helper()
	verdict := "not met"
	if ratio <= limit && !atLeast || ratio >= limit && atLeast {
		verdict = "met"
	}
	sign := "≤"
	if atLeast {
		sign = "≥"
	}
	fmt.Printf("| %s | %s | %s | %.2f | %s %.2f | %s |\n", what, ours, baseline, ratio, sign, limit, verdict)
}

func ms(v float64) string { return fmt.Sprintf("%.2f ms", v) }

// TestBench_table measures what DESIGN §17 asks for, each beside its own baseline in the same run. `make bench` runs it.
func TestBench_table(t *testing.T) {
	fmt.Println("\n| what | ours | baseline | ratio | limit | |\n|---|---|---|---|---|---|")
	benchWebhook(t)
	benchReply(t)
	benchScreens(t)
	fmt.Println("| confirmation event against inbox, compare-and-set and outbox | – | – | – | ≥ 0.70 | not measured: its bare counterpart is not written |")
	fmt.Println("| order from Placed to success against the same writes | – | – | – | ≥ 0.60 | not measured: its bare counterpart is not written |")
	benchGrowth(t)
	fmt.Println("| Redis round trips of the guard in a sale | – | – | – | ≤ 3 | counted by the tests of services/guard |")
	benchProcess(t)
}

// openLoop calls each at its own moment, whatever the others do, and returns how long each took from that moment.
func openLoop(rate float64, n int, call func(i int)) loadQuantile {
	start, took := time.Now(), make([]time.Duration, n)
	var all sync.WaitGroup
	for i := range n {
		due := start.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		all.Go(func() { call(i); took[i] = time.Since(due) })
	}
	all.Wait()
	return quantilesOf(took)
}

// bareCollection is a collection with the durability of the product.
func bareCollection(t *testing.T) *mongodriver.Collection {
	t.Helper()
	uri, name := testkit.Mongo(t)
	client, err := mongodriver.Connect(options.Client().ApplyURI(uri))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) })
	journal := true
	return client.Database(name).Collection("bare", options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal}))
}

func benchTown(t *testing.T) *town {
	t.Helper()
	url, _ := testkit.Redis(t)
	return newTown(t, testkit.OpenMongo(t, indexes()), url, nil)
}

func benchWebhook(t *testing.T) {
	t.Helper()
	const rate, n = 320, 1600
	w, bare := benchTown(t), bareCollection(t)
	body := func(i int) []byte {
		return fmt.Appendf(nil, `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"value":{"messaging_product":"whatsapp",`+
			`"metadata":{"phone_number_id":%q},"messages":[{"from":"23480%08d","id":"wamid.bench%06d","timestamp":"%d","type":"reaction",`+
			`"reaction":{"message_id":"wamid.none","emoji":"x"}}]},"field":"messages"}]}]}`, w.secret("WHATSAPP_PHONE_NUMBER_ID"), i, i, time.Now().Unix())
	}
	key := []byte(w.secret("WHATSAPP_APP_SECRET"))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	var mu sync.Mutex
	stored := 0
	start := time.Now()
	ours := openLoop(rate, n, func(i int) {
		sent := body(i)
		mac := hmac.New(sha256.New, key)
		mac.Write(sent)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.bot+"/webhooks/whatsapp", bytes.NewReader(sent))
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		res, err := client.Do(req)
		if err != nil {
			return
		}
		_ = res.Body.Close()
		mu.Lock()
		defer mu.Unlock()
		if res.StatusCode == http.StatusOK {
			stored++
		}
	})
	storing := time.Since(start)
	require.Equal(t, n, stored, "each was stored")
	for until := start.Add(time.Minute); w.waiting() > 0 && time.Now().Before(until); { // what is not processed by then is said
		time.Sleep(50 * time.Millisecond)
	}
	processing, left := time.Since(start), w.waiting()
	base := openLoop(rate, n, func(i int) {
		_, err := bare.InsertOne(t.Context(), bson.D{{Key: "_id", Value: i}, {Key: "body", Value: body(i)}})
		if err != nil {
			t.Error(err)
		}
	})
	row(t, "webhook at 320/s, p50", ms(ours.P50), ms(base.P50), ours.P50/base.P50, 1.5, false)
	row(t, "webhook at 320/s, p99", ms(ours.P99), ms(base.P99), ours.P99/base.P99, 2, false)
	fmt.Printf("| webhooks stored and processed a second | %.0f | %.0f processed | | | for information |\n",
		n/storing.Seconds(), float64(n-left)/processing.Seconds())
}

func benchReply(t *testing.T) {
	t.Helper()
	const rate, n = 20, 100
	w, bare := benchTown(t), bareCollection(t)
	robots, due := make([]*robot, n), make([]time.Time, n)
	start := time.Now()
	openLoop(rate, n, func(i int) {
		due[i] = start.Add(time.Duration(i) * time.Second / rate)
		robots[i] = &robot{world: w.world, phone: fmt.Sprintf("2348070%06d", i)}
		if err := robots[i].says(t.Context(), "hi"); err != nil {
			t.Error(err)
		}
	})
	var took []time.Duration
	world := newLoadWorld(loadPlan{world: w.world, bot: w.bot, patience: time.Minute})
	for i, r := range robots {
		m, err := (&loadPerson{world: world, phone: r.phone}).hear(t.Context(), "sign_up")
		require.NoError(t, err)
		took = append(took, m.At.Sub(due[i]))
	}
	base := openLoop(rate, n, func(i int) {
		for k := range 2 {
			if _, err := bare.InsertOne(t.Context(), bson.D{{Key: "_id", Value: fmt.Sprint(i, k)}}); err != nil {
				t.Error(err)
			}
		}
		_ = world.call(t.Context(), http.MethodGet, "/world/chats/"+robots[i].phone, nil, nil)
	})
	ours := quantilesOf(took)
	row(t, "message to reply handed over at 20/s, p50", ms(ours.P50), ms(base.P50), ours.P50/base.P50, 5, false)
}

var ratioOf = regexp.MustCompile(`BenchmarkAnswer_readOnly/mongo/(\w+)/8\S*\s.*?([0-9.]+) x-bare`)

// benchScreens runs the benchmark of the Flow endpoint, which has its baseline beside it.
func benchScreens(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-tags", "nomsgpack", "-run", "^$", "-bench", "Answer_readOnly/mongo", "-benchtime", "20x", "offrampbot/flows").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, m := range ratioOf.FindAllStringSubmatch(string(out), -1) {
		ratio, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		row(t, "Flow screen "+m[1]+", processor time, 8 at once", "–", "RSA-OAEP and AES-GCM", ratio, 1.4, false)
	}
}

// benchGrowth asks the same questions of a small and a large store. BENCH_ORDERS is how large.
func benchGrowth(t *testing.T) {
	t.Helper()
	large := 20_000
	if n, err := strconv.Atoi(os.Getenv("BENCH_ORDERS")); err == nil {
		large = n
	}
	small, big := grown(t, 1000), grown(t, large)
	for name := range small {
		row(t, fmt.Sprintf("growth to %d orders: %s, p99", large, name), ms(big[name]), ms(small[name]), big[name]/small[name], 1.3, false)
	}
}

func grown(t *testing.T, orders int) map[string]float64 {
	t.Helper()
	_, _, db, a := seededMongo(t, orders)
	known := (&town{t: t, db: db}).orders()
	checker, err := invariant.New(db, a.registry)
	require.NoError(t, err)
	for _, o := range known[:10] {
		differences, err := checker.One(t.Context(), o.ID)
		require.NoError(t, err)
		require.Empty(t, differences)
	}
	questions := map[string]func(r store.Reader, o *offramp.Order) error{
		"order by id": func(r store.Reader, o *offramp.Order) error { return r.Get(store.Orders, o.ID, &offramp.Order{}) },
		"history of a user": func(r store.Reader, o *offramp.Order) error {
			_, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "user", Equal: []any{o.User}, Descending: true, Limit: 5})
			return err
		},
		"due operations": func(r store.Reader, _ *offramp.Order) error {
			return r.Find(store.Query{Collection: store.Outbox, Index: "due", Equal: []any{"payout"}, Limit: 10}, func(store.Decode) (bool, error) { return true, nil })
		},
		"page of the admin's list": func(r store.Reader, _ *offramp.Order) error {
			_, err := store.All[offramp.Order](r, store.Query{Collection: store.Orders, Index: "created", Descending: true, Limit: 50})
			return err
		},
		"search": func(r store.Reader, o *offramp.Order) error {
			_, err := store.Related(r, strings.ToLower(o.Reference))
			return err
		},
	}
	out := map[string]float64{}
	for name, ask := range questions {
		var three []float64
		for range 3 {
			var took []time.Duration
			for i := range 500 {
				start := time.Now()
				require.NoError(t, db.View(t.Context(), func(_ context.Context, r store.Reader) error { return ask(r, known[i%len(known)]) }))
				took = append(took, time.Since(start))
			}
			three = append(three, quantilesOf(took).P99)
		}
		slices.Sort(three)
		out[name] = three[1]
	}
	return out
}

// benchProcess looks at the binary, as a release builds it, and at a `serve` in a process of its own.
func benchProcess(t *testing.T) {
	t.Helper()
	bin := t.TempDir() + "/offrampbot"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "nomsgpack,timetzdata", "-ldflags", "-s -w", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(bin)
	require.NoError(t, err)
	const mega = 1 << 20
	row(t, "size of the binary in MB", fmt.Sprintf("%.1f", float64(info.Size())/mega), "–", float64(info.Size())/mega, 45, false)
	uri, database := testkit.Mongo(t)
	redisURL, _ := testkit.Redis(t)
	addr := quietAddress(t)
	w := openWorld(t, "http://"+addr, map[string]string{
		"STORE": "mongo", "MONGO_URI": uri, "MONGO_DATABASE": database, "REDIS_URL": redisURL, "HTTP_ADDR": addr, "INTERNAL_ADDR": quietAddress(t),
	})
	one := &child{t: t, bin: bin, env: plainEnv(environment(w.file)...), addr: addr, log: w.log}
	one.start()
	t.Cleanup(one.kill)
	w.eventually("serve is ready", one.ready)
	time.Sleep(3 * time.Second) // idle, not starting
	idle := resident(t, one.cmd.Process.Pid)
	row(t, "memory of an idle serve in MB", fmt.Sprintf("%.0f", idle), "–", idle, 80, false)
	exit, said, errs := runBotFor(t, 2*time.Minute, bin, plainEnv(), "load", "--rate", "2", "--duration", "10s", "--world", w.world, "--bot", w.bot, "--block-seconds", "-1", "--bank-seconds", "-1")
	require.Zero(t, exit, said, errs)
	loaded := resident(t, one.cmd.Process.Pid)
	row(t, "memory of a serve after 2 sales a second in MB", fmt.Sprintf("%.0f", loaded), "–", loaded, 250, false)
	front := quietAddress(t)
	start := time.Now()
	demo := exec.CommandContext(t.Context(), bin, "demo", "--addr", front)
	require.NoError(t, demo.Start())
	w.eventually("demo answers", func() bool {
		res, err := http.Get("http://" + front + "/world/state") //nolint:noctx // a test on loopback
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil
	})
	took := time.Since(start).Seconds()
	_ = demo.Process.Kill()
	_ = demo.Wait()
	row(t, "demo shows its page, in s", fmt.Sprintf("%.2f", took), "–", took, 3, false)
}

// resident is the memory of a process in MB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(t, err)
	return kilobytes / 1024
}
