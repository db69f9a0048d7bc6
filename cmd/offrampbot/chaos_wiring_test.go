package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// Each test of this file fails when one protection is made and not used: its own tests would not notice.

func (w *town) bankAuto(seconds float64) {
	w.t.Helper()
	w.call("POST", "/world/bank/auto", map[string]any{"seconds": seconds})
}

func (w *town) settles(reference, status string) {
	w.t.Helper()
	w.call("POST", "/world/bank/transfers/"+reference, map[string]any{"status": status, "webhook": true})
}

// unpaid waits until the order's latest attempt is with the bank, and returns its reference.
func (w *town) unpaid(reference string, attempt int) string {
	w.t.Helper()
	var at string
	w.eventually("the bank has attempt of "+reference, func() bool {
		o := w.order(reference)
		if o.Attempt != attempt || len(o.Attempts) < attempt {
			return false
		}
		at = o.Attempts[attempt-1].Reference
		for _, tr := range w.bank() {
			if tr.Reference == at {
				return true
			}
		}
		return false
	})
	return at
}

func TestGuard_refusesTheSameSaleFromAnotherFormUntilItIsMeant(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		w.bankAuto(0)
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "75")
		p.hears("75 USDT arrived")
		first := p.sells("25 usdt on base", "0123456789")
		attempt := w.unpaid(first, 1)

		s := p.submits(p.review("25 usdt on base", "0123456789"), map[string]any{"pin": goodPIN})
		require.Equal(t, "OFFRAMP_REFUSED", s.Screen)
		require.Equal(t, "Transaction already in progress. Please wait for completion.", s.Data["error_message"])
		require.Len(t, w.orders(), 1, "nothing was placed")

		w.settles(attempt, "success")
		w.becomes(first, offramp.Success)
		s = p.review("25 usdt on base", "0123456789")
		require.Equal(t, false, s.Data["ask_second_payment"])
		w.eventually("the guard knows that it is completed", func() bool {
			s = p.submits(s, map[string]any{"pin": goodPIN})
			return s.Screen == "OFFRAMP_CRYPTO_REVIEW"
		})
		require.Equal(t, "Transaction already completed 0 minute(s) ago. Reference: "+first, s.Data["error_message"])
		require.Equal(t, true, s.Data["ask_second_payment"])
		require.Len(t, w.orders(), 1, "nothing was placed")

		s = p.submits(s, map[string]any{"pin": goodPIN, "second_payment": true})
		require.Equal(t, "OFFRAMP_SUCCESS", s.Screen, "%v", s.Data)
		second := s.Data["reference"].(string) //nolint:forcetypeassert // the schema was checked by the world
		w.settles(w.unpaid(second, 1), "success")
		w.becomes(second, offramp.Success)
		require.Len(t, w.bank(), 2)
		w.paysRight()
	})
}

func TestLimits_aSaleOverTheDayLimitIsRefusedAndNothingIsPlaced(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		p.deposits("base", "USDT", "700")
		p.hears("700 USDT arrived")
		// ₦900,000 a day at ₦1,500 are 600 USDT, and ₦300,000 of it to one new bank account.
		for _, account := range []string{"0123456781", "0123456782"} {
			w.becomes(p.sells("200 usdt on base", account), offramp.Success)
		}
		late := p.review("5 usdt on base", "0123456784") // allowed when it was asked for
		w.becomes(p.sells("200 usdt on base", "0123456783"), offramp.Success)

		const over = "That is more than you can still sell within 24 hours."
		s := p.submits(late, map[string]any{"pin": goodPIN})
		require.NotEqual(t, "OFFRAMP_SUCCESS", s.Screen)
		require.Contains(t, fmt.Sprint(s.Data), over, "the sale decides, not the form")
		s = p.details("5 usdt on base", "0123456784")
		require.Equal(t, "OFFRAMP_DETAILS", s.Screen)
		require.Contains(t, fmt.Sprint(s.Data), over, "the form says so before the PIN")
		require.Len(t, w.orders(), 3)
		require.Len(t, w.bank(), 3)
		p.says("balance")
		require.Contains(t, p.hears("Your balance").Text, "USDT: 100\n")
		w.paysRight()
	})
}

func TestRateLimit_fortyQuickMessagesAreSlowedDownOnce(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+newTroubledRedis(t).addr, nil)
	p := w.newPerson()
	p.signsUp()
	for range 40 {
		p.says("rate")
		w.eventually("the message is read", func() bool { return w.waiting() == 0 })
	}
	w.eventually("the person is asked to slow down", func() bool { return p.countsOf("That was a lot of messages") > 0 })
	p.hears("Rate now")
	require.Equal(t, 1, p.countsOf("That was a lot of messages"), "once, not once a message")
	require.Less(t, p.countsOf("Rate now"), 40)
	require.Zero(t, p.countsOf("I read them all"), "it was the limit, not the backlog")
}

// waiting counts the receipts that are not handled yet.
func (w *town) waiting() int {
	w.t.Helper()
	n := 0
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		all, err := store.All[delivery.Receipt](r, store.Query{Collection: store.Inbox, Index: "due", Limit: 1000})
		n = len(all)
		return err
	}))
	return n
}

// countsOf counts the messages to the person that say something.
func (p *person) countsOf(what string) int {
	p.t.Helper()
	n := 0
	for _, m := range p.chat() {
		if m.Direction == "out" && strings.Contains(m.Text, what) {
			n++
		}
	}
	return n
}

func TestLock_isTakenForEachPersonAndEachOrder(t *testing.T) {
	t.Parallel()
	r := newTroubledRedis(t)
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+r.addr, nil)
	p := w.newPerson()
	p.signsUp()
	p.deposits("base", "USDT", "25")
	reference := p.sells("25 usdt on base", "0123456789")
	o := w.becomes(reference, offramp.Success)

	person := regexp.MustCompile(`(?i)\r\nset\r\n\$\d+\r\nofframp:lock:[A-Z2-7]{26}:person:wa:`)
	order := regexp.MustCompile(`(?i)\r\nset\r\n\$\d+\r\nofframp:lock:[A-Z2-7]{26}:order:` + o.ID)
	require.GreaterOrEqual(t, r.matches(person), 4, "hi, the sign-up form, deposit, sell, the sell form")
	require.GreaterOrEqual(t, r.matches(order), 3, "exchange, payout, look-up")
}

func (w *wire) matches(what *regexp.Regexp) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(what.FindAll(w.sent.Bytes(), -1))
}
