package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ErrChainID: a node is of another chain than configured. Nothing it says is used.
var ErrChainID = errors.New("node is of another chain")

// growAfter is how many good ranges in a row let the learnt range limit double again.
const growAfter = 32

// node is one URL and what was learnt about it.
type node struct {
	label   string // "node 2", instead of the URL, which may carry a key
	url     string
	client  *http.Client
	timeout time.Duration
	chainID int64
	most    int64 // configured range limit

	mu      sync.Mutex
	checked bool  // its chain id is ours
	single  bool  // it takes no batches
	span    int64 // learnt range limit in blocks (B49)
	good    int   // ranges in a row since it last changed
}

// batch does requests in as few round trips as the node allows, and returns their replies in order.
func (n *node) batch(ctx context.Context, requests []request) ([]reply, error) {
	out := make([]reply, 0, len(requests))
	for len(requests) > 0 {
		size := min(len(requests), maxBatch)
		if n.takesNoBatch() {
			size = 1
		}
		replies, err := n.send(ctx, requests[:size])
		if size > 1 && errors.Is(err, errNoBatch) {
			n.learnNoBatch()
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("call %s: %w", requests[0].method, err)
		}
		out = append(out, replies...)
		requests = requests[size:]
	}
	return out, nil
}

// one does one request and decodes its result. null is true when the node answered that there is no such thing.
func (n *node) one(ctx context.Context, r request, into any) (null bool, err error) {
	replies, err := n.batch(ctx, []request{r})
	if err != nil {
		return false, err
	}
	return decode(r.method, replies[0], into)
}

// decode reads one reply.
func decode(method string, r reply, into any) (null bool, err error) {
	if r.err != nil {
		return false, fmt.Errorf("call %s: %w", method, r.err)
	}
	if r.null() {
		return true, nil
	}
	if err := json.Unmarshal(r.result, into); err != nil {
		return false, fmt.Errorf("call %s: %w", method, errAnswer)
	}
	return false, nil
}

// check makes sure, once, that the node is of our chain.
func (n *node) check(ctx context.Context) error {
	n.mu.Lock()
	done := n.checked
	n.mu.Unlock()
	if done {
		return nil
	}
	var text string
	null, err := n.one(ctx, request{method: "eth_chainId"}, &text)
	if err != nil {
		return err
	}
	id, err := quantity(text)
	if null || err != nil {
		return fmt.Errorf("call eth_chainId: %w", errAnswer)
	}
	if id != n.chainID {
		return fmt.Errorf("chain id is %d, not %d: %w", id, n.chainID, ErrChainID)
	}
	n.mu.Lock()
	n.checked = true
	n.mu.Unlock()
	return nil
}

func (n *node) takesNoBatch() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.single
}

func (n *node) learnNoBatch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.single = true
}

// limit is the learnt range limit.
func (n *node) limit() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.span
}

// shrink halves the range limit below a range that was refused, down to one block.
func (n *node) shrink(refused int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.span, n.good = max(1, min(n.span, refused)/2), 0
}

// worked lets the limit grow slowly after a refusal that had another reason than the range.
func (n *node) worked() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.good++
	if n.good >= growAfter {
		n.span, n.good = min(n.most, n.span*2), 0
	}
}
