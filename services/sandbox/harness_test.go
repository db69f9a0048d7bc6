package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testPhone = "2348030000001"
	usdtOnEVM = "0xfde4c96c8593536e31f229ea8f37b2ada2699bb2"
	depositTo = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	reference = "payout-0123456789ab-1"
	fakeToken = "token-of-the-fake-bot"
)

// clock is a time that only tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// arrival is one request that reached the fake bot.
type arrival struct {
	path   string
	header http.Header
	body   []byte
}

// fakeBot records what the world delivers and answers as told.
type fakeBot struct {
	mu       sync.Mutex
	arrivals []arrival
	answer   func(a arrival) (status int, body []byte) // nil: 200
}

// ServeHTTP implements http.Handler.
func (b *fakeBot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a := arrival{path: r.URL.Path, header: r.Header.Clone(), body: body}
	b.mu.Lock()
	b.arrivals = append(b.arrivals, a)
	answer := b.answer
	b.mu.Unlock()
	status, out := http.StatusOK, []byte(nil)
	if answer != nil {
		status, out = answer(a)
	}
	if status == http.StatusSeeOther { // a login that was good
		http.SetCookie(w, &http.Cookie{Name: "offramp", Value: fakeToken})
	}
	w.WriteHeader(status)
	_, _ = w.Write(out)
}

func (b *fakeBot) answers(fn func(a arrival) (int, []byte)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = fn
}

// at returns what arrived on a path.
func (b *fakeBot) at(path string) []arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []arrival
	for _, a := range b.arrivals {
		if a.path == path {
			out = append(out, a)
		}
	}
	return out
}

// harness is a world behind real HTTP, in front of a fake bot.
type harness struct {
	t      *testing.T
	world  *World
	clock  *clock
	bot    *fakeBot
	server *httptest.Server
	client *http.Client
}

func newHarness(t *testing.T, change func(cfg *Config)) *harness {
	t.Helper()
	h := &harness{t: t, clock: &clock{at: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, bot: &fakeBot{}}
	bot := httptest.NewServer(h.bot)
	t.Cleanup(bot.Close)
	cfg := Config{
		Now: h.clock.now, Log: slog.New(slog.DiscardHandler), BaseURL: "http://127.0.0.1:1", BotURL: bot.URL,
		Chains: []Chain{{
			Name: "base", ID: 8453, Tokens: []Token{{Symbol: "USDT", Contract: usdtOnEVM, Decimals: 6}}, StartHeight: 20, RangeLimit: 50,
			SafeDepth: 4, FinalizedDepth: 8,
		}, {
			Name: "bnb", ID: 56, Tokens: []Token{{Symbol: "USDT", Contract: "0x55d398326f99059ff775485246999027b3197955", Decimals: 18}}, StartHeight: 20,
		}},
		Flows: []FlowDocument{{Name: "sell", JSON: []byte(sellFlow)}}, KeyRefresh: time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	world, err := New(cfg)
	require.NoError(t, err)
	h.world = world
	h.server = httptest.NewServer(world.Handler())
	t.Cleanup(h.server.Close)
	h.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return h
}

// call sends a request with a JSON body and returns status and body; the connection must answer.
func (h *harness) call(method, path string, body any, header ...string) (int, map[string]any) {
	h.t.Helper()
	res, err := h.do(method, path, body, header...)
	require.NoError(h.t, err)
	raw, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	require.NoError(h.t, res.Body.Close())
	var out map[string]any
	if len(raw) > 0 {
		require.NoError(h.t, decodeExact(raw, &out), "%s %s: %s", method, path, raw)
	}
	return res.StatusCode, out
}

func (h *harness) do(method, path string, body any, header ...string) (*http.Response, error) {
	h.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		raw, err := json.Marshal(body)
		require.NoError(h.t, err)
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.server.URL+path, reader)
	require.NoError(h.t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return h.client.Do(req)
}

// lever calls the world API and wants 200.
func (h *harness) lever(method, path string, body any) map[string]any {
	h.t.Helper()
	status, out := h.call(method, path, body)
	require.Equal(h.t, http.StatusOK, status, "%s %s: %v", method, path, out)
	return out
}

func (h *harness) graph(method, path string, body any) (int, map[string]any) {
	h.t.Helper()
	return h.call(method, "/graph/v25.0/"+path, body, "Authorization", "Bearer "+h.world.secrets.AccessToken)
}

func (h *harness) paystack(method, path string, body any) (int, map[string]any) {
	h.t.Helper()
	return h.call(method, "/paystack"+path, body, "Authorization", "Bearer "+h.world.secrets.PaystackSecret)
}

func (h *harness) rpc(chain, method string, params ...any) (any, map[string]any) {
	h.t.Helper()
	if params == nil {
		params = []any{}
	}
	status, out := h.call(http.MethodPost, "/rpc/"+chain, map[string]any{"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
	require.Equal(h.t, http.StatusOK, status)
	require.Equal(h.t, json.Number("7"), out["id"])
	failure, _ := out["error"].(map[string]any)
	return out["result"], failure
}

// drain lets a second pass and does everything that is due.
func (h *harness) drain() {
	h.t.Helper()
	h.clock.pass(time.Second)
	for range 10_000 {
		worked, err := h.world.Step(h.t.Context())
		require.NoError(h.t, err)
		if !worked {
			return
		}
	}
	h.t.Fatal("the world never comes to rest")
}

// greet makes a person write first, so that the 24-hour window is open.
func (h *harness) greet() {
	h.t.Helper()
	h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "text": "hi"})
}

// send sends a message from the bot to the person and returns its wamid.
func (h *harness) send(message map[string]any) string {
	h.t.Helper()
	status, out := h.graph(http.MethodPost, PhoneNumberID+"/messages", outgoingTo(testPhone, message))
	require.Equal(h.t, http.StatusOK, status, "%v", out)
	return text(out["messages"].([]any)[0].(map[string]any)["id"])
}

func outgoingTo(phone string, message map[string]any) map[string]any {
	body := map[string]any{"messaging_product": "whatsapp", "recipient_type": "individual", "to": "+" + phone}
	for name, value := range message {
		body[name] = value
	}
	return body
}

// recipient makes the recipient that transfers of the tests go to.
func (h *harness) recipient() string {
	h.t.Helper()
	status, out := h.paystack(http.MethodPost, "/transferrecipient", map[string]any{
		"type": "nuban", "name": "Ada Obi", "account_number": "0123456789", "bank_code": "058", "currency": "NGN",
	})
	require.Equal(h.t, http.StatusCreated, status)
	return text(out["data"].(map[string]any)["recipient_code"])
}

func transferBodyFor(recipient, reference string, amount int64) map[string]any {
	return map[string]any{"source": "balance", "amount": amount, "recipient": recipient, "reference": reference, "reason": "7F2K", "currency": "NGN"}
}

// truth returns what the bank really did about a reference, nil for nothing.
func (h *harness) truth(reference string) map[string]any {
	h.t.Helper()
	for _, item := range h.lever(http.MethodGet, "/world/bank/transfers", nil)["items"].([]any) {
		if t := item.(map[string]any); t["reference"] == reference {
			return t
		}
	}
	return nil
}

func (h *harness) fault(target, operation, kind string, delayMS int) {
	h.t.Helper()
	h.lever(http.MethodPost, "/world/faults", map[string]any{"target": target, "operation": operation, "kind": kind, "times": 1, "delay_ms": delayMS})
}

// sellFlow is a small Flow with every kind of step.
const sellFlow = `{"version":"7.3","data_api_version":"4.0",
 "routing_model":{"DETAILS":["REVIEW","CHECKING"],"REVIEW":["DONE"],"CHECKING":["DONE"],"DONE":[]},
 "screens":[
  {"id":"DETAILS","title":"Sell","data":{
     "has_error":{"type":"boolean","__example__":false},
     "error_message":{"type":"string","__example__":"x"},
     "assets":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"title":{"type":"string"}}},"__example__":[]}},
   "layout":{"type":"SingleColumnLayout","children":[
     {"type":"If","condition":"${data.has_error}","then":[{"type":"TextBody","text":"${data.error_message}"}]},
     {"type":"Form","name":"form","children":[
       {"type":"Dropdown","name":"asset","label":"Asset","data-source":"${data.assets}"},
       {"type":"TextInput","name":"sum","label":"Amount"},
       {"type":"OptIn","name":"agree","label":"I agree"},
       {"type":"Footer","label":"Continue","on-click-action":{"name":"data_exchange","payload":
         {"asset":"${form.asset}","amount":"${form.sum}","agree":"${form.agree}","step":"details"}}}]}]}},
  {"id":"REVIEW","title":"Review","refresh_on_back":true,"data":{"summary":{"type":"string","__example__":"x"},"total":{"type":"number","__example__":1}},
   "layout":{"type":"SingleColumnLayout","children":[
     {"type":"TextBody","text":"${data.summary}"},
     {"type":"TextInput","name":"pin","label":"PIN","input-type":"passcode"},
     {"type":"Footer","label":"Confirm","on-click-action":{"name":"data_exchange","payload":{"pin":"${form.pin}","total":"${data.total}"}}}]}},
  {"id":"CHECKING","title":"Checking","data":{"note":{"type":"string","__example__":"x"}},
   "layout":{"type":"SingleColumnLayout","children":[
     {"type":"Footer","label":"Next","on-click-action":{"name":"navigate","next":{"type":"screen","name":"DONE"},"payload":{"reference":"${data.note}"}}}]}},
  {"id":"DONE","title":"Done","terminal":true,"success":true,"data":{"reference":{"type":"string","__example__":"x"}},
   "layout":{"type":"SingleColumnLayout","children":[
     {"type":"TextBody","text":"${data.reference}"},
     {"type":"Footer","label":"Close","on-click-action":{"name":"complete","payload":{"reference":"${data.reference}"}}}]}}]}`
