package offramp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

// awaited is an order in state deposit and the confirmation that its one deposit waits for.
func (w *world) awaited() (*offramp.Order, offramp.Confirmation) {
	w.t.Helper()
	o := w.place(w.offer(25))
	require.NoError(w.t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
	o = w.order(o.ID)
	require.Equal(w.t, offramp.Deposit, o.State)
	return o, offramp.Confirmation{EventID: "evt-1", Order: o.ID, Ref: deposit.Ref("base", "0x1", 0), Amount: "25000000"}
}

// as is the same confirmation under another event id.
func as(c offramp.Confirmation, event string) offramp.Confirmation {
	c.EventID = event
	return c
}

func (w *world) confirm(c offramp.Confirmation) (offramp.Confirmed, error) {
	return w.svc.Confirm(w.t.Context(), c)
}

// refused confirms and wants this refusal and no write of any kind.
func (w *world) refused(c offramp.Confirmation, code string) *fault.Error {
	w.t.Helper()
	before := w.dump()
	_, err := w.confirm(c)
	require.True(w.t, fault.Is(err, code), "%v", err)
	require.Equal(w.t, before, w.dump(), "a refusal stores nothing")
	return fault.As(err)
}

// document is any stored document as it is.
type document struct {
	store.Meta `bson:",inline"`
	Rest       map[string]any `bson:",inline"`
}

// dump is everything that is stored, by collection and id.
func (w *world) dump() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		clear(out)
		for _, c := range []store.Collection{
			store.Users, store.Quotes, store.Orders, store.Accounts, store.Limits, store.Postings, store.Deposits, store.Inbox,
			store.Outbox, store.Audit, store.Heads, store.Links,
		} {
			all, err := store.All[document](r, store.Query{Collection: c, Index: store.ByID})
			if err != nil {
				return err
			}
			for _, d := range all {
				out[string(c)+" "+d.ID] = fmt.Sprint(d.Revision, d.Rest)
			}
		}
		return nil
	}))
	return out
}

// receipt reads the receipt of an event, nil when there is none.
func (w *world) receipt(event string) map[string]any {
	w.t.Helper()
	var d document
	err := w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Get(store.Inbox, ids.ChainDelivery(event), &d)
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	require.NoError(w.t, err)
	return d.Rest
}

// The nineteen tests of source article 000 (R46), on the real service and both engines. R46 numbers them; number 18, the
// table of invalid events, is the edge's (webhooks).
func TestArticle000(t *testing.T) {
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

// storm confirms 25 times at once and counts the outcomes.
func (w *world) storm(event func(n int) offramp.Confirmation) map[string]int {
	w.t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	for n := range 25 {
		wg.Go(func() {
			answer, err := w.confirm(event(n))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				answer.Outcome = err.Error()
			}
			got[answer.Outcome]++
		})
	}
	wg.Wait()
	return got
}

// all lists the operations of an order.
func (w *world) all(order string) (all []*operation.Operation) {
	w.t.Helper()
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		all, err = store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "order", Equal: []any{order}})
		return err
	}))
	return all
}

// operations counts the operations of an order of a kind.
func (w *world) operations(order string, kind operation.Kind) (n int) {
	w.t.Helper()
	for _, op := range w.all(order) {
		if op.Kind == kind {
			n++
		}
	}
	return n
}

// rows lists the facts of one event in an order's history.
func (w *world) rows(order string, on offramp.Event) (out []offramp.Fact) {
	for _, f := range w.order(order).History {
		if f.Event == on {
			out = append(out, f)
		}
	}
	return out
}

// force writes a state behind the table's back.
func (w *world) force(order string, s offramp.State) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		var o offramp.Order
		if err := tx.Get(store.Orders, order, &o); err != nil {
			return err
		}
		o.State = s
		return tx.Replace(store.Orders, &o)
	})
}

var errWrite = errors.New("write failed")

// failAt fails one write of every transaction, counted from 1.
type failAt struct {
	store.Engine
	at     int
	writes int // of the latest transaction
}

func (e *failAt) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	return e.Engine.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		e.writes = 0
		return fn(ctx, &failTx{tx, e})
	})
}

type failTx struct {
	store.Tx
	e *failAt
}

func (t *failTx) fail() error {
	if t.e.writes++; t.e.writes == t.e.at {
		return errWrite
	}
	return nil
}

func (t *failTx) Insert(c store.Collection, d store.Document) error {
	if err := t.fail(); err != nil {
		return err
	}
	return t.Tx.Insert(c, d)
}

func (t *failTx) Ensure(c store.Collection, d store.Document) (bool, error) {
	if err := t.fail(); err != nil {
		return false, err
	}
	return t.Tx.Ensure(c, d)
}

func (t *failTx) Replace(c store.Collection, d store.Document) error {
	if err := t.fail(); err != nil {
		return err
	}
	return t.Tx.Replace(c, d)
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	scenario(t, "the checks run in this order: event id, workflow, ref and amount, state", func(t *testing.T, w *world) {
		o, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		all := offramp.Confirmation{EventID: "evt-1", Order: "nobody", Ref: "x", Amount: "1"}
		w.refused(all, "event_conflict")
		all.EventID = "evt-9"
		w.refused(all, "workflow_unknown")
		other := w.place(w.offer(5))
		require.Equal(t, offramp.Waiting, other.State)
		all.Order = other.ID
		w.refused(all, "mismatch")
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", oneUSDT))
		all.Ref, all.Amount = deposit.Ref("base", "0x2", 0), "1000000"
		w.refused(all, "state_refused")
		require.NotEqual(t, o.ID, other.ID)
	})
	scenario(t, "a refusal leaves no mark: the same bytes are applied when the state allows", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
		c := offramp.Confirmation{EventID: "evt-1", Order: o.ID, Ref: deposit.Ref("base", "0x1", 0), Amount: "10000000"}
		w.refused(c, "state_refused")
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 15*oneUSDT))
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "applied", State: offramp.Deposit}, got, "one of two deposits: no operation yet")
		got, err = w.confirm(offramp.Confirmation{EventID: "evt-2", Order: o.ID, Ref: deposit.Ref("base", "0x2", 0), Amount: "15000000"})
		require.NoError(t, err)
		require.Equal(t, "start-exchange:"+o.ID, got.Operation)
	})
	scenario(t, "a deposit that is proven gone does not count, and counts again when it is back", func(t *testing.T, w *world) {
		o, c := w.awaited()
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 25*oneUSDT))
		require.NoError(t, w.fact(deposit.FactDropped, "0x1", 25*oneUSDT))
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		w.refused(c, "mismatch")
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "applied", got.Outcome)
	})
	scenario(t, "a deposit of another user, of another asset or parked does not count", func(t *testing.T, w *world) {
		_, c := w.awaited()
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 25*oneUSDT))
		require.NoError(t, w.fact(deposit.FactParked, "0x2", 25*oneUSDT))
		c.Ref = deposit.Ref("base", "0x2", 0)
		w.refused(c, "mismatch")
		d := w.stored("0x1")
		for _, change := range []func(d *deposit.Deposit){
			func(d *deposit.Deposit) { d.User = "bob" }, func(d *deposit.Deposit) { d.Asset = "USDC" },
		} {
			c := *d
			change(&c)
			c.ID = "base:other:0"
			c.Revision = 0
			w.update(func(tx store.Tx) error { return tx.Insert(store.Deposits, &c) })
			w.refused(offramp.Confirmation{EventID: "evt-1", Order: w.only().ID, Ref: c.ID, Amount: "25000000"}, "mismatch")
			w.update(func(tx store.Tx) error { return tx.Delete(store.Deposits, c.ID, c.Revision) })
		}
	})
	scenario(t, "watcher and verifier race: one credit per ref and epoch", func(t *testing.T, w *world) {
		o, c := w.awaited()
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() { _, _ = w.confirm(as(c, fmt.Sprint("evt-", n))) })
			wg.Go(func() { _ = w.fact(deposit.FactConfirmed, "0x1", 25*oneUSDT) })
		}
		wg.Wait()
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
		require.Equal(t, 25*oneUSDT, w.account().Held)
		require.Zero(t, w.account().Available)
	})
	scenario(t, "after a reversal the same ref confirms again in its new epoch, under a new event", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
		require.NoError(t, w.fact(deposit.FactSeen, "0x2", 15*oneUSDT))
		c := offramp.Confirmation{EventID: "evt-1", Order: o.ID, Ref: deposit.Ref("base", "0x1", 0), Amount: "10000000"}
		for epoch := 1; epoch <= 3; epoch++ {
			got, err := w.confirm(as(c, fmt.Sprint("evt-", epoch)))
			require.NoError(t, err)
			require.Equal(t, "applied", got.Outcome)
			require.Equal(t, 10*oneUSDT, w.account().Available)
			require.NoError(t, w.fact(deposit.FactReverted, "0x1", 10*oneUSDT))
			require.NoError(t, w.fact(deposit.FactSeen, "0x1", 10*oneUSDT))
			require.Zero(t, w.account().Available)
		}
		require.Len(t, w.rows(o.ID, offramp.DepositConfirmed), 3)
	})
	scenario(t, "R20 without receipts the business guards still know what was applied", func(t *testing.T, w *world) {
		_, c := w.awaited()
		_, err := w.confirm(c)
		require.NoError(t, err)
		w.update(func(tx store.Tx) error { return tx.Delete(store.Inbox, ids.ChainDelivery("evt-1"), 1) })
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "already-applied", got.Outcome)
	})
	scenario(t, "a frozen user's deposit is credited and applied, and starts nothing", func(t *testing.T, w *world) {
		o, c := w.awaited()
		require.NoError(t, w.svc.FreezeUser(t.Context(), "ada", "because", "staff:one"))
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, offramp.Confirmed{Outcome: "applied", State: offramp.Deposit}, got)
		require.Equal(t, "user_frozen", w.order(o.ID).Reason)
		require.NoError(t, w.svc.UnfreezeUser(t.Context(), "ada", "because", "staff:one"))
		require.Equal(t, offramp.Exchange, w.order(o.ID).State)
	})
}

// only is the one order there is.
func (w *world) only() *offramp.Order {
	w.t.Helper()
	all, err := w.svc.History(w.t.Context(), "ada", 2)
	require.NoError(w.t, err)
	require.Len(w.t, all, 1)
	return all[0]
}

// TestTwice runs a whole sale with every transaction run twice, as after conflicts: nothing happens twice (R33).
func TestTwice(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine)
		w.engine = storetest.Twice(engine)
		w.svc = w.service(w.engine)
		o, c := w.awaited()
		got, err := w.confirm(c)
		require.NoError(t, err)
		require.Equal(t, "applied", got.Outcome)
		w.rail.send = lost(true)
		w.work()
		w.pass(time.Minute, 10*time.Second)
		o = w.order(o.ID)
		require.Equal(t, offramp.Success, o.State)
		require.Equal(t, 1, w.rail.calls[o.Attempts[0].Reference])
		w.turnsOut(o.Attempts[0].Reference, payout.Reversed)
		require.Equal(t, offramp.Returned, w.order(o.ID).State)
		require.Equal(t, 25*oneUSDT, w.account().Available)
		w.verify()
	})
}
