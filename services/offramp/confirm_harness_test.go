package offramp_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
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

// only is the one order there is.
func (w *world) only() *offramp.Order {
	w.t.Helper()
	all, err := w.svc.History(w.t.Context(), "ada", 2)
	require.NoError(w.t, err)
	require.Len(w.t, all, 1)
	return all[0]
}

// trailing is an engine whose snapshot reads are behind what transactions see, as they are on a replica set until a
// majority has a commit.
type trailing struct{ store.Engine }

func (e trailing) View(ctx context.Context, fn func(ctx context.Context, r store.Reader) error) error {
	return e.Engine.View(ctx, func(ctx context.Context, r store.Reader) error { return fn(ctx, behind{r}) })
}

// behind has no receipts yet.
type behind struct{ store.Reader }

func (b behind) Get(c store.Collection, id string, into store.Document) error {
	if c == store.Inbox {
		return store.ErrNotFound
	}
	return b.Reader.Get(c, id, into)
}
