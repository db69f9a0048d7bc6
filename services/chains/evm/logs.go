package evm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"offrampbot/services/deposit"
)

// fullPage is the number of logs from which an answer may have been cut off in silence; the range is halved.
const fullPage = 10_000

var (
	// errBehind: the node does not have the last block of the range, so an empty answer would mean nothing (G5, B47).
	errBehind = errors.New("node does not have the last block of the range")
	// errNotYet: a log's receipt does not show it; the node's index is not ready (B54).
	errNotYet = errors.New("receipt does not show the log yet")
	errFull   = errors.New("answer may be cut off")
)

// Transfers implements deposit.Source: ERC-20 transfers of any contract into or out of the addresses, of successful
// transactions, with the ordinals of their receipts. A range is read whole or not at all.
func (s *Source) Transfers(ctx context.Context, from, to int64, addresses []string) (out []deposit.Transfer, err error) {
	if from > to || len(addresses) == 0 {
		return nil, nil
	}
	err = s.try(ctx, func(ctx context.Context, n *node) error {
		events, err := n.events(ctx, from, to, addresses, s.chunk)
		if err != nil {
			return err
		}
		out, err = s.ordinals(ctx, n, events)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// events reads the logs of a range in steps that the node accepts. The steps cover the range without a gap (B51).
func (n *node) events(ctx context.Context, from, to int64, addresses []string, chunk int) ([]event, error) {
	var out []event
	for from <= to {
		last := min(to, from+n.limit()-1)
		found, err := n.step(ctx, from, last, addresses, chunk)
		span := last - from + 1
		if err != nil && span > 1 && rangeLike(ctx, err) {
			n.shrink(span)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read logs of blocks %d to %d: %w", from, last, err)
		}
		n.worked()
		out = append(out, found...)
		from = last + 1
	}
	return out, nil
}

// rangeLike reports whether a smaller range may be answered. Nodes say so with many codes and statuses (B49), so every
// refusal by the node counts, and so do answers that are too large or too slow; a node that is down does not.
func rangeLike(ctx context.Context, err error) bool {
	var refused *rpcError
	var status *statusError
	switch {
	case ctx.Err() != nil:
		return false
	case errors.As(err, &refused), errors.Is(err, errTooLarge), errors.Is(err, errFull), errors.Is(err, errDeadline):
		return true
	case errors.As(err, &status):
		return slices.Contains([]int{
			http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
			http.StatusInternalServerError, http.StatusGatewayTimeout,
		}, status.status)
	}
	return false
}

// step reads the logs of one range for all addresses, into and out of them, and proves that the node has the range.
func (n *node) step(ctx context.Context, from, to int64, addresses []string, chunk int) ([]event, error) {
	var requests []request
	filter := func(topics ...any) {
		requests = append(requests, request{"eth_getLogs", []any{map[string]any{
			"fromBlock": encode(from), "toBlock": encode(to), "topics": topics,
		}}})
	}
	for part := range slices.Chunk(addresses, chunk) {
		padded := make([]string, len(part))
		for i, a := range part {
			padded[i] = topicOf(a)
		}
		filter(transferTopic, nil, padded)
		filter(transferTopic, padded)
	}
	requests = append(requests, request{"eth_getBlockByNumber", []any{encode(to), false}})
	replies, err := n.batch(ctx, requests)
	if err != nil {
		return nil, err
	}
	last := len(requests) - 1
	var out []event
	for i, r := range replies[:last] {
		var logs []wireLog
		null, err := decode(requests[i].method, r, &logs)
		if err == nil && null {
			err = errAnswer
		}
		if err != nil {
			return nil, err
		}
		if len(logs) >= fullPage && from < to {
			return nil, errFull
		}
		if out, err = appendEvents(out, logs, from, to); err != nil {
			return nil, err
		}
	}
	var tip wireBlock
	null, err := decode(requests[last].method, replies[last], &tip)
	if err != nil {
		return nil, err
	}
	if null {
		return nil, errBehind
	}
	return out, nil
}

// appendEvents keeps the transfers among the logs. Logs of blocks that the node has taken back are marked removed and
// are not of the chain (B54).
func appendEvents(out []event, logs []wireLog, from, to int64) ([]event, error) {
	for _, l := range logs {
		if l.Removed {
			continue
		}
		e, err := l.read()
		if err != nil {
			return nil, err
		}
		if e.transfer == nil {
			continue
		}
		if e.transfer.Block < from || e.transfer.Block > to {
			return nil, fmt.Errorf("read logs: a log of block %d: %w", e.transfer.Block, errAnswer)
		}
		out = append(out, e)
	}
	return out, nil
}

// place names a log within one chain of blocks.
type place struct {
	tx, block string
	index     int64
}

// ordinals gives every transfer the ordinal that its log has in its receipt, and leaves out those of failed
// transactions (B59). A transfer between two of our addresses is found twice and kept once. What has no value keeps no
// ordinal, because the planner ignores it and it is sent in masses.
func (s *Source) ordinals(ctx context.Context, n *node, events []event) ([]deposit.Transfer, error) {
	read, err := s.receiptsOf(ctx, n, events)
	if err != nil {
		return nil, err
	}
	kept := map[place]bool{}
	var out []deposit.Transfer
	for _, e := range events {
		at := place{e.tx, e.transfer.BlockHash, e.index}
		if kept[at] {
			continue
		}
		kept[at] = true
		t := *e.transfer
		if t.Raw.Sign() == 0 {
			t.Ordinal = noOrdinal
			out = append(out, t)
			continue
		}
		r := read[receiptKey{e.tx, t.BlockHash}]
		if r == nil {
			return nil, fmt.Errorf("read receipt of transaction %s: %w", e.tx, errNotYet)
		}
		if !r.receipt.Success {
			continue
		}
		ordinal, ok := r.take(e)
		if !ok {
			return nil, fmt.Errorf("find log of transaction %s: %w", e.tx, errNotYet)
		}
		t.Ordinal = ordinal
		out = append(out, t)
	}
	return out, nil
}

// noOrdinal marks a transfer whose place was not looked up.
const noOrdinal = -1

// receiptsOf reads the receipts that the events need, those already known from memory.
func (s *Source) receiptsOf(ctx context.Context, n *node, events []event) (map[receiptKey]*readReceipt, error) {
	out := map[receiptKey]*readReceipt{}
	asked := map[string]bool{}
	var missing []string
	for _, e := range events {
		key := receiptKey{e.tx, e.transfer.BlockHash}
		if out[key] != nil || asked[e.tx] || e.transfer.Raw.Sign() == 0 {
			continue
		}
		if known, ok := s.seen.get(key); ok {
			out[key] = known.fresh()
			continue
		}
		asked[e.tx] = true
		missing = append(missing, e.tx)
	}
	if len(missing) == 0 {
		return out, nil
	}
	found, err := n.receipts(ctx, missing)
	if err != nil {
		return nil, err
	}
	for tx, r := range found {
		key := receiptKey{tx, r.receipt.BlockHash}
		out[key] = r.fresh()
		if len(r.events) > 0 { // an empty one may be filled later (B54)
			s.seen.put(key, r)
		}
	}
	return out, nil
}
