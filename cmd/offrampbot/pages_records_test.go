package main

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/sandbox"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestPages_parkedRecordsAndBlockedDuplicates(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	p := w.newPerson()
	p.signsUp()
	o := w.becomes(p.sells("25 usdt on base", "0123456789"), offramp.Waiting)
	const receipt, payout = "paystack:transfer.odd:x:y", "payout:nothing"
	require.NoError(t, w.db.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		at := nowMillis()
		r := &delivery.Receipt{
			Meta: store.Meta{ID: receipt, Version: 1}, Source: delivery.Payout, Partition: "p", State: delivery.Unhandled, Order: o.ID,
			Reason: "an event nobody knows", SentAt: at, ReceivedAt: at, DoneAt: &at,
		}
		if err := tx.Insert(store.Inbox, r); err != nil {
			return err
		}
		op := &operation.Operation{
			Meta: store.Meta{ID: payout, Version: 1}, Kind: operation.Payout, Order: o.ID, State: operation.Parked, Reason: "too many tries", CreatedAt: at,
		}
		if err := tx.Insert(store.Outbox, op); err != nil {
			return err
		}
		return audit.Append(tx, audit.Entry{
			Stream: "user:" + o.User, At: at, Actor: "guard", Action: audit.DuplicateBlocked, Why: "the same sale is open",
			Data: map[string]string{"intent": "another-intent", "blocked_by": o.ID},
		})
	}))
	d := w.desk(sandbox.DefaultOperator())
	d.logsIn()
	page := d.page("/admin/parked")
	d.says(page, "an event nobody knows", "too many tries", "It moves money: resume its order with a second person.")
	d.says(d.page("/admin/"), "2 Parked records")
	money := d.post(page, "/admin/parked/"+payout+"/redrive", "reason", "please")
	require.Equal(t, 409, money.status)
	d.says(money, "it moves money")
	short := d.post(d.page("/admin/parked"), "/admin/parked/"+receipt+"/redrive", "reason", "x")
	require.Equal(t, 422, short.status)
	done := d.post(d.page("/admin/parked"), "/admin/parked/"+receipt+"/redrive", "reason", "the event is known now")
	require.Equal(t, "/admin/parked?done=redriven", done.path)
	d.says(d.page("/admin/audit?q="+o.Reference), "record driven again", "the event is known now")

	d.says(d.page("/admin/duplicates"), "the same sale is open", "another-intent", o.ID)
	d.says(d.page("/admin/duplicates?q="+o.Reference), "another-intent")
	d.says(d.page("/admin/duplicates?q=nothing"), "No duplicate was blocked here.")
}
