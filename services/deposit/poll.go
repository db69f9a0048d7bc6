package deposit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

// maxRounds bounds how often a plan may ask for more answers: headers, receipts, headers of receipts, second opinions.
const maxRounds = 6

// errMoved: the node's chain changed under the poll, so its answers do not belong together. The next poll reads again.
var errMoved = errors.New("chain moved during the poll")

// poll is one pass over the window of a chain, pinned to one head. Order: read, plan, apply each fact, commit the cursor.
type poll struct {
	*Watcher
	lease    Lease
	now      time.Time
	cursor   Cursor
	known    bool // there is a cursor
	ancestor int64
	sweepTo  int64 // last height of this poll's sweep
	in       Input
}

// run does the poll. more is true when blocks are left to read or a fact asks for another look at once.
func (p *poll) run(ctx context.Context) (more bool, err error) {
	ready, err := p.begin(ctx)
	if err != nil || !ready {
		return false, err
	}
	if err := p.read(ctx); err != nil {
		return false, err
	}
	result, err := p.plan(ctx)
	if errors.Is(err, errMoved) {
		p.vitals.change(func(h *Health) { h.Ignored["moved"]++ })
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tip, err := p.pinned(ctx)
	if errors.Is(err, errMoved) {
		p.vitals.change(func(h *Health) { h.Ignored["moved"]++ })
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := p.apply(ctx, result); err != nil {
		return false, err
	}
	return p.commit(ctx, tip, result)
}

// begin reads the cursor and the head and settles the window. ready is false when there is nothing to read.
func (p *poll) begin(ctx context.Context) (ready bool, err error) {
	chain := p.cfg.Policy.Chain
	p.in = Input{
		Policy: p.cfg.Policy, Final: -1, Treasury: p.treasury, Now: p.now, Stored: map[string]Deposit{},
		Owned: map[string]bool{}, Owners: map[string]string{}, Blocks: map[int64]Block{}, Receipts: map[string]Proof{},
		Disputed: map[int64]bool{}, Worthless: map[string]int{},
	}
	if err := p.deps.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		p.cursor, p.known, err = loadCursor(r, chain)
		if err != nil {
			return err
		}
		return p.loadOpen(r)
	}); err != nil {
		return false, fmt.Errorf("read stored deposits: %w", err)
	}
	if p.in.Head, err = p.deps.Source.Head(ctx); err != nil {
		return false, fmt.Errorf("read head: %w", err)
	}
	behind := p.known && p.in.Head.Number < p.cursor.Height
	p.vitals.change(func(h *Health) {
		h.Head, h.HeadTime, h.Behind, h.Cursor = p.in.Head.Number, p.in.Head.Time, behind, p.cursor.Height
	})
	if behind {
		return false, nil // a node that lags says nothing about what it has not seen (G3)
	}
	if err := p.finality(ctx); err != nil {
		return false, err
	}
	if p.ancestor, err = p.continuity(ctx); err != nil {
		return false, err
	}
	if err := p.window(ctx); err != nil {
		return false, err
	}
	return p.in.To >= p.in.From, nil
}

func (p *poll) finality(ctx context.Context) error {
	tag := p.cfg.Policy.FinalityTag
	if tag == "" {
		return nil
	}
	height, ok, err := p.deps.Source.Final(ctx, tag)
	if err != nil {
		return fmt.Errorf("read %s height: %w", tag, err)
	}
	if ok {
		p.in.Final = min(height, p.in.Head.Number)
	}
	return nil
}

// continuity finds the newest block we processed that is still on the chain (D14). Usually that is the cursor. A chain
// that holds none of them is not the one we know: nothing is concluded from it.
func (p *poll) continuity(ctx context.Context) (ancestor int64, err error) {
	if !p.known {
		return -1, nil
	}
	for i := len(p.cursor.Marks) - 1; i >= 0; i-- {
		m := p.cursor.Marks[i]
		b, err := p.header(ctx, m.Height)
		if err != nil {
			return 0, err
		}
		if b.Hash != m.Hash {
			continue
		}
		if deep := p.cursor.Height - m.Height; deep > p.cfg.Policy.Window {
			text := fmt.Sprintf("blocks above %d were replaced, up to %d deep; settled deposits in them need a look", m.Height, deep)
			if err := p.alarm(ctx, "deep_reorg", fmt.Sprintf("%s:%d", p.cursor.ID, m.Height), text); err != nil {
				return 0, err
			}
		}
		return m.Height, nil
	}
	text := "no block processed so far is on the node's chain"
	if err := p.alarm(ctx, "chain_discontinuity", p.cursor.ID, text); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("check continuity: %s", text)
}

// window sets the range to read: the overlap below what is known to stand, and at most MaxBlocks above it.
func (p *poll) window(ctx context.Context) error {
	head := p.in.Head.Number
	if !p.known {
		if err := p.startAt(ctx); err != nil {
			return err
		}
	}
	p.in.Counted = p.cursor.Height
	p.in.From = max(p.cursor.Since, p.ancestor+1-p.cfg.Overlap)
	p.in.To = min(head, p.ancestor+p.cfg.MaxBlocks)
	return nil
}

// clockTolerance is how far a chain's clock may be from ours when its first block is searched by time.
const clockTolerance = time.Hour

// firstHeight is where a chain without a cursor is read from: the block of the time when the first address was allotted, or
// the head less the overlap where there is none. People may have sent to their address before the chain was watched, and
// a cursor may have been lost.
func (p *poll) firstHeight(ctx context.Context) (int64, error) {
	start := max(0, p.in.Head.Number-p.cfg.Overlap+1)
	since, ok, err := p.deps.Addresses.Since(ctx)
	if err != nil || !ok {
		return start, err
	}
	since = since.Add(-clockTolerance)
	low, high := int64(0), start // the first block that is not older lies in [low, high], or is above
	for low < high {
		middle := low + (high-low)/2
		b, found, err := p.deps.Source.BlockAt(ctx, middle)
		switch {
		case err != nil:
			return 0, fmt.Errorf("search the first block: read block %d: %w", middle, err)
		case !found, b.Time.Before(since): // a node that forgets old headers has no older logs either
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, nil
}

// startAt makes the cursor of a new chain. Its first mark is the block below the first one read, so that a
// reorganisation right after the start still finds a block in common.
func (p *poll) startAt(ctx context.Context) error {
	start, err := p.firstHeight(ctx)
	if p.cfg.Start != nil {
		start, err = *p.cfg.Start, nil
	}
	if err != nil {
		return err
	}
	p.cursor = Cursor{Height: start - 1, Since: start, Swept: start - 1, SweepTo: start - 1}
	p.cursor.ID, p.cursor.Version = p.cfg.Policy.Chain, 1
	p.ancestor = start - 1
	base := max(0, start-1)
	if base > p.in.Head.Number {
		return nil // the chain has not come to its start yet
	}
	b, err := p.header(ctx, base)
	if err != nil {
		return err
	}
	p.cursor.Marks = []Mark{{Height: b.Number, Hash: b.Hash}}
	p.ancestor = max(p.ancestor, base)
	return nil
}

// pinned proves that the head of the poll still stands and returns the block that the cursor moves to.
func (p *poll) pinned(ctx context.Context) (Block, error) {
	again, found, err := p.deps.Source.BlockAt(ctx, p.in.Head.Number)
	if err != nil {
		return Block{}, fmt.Errorf("read pinned head: %w", err)
	}
	if !found || again.Hash != p.in.Head.Hash {
		return Block{}, errMoved
	}
	if p.in.To == p.in.Head.Number {
		return p.in.Head, nil
	}
	return p.header(ctx, p.in.To)
}

// apply hands every fact to the applier, each its own commit. One that fails does not stop the others, but its ref's
// later facts wait, and the cursor stays (DESIGN §7, rule 7).
func (p *poll) apply(ctx context.Context, result Result) error {
	for _, a := range result.Alarms {
		if err := p.alarm(ctx, a.Kind, a.Ref, a.Text); err != nil {
			return err
		}
	}
	var problems []error
	stuck := map[string]bool{}
	for _, f := range result.Facts {
		if stuck[f.Deposit.ID] {
			continue
		}
		if err := p.keepLease(ctx); err != nil {
			return errors.Join(append(problems, err)...)
		}
		if err := p.deps.Applier.ApplyDeposit(ctx, f); err != nil {
			problems = append(problems, fmt.Errorf("apply %s of deposit %s: %w", f.Kind, f.Deposit.ID, err))
			stuck[f.Deposit.ID] = true
			if ctx.Err() != nil || len(problems) >= maxProblems {
				break
			}
			continue
		}
		p.vitals.change(func(h *Health) { h.Facts[f.Kind]++ })
	}
	return errors.Join(problems...)
}

// maxProblems ends a poll whose facts all fail, as when the store is down.
const maxProblems = 10

// commit moves the cursor, last. A poll that found the chain where it was writes nothing.
func (p *poll) commit(ctx context.Context, to Block, result Result) (more bool, err error) {
	if err := p.keepLease(ctx); err != nil {
		return false, err
	}
	next := p.cursor.advance(to, p.ancestor, p.now).swept(p.sweepTo, p.now, p.cfg.Sweep)
	if !p.known || len(result.Facts) > 0 || !next.stands(p.cursor) {
		lease := p.lease
		lease.Until = p.deps.Now().Add(p.cfg.Lease)
		if p.lease, err = commitCursor(ctx, p.deps.Engine, lease, next); err != nil {
			return false, err
		}
	}
	p.vitals.change(func(h *Health) {
		h.PolledAt, h.Cursor = p.now, next.Height
		for reason, n := range result.Ignored {
			h.Ignored[reason] += int64(n)
		}
	})
	return to.Number < p.in.Head.Number, nil
}

// keepLease renews the lease when half of it is used, and fails when it may be another's by now.
func (p *poll) keepLease(ctx context.Context) error {
	now := p.deps.Now()
	if !p.lease.usable(now) {
		return errLeaseLost
	}
	if p.lease.Until.Sub(now) > p.cfg.Lease/2 {
		return nil
	}
	lease, ok, err := takeLease(ctx, p.deps.Engine, p.lease.ID, p.cfg.Holder, now, p.cfg.Lease)
	if err != nil {
		return err
	}
	if !ok {
		return errLeaseLost
	}
	p.lease = lease
	return nil
}
