package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	flowsjson "offrampbot/flows_json"
	"offrampbot/services/assets"
	"offrampbot/services/config"
	"offrampbot/services/invariant"
	"offrampbot/services/obs"
	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// town is the real bot in front of the simulated world, as a whole over HTTP.
type town struct {
	t     *testing.T
	world string
	bot   string
	app   *app
	log   *safeBuffer
	env   map[string]string
	db    database
	redis string
	file  []byte
	stop  func()
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// onBoth runs a story on each engine: embedded with an in-process Redis, and MongoDB with a real one.
func onBoth(t *testing.T, env map[string]string, story func(t *testing.T, w *town)) {
	t.Helper()
	t.Run("bolt", func(t *testing.T) {
		t.Parallel()
		story(t, newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), env))
	})
	t.Run("mongo", func(t *testing.T) {
		t.Parallel()
		url, _ := testkit.Redis(t)
		story(t, newTown(t, testkit.OpenMongo(t, indexes()), url, env))
	})
}

// shortTimes make a test wait for seconds where people wait for minutes.
var shortTimes = map[string]string{
	"LOOKUP_SCHEDULE": "300ms,500ms,1s", "PROVIDER_TIMEOUT": "2s", "STORE_TIMEOUT": "5s", "OUTBOX_LEASE": "10s", "CHAIN_POLL": "150ms",
	"VISIBILITY_BOUND": "1s", "STORE": "embedded",
}

func newTown(t *testing.T, db database, redisURL string, env map[string]string) *town {
	t.Helper()
	public, internal := quietAddress(t), quietAddress(t)
	own := map[string]string{"HTTP_ADDR": public, "INTERNAL_ADDR": internal}
	w := openWorld(t, "http://"+public, own, shortTimes, env)
	w.db, w.redis = db, redisURL
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// quietAddress is a free loopback address out of a range from which the system gives none: only another bot of these
// tests could take it, by chance, before its own bot listens on it or while that one restarts.
func quietAddress(t *testing.T) string {
	t.Helper()
	const first, count, tries = 15_000, 15_000, 50
	for range tries {
		addr := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count))
		if l, err := net.Listen("tcp", addr); err == nil {
			require.NoError(t, l.Close())
			return addr
		}
	}
	require.FailNow(t, "no address is free")
	return ""
}

// openWorld runs the simulated world alone, in front of a bot that is or will be at an address.
func openWorld(t *testing.T, bot string, env ...map[string]string) *town {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &town{t: t, world: "http://" + listener.Addr().String(), bot: bot, log: &safeBuffer{}, env: map[string]string{}}
	for _, more := range env {
		maps.Copy(w.env, more)
	}
	cfg := sandbox.Config{
		Now: now, Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), BaseURL: w.world, BotURL: w.bot, Chains: sandbox.ChainsOf(assets.Sandbox()),
		Env: w.env, ChainAuto: 150 * time.Millisecond, BankAuto: 200 * time.Millisecond, StatusDelay: 10 * time.Millisecond,
		RetryBase: 200 * time.Millisecond,
	}
	for _, name := range flowsjson.Names() {
		doc, err := flowsjson.Read(name)
		require.NoError(t, err)
		cfg.Flows = append(cfg.Flows, sandbox.FlowDocument{Name: name, JSON: doc})
	}
	world, err := sandbox.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { _ = serveWorld(ctx, world, listener) })
	t.Cleanup(func() { cancel(); done.Wait() })
	w.file = world.EnvFile()
	return w
}

// start runs the bot; after stop it can be started again on the same store, as after a restart.
func (w *town) start() {
	w.t.Helper()
	cfg, err := config.Load(environment(w.file), os.ReadFile, nil)
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	a, err := newApp(ctx, cfg, tune{db: keepOpen{w.db}, redisURL: w.redis, log: obs.NewLogger(w.log, slog.LevelInfo), registry: assets.Sandbox()})
	require.NoError(w.t, err)
	require.NoError(w.t, a.seedSandbox(ctx))
	w.app = a
	before := strings.Count(w.log.String(), `"msg":"ready"`)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.run(ctx); err != nil {
			w.t.Errorf("the bot ended with an error: %v", err)
		}
	}()
	var once sync.Once
	w.stop = func() {
		once.Do(func() {
			cancel()
			<-ended
			_ = a.close(context.WithoutCancel(ctx))
		})
	}
	w.eventually("the bot is ready", func() bool {
		select {
		case <-ended:
			require.FailNow(w.t, "the bot ended before it was ready", w.tail())
		default:
		}
		if strings.Count(w.log.String(), `"msg":"ready"`) == before { // whoever answers meanwhile is not this bot
			return false
		}
		res, err := http.Get(w.bot + "/readyz") //nolint:noctx // a test on loopback
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		return res.StatusCode == http.StatusOK
	})
}

// keepOpen leaves the store open when the bot stops: the test closes it.
type keepOpen struct{ database }

func (keepOpen) Close(context.Context) error { return nil }

// call talks to the world API.
func (w *town) call(method, path string, body any) map[string]any {
	w.t.Helper()
	status, out := w.try(method, w.world+path, body, nil)
	require.Less(w.t, status, 300, "%s %s: %v", method, path, out)
	return out
}

func (w *town) try(method, url string, body any, header map[string]string) (int, map[string]any) {
	w.t.Helper()
	var reader io.Reader
	if raw, ok := body.([]byte); ok {
		reader = bytes.NewReader(raw)
	} else if body != nil {
		b, err := json.Marshal(body)
		require.NoError(w.t, err)
		reader = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, reader)
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	out := map[string]any{}
	if len(raw) > 0 && raw[0] == '{' {
		require.NoError(w.t, json.Unmarshal(raw, &out))
	}
	return res.StatusCode, out
}

// eventually waits for something that happens in another goroutine or process, without a fixed pause.
func (w *town) eventually(what string, ok func() bool, found ...any) {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	require.FailNow(w.t, "never happened: "+what, "%v\n%s", found, w.tail())
}

func (w *town) tail() string {
	lines := strings.Split(w.log.String(), "\n")
	var kept []string
	for _, l := range lines {
		if !strings.Contains(l, "request served") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept[max(0, len(kept)-30):], "\n")
}

// person is somebody with a phone.
type person struct {
	*town
	phone   string
	address string
	read    int
}

func (w *town) newPerson() *person {
	return &person{town: w, phone: fmt.Sprintf("234803%07d", rand.IntN(10_000_000))}
}

type message struct {
	Direction, Wamid, Type, Text string
	Buttons                      []struct{ ID, Title string }
	Rows                         []struct{ ID, Title string }
	Flow                         *struct{ Name, Token string }
}

func (p *person) chat() []message {
	p.t.Helper()
	raw, err := json.Marshal(p.call("GET", "/world/chats/"+p.phone, nil)["messages"])
	require.NoError(p.t, err)
	var out []message
	require.NoError(p.t, json.Unmarshal(raw, &out))
	return out
}

// hears waits for a message to the person that was not looked at before.
func (p *person) hears(what string) message {
	p.t.Helper()
	var got message
	p.eventually("the message "+what, func() bool {
		for i, m := range p.chat() {
			if i >= p.read && m.Direction == "out" && (strings.Contains(m.Text, what) || m.Flow != nil && m.Flow.Name == what) {
				got, p.read = m, i+1
				return true
			}
		}
		return false
	})
	return got
}

func (p *person) says(text string) {
	p.t.Helper()
	p.call("POST", "/world/messages", map[string]any{"from": p.phone, "text": text})
}

func (p *person) taps(button string) {
	p.t.Helper()
	p.call("POST", "/world/messages", map[string]any{"from": p.phone, "button": button})
}

// screen is what a Flow shows.
type screen struct {
	Session, Screen string
	Data            map[string]any
}

func asScreen(m map[string]any) screen {
	s := screen{Data: map[string]any{}}
	s.Session, _ = m["session"].(string)
	s.Screen, _ = m["screen"].(string)
	if d, ok := m["data"].(map[string]any); ok {
		s.Data = d
	}
	return s
}

func (p *person) opens(m message) screen {
	p.t.Helper()
	return asScreen(p.call("POST", "/world/flows/open", map[string]any{"phone": p.phone, "wamid": m.Wamid}))
}

func (p *person) submits(s screen, data map[string]any) screen {
	p.t.Helper()
	return asScreen(p.call("POST", "/world/flows/submit", map[string]any{"session": s.Session, "screen": s.Screen, "data": data}))
}

const goodPIN = "482913"

// signsUp goes from "hi" to an account.
func (p *person) signsUp() {
	p.t.Helper()
	p.signsUpWith(goodPIN)
}

func (p *person) signsUpWith(pin string) {
	p.t.Helper()
	p.says("hi")
	s := p.opens(p.hears("sign_up"))
	s = p.submits(s, map[string]any{"full_name": "Ada Obi", "language": "en"})
	require.Equal(p.t, "SECURITY_INFO", s.Screen, "%v", s.Data)
	s = p.submits(s, map[string]any{"pin": pin, "confirm_pin": pin})
	require.Equal(p.t, "SUCCESSFUL", s.Screen, "%v", s.Data)
	p.submits(s, nil)
	p.hears("ready")
}

// details fills the first screen of the sell form.
func (p *person) details(what, account string) screen {
	p.t.Helper()
	p.says("sell " + what)
	s := p.opens(p.hears("offramp_flow"))
	return p.submits(s, map[string]any{
		"asset": s.Data["asset"], "sell_amount": s.Data["sell_amount"], "beneficiary": "new", "bank_code": "058", "account_number": account,
	})
}

// review fills the sell form up to the PIN.
func (p *person) review(what, account string) screen {
	p.t.Helper()
	s := p.details(what, account)
	require.Equal(p.t, "OFFRAMP_FIAT_REVIEW", s.Screen, "%v", s.Data)
	s = p.submits(s, nil)
	require.Equal(p.t, "OFFRAMP_CRYPTO_REVIEW", s.Screen, "%v", s.Data)
	return s
}

// sells places a sale and returns its reference.
func (p *person) sells(what, account string) string {
	p.t.Helper()
	s := p.submits(p.review(what, account), map[string]any{"pin": goodPIN})
	require.Equal(p.t, "OFFRAMP_SUCCESS", s.Screen, "%v", s.Data)
	p.submits(s, nil)
	return s.Data["reference"].(string) //nolint:forcetypeassert // the schema was checked by the world
}

// knowsAddress asks for the person's deposit address, once.
func (p *person) knowsAddress() {
	p.t.Helper()
	if p.address != "" {
		return
	}
	p.says("deposit")
	text := p.hears("deposit address").Text
	p.address = text[strings.Index(text, "0x"):][:42]
}

// deposits sends tokens to the person's own address.
func (p *person) deposits(chain, token, amount string) string {
	p.t.Helper()
	p.knowsAddress()
	return p.call("POST", "/world/chains/"+chain+"/transfers", map[string]any{"to": p.address, "token": token, "amount": amount})["tx"].(string)
}

// order reads the order of a reference from the store.
func (w *town) order(reference string) *offramp.Order {
	w.t.Helper()
	var o *offramp.Order
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		o, err = store.First[offramp.Order](r, store.Query{Collection: store.Orders, Index: "reference", Equal: []any{reference}})
		return err
	}))
	return o
}

func (w *town) becomes(reference string, want offramp.State) *offramp.Order {
	w.t.Helper()
	w.eventually(reference+" becomes "+string(want), func() bool { return w.order(reference).State == want })
	return w.order(reference)
}

type transfer struct {
	Reference, Status string
	AmountMinor       int64 `json:"amount_minor"`
	Calls             int
}

// bank is what the payout provider really did.
func (w *town) bank() []transfer {
	w.t.Helper()
	raw, err := json.Marshal(w.call("GET", "/world/bank/transfers", nil)["items"])
	require.NoError(w.t, err)
	var out []transfer
	require.NoError(w.t, json.Unmarshal(raw, &out))
	return out
}

// holds checks every invariant of the whole store.
func (w *town) holds() {
	w.t.Helper()
	c, err := invariant.New(w.db, assets.Sandbox())
	require.NoError(w.t, err)
	report, err := c.Verify(w.t.Context())
	require.NoError(w.t, err)
	require.Empty(w.t, report.Differences)
}

// faults lets the world misbehave.
func (w *town) faults(target, operation, kind string, times int) {
	w.t.Helper()
	w.call("POST", "/world/faults", map[string]any{"target": target, "operation": operation, "kind": kind, "times": times})
}
