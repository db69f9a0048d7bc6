package deposit

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Why a deposit is parked or recorded without a credit; the values of Deposit.Reason.
const (
	ReasonUnknownContract = "unknown_contract" // not in the registry; nothing is booked
	ReasonBelowMicro      = "below_micro"      // less than one micro-unit; nothing is booked
	ReasonOverflow        = "amount_overflow"  // does not fit in 64 bits of micro-units; nothing is booked
	ReasonConflict        = "conflict"         // the same ref with another content (G8); nothing is booked, alarm
	ReasonFailedReceipt   = "failed_receipt"   // the receipt says failed (B59); nothing is booked
	ReasonNoOwner         = "no_owner"         // one of our addresses without a user; booked to suspense when final
	ReasonFromTreasury    = "from_treasury"    // the operator's own money; booked to suspense when final
)

// Where an outgoing transfer goes; the values of Deposit.Reason of FactOutgoing.
const (
	ReasonTreasury = "treasury"         // to a treasury address, final: booked chain → treasury
	ReasonUnknown  = "outgoing_unknown" // anywhere else, at first sight: nothing is booked, alarm
	ReasonSelf     = "self_transfer"    // between two of our addresses, at first sight: nothing is booked, alarm
)

// Why a transfer gives no fact and leaves no record; the keys of Result.Ignored.
const (
	IgnoredUnwatched    = "unwatched"     // neither from nor to one of our addresses
	IgnoredZero         = "zero_value"    // address poisoning
	IgnoredFakeOutgoing = "fake_outgoing" // an unlisted contract claims that we sent
	IgnoredSpam         = "spam"          // beyond the bound of recorded worthless transfers per address
	IgnoredOffChain     = "off_chain"     // the answer names a block that is not on the pinned chain (G5, B54)
	IgnoredNotYet       = "not_yet"       // the receipt does not show the transfer yet (B54)
	IgnoredDisputed     = "disputed"      // the chain shows it twice, or two nodes disagree
)

// MaxWorthless bounds how many transfers of unknown contracts and of dust are recorded per address; more are counted.
const MaxWorthless = 20

// Proof is the answer to a receipt question. Found is false when the node does not know the transaction.
type Proof struct {
	Found   bool
	Receipt Receipt
}

// Input is everything a poll knows. The planner is pure: the same input gives the same result.
type Input struct {
	Policy   Policy
	Head     Block // the poll is pinned to it
	From, To int64 // the window that was read; outside it absence means nothing (G1, G2)
	Counted  int64 // height up to which ignored transfers were counted by earlier polls
	Final    int64 // height of the finality tag, negative where it is not known
	Seen     []Transfer
	// Stored holds the open deposits of the chain and the document of every ref in Seen that has one.
	Stored   map[string]Deposit
	Owned    map[string]bool   // our addresses
	Owners   map[string]string // user of an address to which something new in Seen went
	Treasury map[string]bool
	// Blocks and Receipts are the answers to Result.NeedBlocks and NeedReceipts; a height above the head has an empty
	// block.
	Blocks   map[int64]Block
	Receipts map[string]Proof
	// Disputed are heights at which a second node still shows the block that the first has lost: no proof (D15).
	Disputed map[int64]bool
	// Worthless is the number of such records kept per address, see MaxWorthless.
	Worthless map[string]int
	Now       time.Time
}

// Alarm is something a person must look at that no fact carries.
type Alarm struct {
	Kind string // "settled_conflict", "settled_moved"
	Ref  string
	Text string
}

// Result is what a poll concludes.
type Result struct {
	// Facts are what is lost first, then what is gained, each sorted by (height, tx, ordinal) (R108). They may be
	// applied blindly (R111) and again (R123).
	Facts []Fact
	// NeedBlocks and NeedReceipts ask for answers without which some refs were left out; plan again with them.
	NeedBlocks   []int64
	NeedReceipts []string
	// Torn: two headers of the answer do not fit together, so it came from two chains (G5). There are no facts.
	Torn    bool
	Ignored map[string]int
	Alarms  []Alarm
}

// Confirmed lists the facts that credit, in order.
func (r Result) Confirmed() []Fact { return r.of(FactConfirmed) }

// Reverted lists the facts that take a credit back, in order.
func (r Result) Reverted() []Fact { return r.of(FactReverted) }

func (r Result) of(kind FactKind) []Fact {
	var out []Fact
	for _, f := range r.Facts {
		if f.Kind == kind {
			out = append(out, f)
		}
	}
	return out
}

// Fingerprint is the content of a deposit that never changes with its block (G8).
func Fingerprint(contract, from, to string, raw *big.Int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{contract, from, to, raw.String()}, "|")))
	return hex.EncodeToString(sum[:])
}

// Plan concludes facts from a poll's answer and the stored deposits. It decides per ref, from the stored document and
// where the transfer is now; a ref yields at most the facts of one step of its life, so a credit and its reversal are
// never in one plan and strictly alternate over polls (R109, R110).
func Plan(in Input) Result {
	p := &planner{
		Input: in, ignored: map[string]int{}, worthless: map[string]int{},
		blocks: map[int64]bool{}, receipts: map[string]bool{},
	}
	if torn(in.Blocks) {
		return Result{Torn: true, Ignored: p.ignored}
	}
	seen := p.byRef()
	for _, ref := range p.refs(seen) {
		p.decide(ref, seen[ref])
	}
	slices.SortStableFunc(p.facts, compareFacts)
	return Result{
		Facts: p.facts, NeedBlocks: sortedKeys(p.blocks), NeedReceipts: sortedKeys(p.receipts),
		Ignored: p.ignored, Alarms: p.alarms,
	}
}

// planner collects while Plan walks over the refs.
type planner struct {
	Input
	facts     []Fact
	alarms    []Alarm
	ignored   map[string]int
	worthless map[string]int // recorded in this plan
	blocks    map[int64]bool // asked for
	receipts  map[string]bool
}

// torn reports whether two neighbouring headers do not fit together.
func torn(blocks map[int64]Block) bool {
	for height, b := range blocks {
		before, ok := blocks[height-1]
		if ok && b.Hash != "" && before.Hash != "" && b.Parent != before.Hash {
			return true
		}
	}
	return false
}

// byRef keeps one transfer per ref. A node may repeat a log; of two places the one on the pinned chain counts.
func (p *planner) byRef() map[string]*Transfer {
	out := make(map[string]*Transfer, len(p.Seen))
	for i := range p.Seen {
		t := &p.Seen[i]
		if t.Raw == nil || t.Raw.Sign() <= 0 {
			p.ignore(t, IgnoredZero) // it may come in masses, is never stored and needs no ref
			continue
		}
		ref := Ref(p.Policy.Chain, t.Tx, t.Ordinal)
		other, ok := out[ref]
		switch {
		case !ok:
			out[ref] = t
		case sameTransfer(other, t):
		default:
			if p.canonical(other.Block, other.BlockHash) != yes && p.canonical(t.Block, t.BlockHash) == yes {
				out[ref] = t
			}
		}
	}
	return out
}

func sameTransfer(a, b *Transfer) bool {
	return a.BlockHash == b.BlockHash && fingerprintOf(a) == fingerprintOf(b)
}

func fingerprintOf(t *Transfer) string { return Fingerprint(t.Contract, t.From, t.To, t.Raw) }

// refs lists every ref to decide on, sorted so that a plan never depends on the order of a map.
func (p *planner) refs(seen map[string]*Transfer) []string {
	all := make(map[string]bool, len(seen)+len(p.Stored))
	for ref := range seen {
		all[ref] = true
	}
	for ref := range p.Stored {
		all[ref] = true
	}
	return sortedKeys(all)
}

func (p *planner) add(kind FactKind, d Deposit) {
	p.facts = append(p.facts, Fact{Kind: kind, Deposit: d})
}

// ignore counts a transfer once, in the poll that reaches its block first.
func (p *planner) ignore(t *Transfer, reason string) {
	if t.Block > p.Counted {
		p.ignored[reason]++
	}
}

func (p *planner) alarm(kind, ref, text string) {
	p.alarms = append(p.alarms, Alarm{Kind: kind, Ref: ref, Text: text})
}

// answer is a conclusion that may still be open.
type answer int

const (
	open answer = iota // asked for, or not decidable
	yes
	no
)

// canonical says whether the block is on the pinned chain, and asks for its header when that is not known.
func (p *planner) canonical(height int64, hash string) answer {
	if height > p.Head.Number {
		return open // a shorter chain alone is not a reorganisation
	}
	b, ok := p.Blocks[height]
	if height == p.Head.Number {
		b, ok = p.Head, true
	}
	switch {
	case !ok:
		p.blocks[height] = true
		return open
	case b.Hash == "":
		return open
	case b.Hash == hash:
		return yes
	default:
		return no
	}
}

// receipt returns the re-read receipt of a transaction, and asks for it when it was not read yet.
func (p *planner) receipt(tx string) (Proof, bool) {
	proof, ok := p.Receipts[tx]
	if !ok {
		p.receipts[tx] = true
	}
	return proof, ok
}

// confirmations is how many blocks deep a height is, its own included; time plays no part (R102).
func (p *planner) confirmations(height int64) int64 { return p.Head.Number - height + 1 }

// final reports whether a block can no longer be reorganised: the finality tag covers it or the window has passed.
func (p *planner) final(height int64) bool {
	return height <= p.Final || p.confirmations(height) > p.Policy.Window
}
