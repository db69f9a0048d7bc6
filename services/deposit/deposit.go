// Package deposit watches chains for credits to our addresses (source article 003, R98–R123, and past it, G1–G17).
//
// What the chain says (the deposit document) and what we told the ledger (postings) are two records. A poll plans facts
// from the chain and the stored deposits, and hands each to an Applier that commits it together with its postings and
// order events; the cursor comes last.
package deposit

import (
	"context"
	"math/big"
	"strconv"
	"time"

	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// State is what is known about one deposit.
type State string

// The states.
const (
	Pending  State = "pending"  // seen, not deep enough
	Reported State = "reported" // credited, still inside the reorg window
	Settled  State = "settled"  // credited and below the window or final; never reverted
	Missing  State = "missing"  // not in the last answer; absence is not proof (D15)
	Reverted State = "reverted" // proven gone: the block at its height has another hash
	Parked   State = "parked"   // a person must look, Reason says why (unknown token, no owner, screening)
)

// Ref names one on-chain credit: chain, transaction and the ordinal of the log inside its receipt. No block is in it,
// so it survives reorganisations (R98–R100, G6, G7).
func Ref(chain, tx string, ordinal int) string { return chain + ":" + tx + ":" + strconv.Itoa(ordinal) }

// Deposit is one on-chain credit as last observed.
type Deposit struct {
	store.Meta  `bson:",inline"`
	Chain       string      `bson:"chain" json:"chain"`
	Tx          string      `bson:"tx" json:"tx"`
	Ordinal     int         `bson:"ordinal" json:"ordinal"`
	Contract    string      `bson:"contract" json:"contract"`
	Asset       string      `bson:"asset,omitempty" json:"asset,omitempty"` // empty when the contract is not in the registry
	From        string      `bson:"from" json:"from"`
	To          string      `bson:"to" json:"to"`
	User        string      `bson:"user,omitempty" json:"user,omitempty"`
	Raw         string      `bson:"raw" json:"raw"`     // decimal integer of the token's own units
	Micro       money.Micro `bson:"micro" json:"micro"` // Raw floored to micro-units
	Dust        string      `bson:"dust,omitempty" json:"dust,omitempty"`
	Block       int64       `bson:"block" json:"block"`
	BlockHash   string      `bson:"block_hash" json:"block_hash"`
	State       State       `bson:"state" json:"state"`
	Depth       int64       `bson:"depth" json:"depth"`                           // blocks needed for this amount
	Epoch       int         `bson:"epoch" json:"epoch"`                           // rises with each reversal
	Credited    bool        `bson:"credited" json:"credited"`                     // the ledger holds its credit of this epoch
	Counted     bool        `bson:"counted" json:"counted"`                       // part of the account's incoming amount
	Tail        ledger.Tail `bson:"tail" json:"tail"`                             // its chain of postings
	Suspense    bool        `bson:"suspense,omitempty" json:"suspense,omitempty"` // credited to suspense, not to a user
	Fingerprint string      `bson:"fingerprint" json:"fingerprint"`               // over contract, from, to and raw amount (G8)
	Order       string      `bson:"order,omitempty" json:"order,omitempty"`       // the order it was counted for, if any
	Reason      string      `bson:"reason,omitempty" json:"reason,omitempty"`
	SeenAt      time.Time   `bson:"seen_at" json:"seen_at"`
	CreditedAt  *time.Time  `bson:"credited_at,omitempty" json:"credited_at,omitempty"`
	// Open is the height while the deposit can still change (pending, reported, missing, reverted); absent when settled
	// or parked, so the index of open deposits stays small (R121).
	Open *int64 `bson:"open,omitempty" json:"open,omitempty"`
}

// Cursor is how far a chain was processed: the block and its hash, and the hashes of the blocks before it that are
// needed for the parent-hash check (D14).
type Cursor struct {
	store.Meta `bson:",inline"`
	Height     int64     `bson:"height" json:"height"`
	Hash       string    `bson:"hash" json:"hash"`
	Since      int64     `bson:"since" json:"since"`         // first height ever scanned
	PolledAt   time.Time `bson:"polled_at" json:"polled_at"` // of the last poll that found something new
	// Marks are blocks that were the cursor before, oldest first, thinned with age: where a chain that no longer holds
	// the cursor's block is still the one we know.
	Marks []Mark `bson:"marks,omitempty" json:"marks,omitempty"`
	// Every block is read once more, some time after it was first read, because a node whose index lags answers with
	// nothing and no error (B47). Swept is the height up to which that is done, SweepTo how far it goes from SweepAt on.
	Swept   int64     `bson:"swept" json:"swept"`
	SweepTo int64     `bson:"sweep_to" json:"sweep_to"`
	SweepAt time.Time `bson:"sweep_at" json:"sweep_at"`
}

// Mark is the height and hash of one block.
type Mark struct {
	Height int64  `bson:"height" json:"height"`
	Hash   string `bson:"hash" json:"hash"`
}

// Block is a block header.
type Block struct {
	Number int64
	Hash   string
	Parent string
	Time   time.Time
}

// Transfer is one token transfer event found on chain.
type Transfer struct {
	Tx        string
	Ordinal   int // position among the receipt's logs, from 0
	Contract  string
	From, To  string
	Raw       *big.Int
	Block     int64
	BlockHash string
}

// Receipt is what became of a transaction.
type Receipt struct {
	Success   bool
	Block     int64
	BlockHash string
	Transfers []Transfer // of known shape (ERC-20 Transfer), with ordinals
}

// Source reads one chain over its node. Every method may fail; a failure never means "nothing there". It describes the
// current best chain (R117). Addresses and hashes are in the chain's canonical form.
type Source interface {
	Chain() string
	// Head is the newest block.
	Head(ctx context.Context) (Block, error)
	// BlockAt is the header at a height; found is false above the head.
	BlockAt(ctx context.Context, height int64) (b Block, found bool, err error)
	// Final is the height of the finality tag ("finalized", "safe"); ok is false where the node does not know it.
	Final(ctx context.Context, tag string) (height int64, ok bool, err error)
	// Transfers returns the transfers of any contract into or out of the addresses in [from, to], with success receipts
	// only. It splits the range by itself on any range-like error (B49).
	Transfers(ctx context.Context, from, to int64, addresses []string) ([]Transfer, error)
	// Receipt re-reads one transaction; found is false when the node does not know it.
	Receipt(ctx context.Context, tx string) (r Receipt, found bool, err error)
	// Balance is a token balance in raw units at the newest block.
	Balance(ctx context.Context, contract, address string) (*big.Int, error)
}

// FactKind is what a poll learnt about one deposit.
type FactKind string

// The facts, in the life of a deposit. Confirmed and Reverted strictly alternate per ref (R109).
const (
	// FactSeen: new, or seen again after Dropped, Reverted or Missing, or moved to another block. Only the first of a ref
	// is news to the user; the state says whether a credit stands (Reported) or not (Pending).
	FactSeen      FactKind = "seen"
	FactDropped   FactKind = "dropped"   // not credited and proven gone; the state becomes Reverted
	FactConfirmed FactKind = "confirmed" // deep enough: credit
	FactReverted  FactKind = "reverted"  // credited and proven gone: reverse
	FactMissing   FactKind = "missing"   // not in the last answer; nothing is booked
	FactSettled   FactKind = "settled"   // final
	// FactParked: a person must look. Money of nobody (reasons no_owner and from_treasury) has no user and comes once, when
	// it is final: it is booked to suspense and never taken back. Everything else books nothing; conflict is an alarm.
	FactParked FactKind = "parked"
	// FactOutgoing: leaves one of our addresses, once per ref, without a user. Reason treasury is final and booked
	// chain → treasury; outgoing_unknown and self_transfer come at first sight, book nothing and are alarms.
	FactOutgoing FactKind = "outgoing"
)

// Fact is one thing to commit; Deposit is the document as it shall be, except revision, epoch and booking fields, which
// the Applier keeps.
type Fact struct {
	Kind    FactKind
	Deposit Deposit
}

// Applier commits facts. Each is one transaction; a repeat changes nothing.
type Applier interface {
	ApplyDeposit(ctx context.Context, f Fact) error
}

// Indexes declares what the collections are searched by.
var Indexes = []store.Index{
	{Collection: store.Deposits, Name: "open", Fields: []string{"chain", "open"}},
	{Collection: store.Deposits, Name: "user", Fields: []string{"user", "seen_at"}},
	{Collection: store.Deposits, Name: "state", Fields: []string{"state", "seen_at"}},
	{Collection: store.Deposits, Name: "seen", Fields: []string{"seen_at"}},
	{Collection: store.Deposits, Name: "chain", Fields: []string{"chain", "seen_at"}},
	{Collection: store.Deposits, Name: "suspense", Fields: []string{"suspense", "seen_at"}}, // only those that are
	{Collection: store.Deposits, Name: "reason", Fields: []string{"chain", "to", "reason"}},
}
