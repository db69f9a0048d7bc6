package chaintest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"offrampbot/services/deposit"
)

// ErrScripted is the error of a scripted fault.
var ErrScripted = errors.New("scripted fault")

// Log is one transfer event of a scripted transaction.
type Log struct {
	Contract string
	From, To string
	Raw      *big.Int
}

// tx is a scripted transaction.
type tx struct {
	id     string
	logs   []Log
	failed bool // mined, but with a failed receipt
}

// block is a scripted block.
type block struct {
	header deposit.Block
	txs    []tx
}

// Script is a chain in memory that does what a test tells it to. It implements deposit.Source; its answers are those of a
// single honest node unless a lever says otherwise. It is safe for concurrent use.
type Script struct {
	name string

	mu     sync.Mutex
	blocks []block // by height
	pool   []tx
	salt   int // makes the blocks of every fork different
	made   int // transactions made

	// The levers of a node that misbehaves.
	lag      int64              // blocks that the node is behind
	empty    int                // answers of Transfers that come out empty
	faults   map[string]int     // calls of a method that fail
	maxRange int64              // longest range that is answered; 0: any
	unready  map[string]bool    // transactions whose receipt has no logs yet
	hidden   map[string]bool    // transactions that the log index does not show
	stale    []deposit.Transfer // served besides, as by an index that kept removed logs
	final    int64              // finality tag; negative: the node knows none
	onCall   func(method string)
	calls    map[string]int
	ranges   [][2]int64
	altered  map[string]*big.Int // refs whose amount the node shows differently
}

// NewScript returns a chain of one block, the genesis.
func NewScript(name string) *Script {
	s := &Script{
		name: name, faults: map[string]int{}, unready: map[string]bool{}, hidden: map[string]bool{},
		calls: map[string]int{}, final: -1, altered: map[string]*big.Int{},
	}
	s.blocks = []block{{header: deposit.Block{Number: 0, Hash: digest(name, "genesis"), Parent: digest("nothing"), Time: blockTime(0)}}}
	return s
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return "0x" + hex.EncodeToString(h.Sum(nil))
}

func blockTime(height int64) time.Time { return time.Unix(1_800_000_000+height, 0).UTC() }

// Send puts a transaction with these transfers into the pool and returns its id.
func (s *Script) Send(logs ...Log) string { return s.add(false, logs) }

// SendFailing puts a transaction into the pool that will be mined with a failed receipt.
func (s *Script) SendFailing(logs ...Log) string { return s.add(true, logs) }

func (s *Script) add(failed bool, logs []Log) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	t := tx{id: digest(s.name, "tx", fmt.Sprint(s.made)), logs: logs, failed: failed}
	s.pool = append(s.pool, t)
	return t.id
}

// Mine mines n blocks; the pool goes into the first.
func (s *Script) Mine(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.mine(s.pool)
		s.pool = nil
	}
}

func (s *Script) mine(txs []tx) {
	parent := s.blocks[len(s.blocks)-1].header
	height := parent.Number + 1
	parts := []string{parent.Hash, fmt.Sprint(s.salt)}
	for _, t := range txs {
		parts = append(parts, t.id)
	}
	header := deposit.Block{Number: height, Hash: digest(parts...), Parent: parent.Hash, Time: blockTime(height)}
	s.blocks = append(s.blocks, block{header: header, txs: txs})
}

// Reorg replaces the newest depth blocks by as many others. Their transactions are mined again one block later than
// before, the last ones in the new tip, but for those to drop.
func (s *Script) Reorg(depth int, drop ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := max(1, len(s.blocks)-depth)
	gone := slices.Clone(s.blocks[keep:])
	s.blocks = s.blocks[:keep:keep]
	s.salt++
	var waiting []tx
	for i, old := range gone {
		now := waiting
		waiting = nil
		for _, t := range old.txs {
			if !slices.Contains(drop, t.id) {
				waiting = append(waiting, t)
			}
		}
		if i == len(gone)-1 {
			now, waiting = append(now, waiting...), nil
		}
		s.mine(now)
	}
}

// Rollback takes the newest blocks away; their transactions return to the pool.
func (s *Script) Rollback(depth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := max(1, len(s.blocks)-depth)
	for _, b := range s.blocks[keep:] {
		s.pool = append(s.pool, b.txs...)
	}
	s.blocks = s.blocks[:keep:keep]
	s.salt++
}

// Fork returns a second node that stands where this one stands and goes its own way from here.
func (s *Script) Fork() *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := NewScript(s.name)
	f.blocks, f.pool, f.made = slices.Clone(s.blocks), slices.Clone(s.pool), s.made+1_000_000
	f.salt = s.salt + 1_000_000
	return f
}

// Become makes this node show another node's chain from now on.
func (s *Script) Become(other *Script) {
	other.mu.Lock()
	blocks := slices.Clone(other.blocks)
	other.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = blocks
	s.salt++
}

// Height is the true height of the chain.
func (s *Script) Height() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks[len(s.blocks)-1].header.Number
}

// Hash is the hash of the block at a height.
func (s *Script) Hash(height int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks[height].header.Hash
}
