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

	"offrampbot/services/testkit"
)

// bound is on which side of its limit a ratio must be.
type bound string

const (
	atMost  bound = "≤"
	atLeast bound = "≥"
)

// row prints one line of the table: its name, baseline, ours, ratio, and what must be reached. Nothing is asserted: a
// machine that does other things must not fail a build.
func row(name, baseline, ours string, ratio, limit float64, must bound, about string) {
	verdict := "not met"
	if must == atMost && ratio <= limit || must == atLeast && ratio >= limit {
		verdict = "met"
	}
	fmt.Printf("%-8s baseline %-12s ours %-12s ratio %-6.2f must be %s %.2f: %-7s  %s\n", name, baseline, ours, ratio, must, limit, verdict, about)
}

func ms(v float64) string { return fmt.Sprintf("%.2fms", v) }

// TestBench_table measures what DESIGN §17 asks for, each beside its own baseline in the same run. `make bench` runs it;
// BENCH_ROWS names the rows to measure, separated by commas.
func TestBench_table(t *testing.T) {
	only := os.Getenv("BENCH_ROWS")
	for _, r := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"webhook", benchWebhook}, {"reply", benchReply}, {"flow", benchScreens}, {"confirm", benchConfirm}, {"order", benchOrder},
		{"growth", benchGrowth}, {"memory", benchProcess},
	} {
		if only == "" || slices.Contains(strings.Split(only, ","), r.name) {
			t.Run(r.name, r.run)
		}
	}
	fmt.Println("guard    its Redis round trips in a sale are counted by the tests of services/guard (at most 3)")
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
	row("webhook", ms(base.P50), ms(ours.P50), ours.P50/base.P50, 1.5, atMost, "p50 at 320/s")
	row("webhook", ms(base.P99), ms(ours.P99), ours.P99/base.P99, 2, atMost, "p99 at 320/s")
	fmt.Printf("webhook  stored %.0f/s, processed %.0f/s\n", n/storing.Seconds(), float64(n-left)/processing.Seconds())
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
	row("reply", ms(base.P50), ms(ours.P50), ours.P50/base.P50, 5, atMost, "message to reply handed over at 20/s, p50")
}

var ratioOf = regexp.MustCompile(`BenchmarkAnswer_readOnly/mongo/(\w+)/8\S*\s.*?([0-9.]+) cpu-ns/bare\s+([0-9.]+) cpu-ns/screen\s+([0-9.]+) x-bare`)

// benchScreens runs the benchmark of the Flow endpoint, which has its baseline beside it.
func benchScreens(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-tags", "nomsgpack", "-run", "^$", "-bench", "Answer_readOnly/mongo", "-benchtime", "20x", "offrampbot/flows").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, m := range ratioOf.FindAllStringSubmatch(string(out), -1) {
		var took [3]float64
		for i := range took {
			took[i], err = strconv.ParseFloat(m[2+i], 64)
			require.NoError(t, err)
		}
		row("flow", ms(took[0]/1e6), ms(took[1]/1e6), took[2], 1.4, atMost, "processor time of screen "+m[1]+", 8 at once")
	}
}
