package offramp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/exchange"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
)

// refuses is a venue that conclusively does not sell.
func refuses(exchange.Order) (bool, exchange.Result) {
	return false, exchange.Result{Outcome: exchange.Failed, Found: true, Reason: "closed"}
}

// overdue is an order whose window is over.
func (w *world) overdue() *offramp.Order {
	w.t.Helper()
	o := w.place(w.offer(25))
	w.clock.Advance(30 * time.Minute)
	w.sweep()
	o = w.order(o.ID)
	require.Equal(w.t, offramp.Overdue, o.State)
	return o
}

// renewal offers to renew an order; change may turn the ask into another one.
func (w *world) renewal(o *offramp.Order, intent string, change func(a *offramp.Ask)) error {
	ask := w.ask(intent, 25)
	ask.Renews = o.ID
	if change != nil {
		change(&ask)
	}
	_, err := w.svc.Offer(w.t.Context(), ask)
	return err
}

// Rule 10: renewals, bounded attempts, stale replies.
func TestRule10_renewal(t *testing.T) {
	t.Parallel()
	scenario(t, "keeps id, reference and beneficiary, and takes the new price and both windows", func(t *testing.T, w *world) {
		o := w.overdue()
		w.venue.rate = money.Rate{Num: 140_000, Den: 1_000_000}
		require.NoError(t, w.renewal(o, "fresh", nil))
		renewed, err := w.svc.Place(t.Context(), offramp.Placing{Intent: "fresh", User: "ada", Delivery: "wa:renew"})
		require.NoError(t, err)
		require.Equal(t, o.ID, renewed.ID)
		require.Equal(t, o.Reference, renewed.Reference)
		require.Equal(t, offramp.Waiting, renewed.State)
		require.Equal(t, "fresh", renewed.Quote)
		require.Equal(t, money.Minor(3_500_000), renewed.Gross)
		require.Equal(t, w.clock.Now().Add(30*time.Minute), renewed.WaitingUntil)
		require.Equal(t, w.clock.Now().Add(6*time.Hour), renewed.DepositUntil)
		require.Equal(t, renewed.WaitingUntil, *renewed.Due)
		again, err := w.svc.Place(t.Context(), offramp.Placing{Intent: "fresh", User: "ada"})
		require.NoError(t, err)
		require.Equal(t, renewed.Revision, again.Revision, "taken once")
		w.deposited("0x1", 25*oneUSDT)
		w.work()
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Equal(t, renewed.Net, w.rail.did[w.order(o.ID).Attempts[0].Reference].Amount, "paid at the renewed price")
	})
	scenario(t, "starts at once when the balance covers it, or waits for what is seen", func(t *testing.T, w *world) {
		o := w.overdue()
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		require.NoError(t, w.renewal(o, "fresh", nil))
		renewed, err := w.svc.Place(t.Context(), offramp.Placing{Intent: "fresh", User: "ada"})
		require.NoError(t, err)
		require.Equal(t, offramp.Deposit, renewed.State)
		w.clock.Advance(6 * time.Hour)
		w.sweep()
		require.NoError(t, w.fact(deposit.FactConfirmed, "0x1", 25*oneUSDT))
		require.Equal(t, offramp.Overdue, w.order(o.ID).State, "late money starts nothing")
		require.NoError(t, w.renewal(o, "fresher", nil))
		renewed, err = w.svc.Place(t.Context(), offramp.Placing{Intent: "fresher", User: "ada"})
		require.NoError(t, err)
		require.Equal(t, offramp.Exchange, renewed.State)
	})
	for name, change := range map[string]func(a *offramp.Ask){
		"another amount":      func(a *offramp.Ask) { a.Amount++ },
		"another asset":       func(a *offramp.Ask) { a.Asset = "USDC" },
		"another chain":       func(a *offramp.Ask) { a.Chain = "bnb" },
		"another beneficiary": func(a *offramp.Ask) { a.Beneficiary.Digest = "other" },
	} {
		scenario(t, "of "+name+" is refused", func(t *testing.T, w *world) {
			err := w.renewal(w.overdue(), "fresh", change)
			require.True(t, fault.Is(err, "quote_not_renewable"), err)
		})
	}
	scenario(t, "of an order that is not overdue is refused, also when it has moved on since the offer", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.True(t, fault.Is(w.renewal(o, "early", nil), "quote_not_renewable"))
		w.clock.Advance(30 * time.Minute)
		w.sweep()
		require.NoError(t, w.renewal(o, "first", nil))
		require.NoError(t, w.renewal(o, "second", nil))
		_, err := w.svc.Place(t.Context(), offramp.Placing{Intent: "first", User: "ada"})
		require.NoError(t, err)
		_, err = w.svc.Place(t.Context(), offramp.Placing{Intent: "second", User: "ada"})
		require.True(t, fault.Is(err, "quote_not_renewable"), err)
	})
	scenario(t, "repeats the placing checks", func(t *testing.T, w *world) {
		o := w.overdue()
		require.NoError(t, w.renewal(o, "fresh", nil))
		require.NoError(t, w.svc.FreezeUser(t.Context(), "ada", "x", "staff:one"))
		_, err := w.svc.Place(t.Context(), offramp.Placing{Intent: "fresh", User: "ada"})
		require.True(t, fault.Is(err, "user_frozen"), err)
		require.Equal(t, offramp.Overdue, w.order(o.ID).State)
	})
	scenario(t, "nobody renews: the order lapses after a day", func(t *testing.T, w *world) {
		o := w.overdue()
		w.pass(24*time.Hour+time.Minute, time.Hour)
		o = w.order(o.ID)
		require.Equal(t, offramp.Cancelled, o.State)
		require.Equal(t, []string{"order.waiting", "order.overdue", "order.lapsed"}, w.notices())
		require.Zero(t, w.place(w.offer(25)).Attempt, "and the user may sell again")
	})
}

func TestRule10_attempts(t *testing.T) {
	t.Parallel()
	scenario(t, "each conclusive failure makes one attempt more, until no route is left", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		o := w.place(w.offer(25))
		w.rail.send = fails
		w.work()
		o = w.order(o.ID)
		require.Equal(t, offramp.Failed, o.State)
		require.Len(t, o.Attempts, 2)
		require.NotEqual(t, o.Attempts[0].Reference, o.Attempts[1].Reference)
		require.Equal(t, map[string]int{o.Attempts[0].Reference: 1, o.Attempts[1].Reference: 1}, w.rail.calls)
		require.Equal(t, []string{"payout:" + o.ID, "payout:" + o.ID + ":2"}, []string{
			w.operation("payout:" + o.ID).ID, w.operation("payout:" + o.ID + ":2").ID,
		})
		require.Contains(t, w.notices(), "order.failed")
	})
	scenario(t, "reversed before success is a failure", func(t *testing.T, w *world) {
		o := w.sending()
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			w.rail.did[q.Reference] = payout.Result{Outcome: payout.Reversed, Found: true, Reference: q.Reference}
			return false, w.rail.did[q.Reference]
		}
		require.NoError(t, w.run(w.claim(operation.Payout)))
		o = w.order(o.ID)
		require.Equal(t, offramp.Sending, o.State)
		require.Equal(t, 2, o.Attempt)
		require.Len(t, w.rows(o.ID, offramp.PayoutFailed), 1)
		require.Empty(t, w.rows(o.ID, offramp.PayoutReversed))
	})
	scenario(t, "a stale attempt's reply is looked up, and what it says is booked only then", func(t *testing.T, w *world) {
		o := w.sending()
		op := w.claim(operation.Payout)
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			// While this call is out, look-ups say failed twice and the order goes on to its second attempt.
			w.rail.net = q.Amount
			w.rail.did[q.Reference] = payout.Result{Outcome: payout.Failed, Found: true, Reference: q.Reference}
			return false, w.rail.paid(q)
		}
		w.during = func() {
			w.rail.net = o.Net
			w.rail.say(op.Reference, payout.Failed)
			require.NoError(t, w.hint(op.Reference))
			w.lookUp()
			delete(w.rail.did, op.Reference)
			require.Equal(t, 2, w.order(o.ID).Attempt)
		}
		require.ErrorIs(t, w.run(op), operation.ErrLeaseLost, "the look-up has closed the operation")
		require.Equal(t, offramp.Sending, w.order(o.ID).State)
	})
	scenario(t, "a failing venue gives the crypto back", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		o := w.place(w.offer(25))
		w.venue.execute = refuses
		w.work()
		o = w.order(o.ID)
		require.Equal(t, offramp.Failed, o.State)
		require.Equal(t, "closed", o.Reason)
		require.Equal(t, 30*oneUSDT, w.account().Available)
		require.Zero(t, w.balances()["desk:NGN"])
	})
	scenario(t, "a venue that fills less than was quoted is unclear", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		o := w.place(w.offer(25))
		w.venue.execute = func(q exchange.Order) (bool, exchange.Result) {
			return false, exchange.Result{Outcome: exchange.Success, Found: true, Filled: q.Gross - 1}
		}
		require.NoError(t, w.run(w.claim(operation.StartExchange)))
		require.Equal(t, offramp.Unclear, w.order(o.ID).State)
	})
}
