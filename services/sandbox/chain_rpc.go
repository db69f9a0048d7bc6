package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
)

// rpcCall is one JSON-RPC 2.0 call.
type rpcCall struct {
	Version string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}

// rpcError is a JSON-RPC error.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// rpcAnswer is one JSON-RPC answer: a result, null included, or an error.
type rpcAnswer struct {
	id     json.RawMessage
	result any
	err    *rpcError
}

// MarshalJSON writes either the result or the error.
func (a rpcAnswer) MarshalJSON() ([]byte, error) {
	id := a.id
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	if a.err != nil {
		return json.Marshal(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   *rpcError       `json:"error"`
		}{"2.0", id, a.err})
	}
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, a.result})
}

// serveRPC serves /rpc/<chain>: single calls and batches, under the faults of their methods.
func (w *World) serveRPC(c *gin.Context) {
	node := w.chains[c.Param("chain")]
	if node == nil {
		c.JSON(http.StatusNotFound, gin.H{"error": "chain_unknown", "message": "there is no chain " + c.Param("chain")})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxWorldBody))
	if err != nil {
		c.Status(http.StatusRequestEntityTooLarge)
		return
	}
	calls, isBatch, err := readCalls(body)
	if err != nil {
		c.JSON(http.StatusOK, rpcAnswer{err: &rpcError{Code: -32700, Message: "parse error"}})
		return
	}
	plans := make([]plan, len(calls))
	whole := plan{}
	for i, call := range calls {
		plans[i] = w.faults.take(node.cfg.Name, call.Method)
		whole.slow = max(whole.slow, plans[i].slow)
		if plans[i].kind != "" && plans[i].kind != faultError && plans[i].kind != faultEmpty {
			whole.kind, whole.arg, whole.wait = plans[i].kind, plans[i].arg, plans[i].wait
		}
	}
	w.answer(c, whole, rpcVoice(calls[0].ID), func() reply {
		answers := make([]rpcAnswer, len(calls))
		for i, call := range calls {
			answers[i] = node.call(call, plans[i])
		}
		if isBatch {
			return reply{status: http.StatusOK, body: answers}
		}
		return reply{status: http.StatusOK, body: answers[0]}
	})
}

func readCalls(body []byte) (calls []rpcCall, isBatch bool, err error) {
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) {
		err = json.Unmarshal(body, &calls)
		if err == nil && len(calls) == 0 {
			err = io.ErrUnexpectedEOF
		}
		return calls, true, err
	}
	calls = make([]rpcCall, 1)
	return calls, false, json.Unmarshal(body, &calls[0])
}

// rpcVoice is how a node says what goes wrong.
func rpcVoice(id json.RawMessage) voice {
	failing := func(status, code int, message string) reply {
		return reply{status: status, body: rpcAnswer{id: id, err: &rpcError{Code: code, Message: message}}}
	}
	limited := failing(http.StatusTooManyRequests, -32005, "rate limit exceeded")
	limited.retryAfter = 1
	return voice{broken: failing(http.StatusInternalServerError, -32603, "internal error"), limited: limited}
}

// call carries one call out; a fault can make it an error or empty its result.
func (c *chain) call(call rpcCall, p plan) rpcAnswer {
	answer := rpcAnswer{id: call.ID}
	if p.kind == faultError {
		answer.err = errorOfCode(p.arg)
		return answer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	answer.result, answer.err = c.dispatch(call)
	if p.kind == faultEmpty && answer.err == nil {
		answer.result = emptied(call.Method, answer.result)
	}
	return answer
}

// errorOfCode is a node's error for a code; a code that is no number is an internal error.
func errorOfCode(code string) *rpcError {
	var n int
	if json.Unmarshal([]byte(code), &n) != nil {
		return &rpcError{Code: -32603, Message: code}
	}
	message := map[int]string{
		-32005: "query returned more than 10000 results", -32602: "block range is too wide", -32600: "invalid request",
		-32601: "the method does not exist/is not available", -32603: "internal error", -32000: "header not found",
		35: "ranges over 10000 blocks are not supported on freetier",
	}[n]
	return &rpcError{Code: n, Message: orString(message, "server error")}
}

// emptied is the answer of a node whose index lags behind: no logs, a receipt without logs, nothing found (B54).
func emptied(method string, result any) any {
	switch method {
	case "eth_getLogs":
		return []any{}
	case "eth_getTransactionReceipt":
		if receipt, ok := result.(map[string]any); ok {
			receipt["logs"] = []any{}
			return receipt
		}
	}
	return nil
}

// dispatch is every method that the nodes know. The caller holds the lock.
func (c *chain) dispatch(call rpcCall) (any, *rpcError) {
	switch call.Method {
	case "eth_chainId":
		return quantity(c.cfg.ID), nil
	case "net_version":
		return decimalOf(c.cfg.ID), nil
	case "web3_clientVersion":
		return "sandbox/" + c.cfg.Name, nil
	case "eth_syncing":
		return false, nil
	case "eth_blockNumber":
		return quantity(c.head()), nil
	case "eth_gasPrice":
		return quantity(1_000_000_000), nil
	case "eth_getBalance", "eth_getTransactionCount":
		return quantity(0), nil
	case "eth_getBlockByNumber":
		return c.blockByNumber(call.Params)
	case "eth_getBlockByHash":
		return c.blockByHash(call.Params)
	case "eth_getLogs":
		return c.logs(call.Params)
	case "eth_getTransactionReceipt":
		return c.receipt(call.Params)
	case "eth_getBlockReceipts":
		return c.blockReceipts(call.Params)
	case "eth_getTransactionByHash":
		return c.transactionByHash(call.Params)
	case "eth_call":
		return c.ethCall(call.Params)
	case "eth_getCode":
		return c.code(call.Params)
	}
	return nil, &rpcError{Code: -32601, Message: "the method " + call.Method + " does not exist/is not available"}
}
