package deposit_test

import (
	"math/big"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/deposit"
)

const (
	alice    = "0xa11ce00000000000000000000000000000000001"
	treasury = "0x7ea5000000000000000000000000000000000005"
	sender   = "0x5742000000000000000000000000000000000004"
	usdt     = "0x0000000000000000000000000000000000001001"
)

var policy = deposit.Policy{Chain: "base", Window: 10, Tokens: []deposit.Token{
	{Contract: usdt, Asset: "USDT", Decimals: 6, Depth: 3, Tiers: []deposit.Tier{{From: 1_000_000_000, Depth: 5}}},
}}

func hash(height int64) string { return "h" + strconv.FormatInt(height, 10) }

// transfer is 25 USDT to Alice in a block.
func transfer(block int64) deposit.Transfer {
	return deposit.Transfer{
		Tx: "0xt1", Ordinal: 2, Contract: usdt, From: sender, To: alice, Raw: big.NewInt(25_000_000), Block: block, BlockHash: hash(block),
	}
}

// known is the stored document of transfer(block).
func known(block int64, state deposit.State, credited bool) deposit.Deposit {
	t := transfer(block)
	d := deposit.Deposit{
		Chain: "base", Tx: t.Tx, Ordinal: t.Ordinal, Contract: usdt, Asset: "USDT", From: sender, To: alice, User: "alice",
		Raw: "25000000", Micro: 25_000_000, Block: block, BlockHash: t.BlockHash, State: state, Credited: credited, Depth: 3,
		Fingerprint: deposit.Fingerprint(t.Contract, t.From, t.To, t.Raw), Open: &block,
	}
	d.ID = deposit.Ref("base", t.Tx, t.Ordinal)
	if state == deposit.Settled || state == deposit.Parked {
		d.Open = nil
	}
	return d
}

// input is a poll at height 100 in which every header and receipt that is asked for is as the transfers say.
func input(stored []deposit.Deposit, seen ...deposit.Transfer) deposit.Input {
	in := deposit.Input{
		Policy: policy, Head: deposit.Block{Number: 100, Hash: hash(100)}, From: 91, To: 100, Final: -1, Seen: seen,
		Stored: map[string]deposit.Deposit{}, Owned: map[string]bool{alice: true}, Owners: map[string]string{alice: "alice"},
		Treasury: map[string]bool{treasury: true}, Blocks: map[int64]deposit.Block{}, Receipts: map[string]deposit.Proof{},
		Disputed: map[int64]bool{}, Worthless: map[string]int{}, Now: time.Unix(1, 0),
	}
	for _, d := range stored {
		in.Stored[d.ID] = d
	}
	for h := int64(80); h < 100; h++ {
		in.Blocks[h] = deposit.Block{Number: h, Hash: hash(h), Parent: hash(h - 1)}
	}
	for _, t := range seen {
		p := in.Receipts[t.Tx]
		p.Found = true
		p.Receipt.Success, p.Receipt.Block, p.Receipt.BlockHash = true, t.Block, t.BlockHash
		p.Receipt.Transfers = append(p.Receipt.Transfers, t)
		in.Receipts[t.Tx] = p
	}
	return in
}

// replaced gives the block at a height another hash.
func replaced(in deposit.Input, height int64) deposit.Input {
	in.Blocks[height] = deposit.Block{Number: height, Hash: "other", Parent: hash(height - 1)}
	delete(in.Blocks, height+1)
	return in
}

func kinds(r deposit.Result) []deposit.FactKind {
	out := []deposit.FactKind{}
	for _, f := range r.Facts {
		out = append(out, f.Kind)
	}
	return out
}

func one(d deposit.Deposit) []deposit.Deposit { return []deposit.Deposit{d} }

func gone(in deposit.Input) deposit.Input {
	in.Receipts["0xt1"] = deposit.Proof{}
	return in
}

func TestPlan_oneRef(t *testing.T) {
	t.Parallel()
	const (
		seen, dropped, confirmed     = deposit.FactSeen, deposit.FactDropped, deposit.FactConfirmed
		reverted, missing, settled   = deposit.FactReverted, deposit.FactMissing, deposit.FactSettled
		parked                       = deposit.FactParked
		pending, reported            = deposit.Pending, deposit.Reported
		isMissing, isReverted, isSet = deposit.Missing, deposit.Reverted, deposit.Settled
	)
	other := transfer(99)
	other.Raw = big.NewInt(1)
	tests := []struct {
		name string
		in   deposit.Input
		want []deposit.FactKind
	}{
		{"new, one block deep", input(nil, transfer(100)), []deposit.FactKind{seen}},
		{"new, two blocks deep", input(nil, transfer(99)), []deposit.FactKind{seen}},
		{"new, three blocks deep", input(nil, transfer(98)), []deposit.FactKind{seen, confirmed}},
		{"pending, not deep enough", input(one(known(99, pending, false)), transfer(99)), nil},
		{"pending, deep enough", input(one(known(98, pending, false)), transfer(98)), []deposit.FactKind{confirmed}},
		{"pending, moved", input(one(known(97, pending, false)), transfer(99)), []deposit.FactKind{seen}},
		{"pending, moved and deep enough", input(one(known(97, pending, false)), transfer(98)), []deposit.FactKind{seen, confirmed}},
		{"pending, gone, its block stands", gone(input(one(known(98, pending, false)))), []deposit.FactKind{missing}},
		{"pending, gone, its block is another", gone(replaced(input(one(known(98, pending, false))), 98)), []deposit.FactKind{dropped}},
		{"reported, still there", input(one(known(95, reported, true)), transfer(95)), nil},
		{"reported, below the window", input(one(known(90, reported, true)), transfer(90)), []deposit.FactKind{settled}},
		{"reported, in the last block of the window", input(one(known(91, reported, true)), transfer(91)), nil},
		{"reported, gone, its block stands", gone(input(one(known(98, reported, true)))), []deposit.FactKind{missing}},
		{"reported, gone, its block is another", gone(replaced(input(one(known(98, reported, true))), 98)), []deposit.FactKind{missing}},
		{"missing, gone, its block stands", gone(input(one(known(98, isMissing, true)))), nil},
		{"missing, gone, its block is another", gone(replaced(input(one(known(98, isMissing, true))), 98)), []deposit.FactKind{reverted}},
		{"missing and not credited, its block is another", gone(replaced(input(one(known(98, isMissing, false))), 98)), []deposit.FactKind{dropped}},
		{"missing, back in its block", input(one(known(98, isMissing, true)), transfer(98)), []deposit.FactKind{seen}},
		{"missing and not credited, back and deep enough", input(one(known(98, isMissing, false)), transfer(98)), []deposit.FactKind{seen, confirmed}},
		{"reported, in another block", replaced(input(one(known(96, reported, true)), transfer(98)), 96), []deposit.FactKind{missing}},
		{"missing, in another block", replaced(input(one(known(96, isMissing, true)), transfer(98)), 96), []deposit.FactKind{reverted}},
		{"reverted, mined again", input(one(known(96, isReverted, false)), transfer(99)), []deposit.FactKind{seen}},
		{"reverted, mined again and deep enough", input(one(known(96, isReverted, false)), transfer(98)), []deposit.FactKind{seen, confirmed}},
		{"reverted, its fork is back", input(one(known(96, isReverted, false)), transfer(96)), []deposit.FactKind{seen, confirmed}},
		{"reverted, nothing new", gone(input(one(known(96, isReverted, false)))), nil},
		{"settled, read again", input(one(known(91, isSet, true)), transfer(91)), nil},
		{"settled, gone", gone(input(one(known(91, isSet, true)))), nil},
		{"parked, read again", input(one(known(91, deposit.Parked, false)), transfer(91)), nil},
		{"other contents in the same block", input(one(known(99, pending, false)), other), []deposit.FactKind{parked}},
		{"other contents of a credited one", input(one(known(99, reported, true)), other), []deposit.FactKind{parked}},
		{"other contents in another block of a credited one", replaced(input(one(known(96, reported, true)), other), 96), []deposit.FactKind{missing}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := deposit.Plan(tt.in)
			require.Equal(t, append([]deposit.FactKind{}, tt.want...), kinds(r))
			require.Empty(t, r.NeedBlocks)
			require.Empty(t, r.NeedReceipts)
			require.Equal(t, r, deposit.Plan(tt.in), "the planner is pure")
		})
	}
}

func TestPlan_creditsOnlyWhatAFreshReceiptProves(t *testing.T) {
	t.Parallel()
	pending := one(known(98, deposit.Pending, false))
	t.Run("the receipt was not read", func(t *testing.T) {
		t.Parallel()
		in := input(pending, transfer(98))
		delete(in.Receipts, "0xt1")
		r := deposit.Plan(in)
		require.Empty(t, r.Facts)
		require.Equal(t, []string{"0xt1"}, r.NeedReceipts)
	})
	t.Run("the header was not read", func(t *testing.T) {
		t.Parallel()
		in := input(pending, transfer(98))
		delete(in.Blocks, 98)
		r := deposit.Plan(in)
		require.Empty(t, r.Facts)
		require.Equal(t, []int64{98}, r.NeedBlocks)
	})
	for name, change := range map[string]func(p *deposit.Proof){
		"the node does not know the transaction": func(p *deposit.Proof) { *p = deposit.Proof{} },
		"the receipt is of another block":        func(p *deposit.Proof) { p.Receipt.BlockHash = "other" },
		"the receipt is empty":                   func(p *deposit.Proof) { p.Receipt.Transfers = nil },
		"the receipt has it at another ordinal":  func(p *deposit.Proof) { p.Receipt.Transfers[0].Ordinal = 3 },
		"the receipt has another amount":         func(p *deposit.Proof) { p.Receipt.Transfers[0].Raw = big.NewInt(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(pending, transfer(98))
			p := in.Receipts["0xt1"]
			p.Receipt.Transfers = slices.Clone(p.Receipt.Transfers)
			change(&p)
			in.Receipts["0xt1"] = p
			r := deposit.Plan(in)
			require.Empty(t, r.Facts)
			require.Equal(t, 1, r.Ignored[deposit.IgnoredNotYet])
		})
	}
	t.Run("the transaction failed", func(t *testing.T) {
		t.Parallel()
		in := input(pending, transfer(98))
		p := in.Receipts["0xt1"]
		p.Receipt.Success = false
		in.Receipts["0xt1"] = p
		r := deposit.Plan(in)
		require.Equal(t, []deposit.FactKind{deposit.FactParked}, kinds(r))
		require.Equal(t, deposit.ReasonFailedReceipt, r.Facts[0].Deposit.Reason)
	})
}

func TestPlan_aReceiptOfAnotherChainSaysNothing(t *testing.T) {
	t.Parallel()
	in := input(one(known(98, deposit.Reported, true)), transfer(98))
	in.Seen = nil
	p := in.Receipts["0xt1"]
	p.Receipt.BlockHash = "other"
	in.Receipts["0xt1"] = p
	require.Empty(t, deposit.Plan(in).Facts)
}

func TestPlan_concludesNothingFromHeadersThatDoNotFitTogether(t *testing.T) {
	t.Parallel()
	in := gone(input(one(known(98, deposit.Missing, true))))
	in.Blocks[98] = deposit.Block{Number: 98, Hash: "other", Parent: hash(97)} // the block above is still of the old chain
	r := deposit.Plan(in)
	require.True(t, r.Torn)
	require.Empty(t, r.Facts)
}

func TestPlan_aDisputedBlockIsNoProof(t *testing.T) {
	t.Parallel()
	in := gone(replaced(input(one(known(98, deposit.Missing, true))), 98))
	in.Disputed[98] = true
	require.Empty(t, deposit.Plan(in).Facts)
	in.Stored = map[string]deposit.Deposit{}
	d := known(98, deposit.Pending, false)
	in.Stored[d.ID] = d
	require.Equal(t, []deposit.FactKind{deposit.FactMissing}, kinds(deposit.Plan(in)))
}

func TestPlan_aBlockAboveTheHeadProvesNothing(t *testing.T) {
	t.Parallel()
	for _, state := range []deposit.State{deposit.Pending, deposit.Reported, deposit.Missing} {
		in := gone(input(one(known(105, state, state != deposit.Pending))))
		r := deposit.Plan(in)
		require.Empty(t, r.Facts, state)
		require.Empty(t, r.NeedBlocks, "nobody can answer that")
	}
}

func TestPlan_theFinalityTagSettlesBeforeTheWindow(t *testing.T) {
	t.Parallel()
	in := input(one(known(96, deposit.Reported, true)), transfer(96))
	in.Final = 95
	require.Empty(t, deposit.Plan(in).Facts)
	in.Final = 96
	require.Equal(t, []deposit.FactKind{deposit.FactSettled}, kinds(deposit.Plan(in)))
}

func TestPlan_aTokenThatLeftTheRegistryIsNotCreditedButStillReversed(t *testing.T) {
	t.Parallel()
	in := input(one(known(98, deposit.Pending, false)), transfer(98))
	in.Policy.Tokens = nil
	r := deposit.Plan(in)
	require.Equal(t, []deposit.FactKind{deposit.FactParked}, kinds(r))
	in = gone(replaced(input(one(known(98, deposit.Missing, true))), 98))
	in.Policy.Tokens = nil
	require.Equal(t, []deposit.FactKind{deposit.FactReverted}, kinds(deposit.Plan(in)))
}

func TestPlan_whatIsLostComesBeforeWhatIsGainedEachInOrder(t *testing.T) {
	t.Parallel()
	at := func(tx string, ordinal int, block int64) deposit.Transfer {
		return deposit.Transfer{Tx: tx, Ordinal: ordinal, Contract: usdt, From: sender, To: alice, Raw: big.NewInt(1_000_000), Block: block, BlockHash: hash(block)}
	}
	lost := known(97, deposit.Missing, true)
	in := input(one(lost), at("0xb", 1, 95), at("0xb", 0, 95), at("0xa", 5, 95), at("0xc", 0, 93))
	in = gone(replaced(in, 97))
	r := deposit.Plan(in)
	var got []string
	for _, f := range r.Facts {
		got = append(got, string(f.Kind)+" "+f.Deposit.Tx+" "+strconv.Itoa(f.Deposit.Ordinal))
	}
	require.Equal(t, []string{
		"reverted 0xt1 2",
		"seen 0xc 0", "confirmed 0xc 0", "seen 0xa 5", "confirmed 0xa 5", "seen 0xb 0", "confirmed 0xb 0", "seen 0xb 1", "confirmed 0xb 1",
	}, got)
	require.Len(t, r.Confirmed(), 4)
	require.Len(t, r.Reverted(), 1)
}

func TestPlan_theSameLogTwiceIsOneDeposit(t *testing.T) {
	t.Parallel()
	in := input(nil, transfer(98))
	in.Seen = append(in.Seen, transfer(98))
	stale := transfer(97)
	stale.BlockHash = "a block that was replaced"
	in.Seen = append(in.Seen, stale)
	slices.Reverse(in.Seen)
	r := deposit.Plan(in)
	require.Equal(t, []deposit.FactKind{deposit.FactSeen, deposit.FactConfirmed}, kinds(r))
	require.EqualValues(t, 98, r.Facts[0].Deposit.Block)
}

// TestPlan_neverCreditsWithoutProof draws any input, consistent or not, and checks what no input may cause.
func TestPlan_neverCreditsWithoutProof(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := input(nil)
		for h := int64(90); h < 100; h++ {
			b := deposit.Block{Number: h, Hash: rapid.SampledFrom([]string{hash(h), "other" + hash(h), ""}).Draw(rt, "hash")}
			b.Parent = in.Blocks[h-1].Hash
			if rapid.IntRange(0, 5).Draw(rt, "unread") == 0 {
				delete(in.Blocks, h)
				continue
			}
			in.Blocks[h] = b
		}
		draw := func(label string) deposit.Transfer {
			tr := transfer(rapid.Int64Range(89, 101).Draw(rt, label))
			if rapid.Bool().Draw(rt, "other fork") {
				tr.BlockHash = "other" + tr.BlockHash
			}
			tr.Raw = big.NewInt(rapid.SampledFrom([]int64{25_000_000, 0, 1, 2_000_000_000}).Draw(rt, "raw"))
			tr.Contract = rapid.SampledFrom([]string{usdt, usdt, usdt, "0xfake"}).Draw(rt, "contract")
			return tr
		}
		for range rapid.IntRange(0, 3).Draw(rt, "seen") {
			in.Seen = append(in.Seen, draw("block"))
		}
		if rapid.Bool().Draw(rt, "receipt") {
			tr := draw("receipt block")
			in.Receipts["0xt1"] = deposit.Proof{Found: rapid.Bool().Draw(rt, "found"), Receipt: deposit.Receipt{
				Success: rapid.Bool().Draw(rt, "success"), Block: tr.Block, BlockHash: tr.BlockHash, Transfers: []deposit.Transfer{tr},
			}}
		}
		if rapid.Bool().Draw(rt, "stored") {
			state := rapid.SampledFrom([]deposit.State{
				deposit.Pending, deposit.Reported, deposit.Missing, deposit.Reverted, deposit.Settled, deposit.Parked,
			}).Draw(rt, "state")
			credited := state == deposit.Reported || state == deposit.Settled || (state == deposit.Missing && rapid.Bool().Draw(rt, "credited"))
			d := known(rapid.Int64Range(89, 101).Draw(rt, "at"), state, credited)
			in.Stored[d.ID] = d
		}
		r := deposit.Plan(in)
		require.Equal(rt, r, deposit.Plan(in))
		checkPlan(rt, in, r)
	})
}

func checkPlan(rt *rapid.T, in deposit.Input, r deposit.Result) {
	credits, reversals := 0, 0
	for _, f := range r.Facts {
		d := f.Deposit
		stored, known := in.Stored[d.ID]
		block := in.Blocks[d.Block]
		if d.Block == in.Head.Number {
			block = in.Head
		}
		switch f.Kind {
		case deposit.FactConfirmed:
			credits++
			require.False(rt, known && stored.Credited, "credited twice")
			require.GreaterOrEqual(rt, in.Head.Number-d.Block+1, int64(3), "no depth")
			require.Equal(rt, block.Hash, d.BlockHash, "not on the chain")
			proof := in.Receipts[d.Tx]
			require.True(rt, proof.Found && proof.Receipt.Success && proof.Receipt.BlockHash == d.BlockHash, "no receipt")
			require.Equal(rt, d.Raw, proof.Receipt.Transfers[0].Raw.String())
			require.Equal(rt, usdt, d.Contract)
			require.True(rt, !known || stored.Fingerprint == d.Fingerprint)
		case deposit.FactReverted:
			reversals++
			require.Equal(rt, deposit.Missing, stored.State)
			require.True(rt, stored.Credited)
			require.NotEqual(rt, block.Hash, d.BlockHash)
			require.NotEmpty(rt, block.Hash)
		case deposit.FactDropped:
			require.False(rt, stored.Credited)
			require.NotEqual(rt, block.Hash, d.BlockHash)
		case deposit.FactSettled:
			require.Equal(rt, deposit.Reported, stored.State)
			require.Equal(rt, block.Hash, d.BlockHash)
		case deposit.FactSeen, deposit.FactMissing, deposit.FactParked, deposit.FactOutgoing:
		}
		require.NotContains(rt, []deposit.State{deposit.Settled, deposit.Parked}, stored.State, "a closed deposit moves")
	}
	require.LessOrEqual(rt, credits+reversals, 1, "credit and reversal of one ref in one plan")
}
