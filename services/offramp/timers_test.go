package offramp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// Timers are due times in documents (DESIGN §7).
func TestTimers(t *testing.T) {
	t.Parallel()
	scenario(t, "a window ends to the millisecond, and both are absolute from placing on", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		at := *o.Due
		require.Equal(t, o.CreatedAt.Add(30*time.Minute), at)
		w.clock.Set(at.Add(-time.Millisecond))
		w.sweep()
		require.Equal(t, offramp.Waiting, w.order(o.ID).State)
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		require.Equal(t, o.CreatedAt.Add(6*time.Hour), *w.order(o.ID).Due)
		w.clock.Set(at)
		w.sweep()
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		require.NoError(t, w.fact(deposit.FactDropped, "0x1", 25*oneUSDT))
		require.Equal(t, at, *w.order(o.ID).Due, "the first window does not begin again")
		w.sweep()
		require.Equal(t, offramp.Overdue, w.order(o.ID).State)
		require.Equal(t, at.Add(24*time.Hour), *w.order(o.ID).Due)
	})
	scenario(t, "funding checks the due time of the state, not the quote's expiry", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		w.clock.Advance(29 * time.Minute) // the quote expired 19 minutes ago
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 5*oneUSDT))
		w.deposited("0x2", 25*oneUSDT)
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)

		late := w.place(w.offer(25))
		require.Equal(t, offramp.Waiting, late.State)
		w.clock.Advance(30 * time.Minute) // the timer has not been raised yet
		w.deposited("0x3", 25*oneUSDT)
		require.Equal(t, offramp.Overdue, w.order(late.ID).State, "what comes after the window is late, whoever notices first")
		require.Contains(t, w.notices(), "order.overdue")
		require.Contains(t, w.notices(), "deposit.credited")
	})
	scenario(t, "a timer's event is raised only for the due time that the order still has", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		due := *o.Due
		w.clock.Set(due)
		stale := due.Add(-time.Minute)
		for _, d := range []*time.Time{nil, &stale} {
			_, _, err := w.svc.Raise(t.Context(), o.ID, offramp.Occurrence{On: offramp.WindowElapsed, ID: "x", By: offramp.ByTimer, Due: d})
			require.True(t, fault.Is(err, "event_refused"), err)
		}
		_, already, err := w.svc.Raise(t.Context(), o.ID, offramp.Occurrence{On: offramp.WindowElapsed, ID: "x", By: offramp.ByTimer, Due: &due})
		require.NoError(t, err)
		require.False(t, already)
		_, already, err = w.svc.Raise(t.Context(), o.ID, offramp.Occurrence{On: offramp.WindowElapsed, ID: "x", By: offramp.ByTimer, Due: &due})
		require.NoError(t, err)
		require.True(t, already)
	})
	scenario(t, "an accepted payout that does not end for ten minutes is unclear", func(t *testing.T, w *world) {
		o := w.sending()
		w.rail.send = accepts(w)
		require.NoError(t, w.run(w.claim(operation.Payout)))
		o = w.order(o.ID)
		require.Equal(t, offramp.Sending, o.State)
		require.Equal(t, w.clock.Now().Add(10*time.Minute), *o.Due)
		require.Equal(t, operation.Accepted, w.operation(o.OperationID()).State)
		w.clock.Advance(10 * time.Minute)
		w.sweep()
		o = w.order(o.ID)
		require.Equal(t, offramp.Unclear, o.State)
		w.rail.say(o.Attempts[0].Reference, payout.Success)
		w.pass(time.Minute, 5*time.Second)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Equal(t, 1, w.rail.calls[o.Attempts[0].Reference])
	})
	scenario(t, "an order whose timer cannot be raised does not hold the others up", func(t *testing.T, w *world) {
		first := w.place(w.offer(25))
		w.clock.Advance(time.Second)
		w.person("bob")
		second := w.another(first, "bob")
		w.clock.Advance(time.Hour)
		ada := w.user()
		w.update(func(tx store.Tx) error { return tx.Delete(store.Users, "ada", ada.Revision) })
		worked, err := w.svc.SweepTimers(t.Context())
		require.True(t, worked)
		require.Error(t, err)
		require.Equal(t, offramp.Overdue, w.order(second).State)
		worked, err = w.svc.SweepTimers(t.Context())
		require.False(t, worked)
		require.Error(t, err)
		w.update(func(tx store.Tx) error {
			again := *ada
			again.Revision = 0
			return tx.Insert(store.Users, &again)
		})
		w.sweep()
		require.Equal(t, offramp.Overdue, w.order(first.ID).State)
	})
	scenario(t, "nor do more of them than are read at once", func(t *testing.T, w *world) {
		first := w.place(w.offer(25))
		for i := range 20 {
			w.clock.Advance(time.Second)
			who := fmt.Sprintf("user-%d", i)
			w.person(who)
			w.another(first, who)
			w.update(func(tx store.Tx) error {
				u, err := user.Load(tx, who)
				if err != nil {
					return err
				}
				return tx.Delete(store.Users, who, u.Revision)
			})
		}
		w.clock.Advance(time.Second)
		w.person("bob")
		last := w.another(first, "bob")
		w.clock.Advance(time.Hour)
		worked, err := w.svc.SweepTimers(t.Context())
		require.NoError(t, err)
		require.True(t, worked)
		require.Equal(t, offramp.Overdue, w.order(first.ID).State, "the first in line")
		worked, err = w.svc.SweepTimers(t.Context())
		require.Error(t, err)
		require.True(t, worked)
		require.Equal(t, offramp.Overdue, w.order(last).State)
	})
	scenario(t, "nothing is due where nothing waits", func(t *testing.T, w *world) {
		worked, err := w.svc.SweepTimers(t.Context())
		require.NoError(t, err)
		require.False(t, worked)
		require.Nil(t, w.sold().Due)
	})
}

// another lets another user place the same sale.
func (w *world) another(o *offramp.Order, who string) string {
	w.t.Helper()
	q, err := w.svc.Offer(w.t.Context(), func() offramp.Ask {
		ask := w.ask("intent-"+who, 25)
		ask.User = who
		return ask
	}())
	require.NoError(w.t, err)
	placed, err := w.svc.Place(w.t.Context(), offramp.Placing{Intent: q.ID, User: who, Delivery: "wa:" + who})
	require.NoError(w.t, err)
	require.NotEqual(w.t, o.ID, placed.ID)
	return placed.ID
}

// entries counts the entries of an audit stream.
func (w *world) entries(stream string) (n int) {
	w.t.Helper()
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		all, err := store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{stream}})
		n = len(all)
		return err
	}))
	return n
}

// accepts is a bank that takes a payout and says that it is on its way.
func accepts(w *world) func(payout.Request) (bool, payout.Result) {
	return func(q payout.Request) (bool, payout.Result) {
		w.rail.did[q.Reference] = payout.Result{
			Outcome: payout.Accepted, Found: true, Reference: q.Reference, Amount: q.Amount, Currency: q.Currency, ProviderID: "TRF_1",
		}
		return false, w.rail.did[q.Reference]
	}
}

// An order's history does not grow with what strangers send to its user's address.
func TestHistory_isBounded(t *testing.T) {
	t.Parallel()
	scenario(t, "dust of strangers is in the trail, and in the history up to a bound", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		const dust = 130
		for n := range dust {
			require.NoError(t, w.fact(deposit.FactConfirmed, fmt.Sprint("0xd", n), money.Micro(1)))
		}
		o = w.order(o.ID)
		require.Equal(t, money.Micro(dust), w.account().Available)
		require.Equal(t, 100, len(o.History)) //nolint:testifylint // a failure need not print them
		require.Equal(t, dust+1, w.entries("order:"+o.ID))
		w.deposited("0x1", 25*oneUSDT)
		o = w.order(o.ID)
		require.Equal(t, offramp.Exchange, o.State, "what changes something is always there")
		require.Equal(t, offramp.Exchange, o.History[len(o.History)-1].To)
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	scenario(t, "an unfunded order is cancelled once", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		for range 2 {
			got, err := w.svc.Cancel(t.Context(), "ada", o.ID, "wa:1")
			require.NoError(t, err)
			require.Equal(t, offramp.Cancelled, got.State)
		}
		require.Len(t, w.rows(o.ID, offramp.UserCancelled), 1)
		require.NotNil(t, w.order(o.ID).EndedAt)
	})
	scenario(t, "a funded order is not, and that is in the trail", func(t *testing.T, w *world) {
		w.deposited("0x1", 25*oneUSDT)
		o := w.place(w.offer(25))
		before := w.entries("order:" + o.ID)
		_, err := w.svc.Cancel(t.Context(), "ada", o.ID, "wa:1")
		require.True(t, fault.Is(err, "cannot_cancel"), err)
		require.Equal(t, "exchange", fault.As(err).Args["state"])
		require.Equal(t, before+1, w.entries("order:"+o.ID))
		require.Equal(t, o.Revision, w.order(o.ID).Revision)
	})
	scenario(t, "another's order is unknown", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		w.person("bob")
		for _, who := range [][2]string{{"bob", o.ID}, {"ada", "nobody"}} {
			_, err := w.svc.Cancel(t.Context(), who[0], who[1], "wa:1")
			require.True(t, fault.Is(err, "order_unknown"), err)
		}
		_, err := w.svc.ByReference(t.Context(), "bob", o.Reference)
		require.True(t, fault.Is(err, "order_unknown"), err)
		_, err = w.svc.ByReference(t.Context(), "ada", "NOBODY")
		require.True(t, fault.Is(err, "order_unknown"), err)
		got, err := w.svc.ByReference(t.Context(), "ada", o.Reference)
		require.NoError(t, err)
		require.Equal(t, o.ID, got.ID)
		open, err := w.svc.Open(t.Context(), "ada")
		require.NoError(t, err)
		require.Len(t, open, 1)
		_, err = w.svc.Order(t.Context(), "nobody")
		require.True(t, fault.Is(err, "order_unknown"), err)
	})
}
