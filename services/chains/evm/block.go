package evm

import (
	"context"
	"fmt"
	"time"

	"offrampbot/services/deposit"
)

// wireBlock is the part of a header that we read.
type wireBlock struct {
	Number     string `json:"number"`
	Hash       string `json:"hash"`
	ParentHash string `json:"parentHash"`
	Timestamp  string `json:"timestamp"`
}

// block reads a header at a height or tag; found is false when the node has none there.
func (n *node) block(ctx context.Context, at string) (b deposit.Block, found bool, err error) {
	var w wireBlock
	null, err := n.one(ctx, request{"eth_getBlockByNumber", []any{at, false}}, &w)
	if err != nil || null {
		return deposit.Block{}, false, err
	}
	b, err = w.read()
	return b, err == nil, err
}

func (w wireBlock) read() (deposit.Block, error) {
	number, err := quantity(w.Number)
	if err != nil {
		return deposit.Block{}, fmt.Errorf("read block number: %w", err)
	}
	seconds, err := quantity(w.Timestamp)
	if err != nil {
		return deposit.Block{}, fmt.Errorf("read block time: %w", err)
	}
	own, err := hash(w.Hash)
	if err != nil {
		return deposit.Block{}, fmt.Errorf("read block hash: %w", err)
	}
	parent, err := hash(w.ParentHash)
	if err != nil {
		return deposit.Block{}, fmt.Errorf("read parent hash: %w", err)
	}
	return deposit.Block{Number: number, Hash: own, Parent: parent, Time: time.Unix(seconds, 0).UTC()}, nil
}

// BlocksAt implements deposit.Batch.
func (s *Source) BlocksAt(ctx context.Context, heights []int64) (map[int64]deposit.Block, error) {
	requests := make([]request, len(heights))
	for i, h := range heights {
		requests[i] = request{"eth_getBlockByNumber", []any{encode(h), false}}
	}
	var out map[int64]deposit.Block
	err := s.try(ctx, func(ctx context.Context, n *node) error {
		out = make(map[int64]deposit.Block, len(heights))
		replies, err := n.batch(ctx, requests)
		if err != nil {
			return err
		}
		for i, h := range heights {
			var w wireBlock
			null, err := decode(requests[i].method, replies[i], &w)
			if err != nil {
				return err
			}
			if null {
				out[h] = deposit.Block{}
				continue
			}
			b, err := w.read()
			if err != nil {
				return err
			}
			if b.Number != h {
				return fmt.Errorf("read block %d: the answer is block %d: %w", h, b.Number, errAnswer)
			}
			out[h] = b
		}
		return nil
	})
	return out, err
}
