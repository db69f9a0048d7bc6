package offramp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// The tests of this file are the nineteen of source article 000 (R46), on the real service and both engines. R46 numbers
// them; number 18, the table of invalid events, is the edge's (webhooks).
func TestArticle000_oneFactIsAppliedOnce(t *testing.T) {
	t.Parallel()
	scenario(t, "0 a first delivery is applied: state, hold, operation, receipt, one revision", func(t *testing.T, w *world) {
		before, c := w.awaited()
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "applied", Operation: "start-exchange:" + before.ID, State: offramp.Exchange}, got)
		o := w.order(before.ID)
		require.Equal(t, before.Revision+1, o.Revision)
		require.Equal(t, offramp.OnHold, o.Hold)
		op := w.operation(got.Operation)
		require.Equal(t, operation.StartExchange, op.Kind)
		require.Equal(t, operation.Pending, op.State)
		require.Equal(t, before.ID, op.Order)
		r := w.receipt("evt-1")
		require.Equal(t, "applied", r["outcome"])
		require.Equal(t, before.ID, r["order"])
		require.NotEmpty(t, r["fingerprint"])
		for _, unchanged := range [][2]any{
			{before.Quote, o.Quote}, {before.Amount, o.Amount}, {before.Net, o.Net}, {before.Reference, o.Reference},
			{before.WaitingUntil, o.WaitingUntil}, {before.Beneficiary, o.Beneficiary},
		} {
			require.Equal(t, unchanged[0], unchanged[1])
		}
	})
	scenario(t, "1 a replay of the same event writes nothing", func(t *testing.T, w *world) {
		_, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		before := w.dump()
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "duplicate-delivery", State: offramp.Exchange}, got)
		require.Equal(t, before, w.dump())
	})
	scenario(t, "2 the same fact under a new event id is already applied: a receipt, nothing else", func(t *testing.T, w *world) {
		o, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		before := w.dump()
		got, err := w.confirm(as(c, "evt-2"))
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "already-applied", State: offramp.Exchange}, got)
		require.Equal(t, "already-applied", w.receipt("evt-2")["outcome"])
		after := w.dump()
		for id, doc := range before {
			require.Equal(t, doc, after[id], id)
		}
		require.Len(t, after, len(before)+2, "the receipt and its link")
		require.Equal(t, 1, w.operations(o.ID, operation.StartExchange))
	})
	scenario(t, "3 of 25 events for one fact at once, one is applied", func(t *testing.T, w *world) {
		o, c := w.awaited()
		got := w.storm(func(n int) offramp.Confirmation { return as(c, fmt.Sprint("evt-", n)) })
		require.Equal(t, map[string]int{"applied": 1, "already-applied": 24}, got)
		after := w.order(o.ID)
		require.Equal(t, o.Revision+1, after.Revision)
		require.Equal(t, 1, w.operations(o.ID, operation.StartExchange))
		require.Len(t, w.rows(o.ID, offramp.DepositConfirmed), 1)
	})
	scenario(t, "3 of 25 deliveries of one event at once, one is applied", func(t *testing.T, w *world) {
		o, c := w.awaited()
		require.Equal(t, map[string]int{"applied": 1, "duplicate-delivery": 24}, w.storm(func(int) offramp.Confirmation { return c }))
		require.Equal(t, o.Revision+1, w.order(o.ID).Revision)
	})
	scenario(t, "3 a delivery whose receipt no snapshot shows yet is a duplicate all the same", func(t *testing.T, w *world) {
		o, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		svc := w.service(trailing{w.engine})
		got, err := svc.Confirm(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "duplicate-delivery", State: offramp.Exchange}, got)
		other := c
		other.Amount = "1"
		_, err = svc.Confirm(t.Context(), other)
		require.True(t, fault.Is(err, "event_conflict"), err)
		require.Equal(t, o.Revision+1, w.order(o.ID).Revision)
	})
}

func TestArticle000_whatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	scenario(t, "4 an unknown workflow leaves no receipt", func(t *testing.T, w *world) {
		_, c := w.awaited()
		c.Order = "nobody"
		w.refused(c, "workflow_unknown")
	})
	scenario(t, "5 another deposit ref is a mismatch", func(t *testing.T, w *world) {
		_, c := w.awaited()
		for _, ref := range []string{"base:0x2:0", "base:0x1:1", "bnb:0x1:0", "BASE:0x1:0"} {
			c.Ref = ref
			w.refused(c, "mismatch")
		}
	})
	scenario(t, "6 another amount is a mismatch, by one base unit too", func(t *testing.T, w *world) {
		_, c := w.awaited()
		for _, amount := range []string{"24999999", "25000001", "250000000", strings.Repeat("9", 78)} {
			c.Amount = amount
			w.refused(c, "mismatch")
		}
	})
	scenario(t, "7 waiting is refused, by name", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
		require.Equal(t, offramp.Waiting, w.order(o.ID).State)
		c := offramp.Confirmation{EventID: "evt-1", Order: o.ID, Ref: deposit.Ref("base", "0x1", 0), Amount: "10000000"}
		require.Equal(t, "waiting", w.refused(c, "state_refused").Args["state"])
		require.NoError(t, w.fact(deposit.FactConfirmed, "0x1", 10*oneUSDT), "the watcher's own credit never is")
		require.Equal(t, 10*oneUSDT, w.account().Available)
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "already-applied", got.Outcome, "its confirmation is in the order's history now")
	})
	scenario(t, "8 overdue is refused, by name", func(t *testing.T, w *world) {
		o, c := w.awaited()
		w.clock.Advance(7 * time.Hour)
		w.sweep()
		require.Equal(t, offramp.Overdue, w.order(o.ID).State)
		require.Equal(t, "overdue", w.refused(c, "state_refused").Args["state"])
		require.NoError(t, w.fact(deposit.FactConfirmed, "0x1", 25*oneUSDT))
		require.Equal(t, 25*oneUSDT, w.account().Available, "late money credits the balance")
		require.Equal(t, offramp.Overdue, w.order(o.ID).State, "and starts nothing")
	})
	scenario(t, "9 a state that nobody knows is refused, by name", func(t *testing.T, w *world) {
		o, c := w.awaited()
		w.force(o.ID, "nonsense")
		require.Equal(t, "nonsense", w.refused(c, "state_refused").Args["state"])
		w.force(o.ID, offramp.Deposit)
	})
}

func TestArticle000_laterStatesHaveAppliedIt(t *testing.T) {
	t.Parallel()
	scenario(t, "10 to 12 exchange, sending and success have applied it already", func(t *testing.T, w *world) {
		o, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		for i, state := range []offramp.State{offramp.Exchange, offramp.Sending, offramp.Success} {
			if i > 0 {
				kind := []operation.Kind{operation.StartExchange, operation.Payout}[i-1]
				require.NoError(t, w.run(w.claim(kind)))
			}
			before := w.order(o.ID)
			require.Equal(t, state, before.State)
			got, err := w.confirm(as(c, "evt-later-"+string(state)))
			require.NoError(t, err)
			require.Equal(t, offramp.Confirmed{Outcome: "already-applied", State: state}, got)
			require.Equal(t, before.Revision, w.order(o.ID).Revision)
			require.NotNil(t, w.receipt("evt-later-"+string(state)))
		}
	})
	scenario(t, "12b every other later state has applied it already", func(t *testing.T, w *world) {
		o, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		for _, state := range []offramp.State{offramp.Unclear, offramp.Review, offramp.Failed, offramp.Returned, offramp.Cancelled} {
			w.force(o.ID, state)
			got, err := w.confirm(as(c, "evt-"+string(state)))
			require.NoError(t, err)
			require.Equal(t, offramp.Confirmed{Outcome: "already-applied", State: state}, got)
		}
		w.force(o.ID, offramp.Exchange)
	})
}

func TestArticle000_conflictsAndFailuresLeaveNothing(t *testing.T) {
	t.Parallel()
	for n, change := range map[string]func(c *offramp.Confirmation){
		"13 the same event id with another amount is a conflict":   func(c *offramp.Confirmation) { c.Amount = "26000000" },
		"14 the same event id with another ref is a conflict":      func(c *offramp.Confirmation) { c.Ref = "base:0x2:0" },
		"15 the same event id with another workflow is a conflict": func(c *offramp.Confirmation) { c.Order = "another" },
	} {
		scenario(t, n, func(t *testing.T, w *world) {
			_, c := w.awaited()
			_, err := w.confirm(c)
			require.NoError(t, err)
			change(&c)
			w.refused(c, "event_conflict")
		})
	}
	scenario(t, "16 and 17 an error at any write leaves everything as it was, and a retry succeeds", func(t *testing.T, w *world) {
		o, c := w.awaited()
		before := w.dump()
		for n := 1; ; n++ {
			failing := &failAt{Engine: w.engine, at: n}
			svc := w.service(failing)
			_, err := svc.Confirm(t.Context(), c)
			if err == nil {
				require.Greater(t, n, 10, "a confirmation writes more than ten documents")
				break
			}
			require.ErrorIs(t, err, errWrite, "write %d", n)
			require.Equal(t, before, w.dump(), "write %d", n)
		}
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
		require.NotNil(t, w.receipt("evt-1"))
	})
	scenario(t, "19 an operation that is there already is a conflict, and gone it applies", func(t *testing.T, w *world) {
		o, c := w.awaited()
		op := operation.New(operation.StartExchange, "start-exchange:"+o.ID, o.ID, "ada", "order:"+o.ID, w.clock.Now(), w.clock.Now())
		w.update(func(tx store.Tx) error { return tx.Insert(store.Outbox, op) })
		w.refused(c, "operation_conflict")
		w.update(func(tx store.Tx) error { return tx.Delete(store.Outbox, op.ID, op.Revision) })
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "applied", got.Outcome)
	})
}
