package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/ids"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
)

// confirmation is a trusted event as the verifier of deposits sends it.
type confirmation struct {
	Type   string `json:"type"`
	Event  string `json:"eventId"`
	Order  string `json:"workflowId"`
	Ref    string `json:"depositRef"`
	Amount string `json:"amountUnits"`
}

// confirms sends a confirmation and returns status and answer.
func (w *town) confirms(c any) (int, map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(c)
	require.NoError(w.t, err)
	return w.try("POST", w.internal()+"/webhooks/deposits", body, w.depositSigned(body))
}

func (w *town) refuses(c any, status int, code string) map[string]any {
	w.t.Helper()
	got, answer := w.confirms(c)
	require.Equal(w.t, code, answer["error"], "%v", answer)
	require.Equal(w.t, status, got)
	return answer
}

func (w *town) mine(chain string, blocks int) {
	w.t.Helper()
	w.call("POST", "/world/chains/"+chain+"/mine", map[string]any{"blocks": blocks})
}

func TestDeposits_aTrustedConfirmationIsAppliedOnceAndEachRefusalHasItsCode(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		w.call("POST", "/world/chains/base/auto", map[string]any{"seconds": 0})
		p := w.newPerson()
		p.signsUp()
		p.knowsAddress()
		reference := p.sells("25 usdt on base", "0123456789")
		order := w.order(reference).ID
		short := confirmation{offramp.ConfirmedType, "event-1", order, "base:" + p.deposits("base", "USDT", "5") + ":0", "5000000"}
		w.mine("base", 1)
		w.eventually("the short deposit is seen", func() bool { return p.incoming("USDT") == 5_000_000 })

		for _, c := range []confirmation{
			{"DEPOSIT_SEEN", "e", order, "r", "1"}, {offramp.ConfirmedType, " ", order, "r", "1"}, {offramp.ConfirmedType, "e", "", "r", "1"},
			{offramp.ConfirmedType, "e", order, "", "1"}, {offramp.ConfirmedType, "e", order, "r", "0"},
			{offramp.ConfirmedType, "e", order, "r", "-1"}, {offramp.ConfirmedType, "e", order, "r", "1.5"}, {offramp.ConfirmedType, "e", order, "r", "01"},
		} {
			w.refuses(c, 400, "event_invalid")
		}
		w.refuses(map[string]any{"type": offramp.ConfirmedType, "eventId": "e", "workflowId": order, "depositRef": "r", "amountUnits": 5}, 400, "event_invalid")
		w.refuses(confirmation{offramp.ConfirmedType, "e", "no-such-order", short.Ref, short.Amount}, 404, "workflow_unknown")
		w.refuses(confirmation{offramp.ConfirmedType, "e", order, "base:0xdead:0", short.Amount}, 422, "mismatch")
		w.refuses(confirmation{offramp.ConfirmedType, "e", order, short.Ref, "5000001"}, 422, "mismatch")
		refused := w.refuses(short, 422, "state_refused")
		require.Contains(t, refused["message"], "waiting", "the state is named")
		require.Equal(t, offramp.Waiting, w.order(reference).State)

		rest := confirmation{offramp.ConfirmedType, "event-2", order, "base:" + p.deposits("base", "USDT", "20") + ":0", "20000000"}
		w.mine("base", 1) // the short deposit is confirmed, the rest is seen
		w.becomes(reference, offramp.Deposit)
		w.eventually("the short deposit is credited", func() bool { return p.incoming("USDT") == 20_000_000 })

		status, answer := w.confirms(rest)
		require.Equal(t, 200, status, "%v", answer)
		require.Equal(t, map[string]any{"outcome": "applied", "operationId": "start-exchange:" + order, "state": "exchange"}, answer)
		_, answer = w.confirms(rest)
		require.Equal(t, "duplicate-delivery", answer["outcome"])
		again := rest
		again.Event = "event-3"
		_, answer = w.confirms(again)
		require.Equal(t, "already-applied", answer["outcome"])
		again.Event, again.Amount = "event-2", "21000000"
		w.refuses(again, 409, "event_conflict")
		w.becomes(reference, offramp.Success)
		w.mine("base", 3) // the watcher finds what was confirmed before
		p.says("balance")
		require.Contains(t, p.hears("Your balance").Text, "USDT: 0\n")
		w.paysRight()
	})
}

func TestDeposits_aConfirmationWhoseOperationExistsIsRefused(t *testing.T) {
	t.Parallel()
	w := edgeTown(t)
	w.call("POST", "/world/chains/base/auto", map[string]any{"seconds": 0})
	p := w.newPerson()
	p.signsUp()
	p.knowsAddress()
	reference := p.sells("25 usdt on base", "0123456789")
	tx := p.deposits("base", "USDT", "25")
	w.mine("base", 1)
	o := w.becomes(reference, offramp.Deposit)
	id := ids.Operation(string(operation.StartExchange), o.ID, 1)
	require.NoError(t, w.db.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
		stranger := operation.New(operation.Alert, id, "", "", "stranger", now().AddDate(1, 0, 0), now())
		return tx.Insert(store.Outbox, stranger)
	}))
	w.refuses(confirmation{offramp.ConfirmedType, "event-1", o.ID, fmt.Sprintf("base:%s:0", tx), "25000000"}, 409, "operation_conflict")
	require.Equal(t, offramp.Deposit, w.order(reference).State, "nothing of it was stored")
	for _, id := range []string{"event-1", o.ID, id} {
		require.Contains(t, w.log.String(), id, "whoever has to reconcile finds it by each of its ids")
	}
}

// incoming is what is seen on chain for a person and not credited yet, in micro-units.
func (p *person) incoming(asset string) int64 {
	p.t.Helper()
	for _, o := range p.orders() {
		c, err := p.app.orders.Cover(p.t.Context(), o.User, asset)
		require.NoError(p.t, err)
		return int64(c.Incoming)
	}
	return 0
}
