package chaintest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy stands between a source and a node and makes single calls fail.
type Proxy struct {
	URL string

	target string
	mu     sync.Mutex
	faults map[string]map[string]int // by method and kind
	most   int64
	calls  map[string]int
}

// FaultKinds are the ways in which a call can fail.
func FaultKinds() []string {
	return []string{"http_500", "rpc_error", "rate_limited", "html", "empty", "reset", "lost_reply", "wrong_id", "null_where_a_list_is_due"}
}

// NewProxy starts a proxy in front of a node; it ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p := &Proxy{target: target, faults: map[string]map[string]int{}, calls: map[string]int{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Fail makes the next n HTTP calls that hold a method fail in a way.
func (p *Proxy) Fail(method, kind string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[method] = map[string]int{kind: n}
}

// MaxRange makes the node refuse eth_getLogs over more blocks; 0: any.
func (p *Proxy) MaxRange(blocks int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most = blocks
}

// Calls is how often a method was asked for.
func (p *Proxy) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

type proxied struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	calls := read(body)
	if p.tooLong(calls) {
		refuse(w, body, calls, `{"code":-32005,"message":"query exceeds max block range"}`)
		return
	}
	kind := p.fault(calls)
	switch kind {
	case "http_500":
		http.Error(w, "oops", http.StatusInternalServerError)
		return
	case "rate_limited":
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	case "html":
		_, _ = io.WriteString(w, "<html><body>Bad gateway</body></html>")
		return
	case "empty":
		return
	case "reset":
		panic(http.ErrAbortHandler)
	case "rpc_error":
		refuse(w, body, calls, `{"code":-32603,"message":"internal error"}`)
		return
	}
	answer, status := p.forward(r, body)
	switch kind {
	case "lost_reply":
		panic(http.ErrAbortHandler)
	case "wrong_id":
		answer = bytes.ReplaceAll(answer, []byte(`"id":`), []byte(`"id":7`))
	case "null_where_a_list_is_due":
		answer = nullify(answer)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func read(body []byte) []proxied {
	var many []proxied
	if json.Unmarshal(body, &many) == nil {
		return many
	}
	var one proxied
	if json.Unmarshal(body, &one) == nil {
		return []proxied{one}
	}
	return nil
}

// fault says how this call fails, if it does, and counts it.
func (p *Proxy) fault(calls []proxied) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := ""
	for _, c := range calls {
		p.calls[c.Method]++
		for kind, n := range p.faults[c.Method] {
			if n > 0 && found == "" {
				p.faults[c.Method][kind]--
				found = kind
			}
		}
	}
	return found
}

func (p *Proxy) tooLong(calls []proxied) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range calls {
		if p.most == 0 || c.Method != "eth_getLogs" || len(c.Params) == 0 {
			continue
		}
		var filter struct {
			From string `json:"fromBlock"`
			To   string `json:"toBlock"`
		}
		if json.Unmarshal(c.Params[0], &filter) != nil {
			continue
		}
		from, _ := strconv.ParseInt(strings.TrimPrefix(filter.From, "0x"), 16, 64)
		to, _ := strconv.ParseInt(strings.TrimPrefix(filter.To, "0x"), 16, 64)
		if to-from+1 > p.most {
			return true
		}
	}
	return false
}

// refuse answers every call with a JSON-RPC error.
func refuse(w http.ResponseWriter, body []byte, calls []proxied, text string) {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = `{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":` + text + `}`
	}
	out := strings.Join(parts, ",")
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		out = "[" + out + "]"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, out)
}

// nullify turns every list that is a result into null.
func nullify(answer []byte) []byte {
	swap := func(one map[string]json.RawMessage) {
		if bytes.HasPrefix(bytes.TrimSpace(one["result"]), []byte("[")) {
			one["result"] = json.RawMessage("null")
		}
	}
	var many []map[string]json.RawMessage
	if json.Unmarshal(answer, &many) == nil {
		for _, one := range many {
			swap(one)
		}
		out, _ := json.Marshal(many)
		return out
	}
	var one map[string]json.RawMessage
	if json.Unmarshal(answer, &one) != nil {
		return answer
	}
	swap(one)
	out, _ := json.Marshal(one)
	return out
}

func (p *Proxy) forward(r *http.Request, body []byte) (answer []byte, status int) {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, p.target, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return answer, response.StatusCode
}

// ask sends a body and reads the answer; it works in a clean-up too, when the test's own context is over.
func ask(t testing.TB, url, body string) []byte {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer
}

// call does one JSON-RPC call past every fault.
func call(t testing.TB, url, method string, params []any, into any) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(t, err)
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	require.NoError(t, json.Unmarshal(ask(t, url, string(body)), &answer))
	require.Empty(t, string(answer.Error), method)
	if into != nil {
		require.NoError(t, json.Unmarshal(answer.Result, into), method)
	}
}
