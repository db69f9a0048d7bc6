package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
)

func TestSale_fromHiToPaid(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		reference := p.sells("25 usdt on base", "0123456789")
		p.hears("Now send 25 USDT")
		p.deposits("base", "USDT", "25")
		p.hears("🎉 Paid")
		o := w.becomes(reference, offramp.Success)
		bank := w.bank()
		require.Len(t, bank, 1)
		require.Equal(t, int64(o.Net), bank[0].AmountMinor)
		require.Equal(t, "success", bank[0].Status)
		require.Equal(t, o.Attempts[0].Reference, bank[0].Reference)
		w.holds()
	})
}

func TestPIN_submittedTwentyTimesAtOnceIsOneOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "30")
		p.hears("30 USDT arrived")
		s := p.review("25 usdt on base", "0123456789")
		out := p.call("POST", "/world/flows/submit", map[string]any{
			"session": s.Session, "screen": s.Screen, "data": map[string]any{"pin": goodPIN}, "copies": 20,
		})
		accepted, refused := 0, 0
		for _, item := range out["items"].([]any) {
			answer := asScreen(item.(map[string]any))
			switch {
			case answer.Screen == "OFFRAMP_SUCCESS":
				accepted++
			case answer.Data["error_message"] == "Transaction already in progress. Please wait for completion.",
				strings.HasPrefix(answer.Data["error_message"].(string), "Transaction already completed 0 minute(s) ago. Reference: "):
				refused++
			default:
				require.Fail(t, "unexpected answer", "%v", answer)
			}
		}
		require.Equal(t, 1, accepted)
		require.Equal(t, 19, refused)
		p.hears("🎉 Paid")
		require.Len(t, w.bank(), 1)
		w.holds()
	})
}

func TestWebhook_tenCopiesAtOnceGetOneReply(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.call("POST", "/world/messages", map[string]any{"from": p.phone, "text": "balance", "copies": 10})
		p.hears("Your balance")
		p.says("rate")
		p.hears("Rate now")
		replies := 0
		for _, m := range p.chat() {
			if m.Direction == "out" && strings.Contains(m.Text, "Your balance") {
				replies++
			}
		}
		require.Equal(t, 1, replies)
	})
}

func TestDeposits_shortSurplusAndLate(t *testing.T) {
	t.Parallel()
	onBoth(t, map[string]string{"ORDER_DEPOSIT_WINDOW": "4s"}, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "5")
		p.hears("5 USDT arrived")
		short := p.sells("25 usdt on base", "0123456789")
		require.Equal(t, offramp.Waiting, w.order(short).State)
		p.deposits("base", "USDT", "8")
		p.hears("still needs 12 USDT")
		p.hears("The time for sale " + short)
		require.Equal(t, offramp.Overdue, w.order(short).State)
		p.deposits("base", "USDT", "20") // late, and more than is missing
		p.hears("20 USDT arrived")
		require.Equal(t, offramp.Overdue, w.order(short).State, "late money does not start the sale by itself")
		p.taps("renew:" + w.order(short).ID)
		s := p.opens(p.hears("offramp_flow"))
		s = p.submits(s, map[string]any{
			"asset": s.Data["asset"], "sell_amount": s.Data["sell_amount"], "beneficiary": s.Data["beneficiary"],
		})
		require.Equal(t, "OFFRAMP_FIAT_REVIEW", s.Screen, "%v", s.Data)
		s = p.submits(p.submits(s, nil), map[string]any{"pin": goodPIN})
		require.Equal(t, "OFFRAMP_SUCCESS", s.Screen, "%v", s.Data)
		w.becomes(short, offramp.Success)
		p.says("balance")
		require.Contains(t, p.hears("Your balance").Text, "USDT: 8")
		w.holds()
	})
}

func TestPayout_aLostReplyEndsUncertainThenPaidOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "30")
		p.hears("30 USDT arrived")
		w.faults("paystack", "transfer", "lost_reply", 1)
		reference := p.sells("25 usdt on base", "0123456789")
		p.hears("Please do not send again")
		o := w.becomes(reference, offramp.Success)
		require.Len(t, o.Attempts, 1)
		require.Len(t, w.bank(), 1)
		require.Equal(t, "success", w.bank()[0].Status)
		var path []offramp.State
		for _, f := range o.History {
			path = append(path, f.To)
		}
		require.Contains(t, path, offramp.Unclear)
		w.holds()
	})
}

func TestReorg_takesTheCreditBackAndCreditsOnceMore(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		w.call("POST", "/world/chains/base/auto", map[string]any{"seconds": 0})
		tx := p.deposits("base", "USDT", "25")
		w.call("POST", "/world/chains/base/mine", map[string]any{"blocks": 4})
		p.hears("25 USDT arrived")
		w.call("POST", "/world/chains/base/reorg", map[string]any{"depth": 6, "drop": []string{tx}})
		p.hears("has undone a transfer of 25 USDT")
		w.holds()
		w.call("POST", "/world/chains/base/transfers", map[string]any{"to": p.address, "token": "USDT", "amount": "25", "tx": tx})
		w.call("POST", "/world/chains/base/mine", map[string]any{"blocks": 4})
		p.hears("25 USDT arrived")
		p.says("balance")
		require.Contains(t, p.hears("Your balance").Text, "USDT: 25")
		w.holds()
	})
}

func TestRestart_inTheMiddleOfASaleLosesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		w.faults("paystack", "transfer", "slow", 1)
		p.deposits("base", "USDT", "30")
		p.hears("30 USDT arrived")
		reference := p.sells("25 usdt on base", "0123456789")
		w.stop()
		w.start()
		w.becomes(reference, offramp.Success)
		require.Len(t, w.bank(), 1)
		w.holds()
	})
}
