package deposit

import (
	"context"
	"fmt"
)

// plan runs the planner until it asks for nothing more, fetching headers and receipts between the rounds, and asks a
// second node before a credit is taken back.
func (p *poll) plan(ctx context.Context) (Result, error) {
	for range maxRounds {
		result := Plan(p.in)
		if result.Torn {
			return Result{}, errMoved
		}
		if len(result.NeedBlocks)+len(result.NeedReceipts) > 0 {
			if err := p.answer(ctx, result); err != nil {
				return Result{}, err
			}
			continue
		}
		disputed, err := p.dispute(ctx, result.Reverted())
		if err != nil {
			return Result{}, err
		}
		if !disputed {
			return result, nil
		}
	}
	return Result{}, errMoved
}

// answer fetches what a plan asked for, in one round trip each where the source can.
func (p *poll) answer(ctx context.Context, r Result) error {
	if err := p.keepLease(ctx); err != nil {
		return err
	}
	if batch, ok := p.deps.Source.(Batch); ok {
		return p.answerBatch(ctx, batch, r)
	}
	for _, height := range r.NeedBlocks {
		b, _, err := p.deps.Source.BlockAt(ctx, height)
		if err != nil {
			return fmt.Errorf("read block %d: %w", height, err)
		}
		p.in.Blocks[height] = b
	}
	for _, tx := range r.NeedReceipts {
		receipt, found, err := p.deps.Source.Receipt(ctx, tx)
		if err != nil {
			return fmt.Errorf("read receipt of %s: %w", tx, err)
		}
		p.in.Receipts[tx] = Proof{Found: found, Receipt: receipt}
	}
	return nil
}

func (p *poll) answerBatch(ctx context.Context, batch Batch, r Result) error {
	if len(r.NeedBlocks) > 0 {
		blocks, err := batch.BlocksAt(ctx, r.NeedBlocks)
		if err != nil {
			return fmt.Errorf("read blocks: %w", err)
		}
		for _, height := range r.NeedBlocks {
			p.in.Blocks[height] = blocks[height]
		}
	}
	if len(r.NeedReceipts) > 0 {
		proofs, err := batch.Receipts(ctx, r.NeedReceipts)
		if err != nil {
			return fmt.Errorf("read receipts: %w", err)
		}
		for _, tx := range r.NeedReceipts {
			proof, ok := proofs[tx]
			if !ok {
				return fmt.Errorf("read receipts: no answer for %s", tx)
			}
			p.in.Receipts[tx] = proof
		}
	}
	return nil
}

// dispute asks a second node about the blocks whose loss would take credits back. Where it still has the block there is
// no proof, and the plan is made again without it (D15).
func (p *poll) dispute(ctx context.Context, facts []Fact) (disputed bool, err error) {
	witness, ok := p.deps.Source.(Witness)
	if !ok {
		return false, nil
	}
	for _, f := range facts {
		b, asked, err := witness.SecondBlockAt(ctx, f.Deposit.Block)
		if err != nil {
			return false, fmt.Errorf("ask a second node about block %d: %w", f.Deposit.Block, err)
		}
		if asked && b.Hash == f.Deposit.BlockHash && !p.in.Disputed[f.Deposit.Block] {
			p.in.Disputed[f.Deposit.Block] = true
			disputed = true
		}
	}
	if disputed {
		p.vitals.change(func(h *Health) { h.Ignored[IgnoredDisputed]++ })
	}
	return disputed, nil
}

// header reads one header that must exist: it is not above the head.
func (p *poll) header(ctx context.Context, height int64) (Block, error) {
	if height == p.in.Head.Number {
		return p.in.Head, nil
	}
	b, found, err := p.deps.Source.BlockAt(ctx, height)
	if err != nil {
		return Block{}, fmt.Errorf("read block %d: %w", height, err)
	}
	if !found {
		return Block{}, fmt.Errorf("read block %d: the node says there is none below its head %d", height, p.in.Head.Number)
	}
	p.in.Blocks[height] = b
	return b, nil
}
