package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/exchange"
	"offrampbot/services/ledger"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/store"
)

// Rule 8: debts are netted, and while one is open no new attempt is made.
func TestRule8_debts(t *testing.T) {
	t.Parallel()
	scenario(t, "a reversal that the balance covers concerns no order", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		w.deposited("0x2", 10*oneUSDT)
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactReverted, "0x2", 10*oneUSDT))
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
		require.Nil(t, w.user().Frozen)
		require.Empty(t, w.rows(o.ID, offramp.FundsReverted))
	})
	scenario(t, "a shortfall is told to every order whose money is on its way, and posts nothing there", func(t *testing.T, w *world) {
		w.deposited("0x1", 60*oneUSDT)
		var orders []*offramp.Order
		for _, usdt := range []int64{25, 20, 15} {
			orders = append(orders, w.place(w.offer(usdt)))
		}
		require.NoError(t, w.run(w.claim(operation.StartExchange))) // the first is sending, not called
		before := w.order(orders[0].ID).Tail
		require.NoError(t, w.fact(deposit.FactReverted, "0x1", 60*oneUSDT))
		require.Equal(t, 60*oneUSDT, w.account().Owed)
		require.NotNil(t, w.user().Frozen)
		for _, o := range orders {
			o = w.order(o.ID)
			require.Equal(t, offramp.Review, o.State)
			require.Len(t, w.rows(o.ID, offramp.FundsReverted), 1)
		}
		require.Equal(t, before, w.order(orders[0].ID).Tail)
		for _, o := range orders {
			_, err := w.decide(w.order(o.ID), offramp.AdminReleased)
			require.NoError(t, err)
		}
		require.Zero(t, w.account().Owed, "the holds paid the debt")
		require.Zero(t, w.account().Available)
		require.Nil(t, w.user().Frozen)
	})
	scenario(t, "no next attempt is made while the user owes anything, of another asset too", func(t *testing.T, w *world) {
		o := w.sending()
		op := w.claim(operation.Payout)
		w.during = func() {
			require.NoError(t, w.usdc(deposit.FactConfirmed, 10*oneUSDT))
			require.NoError(t, w.usdc(deposit.FactReverted, 10*oneUSDT))
			require.Nil(t, w.user().Frozen)
			w.owe("USDC", oneUSDT)
		}
		w.rail.send = fails
		require.NoError(t, w.run(op))
		o = w.order(o.ID)
		require.Equal(t, offramp.Failed, o.State)
		require.Len(t, o.Attempts, 1)
		w.owe("USDC", -oneUSDT)
	})
	scenario(t, "an exchange that is done while the user owes goes to review, and waits", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		w.venue.execute = func(q exchange.Order) (bool, exchange.Result) {
			require.NoError(t, w.fact(deposit.FactReverted, "0x1", 25*oneUSDT))
			return true, exchange.Result{Outcome: exchange.Success, Found: true, Filled: q.Gross}
		}
		w.work()
		w.pass(2*time.Minute, 10*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.Review, o.State)
		require.Equal(t, offramp.NoPhase, o.Phase)
		require.True(t, o.Exchanged)
		require.Zero(t, o.Attempt)
		w.deposited("0x2", 25*oneUSDT)
		require.Equal(t, offramp.Sending, w.resume(w.order(o.ID)).State)
		w.work()
		require.Equal(t, offramp.Success, w.order(o.ID).State)
	})
	reorgs := map[string]func(w *world) (offramp.State, offramp.Phase){
		"waiting for a look-up of the exchange": func(w *world) (offramp.State, offramp.Phase) {
			w.venue.execute = func(exchange.Order) (bool, exchange.Result) {
				return false, exchange.Result{Outcome: exchange.Unknown, Found: true}
			}
			require.NoError(w.t, w.run(w.claim(operation.StartExchange)))
			return offramp.Review, offramp.ExchangePhase(1)
		},
		"with a payout that was called": func(w *world) (offramp.State, offramp.Phase) {
			require.NoError(w.t, w.run(w.claim(operation.StartExchange)))
			w.rail.send = func(q payout.Request) (bool, payout.Result) {
				w.rail.did[q.Reference] = payout.Result{Outcome: payout.Accepted, Found: true, Reference: q.Reference, Amount: q.Amount, Currency: "NGN"}
				return false, w.rail.did[q.Reference]
			}
			require.NoError(w.t, w.run(w.claim(operation.Payout)))
			return offramp.Sending, offramp.PayoutPhase(1)
		},
		"with a payout that is unclear": func(w *world) (offramp.State, offramp.Phase) {
			require.NoError(w.t, w.run(w.claim(operation.StartExchange)))
			w.rail.send = lost(false)
			require.NoError(w.t, w.run(w.claim(operation.Payout)))
			return offramp.Unclear, offramp.PayoutPhase(1)
		},
	}
	for name, bring := range reorgs {
		scenario(t, "a shortfall of an order "+name, func(t *testing.T, w *world) {
			w.deposited("0x1", 25*oneUSDT)
			o := w.place(w.offer(25))
			state, phase := bring(w)
			require.NoError(t, w.fact(deposit.FactReverted, "0x1", 25*oneUSDT))
			o = w.order(o.ID)
			require.Equal(t, state, o.State)
			require.Equal(t, phase, o.Phase)
			require.Len(t, w.rows(o.ID, offramp.FundsReverted), 1)
			require.NotEmpty(t, w.alerts())
			require.Equal(t, offramp.OnHold, o.Hold)
		})
	}
}

// usdc is a fact about a deposit of USDC.
func (w *world) usdc(kind deposit.FactKind, amount money.Micro) error {
	height := w.height.Add(1)
	d := deposit.Deposit{
		Chain: "base", Tx: "0xc", Asset: "USDC", From: "0xsender", To: "0xada", User: "ada", Raw: "10000000", Micro: amount,
		Block: height, BlockHash: "h", Depth: 2, Fingerprint: "c", Contract: "0xusdc", SeenAt: w.clock.Now(),
	}
	d.ID = deposit.Ref("base", "0xc", 0)
	return w.svc.ApplyDeposit(w.t.Context(), deposit.Fact{Kind: kind, Deposit: d})
}

// owe changes what the user owes of an asset behind the ledger's back.
func (w *world) owe(asset string, amount money.Micro) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		a, err := ledger.Load(tx, "ada", asset)
		if err != nil {
			return err
		}
		a.Owed += amount
		return a.Save(tx)
	})
}
