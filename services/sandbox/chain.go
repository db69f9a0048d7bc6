package sandbox

import (
	"encoding/binary"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

var addressPattern = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// movement is one on-chain transaction that moves tokens: a call of transfer, with one or several Transfer logs.
type movement struct {
	hash     common.Hash
	tx       *types.Transaction
	token    string
	contract common.Address
	from, to common.Address
	value    *big.Int // raw units, in each of its logs
	logs     int
	failed   bool // the receipt says 0
	keepLogs bool // a failed one whose logs are served all the same (B59)
}

// block is one mined block.
type block struct {
	header *types.Header
	hash   common.Hash
	moves  []*movement
}

// place is where a movement stands on the chain.
type place struct {
	number uint64
	index  int
}

// chain is one simulated chain. Its blocks are the canonical ones, from 0 without a gap.
type chain struct {
	mu      sync.Mutex
	cfg     Chain
	seed    string
	now     func() time.Time
	hub     *hub
	blocks  []*block
	byHash  map[common.Hash]*block
	places  map[common.Hash]place     // of what is mined
	known   map[common.Hash]*movement // every movement ever made, so that it can be mined again
	pool    []*movement
	nonce   uint64
	forks   uint64 // goes into new blocks, so that a reorganisation never makes the old hash again
	auto    time.Duration
	nextAt  time.Time
	stalled bool
	stallAt uint64 // the head that a stalled node shows
}

func newChain(cfg Chain, seed string, now func() time.Time, auto time.Duration, h *hub) *chain {
	c := &chain{
		cfg: cfg, seed: seed, now: now, hub: h, byHash: make(map[common.Hash]*block), places: make(map[common.Hash]place),
		known: make(map[common.Hash]*movement),
	}
	first := now().Add(-time.Duration(cfg.StartHeight) * cfg.BlockTime)
	for n := range cfg.StartHeight + 1 {
		c.append(nil, first.Add(time.Duration(n)*cfg.BlockTime))
	}
	c.setAutoLocked(auto)
	return c
}

// append mines one block on the tip. The caller holds the lock.
func (c *chain) append(moves []*movement, at time.Time) {
	header := &types.Header{
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash, Root: types.EmptyRootHash,
		Difficulty: big.NewInt(0), Number: new(big.Int).SetUint64(uint64(len(c.blocks))), GasLimit: 30_000_000,
		Time: uint64(max(at.Unix(), 1)), BaseFee: big.NewInt(7),
		Extra: binary.BigEndian.AppendUint64([]byte(c.cfg.Name), c.forks),
	}
	if len(c.blocks) > 0 {
		parent := c.blocks[len(c.blocks)-1]
		header.ParentHash = parent.hash
		header.Time = max(header.Time, parent.header.Time+1)
	}
	if len(moves) > 0 {
		var hashes []byte
		for _, m := range moves {
			hashes = append(hashes, m.hash[:]...)
		}
		header.TxHash = crypto.Keccak256Hash(hashes)
		header.ReceiptHash = crypto.Keccak256Hash(hashes, []byte("receipts"))
		header.GasUsed = gasPerMove * uint64(len(moves))
	}
	b := &block{header: header, moves: moves}
	for _, log := range b.allLogs() {
		header.Bloom.Add(log.Address.Bytes())
		for _, topic := range log.Topics {
			header.Bloom.Add(topic.Bytes())
		}
	}
	b.hash = header.Hash()
	for i, m := range moves {
		c.places[m.hash] = place{number: header.Number.Uint64(), index: i}
	}
	c.blocks = append(c.blocks, b)
	c.byHash[b.hash] = b
}

const gasPerMove = 52_000

// transferTopic is the first topic of an ERC-20 Transfer.
var transferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

// allLogs are the logs of a block in order, with everything that depends on the block filled in.
func (b *block) allLogs() []*types.Log {
	var out []*types.Log
	for i, m := range b.moves {
		if m.failed && !m.keepLogs {
			continue
		}
		for range m.logs {
			out = append(out, &types.Log{
				Address:     m.contract,
				Topics:      []common.Hash{transferTopic, common.BytesToHash(m.from.Bytes()), common.BytesToHash(m.to.Bytes())},
				Data:        common.LeftPadBytes(m.value.Bytes(), 32),
				BlockNumber: b.header.Number.Uint64(), BlockHash: b.hash, BlockTimestamp: b.header.Time,
				TxHash: m.hash, TxIndex: uint(i), Index: uint(len(out)),
			})
		}
	}
	return out
}

// head is the number of the block that the node shows as its newest. The caller holds the lock.
func (c *chain) head() uint64 {
	tip := uint64(len(c.blocks) - 1)
	if c.stalled {
		return min(c.stallAt, tip)
	}
	return tip
}

// withHash returns a canonical block by hash, nil for an orphaned or unknown one.
func (c *chain) withHash(hash common.Hash) *block {
	b := c.byHash[hash]
	if b == nil || b.header.Number.Uint64() > c.head() {
		return nil
	}
	return b
}

// mined returns where a movement stands, and its block.
func (c *chain) mined(hash common.Hash) (*block, int, bool) {
	p, found := c.places[hash]
	if !found || p.number > c.head() {
		return nil, 0, false
	}
	return c.blocks[p.number], p.index, true
}

// tokenOf finds a token by its symbol, in any case.
func (c *chain) tokenOf(symbol string) (Token, bool) {
	for _, t := range c.cfg.Tokens {
		if strings.EqualFold(t.Symbol, symbol) {
			return t, true
		}
	}
	return Token{}, false
}

// balance sums what an address holds of a contract at a height.
func (c *chain) balance(contract, holder common.Address, number uint64) *big.Int {
	sum := new(big.Int)
	for n := uint64(0); n <= min(number, c.head()); n++ {
		for _, m := range c.blocks[n].moves {
			if m.contract != contract || m.failed {
				continue
			}
			total := new(big.Int).Mul(m.value, big.NewInt(int64(m.logs)))
			if m.to == holder {
				sum.Add(sum, total)
			}
			if m.from == holder && sum.Cmp(total) >= 0 {
				sum.Sub(sum, total)
			}
		}
	}
	return sum
}

// counts returns the height and how many transfers the chain holds.
func (c *chain) counts() (height uint64, transfers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(len(c.blocks) - 1), len(c.places)
}
