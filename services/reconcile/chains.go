package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"offrampbot/services/assets"
	"offrampbot/services/deposit"
	"offrampbot/services/figures"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// tries is how often a chain that moves while it is compared is read again.
const tries = 3

// chains compares each chain with our records of its transfers, those with the ledger, and all of it with what we owe.
func (r *Reconciler) chains(ctx context.Context, out *Report) error {
	addresses, err := r.d.Addresses.Watched(ctx)
	if err != nil {
		return fmt.Errorf("list our addresses: %w", err)
	}
	held, blind := map[string]money.Micro{}, map[string]bool{} // by asset; by chain
	before, err := r.sums(ctx)                                 // what is credited by now is on chain when the nodes are asked
	if err != nil {
		return err
	}
	for _, chain := range r.d.Registry.Chains() {
		c, problems, err := r.chain(ctx, chain, addresses)
		if err != nil {
			return err
		}
		out.Differences = append(out.Differences, problems...)
		out.Checked["tokens"] += c.checked
		if c.source == nil {
			blind[chain.ID] = true
			out.explains("chain:"+chain.ID, "chain", "%s has no node configured and is not compared", chain.ID)
			continue
		}
		for asset, n := range c.held {
			held[asset] += n
		}
	}
	after, err := r.sums(ctx)
	if err != nil {
		return err
	}
	if short := r.liabilities(before, held, blind); len(short) > 0 && len(r.liabilities(after, held, blind)) > 0 {
		out.Differences = append(out.Differences, short...)
	}
	return nil
}

// sums are the accounts now.
func (r *Reconciler) sums(ctx context.Context) (sums []figures.Sum, err error) {
	err = r.view(ctx, func(rd store.Reader) error {
		sums, err = figures.Read(rd)
		return err
	})
	return sums, err
}

// tally is one chain as our records and its node show it.
type tally struct {
	chain   string
	source  deposit.Source
	height  int64 // of the watcher's cursor
	low     int64 // below it everything is recorded, what leaves our addresses too
	checked int
	onChain map[string]*big.Int    // by contract: raw units that the transfers we know leave on our addresses
	booked  map[string]money.Micro // by asset: what deposits and treasury transfers should have moved in the ledger
	known   map[string]bool        // refs above low that are recorded
	held    map[string]money.Micro // by asset: what the node says our addresses hold, with what is on its way to the treasury
	tokens  []assets.Token
}

// chain compares one chain; what still differs after some tries is a problem.
func (r *Reconciler) chain(ctx context.Context, chain assets.Chain, addresses []string) (*tally, []Difference, error) {
	ours := map[string]bool{}
	for _, a := range addresses {
		ours[a] = true
	}
	var c *tally
	var problems []Difference
	for range tries {
		var err error
		if c, err = r.record(ctx, chain, ours); err != nil {
			return nil, nil, err
		}
		if problems, err = r.againstLedger(ctx, c); err != nil {
			return nil, nil, err
		}
		if c.source != nil {
			problems = append(problems, r.againstNode(ctx, c, addresses, ours)...)
		}
		if len(problems) == 0 {
			break
		}
	}
	return c, problems, nil
}

// record adds up what we recorded of a chain.
func (r *Reconciler) record(ctx context.Context, of assets.Chain, ours map[string]bool) (*tally, error) {
	chain := of.ID
	c := &tally{
		chain: chain, source: r.d.Sources[chain], onChain: map[string]*big.Int{}, booked: map[string]money.Micro{},
		known: map[string]bool{}, held: map[string]money.Micro{}, tokens: r.d.Registry.TokensOf(chain),
	}
	for _, token := range c.tokens {
		c.onChain[token.Contract] = new(big.Int)
	}
	err := r.view(ctx, func(rd store.Reader) error {
		var cursor deposit.Cursor
		err := rd.Get(store.Cursors, chain, &cursor)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		c.height, c.low = cursor.Height, max(0, cursor.Height-of.ReorgWindow)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read cursor %s: %w", chain, err)
	}
	return c, r.eachDeposit(ctx, chain, func(d *deposit.Deposit) error { return c.add(d, ours) })
}

// perView is how many deposits one snapshot reads.
const perView = 500

func (r *Reconciler) eachDeposit(ctx context.Context, chain string, visit func(d *deposit.Deposit) error) error {
	var after store.Cursor
	for {
		var all []*deposit.Deposit
		err := r.view(ctx, func(rd store.Reader) (err error) {
			all, err = store.All[deposit.Deposit](rd, store.Query{
				Collection: store.Deposits, Index: store.ByID, From: chain + ":", Until: chain + ";", Limit: perView, After: after,
			})
			return err
		})
		if err != nil {
			return fmt.Errorf("read deposits of %s: %w", chain, err)
		}
		for _, d := range all {
			if err := visit(d); err != nil {
				return err
			}
		}
		if len(all) < perView {
			return nil
		}
		after = store.CursorOf(all[len(all)-1])
	}
}

// add counts one recorded transfer. Money that is missing, reverted or failed is not on the chain; every other transfer
// moved what its event says, whatever we thought of it.
func (c *tally) add(d *deposit.Deposit, ours map[string]bool) error {
	if d.Block > c.low {
		c.known[d.ID] = true
	}
	if d.Credited {
		sign := money.Micro(1)
		if d.Reason == deposit.ReasonTreasury {
			sign = -1
		}
		c.booked[d.Asset] += sign * d.Micro
	}
	if d.State == deposit.Missing || d.State == deposit.Reverted || d.Reason == deposit.ReasonFailedReceipt {
		return nil
	}
	raw, ok := new(big.Int).SetString(d.Raw, 10)
	if !ok {
		return fmt.Errorf("deposit %s has no readable amount", d.ID)
	}
	c.move(d.Contract, d.From, d.To, raw, ours)
	return nil
}

// move applies one transfer of a token that we know to what our addresses hold.
func (c *tally) move(contract, from, to string, raw *big.Int, ours map[string]bool) {
	sum, known := c.onChain[contract]
	if !known {
		return
	}
	if ours[to] {
		sum.Add(sum, raw)
	}
	if ours[from] {
		sum.Sub(sum, raw)
	}
}

// againstLedger compares the recorded transfers that are booked with the chain's accounts.
func (r *Reconciler) againstLedger(ctx context.Context, c *tally) ([]Difference, error) {
	sums, err := r.sums(ctx)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, asset := range r.d.Registry.Assets() {
		account := ledger.OnChain(c.chain, asset.ID)
		if got, want := -figures.Of(sums, figures.Account, account), int64(c.booked[asset.ID]); got != want {
			out = append(out, Difference{account, "ledger", fmt.Sprintf("the ledger holds %d micro, booked transfers come to %d", got, want)})
		}
	}
	return out, nil
}

// againstNode compares what the node says our addresses hold with the transfers that we recorded, and those that came
// since the watcher last read.
func (r *Reconciler) againstNode(ctx context.Context, c *tally, addresses []string, ours map[string]bool) []Difference {
	unread := func(err error) []Difference {
		return []Difference{{"chain:" + c.chain, "chain", "the node does not answer, nothing is proven: " + err.Error()}}
	}
	head, err := c.source.Head(ctx)
	if err != nil {
		return unread(err)
	}
	if len(addresses) > 0 && head.Number > c.low {
		fresh, err := c.source.Transfers(ctx, c.low+1, head.Number, addresses)
		if err != nil {
			return unread(err)
		}
		for i := range fresh {
			if err := r.unrecorded(c, &fresh[i], ours); err != nil {
				return unread(err)
			}
		}
	}
	var out []Difference
	for _, token := range c.tokens {
		contract, holds := token.Contract, new(big.Int)
		for _, a := range addresses {
			n, err := c.source.Balance(ctx, contract, a)
			if err != nil {
				return unread(err)
			}
			holds.Add(holds, n)
		}
		c.checked++
		if holds.Cmp(c.onChain[contract]) != 0 {
			out = append(out, Difference{
				ledger.OnChain(c.chain, token.Asset), "chain",
				fmt.Sprintf("our addresses hold %s raw units of %s, the recorded transfers come to %s", holds, contract, c.onChain[contract]),
			})
		}
		micro, _, err := money.RawToMicro(holds, token.Decimals)
		if err != nil {
			out = append(out, Difference{ledger.OnChain(c.chain, token.Asset), "chain", "holdings cannot be counted: " + err.Error()})
			continue
		}
		c.held[token.Asset] += micro
	}
	return out
}

// unrecorded counts a transfer that the node shows and we have no record of, where that is right: above the cursor
// nobody has read yet, and what goes to the treasury is recorded when it is final.
func (r *Reconciler) unrecorded(c *tally, t *deposit.Transfer, ours map[string]bool) error {
	leaves := ours[t.From] && r.treasury[t.To]
	if c.known[deposit.Ref(c.chain, t.Tx, t.Ordinal)] || t.Block <= c.height && !leaves {
		return nil
	}
	c.move(t.Contract, t.From, t.To, t.Raw, ours)
	if token, known := r.d.Registry.TokenByContract(c.chain, t.Contract); known && leaves {
		micro, _, err := money.RawToMicro(t.Raw, token.Decimals)
		if err != nil {
			return fmt.Errorf("transfer %s: %w", t.Tx, err)
		}
		c.held[token.Asset] += micro
	}
	return nil
}
