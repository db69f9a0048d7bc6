package deposit

import "fmt"

// decide applies the rules to one ref: the stored document, if there is one, and the transfer of the answer, if any.
func (p *planner) decide(ref string, t *Transfer) {
	d, stored := p.Stored[ref]
	switch {
	case !stored:
		p.discover(ref, t)
	case d.State == Settled || d.State == Parked:
		p.recheckClosed(&d, t)
	default:
		p.follow(&d, t)
	}
}

// discover handles a transfer that has no document.
func (p *planner) discover(ref string, t *Transfer) {
	_, known := p.Policy.token(t.Contract)
	switch {
	case !p.Owned[t.To] && !p.Owned[t.From]:
		p.ignore(t, IgnoredUnwatched)
	case p.Owned[t.From] && !known:
		// Anybody can deploy a contract that claims that we sent something.
		p.ignore(t, IgnoredFakeOutgoing)
	case p.Owned[t.From]:
		p.outgoing(ref, t)
	default:
		p.incoming(ref, t)
	}
}

// incoming records a new credit to one of our addresses; what is worth nothing is parked, bounded per address.
func (p *planner) incoming(ref string, t *Transfer) {
	d := p.document(ref, t)
	if d.Reason == ReasonUnknownContract || d.Reason == ReasonBelowMicro {
		if p.Worthless[t.To]+p.worthless[t.To] >= MaxWorthless {
			p.ignore(t, IgnoredSpam)
			return
		}
	}
	if !p.standing(t) {
		return
	}
	switch d.Reason {
	case ReasonUnknownContract, ReasonBelowMicro:
		p.worthless[t.To]++
		p.add(FactParked, parked(d, d.Reason))
	case ReasonOverflow:
		p.add(FactParked, parked(d, d.Reason))
	case ReasonNoOwner, ReasonFromTreasury:
		// Suspense is booked once and never taken back, so it waits for the end; an address may get its user until then.
		if p.final(t.Block) && p.proven(t) == yes {
			p.add(FactParked, parked(d, d.Reason))
		}
	default:
		p.add(FactSeen, d)
		p.confirm(d, t)
	}
}

// outgoing records a transfer out of one of our addresses, once: to the treasury when it is final, because it is booked
// and never taken back; anywhere else at first sight, because it is an alarm.
func (p *planner) outgoing(ref string, t *Transfer) {
	d := p.document(ref, t)
	d.User, d.Open, d.State, d.Reason = "", nil, Parked, ReasonUnknown
	switch {
	case p.Owned[t.To]:
		// Invariant: a self transfer credits nobody, the money came in once.
		d.Reason = ReasonSelf
	case p.Treasury[t.To]:
		d.State, d.Reason = Settled, ReasonTreasury
		if !p.final(t.Block) || !p.standing(t) || p.proven(t) != yes {
			return
		}
		p.add(FactOutgoing, d)
		return
	}
	if p.standing(t) {
		p.add(FactOutgoing, d)
	}
}

// recheckClosed compares a settled or parked deposit with what the chain shows; it never notifies again (R105, R115).
func (p *planner) recheckClosed(d *Deposit, t *Transfer) {
	if t == nil || d.State == Parked {
		return
	}
	if fingerprintOf(t) != d.Fingerprint {
		p.alarm("settled_conflict", d.ID, fmt.Sprintf("the node shows other contents for a settled transfer in block %d", t.Block))
		return
	}
	if t.BlockHash != d.BlockHash && p.canonical(t.Block, t.BlockHash) == yes {
		p.alarm("settled_moved", d.ID, fmt.Sprintf("settled in block %d, now in block %d", d.Block, t.Block))
	}
}

// follow moves an open deposit on.
func (p *planner) follow(d *Deposit, t *Transfer) {
	now, where := p.locate(d, t)
	switch where {
	case open:
	case no:
		p.lost(d)
	case yes:
		p.found(d, now)
	}
}

// locate finds where a deposit's transfer is now: yes with the transfer, no when the node does not know it, open while
// that cannot be said. What the answer lacks is asked for by its receipt: a lagging index is not absence (G1, G3, B47).
func (p *planner) locate(d *Deposit, t *Transfer) (*Transfer, answer) {
	if t != nil { // a node may serve logs of a block that it has lost, so the block is proven on every poll (G5, B54)
		switch p.canonical(t.Block, t.BlockHash) {
		case yes:
			return t, yes
		case open:
			return nil, open
		case no:
			p.ignore(t, IgnoredOffChain)
		}
	}
	if d.State == Reverted {
		return nil, no // it can only come back in a new block, and every new block is read
	}
	proof, ok := p.receipt(d.Tx)
	if !ok {
		return nil, open
	}
	if !proof.Found {
		return nil, no
	}
	return p.inReceipt(d, proof.Receipt)
}

// inReceipt finds a deposit's transfer in a fresh receipt.
func (p *planner) inReceipt(d *Deposit, r Receipt) (*Transfer, answer) {
	if on := p.canonical(r.Block, r.BlockHash); on != yes {
		return nil, open // the receipt is of another chain than the poll: ask again
	}
	for i := range r.Transfers {
		if r.Success && r.Transfers[i].Ordinal == d.Ordinal {
			return &r.Transfers[i], yes
		}
	}
	if r.Success && r.BlockHash == d.BlockHash {
		p.ignored[IgnoredNotYet]++ // a known log and an empty receipt: "not yet" (B54)
		return nil, open
	}
	return nil, no
}

// lost handles a deposit that the node does not show. Absence is not proof (D15): money moves only when the block at
// its height is another one.
func (p *planner) lost(d *Deposit) {
	if d.State == Reverted {
		return
	}
	gone := p.replaced(d)
	switch {
	case gone == open: // the header is asked for, or the chain is shorter now, which alone is not a reorganisation
	case !d.Credited && gone == yes:
		p.add(FactDropped, reverted(*d))
	case d.State != Missing:
		// Invariant: a credit is missing first and reverted by a later poll, so one answer of a node on a fork takes
		// nothing back.
		p.add(FactMissing, missing(*d))
	case gone == yes:
		p.add(FactReverted, reverted(*d))
	}
}

// replaced says whether the deposit's block is proven to be off the pinned chain.
func (p *planner) replaced(d *Deposit) answer {
	if p.Disputed[d.Block] {
		return no
	}
	switch p.canonical(d.Block, d.BlockHash) {
	case yes:
		return no
	case no:
		return yes
	case open:
	}
	return open
}

// found handles a deposit whose transfer is on the chain, in its block or in another.
func (p *planner) found(d *Deposit, t *Transfer) {
	moved := t.BlockHash != d.BlockHash
	if moved && d.Credited {
		// Invariant: what is credited in one block is reversed before it is credited in another (R110).
		if p.replaced(d) == no {
			p.ignored[IgnoredDisputed]++ // both blocks on one chain cannot be
			return
		}
		p.lost(d)
		return
	}
	if fingerprintOf(t) != d.Fingerprint {
		if p.standing(t) {
			// Invariant: the same ref with another content is never credited again (G8).
			p.add(FactParked, parked(*d, ReasonConflict))
		}
		return
	}
	next := *d
	if moved || d.State == Missing || d.State == Reverted {
		if !p.standing(t) {
			return
		}
		next = p.again(*d, t)
		p.add(FactSeen, next)
	}
	switch {
	case !d.Credited:
		p.confirm(next, t)
	case d.State == Reported && p.final(t.Block) && p.standing(t):
		p.add(FactSettled, settled(next))
	}
}

// confirm credits a deposit that is deep enough and whose receipt, re-read now, still shows it (R101, G1, B54, B59).
// Invariant: no credit without depth, without a success receipt, or of an unlisted contract.
func (p *planner) confirm(d Deposit, t *Transfer) {
	token, known := p.Policy.token(d.Contract)
	if !known {
		if p.standing(t) {
			p.add(FactParked, parked(d, ReasonUnknownContract))
		}
		return
	}
	depth := token.DepthFor(d.Micro)
	if p.confirmations(t.Block) < depth {
		return
	}
	if !p.standing(t) {
		return
	}
	switch p.proven(t) {
	case open:
	case no:
		p.add(FactParked, parked(d, ReasonFailedReceipt))
	case yes:
		d.State, d.Depth = Reported, depth
		p.add(FactConfirmed, d)
	}
}

// standing reports whether a transfer's block is proven to be on the pinned chain.
func (p *planner) standing(t *Transfer) bool {
	on := p.canonical(t.Block, t.BlockHash)
	if on == no {
		p.ignore(t, IgnoredOffChain)
	}
	return on == yes
}

// proven re-reads the receipt: yes when it shows the same transfer in the same block, no when the transaction failed,
// open otherwise, an empty receipt of a known log among it.
func (p *planner) proven(t *Transfer) answer {
	proof, ok := p.receipt(t.Tx)
	if !ok {
		return open
	}
	r := proof.Receipt
	switch {
	case !proof.Found || r.BlockHash != t.BlockHash:
		p.ignored[IgnoredNotYet]++
		return open
	case !r.Success:
		return no
	}
	for i := range r.Transfers {
		if r.Transfers[i].Ordinal == t.Ordinal && fingerprintOf(&r.Transfers[i]) == fingerprintOf(t) {
			return yes
		}
	}
	p.ignored[IgnoredNotYet]++
	return open
}
