package reconcile_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/reconcile"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestReconcile_chains(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine)
		w.agrees()
		w.deposited(30)
		pending := w.moved(stranger, ada, 7*oneUSDT)
		w.apply(deposit.FactSeen, pending)
		w.polled()
		w.agrees()
		w.moved(stranger, ada, 5*oneUSDT) // nobody has read this block yet
		w.agrees()
		out := w.moved(ada, treasury, 10*oneUSDT)
		w.polled()
		w.differs(ledger.OnChain("base", "USDT"), "chain", "our addresses hold") // the 5 that the watcher should have seen
		missed := w.node.transfers[2]
		late := deposit.Deposit{
			Chain: "base", Tx: missed.Tx, Asset: "USDT", From: stranger, To: ada, User: "ada", Raw: missed.Raw.String(), Micro: 5 * oneUSDT,
			Block: missed.Block, BlockHash: "h", Depth: 2, Fingerprint: "f", Contract: missed.Contract, SeenAt: w.clock.Now(),
		}
		late.ID = deposit.Ref("base", missed.Tx, 0)
		w.apply(deposit.FactSeen, late)
		w.agrees() // what goes to the treasury is recorded when it is final
		out.User, out.Reason = "", deposit.ReasonTreasury
		w.apply(deposit.FactOutgoing, out)
		w.agrees()
		w.sold(20)
		w.agrees()
		require.Positive(t, w.report().Checked["tokens"])

		chain := ledger.OnChain("base", "USDT")
		w.node.skim = 1
		w.differs(chain, "chain", "our addresses hold")
		w.node.skim = 0
		w.node.err = errors.New("connection refused")
		w.differs("chain:base", "chain", "does not answer")
		w.node.err = nil

		gone := w.moved(ada, stranger, 20*oneUSDT) // stolen: seen, alarmed, booked nowhere
		gone.User, gone.Reason = "", deposit.ReasonUnknown
		w.apply(deposit.FactOutgoing, gone)
		require.NotContains(t, rules(w.report()), "chain", "the transfers explain the holdings")
	})
}

func rules(r reconcile.Report) []string {
	var out []string
	for _, d := range r.Differences {
		out = append(out, d.Rule)
	}
	return out
}

func TestReconcile_holdingsCoverLiabilities(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Bolt(t, indexes()))
	w.deposited(30)
	gone := w.moved(ada, stranger, oneUSDT)
	gone.User, gone.Reason = "", deposit.ReasonUnknown
	w.apply(deposit.FactOutgoing, gone)
	w.polled()
	w.differs("user:*:USDT:available", "I14", "we hold 29000000 micro of USDT on chain and in the treasury, and owe 30000000")
}

func TestReconcile_ledgerAgainstDeposits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Bolt(t, indexes()))
	d := w.deposited(30)
	w.polled()
	w.update(func(tx store.Tx) error { // somebody edits a deposit in the database
		var stored deposit.Deposit
		if err := tx.Get(store.Deposits, d.ID, &stored); err != nil {
			return err
		}
		stored.Micro++
		return tx.Replace(store.Deposits, &stored)
	})
	w.differs(ledger.OnChain("base", "USDT"), "ledger", "the ledger holds 30000000 micro, booked transfers come to 30000001")
}

func TestReconcile_statement(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine)
		w.deposited(100)
		w.polled()
		o := w.sold(20)
		require.Equal(t, offramp.Success, o.State)
		w.agrees()
		r := w.report()
		require.Equal(t, 1, r.Checked["transfers"])
		require.Equal(t, 1, r.Checked["orders"])
		ref := o.Attempts[0].Reference
		right := w.bank.listed[ref]

		delete(w.bank.listed, ref)
		w.differs(o.ID, "statement", "does not list its reference")
		for _, wrong := range []struct {
			change     func(r *payout.Result)
			rule, text string
		}{
			{func(r *payout.Result) { r.Amount++ }, "I10", "quoted are"},
			{func(r *payout.Result) { r.Outcome = payout.Failed }, "I14", "lists it as failed"},
			{func(r *payout.Result) { r.Outcome = payout.Unknown }, "statement", "not recognised"},
		} {
			line := right
			wrong.change(&line)
			w.bank.listed[ref] = line
			w.differs(o.ID, wrong.rule, wrong.text)
		}
		w.bank.listed[ref] = right

		w.bank.listed["ofr-nobody"] = payout.Result{Outcome: payout.Success, Reference: "ofr-nobody"}
		w.differs("ofr-nobody", "statement", "no order knows")
		delete(w.bank.listed, "ofr-nobody")
		w.bank.listed["rent-june"] = payout.Result{Outcome: payout.Success, Reference: "rent-june"}
		w.agrees()
		require.Contains(t, w.report().Explained[len(w.report().Explained)-1].Text, "not made by this bot")

		w.bank.err = errors.New("503")
		w.differs("statement:bank", "statement", "nothing is proven")
		w.bank.err = nil

		w.bank.hides = true
		lost := w.sold(30)
		require.Equal(t, offramp.Unclear, lost.State)
		r = w.report()
		require.True(t, r.OK, "%+v", r.Differences)
		var explained []string
		for _, e := range r.Explained {
			explained = append(explained, e.ID)
		}
		require.Contains(t, explained, lost.ID, "paid there, being looked up here")
	})
}

func TestReconcile_ordersAgainstTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Bolt(t, indexes()))
	w.deposited(100)
	w.polled()
	o := w.sold(20)
	w.update(func(tx store.Tx) error {
		var stored offramp.Order
		if err := tx.Get(store.Orders, o.ID, &stored); err != nil {
			return err
		}
		stored.Net += 100
		return tx.Replace(store.Orders, &stored)
	})
	w.differs(o.ID, "I10", "paid")
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := reconcile.New(reconcile.Deps{}, reconcile.Config{})
	require.ErrorContains(t, err, "Engine is missing")
}
