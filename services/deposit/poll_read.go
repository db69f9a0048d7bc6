package deposit

import (
	"context"
	"errors"
	"fmt"

	"offrampbot/services/store"
)

// readBatch bounds how many documents one View reads.
const readBatch = 500

// loadOpen reads the deposits of the chain that can still change.
func (p *poll) loadOpen(r store.Reader) error {
	chain := p.cfg.Policy.Chain
	rows, err := store.All[Deposit](r, store.Query{Collection: store.Deposits, Index: "open", Equal: []any{chain}})
	if err != nil {
		return err
	}
	clear(p.in.Stored)
	for _, d := range rows {
		p.in.Stored[d.ID] = *d
	}
	return nil
}

// read asks the node for the window in chunks and the store for what it holds of the answer. A chunk that fails ends the
// poll, so the cursor never moves past it (B48, D14).
func (p *poll) read(ctx context.Context) error {
	addresses, err := p.deps.Addresses.Watched(ctx)
	if err != nil {
		return fmt.Errorf("list our addresses: %w", err)
	}
	for _, a := range addresses {
		p.in.Owned[a] = true
	}
	if len(addresses) > 0 {
		if err := p.readRange(ctx, p.in.From, p.in.To, addresses); err != nil {
			return err
		}
	}
	from, to := p.cursor.sweep(p.now, p.cfg.MaxBlocks)
	p.sweepTo = to
	if from <= to && len(addresses) > 0 {
		if err := p.readRange(ctx, from, to, addresses); err != nil {
			return err
		}
	}
	if err := p.loadSeen(ctx); err != nil {
		return err
	}
	if err := p.loadWorthless(ctx); err != nil {
		return err
	}
	return p.loadOwners(ctx)
}

// readRange asks for a range in chunks.
func (p *poll) readRange(ctx context.Context, from, to int64, addresses []string) error {
	for ; from <= to; from += p.cfg.Chunk {
		if err := p.keepLease(ctx); err != nil {
			return err
		}
		last := min(to, from+p.cfg.Chunk-1)
		found, err := p.deps.Source.Transfers(ctx, from, last, addresses)
		if err != nil {
			return fmt.Errorf("read transfers of blocks %d to %d: %w", from, last, err)
		}
		p.in.Seen = append(p.in.Seen, found...)
	}
	return nil
}

// loadSeen reads the documents of the refs in the answer that are not open, so that settled and parked ones are known.
func (p *poll) loadSeen(ctx context.Context) error {
	var refs []string
	asked := map[string]bool{}
	for _, t := range p.in.Seen {
		ref := Ref(p.cfg.Policy.Chain, t.Tx, t.Ordinal)
		if _, ok := p.in.Stored[ref]; ok || asked[ref] || t.Raw == nil || t.Raw.Sign() == 0 {
			continue // nothing of no value is ever stored
		}
		asked[ref] = true
		refs = append(refs, ref)
	}
	for start := 0; start < len(refs); start += readBatch {
		part := refs[start:min(len(refs), start+readBatch)]
		found := map[string]Deposit{}
		err := p.deps.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
			clear(found)
			return getAll(r, part, found)
		})
		if err != nil {
			return fmt.Errorf("read stored deposits: %w", err)
		}
		for ref, d := range found {
			p.in.Stored[ref] = d
		}
	}
	return nil
}

func getAll(r store.Reader, refs []string, into map[string]Deposit) error {
	for _, ref := range refs {
		var d Deposit
		err := r.Get(store.Deposits, ref, &d)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		into[ref] = d
	}
	return nil
}

// loadWorthless counts the recorded worthless transfers of the addresses that got new ones (bound: MaxWorthless).
func (p *poll) loadWorthless(ctx context.Context) error {
	for _, t := range p.in.Seen {
		_, asked := p.in.Worthless[t.To]
		_, stored := p.in.Stored[Ref(p.cfg.Policy.Chain, t.Tx, t.Ordinal)]
		if asked || stored || !p.in.Owned[t.To] || p.worth(t) {
			continue
		}
		count := 0
		err := p.deps.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
			count = 0
			for _, reason := range []string{ReasonUnknownContract, ReasonBelowMicro} {
				rows, err := store.All[Deposit](r, store.Query{
					Collection: store.Deposits, Index: "reason", Equal: []any{p.cfg.Policy.Chain, t.To, reason}, Limit: MaxWorthless,
				})
				if err != nil {
					return err
				}
				count += len(rows)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("count worthless transfers: %w", err)
		}
		p.in.Worthless[t.To] = count
	}
	return nil
}

// worth reports whether a transfer would be credited or ignored, and so needs no bound.
func (p *poll) worth(t Transfer) bool {
	token, known := p.cfg.Policy.token(t.Contract)
	if !known || t.Raw == nil {
		return false
	}
	micro, _, ok := token.Units(t.Raw)
	return !ok || micro > 0
}

// loadOwners finds the users of the addresses that got something new.
func (p *poll) loadOwners(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, t := range p.in.Seen {
		_, stored := p.in.Stored[Ref(p.cfg.Policy.Chain, t.Tx, t.Ordinal)]
		if p.in.Owned[t.To] && !stored && t.Raw != nil && t.Raw.Sign() > 0 {
			wanted[t.To] = true
		}
	}
	for _, a := range sortedKeys(wanted) {
		user, err := p.deps.Addresses.Owner(ctx, a)
		if err != nil {
			return fmt.Errorf("find owner of address: %w", err)
		}
		p.in.Owners[a] = user
	}
	return nil
}
