package chaintest_test

import (
	"context"

	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
)

// amnesia is a node that has forgotten one transaction: neither its logs nor its receipt.
type amnesia struct {
	*chaintest.Script
	tx string
}

func (a *amnesia) Transfers(ctx context.Context, from, to int64, addresses []string) ([]deposit.Transfer, error) {
	a.Hide(a.tx, true)
	defer a.Hide(a.tx, false)
	return a.Script.Transfers(ctx, from, to, addresses)
}

func (a *amnesia) Receipt(ctx context.Context, tx string) (deposit.Receipt, bool, error) {
	if tx == a.tx {
		return deposit.Receipt{}, false, nil
	}
	return a.Script.Receipt(ctx, tx)
}

// mixed answers headers from one chain and logs and receipts from another, as a balancer in front of nodes may.
type mixed struct {
	*chaintest.Script
	logs *chaintest.Script
}

func (m *mixed) Transfers(ctx context.Context, from, to int64, addresses []string) ([]deposit.Transfer, error) {
	return m.logs.Transfers(ctx, from, to, addresses)
}

func (m *mixed) Receipt(ctx context.Context, tx string) (deposit.Receipt, bool, error) {
	return m.logs.Receipt(ctx, tx)
}

// witnessed is a source with a second node.
type witnessed struct {
	*chaintest.Script
	second *chaintest.Script
	down   bool
}

func (w *witnessed) SecondBlockAt(ctx context.Context, height int64) (deposit.Block, bool, error) {
	if w.down {
		return deposit.Block{}, false, nil
	}
	b, found, err := w.second.BlockAt(ctx, height)
	return b, found, err
}
