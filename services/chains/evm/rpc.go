package evm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"offrampbot/services/outside"
)

const (
	maxAnswer = 64 << 20 // bytes of one answer
	maxBatch  = 50       // requests of one round trip
)

var (
	errTooLarge = errors.New("answer is too large")
	errAnswer   = errors.New("not a JSON-RPC answer to the request")
	errDeadline = errors.New("node did not answer in time")
)

// rpcError is an error that the node itself gave.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("node error %d: %s", e.Code, clip(e.Message)) }

// statusError is an HTTP status without a JSON-RPC answer.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("HTTP status %d", e.status) }

// request is one JSON-RPC call.
type request struct {
	method string
	params []any
}

// reply is the node's answer to one request: a result that is not empty, or its error.
type reply struct {
	result json.RawMessage
	err    error
}

// null reports whether the node answered that there is no such thing.
func (r reply) null() bool { return string(r.result) == "null" }

// envelope is a JSON-RPC request or answer on the wire.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      *int            `json:"id"`
	Method  string          `json:"method,omitempty"`
	Params  []any           `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// send does requests in one HTTP call, as a batch when there is more than one, and returns their replies in order. An
// error means that no reply can be used.
func (n *node) send(ctx context.Context, requests []request) ([]reply, error) {
	wire := make([]envelope, len(requests))
	for i, r := range requests {
		params := r.params
		if params == nil {
			params = []any{}
		}
		wire[i] = envelope{Version: "2.0", ID: &i, Method: r.method, Params: params}
	}
	var body any = wire
	if len(wire) == 1 {
		body = wire[0]
	}
	raw, status, err := n.post(ctx, body)
	if err != nil {
		return nil, err
	}
	if len(wire) == 1 {
		var one envelope
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, unreadable(status)
		}
		return arrange([]envelope{one}, 1, status)
	}
	if first := bytes.TrimLeft(raw, " \t\r\n"); len(first) > 0 && first[0] == '{' {
		return nil, errNoBatch // the node answers a batch with one object: it knows none
	}
	var many []envelope
	if err := json.Unmarshal(raw, &many); err != nil {
		return nil, unreadable(status)
	}
	return arrange(many, len(requests), status)
}

// errNoBatch: the node does not take batches.
var errNoBatch = errors.New("node takes no batches")

func unreadable(status int) error {
	if status != http.StatusOK {
		return &statusError{status}
	}
	return errAnswer
}

// arrange sorts answers by their ids. An answer with neither result nor error, or one that is missing, is an error for
// all: it must never pass for "nothing there".
func arrange(answers []envelope, count, status int) ([]reply, error) {
	out := make([]reply, count)
	have := make([]bool, count)
	for _, a := range answers {
		if a.Error != nil && a.ID == nil && count == 1 {
			a.ID = new(int) // some nodes leave the id out when they refuse
		}
		if a.ID == nil || *a.ID < 0 || *a.ID >= count || have[*a.ID] {
			return nil, unreadable(status)
		}
		have[*a.ID] = true
		switch {
		case a.Error != nil:
			out[*a.ID] = reply{err: a.Error}
		case len(a.Result) > 0 && status == http.StatusOK:
			out[*a.ID] = reply{result: a.Result}
		default:
			return nil, unreadable(status)
		}
	}
	for _, ok := range have {
		if !ok {
			return nil, unreadable(status)
		}
	}
	return out, nil
}

// post does one HTTP call under its own deadline. Its errors never hold the URL, which may carry a key.
func (n *node) post(ctx context.Context, body any) (raw []byte, status int, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, 0, fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, n.timeout, errDeadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(encoded))
	if err != nil {
		return nil, 0, errors.New("make request: the URL is not usable")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	answer, err := n.client.Do(req)
	if err != nil {
		return nil, 0, withoutURL(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, 0, withoutURL(ctx, err)
	}
	if len(raw) > maxAnswer {
		return nil, 0, errTooLarge
	}
	return raw, answer.StatusCode, nil
}

// withoutURL names our own deadline as the cause and takes the address out of a transport error.
func withoutURL(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// client makes the HTTP client of all nodes: every call crosses the choke point, and no redirect is followed, because it
// would lead to a host that nobody configured.
func client(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	next := c.Transport
	if next == nil {
		next = &http.Transport{MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTimeout, Proxy: http.ProxyFromEnvironment}
	}
	c.Transport = outside.Transport{Next: next}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

const (
	idleConnections = 4
	idleTimeout     = 90 * time.Second
)
