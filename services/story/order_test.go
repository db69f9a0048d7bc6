package story_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/deposit"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestOrder_anyIDFindsTheWholeStory(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		d.rail.pays = true
		d.deposited("ada", 1, 10)
		d.deposited("bob", 2, 100)
		waiting := d.sell("ada", 25)
		d.deposited("ada", 3, 20)
		d.work()
		o := d.order(waiting.ID)
		require.Equal(t, offramp.Success, o.State)
		d.update(func(tx store.Tx) error {
			r := delivery.New("bank:transfer.success:ref:success", delivery.Payout, "k", "p", "f", []byte(accountNumber), d.clock.Now(), d.clock.Now())
			r.Order = o.ID
			return tx.Insert(store.Inbox, r)
		})

		tale, err := d.sut.Tale(t.Context(), o.ID)
		require.NoError(t, err)
		require.Equal(t, o.Quote, tale.Quote.ID)
		require.Len(t, tale.History, len(o.History))
		require.Len(t, tale.Deposits, 2, "those of ada, before and during the order")
		require.Len(t, tale.Receipts, 1)
		require.GreaterOrEqual(t, len(tale.Audit), len(o.History))
		kinds := map[string]bool{}
		for i, op := range tale.Operations {
			kinds[string(op.Kind)] = true
			if i > 0 {
				require.False(t, op.CreatedAt.Before(tale.Operations[i-1].CreatedAt))
			}
		}
		for _, kind := range []string{"start-exchange", "payout", "notify"} {
			require.True(t, kinds[kind], kind)
		}
		for i, p := range tale.Postings {
			require.Equal(t, int64(i+1), p.Seq)
		}

		for name, id := range map[string]string{
			"the human reference":            o.Reference,
			"the reference as people type":   strings.ToLower(o.Reference[:3] + "-" + o.Reference[3:]),
			"the intent in upper case":       strings.ToUpper(o.ID),
			"the provider's reference":       o.Attempts[0].Reference,
			"a transaction hash":             txHash(3),
			"a deposit ref":                  deposit.Ref("base", txHash(3), 0),
			"a deposit from before the sale": txHash(1),
			"an operation":                   "payout:" + o.ID,
			"a posting":                      tale.Postings[0].ID,
			"a delivery":                     "bank:transfer.success:ref:success",
		} {
			found, err := d.sut.Tale(t.Context(), id)
			require.NoError(t, err, name)
			require.Equal(t, o.ID, found.Order.ID, name)
		}
		for _, id := range []string{"nothing", "", " ", txHash(2), "bob", strings.Repeat("x", 200)} {
			_, err := d.sut.Order(t.Context(), id)
			d.refused(err, "order_unknown")
		}
	})
}

func TestOrder_hasItsFormAndNoSecret(t *testing.T) {
	t.Parallel()
	d := newDesk(t, testkit.Bolt(t, indexes()))
	o := d.sell("ada", 25)
	told, err := d.sut.Order(t.Context(), o.Reference)
	require.NoError(t, err)
	body, err := json.Marshal(told)
	require.NoError(t, err)
	var form map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &form))
	for _, name := range []string{"order", "quote", "history", "postings", "operations", "deposits", "receipts", "audit"} {
		require.Contains(t, form, name)
		require.NotEqual(t, "null", string(form[name]), name)
		delete(form, name)
	}
	require.Empty(t, form)
	require.NotContains(t, string(body), accountNumber)
	require.NotContains(t, strings.ToLower(string(body)), `"sealed"`)
	require.NotContains(t, string(body), phoneNumber)
}
