package story_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/figures"
	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestList_orders(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		d.rail.pays = true
		d.deposited("ada", 1, 100)
		var placed []string
		for i := range 7 { // two in the same millisecond, then one a minute
			if i > 1 {
				d.clock.Advance(time.Minute)
			}
			placed = append(placed, d.sell("ada", 10).ID)
		}
		d.work()
		open := d.sell("bob", 20)
		newest := append([]string{open.ID}, placed[6], placed[5], placed[4], placed[3], placed[2])
		for _, limit := range []int{1, 2, 3, 50} {
			got := idsOf(d.list(admin.Orders, limit, "", nil))
			require.Equal(t, newest, got[:6], "newest first, %d a page", limit)
			require.ElementsMatch(t, placed[:2], got[6:])
		}
		require.ElementsMatch(t, placed, idsOf(d.list(admin.Orders, 2, "", map[string]string{"state": "success"})))
		require.Equal(t, []string{open.ID}, idsOf(d.list(admin.Orders, 2, "", map[string]string{"state": "waiting"})))
		require.Equal(t, []string{open.ID}, idsOf(d.list(admin.Orders, 2, "", map[string]string{"user": "bob", "state": "waiting"})))
		require.Empty(t, d.list(admin.Orders, 2, "", map[string]string{"user": "bob", "state": "success"}))
		from := d.clock.Now().Add(-2 * time.Minute).Format(time.RFC3339)
		until := d.clock.Now().Format(time.RFC3339)
		require.Equal(t, []string{placed[5], placed[4]}, idsOf(d.list(admin.Orders, 1, "", map[string]string{"from": from, "until": until})))

		one := d.order(placed[3])
		for _, text := range []string{one.ID, one.Reference, one.Attempts[0].Reference, "payout:" + one.ID} {
			require.Equal(t, []string{one.ID}, idsOf(d.list(admin.Orders, 2, text, nil)), text)
		}
		require.Len(t, d.list(admin.Orders, 2, "ada", nil), 7, "all of a user")
		require.Len(t, d.list(admin.Orders, 3, "+234 801 234 5678", nil), 7, "by the number's digest")
		d.update(func(tx store.Tx) error { return store.Relate(tx, d.digest(phoneNumber), "user", "bob") }) // the number moved on
		both := append([]string{open.ID}, idsOf(d.list(admin.Orders, 50, "", map[string]string{"user": "ada"}))...)
		require.Equal(t, both, idsOf(d.list(admin.Orders, 3, phoneNumber, nil)))
		require.Equal(t, []string{open.ID}, idsOf(d.list(admin.Orders, 3, phoneNumber, map[string]string{"state": "waiting"})))
		require.Len(t, d.list(admin.Orders, 3, "ada", map[string]string{"state": "success"}), 7)
		require.Empty(t, d.list(admin.Orders, 3, one.ID, map[string]string{"state": "failed"}))
		require.Empty(t, d.list(admin.Orders, 2, "nothing", nil))
		require.NotEmpty(t, d.list(admin.Orders, 2, txHash(1), nil), "those that a deposit counted for")
	})
}

func TestList_refusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, testkit.Bolt(t, indexes()))
	d.deposited("bob", 1, 30)
	for range 3 {
		d.sell("bob", 10)
	}
	page, err := d.sut.List(t.Context(), admin.Orders, admin.Query{Limit: 1})
	require.NoError(t, err)
	require.NotEmpty(t, page.Next)
	for _, list := range admin.Lists() {
		for name, q := range map[string]admin.Query{
			"a word":                     {Cursor: "%%%"},
			"another text":               {Cursor: "aGVsbG8"},
			"a cursor of another length": {Cursor: must(store.Cursor{"a", "b", "c", "d", "e"}.Encode())},
			"a time":                     {Filters: map[string]string{"from": "yesterday"}},
		} {
			_, err := d.sut.List(t.Context(), list, q)
			require.Error(t, err, "%s: %s", list, name)
			d.refused(err, "body_invalid")
		}
	}
	_, err = d.sut.List(t.Context(), admin.Orders, admin.Query{Cursor: page.Next, Filters: map[string]string{"state": "success"}})
	d.refused(err, "body_invalid")
	_, err = d.sut.List(t.Context(), "secrets", admin.Query{})
	d.refused(err, "route_unknown")
}

func must(word string, err error) string {
	if err != nil {
		panic(err)
	}
	return word
}

func TestList_auditAndDuplicates(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		o := d.sell("ada", 10)
		var blocked []string
		for i := range 5 {
			d.clock.Advance(time.Minute)
			d.update(func(tx store.Tx) error {
				return audit.Append(tx, audit.Entry{
					Stream: "user:ada", At: d.clock.Now(), Actor: "user:ada", Action: audit.DuplicateBlocked, Why: fmt.Sprint(i),
					Data: map[string]string{"intent": "another", "blocked_by": o.ID},
				})
			})
			blocked = append(blocked, audit.ID("user:ada", int64(1+i)))
		}
		slices.Reverse(blocked)
		require.Equal(t, blocked, idsOf(d.list(admin.Duplicates, 2, "", nil)))
		require.Equal(t, blocked, idsOf(d.list(admin.Duplicates, 2, o.Reference, nil)))
		require.Equal(t, blocked, idsOf(d.list(admin.Duplicates, 2, "ada", nil)))
		require.Empty(t, d.list(admin.Duplicates, 2, "bob", nil))
		until := d.clock.Now().Add(-time.Minute).Format(time.RFC3339)
		require.Equal(t, blocked[2:], idsOf(d.list(admin.Duplicates, 2, "", map[string]string{"until": until})))
		require.Len(t, d.list(admin.Audit, 2, "", map[string]string{"actor": "user:ada"}), 6, "with Placed")
		require.Len(t, d.list(admin.Audit, 2, "", map[string]string{"stream": "user:ada"}), 5)
		require.Len(t, d.list(admin.Audit, 2, "user:ada", nil), 5)
		require.Len(t, d.list(admin.Audit, 2, o.Reference, map[string]string{"action": "Placed"}), 1)
		require.Len(t, d.list(admin.Audit, 2, "", map[string]string{"action": "Placed", "actor": "user:ada"}), 1)
		require.Len(t, d.list(admin.Audit, 4, "", nil), 6)
	})
}

func TestList_deposits(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		ref := func(n int) string { return deposit.Ref("base", txHash(n), 0) }
		for i := 1; i <= 4; i++ {
			d.deposited("ada", i, 10)
			d.clock.Advance(time.Minute)
		}
		d.deposited("bob", 5, 10)
		d.update(func(tx store.Tx) error {
			s := &deposit.Deposit{Chain: "bsc", Tx: txHash(6), State: deposit.Parked, Suspense: true, SeenAt: d.clock.Now().Add(time.Minute)}
			s.ID, s.Version = "bsc:"+txHash(6)+":0", 1
			return tx.Insert(store.Deposits, s)
		})
		suspense := "bsc:" + txHash(6) + ":0"
		require.Equal(t, []string{suspense, ref(5), ref(4), ref(3), ref(2), ref(1)}, idsOf(d.list(admin.Deposits, 2, "", nil)))
		require.Equal(t, []string{suspense}, idsOf(d.list(admin.Deposits, 2, "", map[string]string{"suspense": "true"})))
		require.Len(t, d.list(admin.Deposits, 2, "", map[string]string{"suspense": "false"}), 5)
		require.Equal(t, []string{suspense}, idsOf(d.list(admin.Deposits, 2, "", map[string]string{"state": "parked"})))
		require.Equal(t, []string{suspense}, idsOf(d.list(admin.Deposits, 2, "", map[string]string{"chain": "bsc"})))
		require.Equal(t, []string{ref(5)}, idsOf(d.list(admin.Deposits, 2, "", map[string]string{"user": "bob"})))
		require.Equal(t, []string{ref(4), ref(3), ref(2), ref(1)}, idsOf(d.list(admin.Deposits, 3, "ada", nil)))
		require.Equal(t, []string{ref(2)}, idsOf(d.list(admin.Deposits, 3, txHash(2), nil)), "a transaction")
		require.Equal(t, []string{suspense}, idsOf(d.list(admin.Deposits, 3, suspense, nil)), "one that nobody owns")
		require.Empty(t, d.list(admin.Deposits, 3, "nothing", nil))
		o := d.sell("ada", 10)
		require.Equal(t, []string{ref(4), ref(3), ref(2), ref(1)}, idsOf(d.list(admin.Deposits, 3, o.Reference, nil)))
	})
}

func TestList_ledger(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		d.rail.pays = true
		d.deposited("ada", 1, 30)
		d.deposited("bob", 2, 7)
		o := d.sell("ada", 25)
		d.work()
		roll, err := figures.New(engine, d.clock.Now)
		require.NoError(t, err)
		for _, folded := range []bool{false, true} {
			if folded {
				d.clock.Advance(time.Hour)
				_, err := roll.Step(t.Context())
				require.NoError(t, err)
			}
			for _, limit := range []int{1, 3, 200} {
				balances := map[string]float64{} //nolint:forbidigo // what JSON numbers are
				for _, item := range d.list(admin.Ledger, limit, "", nil) {
					name := item["kind"].(string) + " " + item["account"].(string) //nolint:forcetypeassert // a test
					require.NotContains(t, balances, name, "each account once, %d a page", limit)
					balances[name], _ = item["balance"].(float64)
				}
				require.InDelta(t, -37e6, balances["system chain:base:USDT"], 0)
				require.InDelta(t, 12e6, balances["total user:*:USDT:available"], 0)
				require.InDelta(t, 5e6, balances["user user:ada:USDT"], 0)
				require.InDelta(t, 7e6, balances["user user:bob:USDT"], 0)
				require.InDelta(t, 1, balances["state success"], 0)
			}
		}
		moves := d.list(admin.Ledger, 2, "", map[string]string{"account": "user:ada:USDT:available"})
		require.Len(t, moves, 2, "credited by the deposit, debited by the hold")
		require.Len(t, d.list(admin.Ledger, 1, "", map[string]string{"account": "chain:base:USDT"}), 2)
		all := d.list(admin.Ledger, 2, "", map[string]string{"order": o.Reference})
		require.Len(t, all, len(d.list(admin.Ledger, 50, o.ID, nil)))
		require.GreaterOrEqual(t, len(all), 6)
		require.Len(t, d.list(admin.Ledger, 2, "", map[string]string{"order": o.ID, "account": "due:NGN"}), 2)
		require.Len(t, d.list(admin.Ledger, 2, "bob", nil), 1, "a user's accounts")
		since := map[string]string{"from": d.clock.Now().Add(-24 * time.Hour).Format(time.RFC3339)}
		require.Len(t, d.list(admin.Ledger, 2, "", since), len(all)+2)
		require.Empty(t, d.list(admin.Ledger, 2, "nothing", nil))
	})
}

func TestList_parked(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		want := []string{}
		for i := range 9 {
			at := d.clock.Now().Add(time.Duration(i/3) * time.Minute) // three of each in one millisecond
			d.update(func(tx store.Tx) error {
				if i%3 == 2 {
					op := operation.New(operation.Notify, fmt.Sprintf("notify:%d", i), "", "ada", "user:ada", at, at)
					op.State, op.Due, op.Reason = operation.Parked, nil, "window closed"
					want = append(want, op.ID)
					return tx.Insert(store.Outbox, op)
				}
				r := delivery.New(fmt.Sprintf("wa:%d", i), delivery.Message, "text", "p", "f", []byte(accountNumber), at, at)
				r.State, r.Due, r.DoneAt = []delivery.State{delivery.Parked, delivery.Unhandled}[i%2], nil, &at
				want = append(want, r.ID)
				return tx.Insert(store.Inbox, r)
			})
			if i == 0 {
				want = want[:1] // fn may run twice
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		for _, limit := range []int{1, 2, 4, 50} {
			got := idsOf(d.list(admin.Parked, limit, "", nil))
			require.Len(t, got, len(want), "%d a page", limit)
			require.ElementsMatch(t, want, got)
		}
		require.Len(t, d.list(admin.Parked, 2, "", map[string]string{"kind": "notify"}), 3)
		require.Len(t, d.list(admin.Parked, 2, "", map[string]string{"kind": "receipt"}), 6)
		require.Len(t, d.list(admin.Parked, 2, "", map[string]string{"kind": "message"}), 6)
		require.Equal(t, []string{"wa:0"}, idsOf(d.list(admin.Parked, 2, "wa:0", nil)))
		require.Empty(t, d.list(admin.Parked, 2, "wa:x", nil))
	})
}

func TestList_settingsAndApprovals(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		all := d.list(admin.Settings, 200, "", nil)
		require.Equal(t, all, d.list(admin.Settings, 7, "", nil))
		require.Len(t, d.list(admin.Settings, 7, "spread_bps", nil), 1)

		d.deposited("ada", 1, 30)
		o := d.review("ada", 25)
		first := d.ask(admin.Release, o.Reference)
		_, err := d.sut.Decide(t.Context(), d.by(d.approver, "not yet"), first, false)
		require.NoError(t, err)
		d.clock.Advance(time.Minute)
		second := d.ask(admin.Settle, o.ID)
		require.Equal(t, []string{second, first}, idsOf(d.list(admin.Approvals, 1, "", nil)))
		require.Equal(t, []string{second}, idsOf(d.list(admin.Approvals, 1, "", map[string]string{"state": "open"})))
		require.Equal(t, []string{second, first}, idsOf(d.list(admin.Approvals, 1, "", map[string]string{"order": o.Reference})))
		require.Equal(t, []string{second, first}, idsOf(d.list(admin.Approvals, 1, o.Reference, nil)))
		require.Empty(t, d.list(admin.Approvals, 1, "nothing", nil))
	})
}
