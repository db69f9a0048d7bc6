// Package evm reads an EVM chain over plain JSON-RPC and derives our deposit addresses.
//
// It trusts no node: numbers are read strictly, an answer that does not fit its question is an error and never "nothing
// there", a node of another chain is refused, and a range that cannot be read whole fails. Addresses, hashes and
// contracts are lower case, the canonical form of services/assets.
package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"sync"
	"time"

	"offrampbot/services/deposit"
)

// Options sets up a Source.
type Options struct {
	Chain   string   // id in the registry
	ChainID int64    // EIP-155 id that every node must have
	URLs    []string // of nodes of this chain, the preferred first
	// Timeout of one HTTP call, 10 s by default.
	Timeout time.Duration
	// HTTP is the client to use, its transport wrapped; nil: one with our own settings.
	HTTP *http.Client
	// MaxRange is the most blocks of one eth_getLogs, 2000 by default; what a node refuses is halved and remembered.
	MaxRange int64
	// AddressChunk is the most addresses of one filter, 500 by default.
	AddressChunk int
}

const (
	defaultTimeout      = 10 * time.Second
	defaultMaxRange     = 2000
	defaultAddressChunk = 500
)

// Source implements deposit.Source over one or more nodes of a chain. It stays with the node that answered last and goes
// on to the next when that one fails. It is safe for concurrent use.
type Source struct {
	chain string
	chunk int
	nodes []*node

	mu        sync.Mutex
	preferred int
	seen      *receiptCache
}

// New returns a Source. It calls no node; use Check at the start.
func New(o Options) (*Source, error) {
	var problems []error
	check := func(ok bool, text string) {
		if !ok {
			problems = append(problems, errors.New(text))
		}
	}
	check(o.Chain != "", "Chain is empty")
	check(o.ChainID > 0, "ChainID must be positive")
	check(len(o.URLs) > 0, "URLs is empty")
	check(o.Timeout >= 0, "Timeout must not be negative")
	check(o.MaxRange >= 0, "MaxRange must not be negative")
	check(o.AddressChunk >= 0, "AddressChunk must not be negative")
	for i, u := range o.URLs {
		parsed, err := url.Parse(u)
		ok := err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https")
		check(ok, fmt.Sprintf("URLs: number %d is not an http or https URL", i+1))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("make source of chain %s: %w", o.Chain, errors.Join(problems...))
	}
	o = o.withDefaults()
	s := &Source{chain: o.Chain, chunk: o.AddressChunk, seen: newReceiptCache()}
	shared := client(o.HTTP)
	for i, u := range o.URLs {
		s.nodes = append(s.nodes, &node{
			label: fmt.Sprintf("node %d of %d", i+1, len(o.URLs)), url: u, client: shared, timeout: o.Timeout,
			chainID: o.ChainID, most: o.MaxRange, span: o.MaxRange,
		})
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxRange == 0 {
		o.MaxRange = defaultMaxRange
	}
	if o.AddressChunk == 0 {
		o.AddressChunk = defaultAddressChunk
	}
	return o
}

// Chain implements deposit.Source.
func (s *Source) Chain() string { return s.chain }

// Check asks every node for its chain id at the start. ErrChainID when one is of another chain: the process must not
// start. Nodes that do not answer are no reason to refuse; each is checked again before it is first used.
func (s *Source) Check(ctx context.Context) error {
	var wrong []error
	for _, n := range s.nodes {
		if err := n.check(ctx); errors.Is(err, ErrChainID) {
			wrong = append(wrong, fmt.Errorf("%s: %w", n.label, err))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("check nodes of chain %s: %w", s.chain, errors.Join(wrong...))
	}
	return nil
}

// try runs fn on the preferred node and then on the others until one works, and prefers that one from then on.
func (s *Source) try(ctx context.Context, fn func(ctx context.Context, n *node) error) error {
	s.mu.Lock()
	first := s.preferred
	s.mu.Unlock()
	var problems []error
	for i := range s.nodes {
		at := (first + i) % len(s.nodes)
		n := s.nodes[at]
		err := n.check(ctx)
		if err == nil {
			err = fn(ctx, n)
		}
		if err == nil {
			s.prefer(at)
			return nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", n.label, err))
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("ask chain %s: %w", s.chain, errors.Join(problems...))
}

func (s *Source) prefer(at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.preferred = at
}

// Head implements deposit.Source.
func (s *Source) Head(ctx context.Context) (b deposit.Block, err error) {
	err = s.try(ctx, func(ctx context.Context, n *node) error {
		var found bool
		b, found, err = n.block(ctx, "latest")
		if err == nil && !found {
			return fmt.Errorf("read newest block: %w", errAnswer)
		}
		return err
	})
	return b, err
}

// BlockAt implements deposit.Source.
func (s *Source) BlockAt(ctx context.Context, height int64) (b deposit.Block, found bool, err error) {
	err = s.try(ctx, func(ctx context.Context, n *node) error {
		b, found, err = n.block(ctx, encode(height))
		if err == nil && found && b.Number != height {
			return fmt.Errorf("read block %d: the answer is block %d: %w", height, b.Number, errAnswer)
		}
		return err
	})
	return b, found, err
}

// SecondBlockAt implements deposit.Witness: it asks the nodes other than the one in use.
func (s *Source) SecondBlockAt(ctx context.Context, height int64) (b deposit.Block, asked bool, err error) {
	s.mu.Lock()
	first := s.preferred
	s.mu.Unlock()
	for i := 1; i < len(s.nodes); i++ {
		n := s.nodes[(first+i)%len(s.nodes)]
		if n.check(ctx) != nil {
			continue
		}
		b, found, err := n.block(ctx, encode(height))
		if err == nil && found && b.Number == height {
			return b, true, nil
		}
	}
	return deposit.Block{}, false, ctx.Err()
}

// Final implements deposit.Source. A node that refuses the tag does not know it.
func (s *Source) Final(ctx context.Context, tag string) (height int64, ok bool, err error) {
	err = s.try(ctx, func(ctx context.Context, n *node) error {
		b, found, err := n.block(ctx, tag)
		var refused *rpcError
		if errors.As(err, &refused) {
			height, ok = 0, false
			return nil
		}
		height, ok = b.Number, found
		return err
	})
	return height, ok, err
}

// Balance implements deposit.Source.
func (s *Source) Balance(ctx context.Context, contract, holder string) (*big.Int, error) {
	const balanceOf = "0x70a08231"
	var balance *big.Int
	call := map[string]string{"to": contract, "data": balanceOf + topicOf(holder)[2:]}
	err := s.try(ctx, func(ctx context.Context, n *node) error {
		var text string
		null, err := n.one(ctx, request{"eth_call", []any{call, "latest"}}, &text)
		if err == nil && null {
			err = errAnswer
		}
		if err != nil {
			return err
		}
		balance, err = word(text)
		return err
	})
	return balance, err
}

var (
	_ deposit.Source  = (*Source)(nil)
	_ deposit.Witness = (*Source)(nil)
	_ deposit.Batch   = (*Source)(nil)
)
