package chaintest

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"offrampbot/services/deposit"
)

// Lag makes the node show a chain that is n blocks behind.
func (s *Script) Lag(n int64) { s.set(func() { s.lag = n }) }

// Empty makes the next n answers of Transfers empty, as from a node whose index lags.
func (s *Script) Empty(n int) { s.set(func() { s.empty = n }) }

// Fail makes the next n calls of a method fail: Head, BlockAt, Final, Transfers, Receipt, Balance.
func (s *Script) Fail(method string, n int) { s.set(func() { s.faults[method] = n }) }

// MaxRange makes the node refuse longer ranges.
func (s *Script) MaxRange(n int64) { s.set(func() { s.maxRange = n }) }

// Unready makes the receipt of a transaction come without logs, or with them again.
func (s *Script) Unready(tx string, unready bool) { s.set(func() { s.unready[tx] = unready }) }

// Hide takes a transaction out of the log index, or puts it back.
func (s *Script) Hide(tx string, hidden bool) { s.set(func() { s.hidden[tx] = hidden }) }

// ServeStale makes the log index serve these transfers besides, wherever they are.
func (s *Script) ServeStale(stale ...deposit.Transfer) { s.set(func() { s.stale = stale }) }

// Finalise sets the height of the finality tag; a negative one means that the node knows none.
func (s *Script) Finalise(height int64) { s.set(func() { s.final = height }) }

// Alter makes the node show another amount for all transfers of a transaction.
func (s *Script) Alter(tx string, raw *big.Int) { s.set(func() { s.altered[tx] = raw }) }

// OnCall runs fn before every call, outside the lock: the chain may move in the middle of a poll.
func (s *Script) OnCall(fn func(method string)) { s.set(func() { s.onCall = fn }) }

// Calls is how often a method was called.
func (s *Script) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Ranges lists the ranges that Transfers was asked for, and forgets them.
func (s *Script) Ranges() [][2]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ranges
	s.ranges = nil
	return out
}

func (s *Script) set(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// enter counts a call and says whether it fails. It leaves the lock held.
func (s *Script) enter(ctx context.Context, method string) error {
	s.mu.Lock()
	hook := s.onCall
	s.mu.Unlock()
	if hook != nil {
		hook(method)
	}
	s.mu.Lock()
	s.calls[method]++
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.faults[method] > 0 {
		s.faults[method]--
		return fmt.Errorf("%s: %w", method, ErrScripted)
	}
	return nil
}

// tip is the height that the node shows.
func (s *Script) tip() int64 { return max(0, int64(len(s.blocks))-1-s.lag) }

// Chain implements deposit.Source.
func (s *Script) Chain() string { return s.name }

// Head implements deposit.Source.
func (s *Script) Head(ctx context.Context) (deposit.Block, error) {
	err := s.enter(ctx, "Head")
	defer s.mu.Unlock()
	if err != nil {
		return deposit.Block{}, err
	}
	return s.blocks[s.tip()].header, nil
}

// BlockAt implements deposit.Source.
func (s *Script) BlockAt(ctx context.Context, height int64) (deposit.Block, bool, error) {
	err := s.enter(ctx, "BlockAt")
	defer s.mu.Unlock()
	if err != nil || height > s.tip() || height < 0 {
		return deposit.Block{}, false, err
	}
	return s.blocks[height].header, true, nil
}

// Final implements deposit.Source.
func (s *Script) Final(ctx context.Context, _ string) (int64, bool, error) {
	err := s.enter(ctx, "Final")
	defer s.mu.Unlock()
	if err != nil || s.final < 0 {
		return 0, false, err
	}
	return s.final, true, nil
}

// Transfers implements deposit.Source.
func (s *Script) Transfers(ctx context.Context, from, to int64, addresses []string) ([]deposit.Transfer, error) {
	err := s.enter(ctx, "Transfers")
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	s.ranges = append(s.ranges, [2]int64{from, to})
	if s.maxRange > 0 && to-from+1 > s.maxRange {
		return nil, fmt.Errorf("range of %d blocks: %w", to-from+1, ErrScripted)
	}
	if s.empty > 0 {
		s.empty--
		return nil, nil
	}
	var out []deposit.Transfer
	for height := from; height <= min(to, s.tip()); height++ {
		for _, t := range s.blocks[height].txs {
			if t.failed || s.hidden[t.id] {
				continue
			}
			out = append(out, s.transfers(t, s.blocks[height].header)...)
		}
	}
	out = append(out, s.stale...)
	return slices.DeleteFunc(out, func(t deposit.Transfer) bool {
		return !slices.Contains(addresses, t.To) && !slices.Contains(addresses, t.From)
	}), nil
}

func (s *Script) transfers(t tx, b deposit.Block) []deposit.Transfer {
	var out []deposit.Transfer
	for i, l := range t.logs {
		raw := l.Raw
		if other, ok := s.altered[t.id]; ok {
			raw = other
		}
		out = append(out, deposit.Transfer{
			Tx: t.id, Ordinal: i, Contract: l.Contract, From: l.From, To: l.To, Raw: raw, Block: b.Number, BlockHash: b.Hash,
		})
	}
	return out
}

// Receipt implements deposit.Source.
func (s *Script) Receipt(ctx context.Context, id string) (deposit.Receipt, bool, error) {
	err := s.enter(ctx, "Receipt")
	defer s.mu.Unlock()
	if err != nil {
		return deposit.Receipt{}, false, err
	}
	for height := int64(0); height <= s.tip(); height++ {
		b := s.blocks[height]
		for _, t := range b.txs {
			if t.id != id {
				continue
			}
			r := deposit.Receipt{Success: !t.failed, Block: height, BlockHash: b.header.Hash}
			if !t.failed && !s.unready[id] {
				r.Transfers = s.transfers(t, b.header)
			}
			return r, true, nil
		}
	}
	return deposit.Receipt{}, false, nil
}

// Balance implements deposit.Source by adding up the chain.
func (s *Script) Balance(ctx context.Context, contract, address string) (*big.Int, error) {
	err := s.enter(ctx, "Balance")
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	sum := new(big.Int)
	for _, b := range s.blocks[:s.tip()+1] {
		for _, t := range b.txs {
			for _, l := range t.logs {
				if t.failed || l.Contract != contract {
					continue
				}
				if l.To == address {
					sum.Add(sum, l.Raw)
				}
				if l.From == address {
					sum.Sub(sum, l.Raw)
				}
			}
		}
	}
	return sum, nil
}

var _ deposit.Source = (*Script)(nil)
