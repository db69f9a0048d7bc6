package deposit

// document builds the record of a transfer as first seen. Reason says why it will not be credited, if so. What the log
// says arrived is the amount, so a token that takes a fee credits what is left (B63).
func (p *planner) document(ref string, t *Transfer) Deposit {
	d := Deposit{
		Chain: p.Policy.Chain, Tx: t.Tx, Ordinal: t.Ordinal, Contract: t.Contract, From: t.From, To: t.To,
		User: p.Owners[t.To], Raw: t.Raw.String(), Block: t.Block, BlockHash: t.BlockHash, State: Pending,
		Fingerprint: fingerprintOf(t), SeenAt: p.Now, Open: height(t.Block),
	}
	d.ID, d.Version = ref, 1
	token, known := p.Policy.token(t.Contract)
	if !known {
		d.Reason = ReasonUnknownContract
		return d
	}
	micro, dust, ok := token.Units(t.Raw)
	if !ok {
		d.Reason = ReasonOverflow
		return d
	}
	if micro == 0 {
		d.Reason = ReasonBelowMicro
	}
	d.Asset, d.Micro, d.Dust, d.Depth = token.Asset, micro, dust, token.DepthFor(micro)
	switch {
	case d.Reason != "":
	case p.Treasury[t.From]:
		d.User, d.Reason = "", ReasonFromTreasury
	case d.User == "":
		d.Reason = ReasonNoOwner
	}
	return d
}

// again is a deposit seen again: after it was missing, after it was dropped or reverted, or in another block. A credit
// that stands is not repeated (R115).
func (p *planner) again(d Deposit, t *Transfer) Deposit {
	d.Block, d.BlockHash, d.Open = t.Block, t.BlockHash, height(t.Block)
	d.State = Pending
	if d.Credited {
		d.State = Reported
	}
	return d
}

// missing is a deposit that the last answer lacks; nothing is booked.
func missing(d Deposit) Deposit {
	d.State = Missing
	return d
}

// reverted is a deposit that is proven gone. It stays open: it may be mined again.
func reverted(d Deposit) Deposit {
	d.State = Reverted
	return d
}

// settled is a deposit that can no longer change.
func settled(d Deposit) Deposit {
	d.State, d.Open = Settled, nil
	return d
}

// parked is a deposit that a person must look at.
func parked(d Deposit, reason string) Deposit {
	d.State, d.Reason, d.Open = Parked, reason, nil
	return d
}

func height(n int64) *int64 { return &n }
