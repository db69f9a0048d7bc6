package offramp_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/ids"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// sold places a covered order whose money is exchanged and paid by the workers.
func (w *world) sold() *offramp.Order {
	w.t.Helper()
	w.deposited("0x1", 30*oneUSDT)
	o := w.place(w.offer(25))
	w.work()
	return w.order(o.ID)
}

// A reply to the call that pays decides nothing: what a look-up says counts (R20).
func TestPayout_replyIsVerified(t *testing.T) {
	t.Parallel()
	for _, outcome := range []payout.Outcome{payout.Failed, payout.Reversed} {
		scenario(t, "a transfer is made and its reply says "+string(outcome), func(t *testing.T, w *world) {
			w.rail.send = func(q payout.Request) (bool, payout.Result) {
				return true, payout.Result{
					Outcome: outcome, Found: true, Reference: q.Reference, ProviderID: "TRF_1", Amount: q.Amount, Currency: q.Currency,
				}
			}
			o := w.sold()
			require.Equal(t, offramp.Success, o.State)
			require.Len(t, w.rail.order, 1, "paid once")
		})
	}
	scenario(t, "a transfer's reply says failed and nobody knows it when asked", func(t *testing.T, w *world) {
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			return false, payout.Result{Outcome: payout.Failed, Found: true, Reference: q.Reference, ProviderID: "TRF_1", RawStatus: "failed"}
		}
		require.Equal(t, offramp.Unclear, w.sold().State, "a transfer may still come to light")
	})
	scenario(t, "the reply says success while the bank has not paid yet", func(t *testing.T, w *world) {
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			w.rail.did[q.Reference] = payout.Result{
				Outcome: payout.Accepted, Found: true, Reference: q.Reference, Amount: q.Amount, Currency: q.Currency,
			}
			return false, w.rail.paid(q)
		}
		o := w.sold()
		require.Equal(t, offramp.Sending, o.State)
		w.rail.say(o.Attempts[0].Reference, payout.Success)
		w.pass(time.Minute, 5*time.Second)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Len(t, w.order(o.ID).Attempts, 1)
	})
	scenario(t, "a call that is turned down before it is a transfer lets the next attempt pay", func(t *testing.T, w *world) {
		w.rail.send = func(q payout.Request) (bool, payout.Result) {
			if len(w.rail.calls) == 1 {
				return false, payout.Result{Outcome: payout.Failed, Found: true, Reference: q.Reference, Reason: "recipient is not valid"}
			}
			return true, w.rail.paid(q)
		}
		o := w.sold()
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 2, o.Paid)
	})
}

// One look-up that says failed lets nobody pay again.
func TestPayout_failureIsConfirmed(t *testing.T) {
	t.Parallel()
	scenario(t, "a look-up says failed, the next one success", func(t *testing.T, w *world) {
		w.rail.send = lost(true)
		w.rail.says = []payout.Outcome{payout.Failed, payout.Success}
		o := w.sold()
		require.Equal(t, offramp.Unclear, o.State)
		w.pass(time.Minute, 5*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Len(t, o.Attempts, 1)
		require.Len(t, w.rail.order, 1)
	})
}

// A failed attempt is asked about again, so that a failure which the provider takes back does not go unnoticed.
func TestPayout_failureIsWatched(t *testing.T) {
	t.Parallel()
	scenario(t, "taken back after the next attempt has paid", func(t *testing.T, w *world) {
		w.rail.send = lost(false)
		o := w.sold()
		w.rail.say(o.Attempts[0].Reference, payout.Failed)
		w.rail.send = nil
		w.pass(time.Minute, 5*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 2, o.Paid)

		w.rail.say(o.Attempts[0].Reference, payout.Success)
		w.pass(2*time.Hour, 10*time.Minute)
		require.Equal(t, offramp.AttemptPaid, w.order(o.ID).Attempts[0].State)
		require.NotNil(t, w.user().Frozen)
		require.NotEmpty(t, w.alerts())
		w.balances()
	})
	scenario(t, "taken back after the sale has failed", func(t *testing.T, w *world) {
		w.rail.send = lost(false)
		o := w.sold()
		w.rail.say(o.Attempts[0].Reference, payout.Failed)
		w.pass(time.Minute, 5*time.Second)
		o = w.order(o.ID)
		require.Len(t, o.Attempts, 2)
		w.rail.say(o.Attempts[1].Reference, payout.Failed)
		w.pass(time.Minute, 5*time.Second)
		require.Equal(t, offramp.Failed, w.order(o.ID).State)

		w.rail.say(o.Attempts[0].Reference, payout.Success)
		w.pass(2*time.Hour, 10*time.Minute)
		require.NotNil(t, w.user().Frozen)
		w.balances()
	})
	scenario(t, "it ends after three days", func(t *testing.T, w *world) {
		w.rail.send = lost(false)
		o := w.sold()
		w.rail.say(o.Attempts[0].Reference, payout.Failed)
		w.rail.send = nil
		w.pass(100*time.Hour, time.Hour)
		asked := w.rail.lookUps
		w.pass(100*time.Hour, time.Hour)
		require.Equal(t, asked, w.rail.lookUps)
	})
}

// Rule 8: a freeze for a shortfall ends with the debt; any other reason stays.
func TestRule8_freezeEndsWithTheDebt(t *testing.T) {
	t.Parallel()
	for _, also := range []string{"", "an operator's reason"} {
		scenario(t, "also frozen: "+also, func(t *testing.T, w *world) {
			o := w.sold()
			require.Equal(t, offramp.Success, o.State)
			require.NoError(t, w.fact(deposit.FactReverted, "0x1", 30*oneUSDT))
			require.True(t, w.account().Shortfall())
			require.NotNil(t, w.user().Frozen)
			if also != "" {
				require.NoError(t, w.svc.FreezeUser(t.Context(), "ada", also, "staff:one"))
			}
			w.deposited("0x2", 30*oneUSDT)
			require.False(t, w.account().Shortfall())
			if also == "" {
				require.Nil(t, w.user().Frozen)
				return
			}
			require.Equal(t, &user.Freeze{Since: w.user().Frozen.Since, Why: also}, w.user().Frozen)
		})
	}
}

// Admins find an order by every id that the provider gave it.
func TestPayout_isFoundByTheProvidersIDs(t *testing.T) {
	t.Parallel()
	scenario(t, "paid", func(t *testing.T, w *world) {
		o := w.sold()
		require.Equal(t, offramp.Success, o.State)
		var found []*store.Link
		require.NoError(t, w.engine.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
			found, err = store.Related(r, ids.NormalID(o.Attempts[0].SessionID))
			return err
		}))
		require.Len(t, found, 1)
		require.Equal(t, o.ID, found[0].Target)
	})
}
