package evm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/chains/evm"
)

const (
	testChainID = 8453
	ours        = "0xa11ce00000000000000000000000000000000001"
	theirs      = "0x5742000000000000000000000000000000000004"
	token       = "0x0000000000000000000000000000000000001001"
	transfer    = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
)

// fakeLog is a log of a fakeNode.
type fakeLog struct {
	block    int64
	tx       string
	index    int64 // in eth_getLogs
	inBlock  int64 // in the receipt, when it counts differently
	contract string
	topics   []string
	data     string
	removed  bool
}

// fakeNode is a JSON-RPC node that tests program.
type fakeNode struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	chainID  string
	height   int64
	logs     []fakeLog
	status   map[string]string            // of receipts; "0x1" unless set
	noLogs   map[string]bool              // receipts that come without logs
	fork     string                       // goes into every block hash
	answer   map[string]func() (any, any) // replaces a method: result, error
	refuse   func(from, to int64) any     // JSON-RPC error for a range
	noBatch  bool
	status4  int                                                      // HTTP status of a refused range
	handle   func(w http.ResponseWriter, r *http.Request) (done bool) // before everything
	ranges   [][2]int64
	calls    map[string]int
	requests int
}

func newNode(t *testing.T) *fakeNode {
	t.Helper()
	n := &fakeNode{
		t: t, chainID: fmt.Sprintf("0x%x", testChainID), height: 100, status: map[string]string{}, noLogs: map[string]bool{},
		answer: map[string]func() (any, any){}, calls: map[string]int{},
	}
	n.server = httptest.NewServer(n)
	t.Cleanup(n.server.Close)
	return n
}

func (n *fakeNode) blockHash(height int64) string {
	return fmt.Sprintf("0x%08x%056x", len(n.fork)+1, height)
}

func txHash(i int) string { return fmt.Sprintf("0x%064x", 0xabc000+i) }

func padded(address string) string { return "0x" + strings.Repeat("0", 24) + address[2:] }

func amount(v int64) string { return fmt.Sprintf("0x%064x", v) }

// transferLog is an ERC-20 Transfer.
func transferLog(block int64, tx string, index int64, from, to string, value int64) fakeLog {
	return fakeLog{block: block, tx: tx, index: index, inBlock: index, contract: token, topics: []string{transfer, padded(from), padded(to)}, data: amount(value)}
}

func (n *fakeNode) wire(l fakeLog, index int64) map[string]any {
	return map[string]any{
		"address": l.contract, "topics": l.topics, "data": l.data, "blockNumber": fmt.Sprintf("0x%x", l.block),
		"blockHash": n.blockHash(l.block), "transactionHash": l.tx, "logIndex": fmt.Sprintf("0x%x", index), "removed": l.removed,
	}
}

type fakeCall struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// ServeHTTP implements http.Handler.
func (n *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.requests++
	handle := n.handle
	n.mu.Unlock()
	if handle != nil && handle(w, r) {
		return
	}
	var raw json.RawMessage
	if json.NewDecoder(r.Body).Decode(&raw) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var many []fakeCall
	if json.Unmarshal(raw, &many) == nil {
		if n.noBatch {
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}`))
			return
		}
		out := make([]any, len(many))
		for i, c := range many {
			out[len(many)-1-i] = n.one(c) // a node may answer in any order
		}
		_ = json.NewEncoder(w).Encode(out)
		return
	}
	var c fakeCall
	if json.Unmarshal(raw, &c) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answer := n.one(c)
	if answer["error"] != nil && n.status4 != 0 {
		w.WriteHeader(n.status4)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (n *fakeNode) one(c fakeCall) map[string]any {
	n.calls[c.Method]++
	result, problem := n.dispatch(c)
	out := map[string]any{"jsonrpc": "2.0", "id": c.ID}
	if problem != nil {
		out["error"] = problem
	} else {
		out["result"] = result
	}
	return out
}

func (n *fakeNode) dispatch(c fakeCall) (any, any) {
	if replaced, ok := n.answer[c.Method]; ok {
		return replaced()
	}
	switch c.Method {
	case "eth_chainId":
		return n.chainID, nil
	case "eth_getBlockByNumber":
		return n.block(text(c.Params[0])), nil
	case "eth_getLogs":
		return n.find(c.Params[0])
	case "eth_getTransactionReceipt":
		return n.receipt(text(c.Params[0])), nil
	}
	return nil, map[string]any{"code": -32601, "message": "method not found"}
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

func number(s string) (n int64) {
	_, _ = fmt.Sscanf(s, "0x%x", &n)
	return n
}

func (n *fakeNode) block(at string) any {
	height := n.height
	if strings.HasPrefix(at, "0x") {
		height = number(at)
	}
	if height > n.height {
		return nil
	}
	return map[string]any{
		"number": fmt.Sprintf("0x%x", height), "hash": n.blockHash(height), "parentHash": n.blockHash(height - 1), "timestamp": "0x65",
	}
}

func (n *fakeNode) find(raw json.RawMessage) (any, any) {
	var f struct {
		From   string            `json:"fromBlock"`
		To     string            `json:"toBlock"`
		Topics []json.RawMessage `json:"topics"`
	}
	if json.Unmarshal(raw, &f) != nil {
		return nil, map[string]any{"code": -32602, "message": "bad filter"}
	}
	from, to := number(f.From), number(f.To)
	if n.refuse != nil {
		if problem := n.refuse(from, to); problem != nil {
			return nil, problem
		}
	}
	n.ranges = append(n.ranges, [2]int64{from, to})
	out := []any{}
	for _, l := range n.logs {
		if l.block >= from && l.block <= to && fits(l, f.Topics) {
			out = append(out, n.wire(l, l.index))
		}
	}
	return out, nil
}

func fits(l fakeLog, topics []json.RawMessage) bool {
	for i, raw := range topics {
		if string(raw) == "null" {
			continue
		}
		if i >= len(l.topics) || !strings.Contains(string(raw), l.topics[i]) {
			return false
		}
	}
	return true
}

func (n *fakeNode) receipt(tx string) any {
	logs, block := []any{}, int64(0)
	for _, l := range n.logs {
		if l.tx == tx {
			block = l.block
			if !n.noLogs[tx] {
				logs = append(logs, n.wire(l, l.inBlock))
			}
		}
	}
	if block == 0 {
		return nil
	}
	status := n.status[tx]
	if status == "" {
		status = "0x1"
	}
	return map[string]any{
		"transactionHash": tx, "status": status, "blockNumber": fmt.Sprintf("0x%x", block), "blockHash": n.blockHash(block), "logs": logs,
	}
}

// source returns a Source over nodes.
func source(t *testing.T, change func(*evm.Options), nodes ...*fakeNode) *evm.Source {
	t.Helper()
	o := evm.Options{Chain: "base", ChainID: testChainID}
	for _, n := range nodes {
		o.URLs = append(o.URLs, n.server.URL)
	}
	if change != nil {
		change(&o)
	}
	s, err := evm.New(o)
	require.NoError(t, err)
	return s
}
