package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"offrampbot/services/deposit"
)

// transferTopic is keccak256("Transfer(address,address,uint256)").
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

// erc20Topics is the number of topics of an ERC-20 Transfer; an ERC-721 one has the token id as a fourth.
const erc20Topics = 3

// wireLog is one event of a node's answer.
type wireLog struct {
	Address     string   `json:"address"`
	Topics      []string `json:"topics"`
	Data        string   `json:"data"`
	BlockNumber string   `json:"blockNumber"`
	BlockHash   string   `json:"blockHash"`
	Tx          string   `json:"transactionHash"`
	LogIndex    string   `json:"logIndex"`
	Removed     bool     `json:"removed"`
}

// event is a log that was read; transfer is nil when it is not an ERC-20 Transfer.
type event struct {
	index    int64 // per block on most nodes, per transaction on some (B55); only good for order and comparison
	tx       string
	transfer *deposit.Transfer // without ordinal
}

// read reads a log strictly. Only a log of the Transfer shape is a transfer.
func (w wireLog) read() (event, error) {
	block, err := quantity(w.BlockNumber)
	if err != nil {
		return event{}, fmt.Errorf("read block of log: %w", err)
	}
	blockHash, err := hash(w.BlockHash)
	if err != nil {
		return event{}, fmt.Errorf("read block hash of log: %w", err)
	}
	tx, err := hash(w.Tx)
	if err != nil {
		return event{}, fmt.Errorf("read transaction of log: %w", err)
	}
	index, err := quantity(w.LogIndex)
	if err != nil {
		return event{}, fmt.Errorf("read index of log: %w", err)
	}
	e := event{index: index, tx: tx}
	from, to, raw, ok := w.amount()
	if !ok {
		return e, nil
	}
	contract, err := address(w.Address)
	if err != nil {
		return event{}, fmt.Errorf("read contract of log: %w", err)
	}
	e.transfer = &deposit.Transfer{
		Tx: tx, Contract: contract, From: from, To: to, Raw: raw, Block: block, BlockHash: blockHash,
	}
	return e, nil
}

// amount reads the parts of an ERC-20 Transfer; ok is false for every other event. A contract may emit what only looks
// like a transfer, so a malformed part makes it another event and not an error.
func (w wireLog) amount() (from, to string, raw *big.Int, ok bool) {
	if len(w.Topics) != erc20Topics || !strings.EqualFold(w.Topics[0], transferTopic) {
		return "", "", nil, false
	}
	from, fromErr := topicAddress(w.Topics[1])
	to, toErr := topicAddress(w.Topics[2])
	raw, rawErr := word(w.Data)
	return from, to, raw, fromErr == nil && toErr == nil && rawErr == nil
}

// wireReceipt is the part of a receipt that we read.
type wireReceipt struct {
	Tx          string    `json:"transactionHash"`
	Status      string    `json:"status"`
	BlockNumber string    `json:"blockNumber"`
	BlockHash   string    `json:"blockHash"`
	Logs        []wireLog `json:"logs"`
}

// errStatus: a receipt does not say whether the transaction succeeded, so nothing of it is credited.
var errStatus = errors.New("receipt has no status")

// read reads the receipt of a transaction. The ordinal of a transfer is its place among all logs of the receipt, so it
// does not change when the transaction is mined in another block (G7).
func (w wireReceipt) read(wanted string) (*readReceipt, error) {
	tx, err := hash(w.Tx)
	if err != nil || tx != wanted {
		return nil, fmt.Errorf("read receipt of %s: %w", wanted, errAnswer)
	}
	r := deposit.Receipt{}
	if r.Block, err = quantity(w.BlockNumber); err != nil {
		return nil, fmt.Errorf("read block of receipt: %w", err)
	}
	if r.BlockHash, err = hash(w.BlockHash); err != nil {
		return nil, fmt.Errorf("read block hash of receipt: %w", err)
	}
	status, err := quantity(w.Status)
	if err != nil || status > 1 {
		return nil, fmt.Errorf("read receipt of %s: %w", wanted, errStatus)
	}
	r.Success = status == 1
	events := make([]event, 0, len(w.Logs))
	for _, l := range w.Logs {
		e, err := l.read()
		if err != nil {
			return nil, err
		}
		if e.tx != tx {
			return nil, fmt.Errorf("read receipt of %s: a log of another transaction: %w", wanted, errAnswer)
		}
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.index, b.index) })
	for i, e := range events {
		if e.transfer == nil {
			continue
		}
		e.transfer.Ordinal, e.transfer.Block, e.transfer.BlockHash = i, r.Block, r.BlockHash
		r.Transfers = append(r.Transfers, *e.transfer)
	}
	return &readReceipt{receipt: r, events: events}, nil
}

// readReceipt is a receipt with all of its logs, in the order of their ordinals.
type readReceipt struct {
	receipt deposit.Receipt
	events  []event
	taken   map[int]bool
}

// fresh is a copy of which no log is taken.
func (r *readReceipt) fresh() *readReceipt {
	return &readReceipt{receipt: r.receipt, events: r.events, taken: map[int]bool{}}
}

// take finds the ordinal of a log: by its index and content, or, on a node that counts the indexes of logs and receipts
// differently (B55), by its content alone. Each ordinal is given once.
func (r *readReceipt) take(e event) (ordinal int, ok bool) {
	for _, byIndex := range []bool{true, false} {
		for i, other := range r.events {
			if r.taken[i] || other.transfer == nil || (byIndex && other.index != e.index) || !sameContent(other.transfer, e.transfer) {
				continue
			}
			r.taken[i] = true
			return i, true
		}
	}
	return 0, false
}

func sameContent(a, b *deposit.Transfer) bool {
	return a.Contract == b.Contract && a.From == b.From && a.To == b.To && a.Raw.Cmp(b.Raw) == 0
}

// receipts reads the receipts of transactions. One that the node does not know, or has not mined, is left out.
func (n *node) receipts(ctx context.Context, txs []string) (map[string]*readReceipt, error) {
	requests := make([]request, len(txs))
	for i, tx := range txs {
		requests[i] = request{"eth_getTransactionReceipt", []any{tx}}
	}
	replies, err := n.batch(ctx, requests)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*readReceipt, len(txs))
	for i, tx := range txs {
		var w wireReceipt
		null, err := decode(requests[i].method, replies[i], &w)
		if err != nil {
			return nil, err
		}
		if null || w.BlockHash == "" {
			continue
		}
		if out[tx], err = w.read(tx); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Receipts implements deposit.Batch.
func (s *Source) Receipts(ctx context.Context, txs []string) (map[string]deposit.Proof, error) {
	var out map[string]deposit.Proof
	err := s.try(ctx, func(ctx context.Context, n *node) error {
		found, err := n.receipts(ctx, txs)
		if err != nil {
			return err
		}
		out = make(map[string]deposit.Proof, len(txs))
		for _, tx := range txs {
			out[tx] = deposit.Proof{}
			if r := found[tx]; r != nil {
				out[tx] = deposit.Proof{Found: true, Receipt: r.receipt}
			}
		}
		return nil
	})
	return out, err
}

// Receipt implements deposit.Source.
func (s *Source) Receipt(ctx context.Context, tx string) (deposit.Receipt, bool, error) {
	proofs, err := s.Receipts(ctx, []string{tx})
	if err != nil {
		return deposit.Receipt{}, false, err
	}
	return proofs[tx].Receipt, proofs[tx].Found, nil
}

// maxCached bounds the receipts that are remembered.
const maxCached = 4096

// receiptKey names a receipt that never changes: of a transaction in one block.
type receiptKey struct{ tx, block string }

// receiptCache remembers receipts by transaction and block hash. It serves the ordinals of logs in the window that is
// read again at every poll; a credit always reads its receipt anew.
type receiptCache struct {
	mu    sync.Mutex
	known map[receiptKey]*readReceipt
}

func newReceiptCache() *receiptCache { return &receiptCache{known: map[receiptKey]*readReceipt{}} }

func (c *receiptCache) get(key receiptKey) (*readReceipt, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.known[key]
	return r, ok
}

func (c *receiptCache) put(key receiptKey, r *readReceipt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCached {
		clear(c.known)
	}
	c.known[key] = r
}
