package sandbox

import "time"

// chainView is what the phone page and tests see of a chain.
type chainView struct {
	Name        string          `json:"name"`
	ID          uint64          `json:"id"`
	Height      uint64          `json:"height"`
	Safe        uint64          `json:"safe"`
	Finalized   uint64          `json:"finalized"`
	AutoSeconds int             `json:"auto_seconds"`
	Stalled     bool            `json:"stalled"`
	Tokens      []Token         `json:"tokens"`
	Transfers   []chainTransfer `json:"transfers"` // pooled first, then newest first, at most 100
}

type chainTransfer struct {
	Tx            string `json:"tx"`
	Token         string `json:"token"`
	Contract      string `json:"contract"`
	From          string `json:"from"`
	To            string `json:"to"`
	Raw           string `json:"raw"`
	Block         uint64 `json:"block"`
	BlockHash     string `json:"block_hash"`
	Confirmations uint64 `json:"confirmations"` // 0 while pooled
	Failed        bool   `json:"failed"`
}

func (c *chain) view() chainView {
	c.mu.Lock()
	defer c.mu.Unlock()
	tip := uint64(len(c.blocks) - 1)
	v := chainView{
		Name: c.cfg.Name, ID: c.cfg.ID, Height: tip, Safe: below(tip, c.cfg.SafeDepth), Finalized: below(tip, c.cfg.FinalizedDepth),
		AutoSeconds: int(c.auto / time.Second), Stalled: c.stalled, Tokens: c.cfg.Tokens, Transfers: []chainTransfer{},
	}
	for _, m := range c.pool {
		v.Transfers = append(v.Transfers, m.row())
	}
	for n := len(c.blocks) - 1; n >= 0 && len(v.Transfers) < 100; n-- {
		for _, m := range c.blocks[n].moves {
			r := m.row()
			r.Block, r.BlockHash, r.Confirmations = uint64(n), c.blocks[n].hash.Hex(), tip-uint64(n)+1
			v.Transfers = append(v.Transfers, r)
		}
	}
	return v
}

func (m *movement) row() chainTransfer {
	return chainTransfer{
		Tx: m.hash.Hex(), Token: m.token, Contract: m.contract.Hex(), From: m.from.Hex(), To: m.to.Hex(), Raw: m.value.String(),
		Failed: m.failed,
	}
}

// below is n − depth, at least 0.
func below(n, depth uint64) uint64 {
	if depth > n {
		return 0
	}
	return n - depth
}
