package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
)

// providerFault is one way in which the answer to a transfer goes wrong.
type providerFault struct {
	kind    string
	delayMS int
	unclear bool // nobody can know at first whether it was paid
}

// transferFaults are all of them. Those after which the same reference is sent again come last, because the repeat of one
// sale may run into the fault that was meant for the next.
func transferFaults() []providerFault {
	return []providerFault{
		{kind: "lost_reply", unclear: true}, {kind: "http_500_after", unclear: true}, {kind: "empty", unclear: true},
		{kind: "wrong_amount", unclear: true}, {kind: "wrong_reference", unclear: true}, {kind: "status:weird", unclear: true},
		{kind: "webhook_never"}, {kind: "webhook_twice"}, {kind: "webhook_first"},
		{kind: "slow", delayMS: 2500, unclear: true}, // longer than PROVIDER_TIMEOUT: it happens after we gave up
		{kind: "no_effect_timeout"}, {kind: "http_500"}, {kind: "reset"}, {kind: "html"}, {kind: "rate_limited"},
	}
}

func (w *town) fault(operation string, f providerFault, times int) {
	w.t.Helper()
	w.call("POST", "/world/faults", map[string]any{
		"target": "paystack", "operation": operation, "kind": f.kind, "times": times, "delay_ms": f.delayMS,
	})
}

// faultsLeft counts the faults that have not happened yet.
func (w *town) faultsLeft() int {
	w.t.Helper()
	left, ok := w.call("GET", "/world/state", nil)["faults"].(float64)
	require.True(w.t, ok)
	return int(left)
}

func TestProvider_everyFaultOfATransferEndsPaidOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		placed := map[string]string{}
		for group := range slices.Chunk(transferFaults(), 5) {
			p := w.newPerson()
			p.signsUp()
			p.deposits("base", "USDT", "100")
			p.hears("100 USDT arrived")
			for i, f := range group {
				s := p.review(fmt.Sprintf("%d usdt on base", 10+i), "0123456789")
				w.fault("transfer", f, 1)
				s = p.submits(s, map[string]any{"pin": goodPIN})
				require.Equal(t, "OFFRAMP_SUCCESS", s.Screen, "%v", s.Data)
				placed[f.kind] = s.Data["reference"].(string) //nolint:forcetypeassert // the schema was checked by the world
				p.submits(s, nil)
				w.eventually("the fault "+f.kind+" happens", func() bool { return w.faultsLeft() == 0 })
			}
		}
		for _, f := range transferFaults() {
			o := w.becomes(placed[f.kind], offramp.Success)
			require.Len(t, o.Attempts, 1, "%s: what is not known to have failed has no second attempt", f.kind)
			if f.unclear {
				require.Contains(t, passed(o), offramp.Unclear, f.kind)
			}
		}
		require.Len(t, w.bank(), len(placed))
		w.paysRight()
	})
}

func TestProvider_noFaultOfALookUpMovesAnUncertainSale(t *testing.T) {
	t.Parallel()
	onBoth(t, map[string]string{"LOOKUP_SCHEDULE": "100ms"}, func(t *testing.T, w *town) {
		w.bankAuto(0)
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "30")
		p.hears("30 USDT arrived")
		w.faults("paystack", "transfer", "lost_reply", 1)
		w.fault("verify", providerFault{kind: "http_500"}, -1)
		reference := p.sells("25 usdt on base", "0123456789")
		p.hears("Please do not send again")
		attempt := w.unpaid(reference, 1)
		w.call("DELETE", "/world/faults", nil)
		for _, f := range []providerFault{
			{kind: "http_500_after"}, {kind: "html"}, {kind: "empty"}, {kind: "reset"}, {kind: "lost_reply"}, {kind: "wrong_amount"},
			{kind: "wrong_reference"}, {kind: "status:weird"}, {kind: "rate_limited"}, {kind: "slow", delayMS: 2500},
			{kind: "no_effect_timeout"},
		} {
			w.fault("verify", f, 1)
		}
		w.call("POST", "/world/bank/transfers/"+attempt, map[string]any{"status": "success", "webhook": false})
		w.eventually("every fault has happened", func() bool {
			state := w.order(reference).State
			if w.faultsLeft() == 0 {
				return true
			}
			require.Contains(t, []offramp.State{offramp.Sending, offramp.Unclear}, state, "nothing is known yet")
			return false
		})
		o := w.becomes(reference, offramp.Success)
		require.Len(t, o.Attempts, 1)
		require.Equal(t, 1, w.bank()[0].Calls)
		w.paysRight()
	})
}

func TestProvider_thatNeverSaysAnythingLeavesTheSaleToPeople(t *testing.T) {
	t.Parallel()
	env := map[string]string{"LOOKUP_SCHEDULE": "200ms", "LOOKUP_GIVE_UP": "2s", "VISIBILITY_BOUND": "500ms", "PROVIDER_TIMEOUT": "1s"}
	onBoth(t, env, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "30")
		p.hears("30 USDT arrived")
		w.faults("paystack", "transfer", "html", -1)
		w.faults("paystack", "verify", "html", -1)
		o := w.becomes(p.sells("25 usdt on base", "0123456789"), offramp.Review)
		require.Contains(t, passed(o), offramp.Unclear)
		require.Equal(t, offramp.OnHold, o.Hold, "the hold is kept while nobody knows")
		require.Empty(t, w.bank())
		w.paysRight()
	})
}

func TestProvider_aFailedPayoutIsTriedAgainUnderANewReference(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		w.bankAuto(0)
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "50")
		p.hears("50 USDT arrived")

		second := p.sells("20 usdt on base", "0123456789")
		one := w.unpaid(second, 1)
		w.settles(one, "failed")
		two := w.unpaid(second, 2)
		require.NotEqual(t, one, two)
		w.settles(two, "success")
		w.becomes(second, offramp.Success)
		p.hears("🎉 Paid")

		never := p.sells("25 usdt on base", "0123456789")
		w.settles(w.unpaid(never, 1), "failed")
		w.settles(w.unpaid(never, 2), "failed")
		o := w.becomes(never, offramp.Failed)
		require.Len(t, o.Attempts, 2)
		require.Equal(t, offramp.Voided, o.Hold)
		p.hears("could not be paid to")
		p.says("balance")
		require.Contains(t, p.hears("Your balance").Text, "USDT: 30\n", "the crypto is back")
		w.paysRight()
	})
}

func TestProvider_aPayoutReversedAfterSuccessGivesTheCryptoBack(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "25")
		p.hears("25 USDT arrived")
		reference := p.sells("25 usdt on base", "0123456789")
		o := w.becomes(reference, offramp.Success)
		p.hears("🎉 Paid")
		w.settles(o.Attempts[0].Reference, "reversed")
		w.becomes(reference, offramp.Returned)
		p.hears("The bank returned")
		p.says("balance")
		require.Contains(t, p.hears("Your balance").Text, "USDT: 25\n")
		require.Len(t, w.bank(), 1)

		again := p.sells("25 usdt on base", "0123456789") // the very same sale, minutes later
		require.NotEqual(t, reference, again)
		w.becomes(again, offramp.Success)
		w.paysRight()
	})
}
