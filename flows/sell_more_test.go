package flows

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

func TestConfirm_rightPINWhileAWrongOneIsLookedAtHasItsOwnAnswer(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	started, release := make(chan struct{}), make(chan struct{})
	w.hasher.meanwhile(func() { close(started); <-release }, nil)
	first := make(chan shown, 1)
	go func() { first <- c.raw(CryptoReview, pin(wrongPIN)) }()
	<-started
	w.hasher.meanwhile(nil, nil)
	second := make(chan shown, 1)
	go func() { second <- c.raw(CryptoReview, pin(rightPIN)) }()
	close(release)
	require.Equal(t, "Not right, 4 tries left", (<-first).text("pin_error"))
	require.Equal(t, Sold, (<-second).Screen, "it is no copy, so it waits for its turn")
	require.Len(t, p.placed(), 1)
}

func TestConfirm_tickIsForgottenWithItsOffer(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	paid(p)
	c := p.atPIN("25")
	require.Equal(t, true, c.submit(pin(rightPIN)).Data["ask_second_payment"])
	c.back()
	c.back()
	require.Equal(t, FiatReview, c.submit(toNew("26", account)).Screen)
	require.Equal(t, false, c.submit(nil).Data["ask_second_payment"])
}

// leaky fails and says in its error what it should not.
type leaky struct{ *offramp.Service }

func (leaky) Order(context.Context, string) (*offramp.Order, error) {
	return nil, fmt.Errorf("read order for %s and %s: %w", rightPIN, account, errBroken)
}

func TestEndpoint_errorsAreLoggedWithoutWhatWasTyped(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	w.sell.d.Orders = leaky{w.orders}
	c := p.opens("offramp_flow", nil)
	w.update(func(tx store.Tx) error {
		s, err := LoadSession(tx, c.token)
		if err != nil {
			return err
		}
		s.Values = map[string]string{"renews": "o_1", "token": "x"}
		return SaveSession(tx, s)
	})
	data := toNew("25", account)
	data["pin"] = rightPIN
	require.Equal(t, 500, c.submit(data).Status)
	require.Contains(t, w.log.String(), "read order for *** and ***")
	w.wantsQuiet(c.token)
}

func TestSell_renewalGoesOnWhileTheServiceIsDrained(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	p.sells("25")
	id := p.placed()[0].ID
	w.clock.Advance(31 * time.Minute)
	require.NoError(t, raiseElapsed(t, w, id))
	w.set(func(s *setting.Settings) { s.Drain = true })
	c := p.opens("offramp_flow", map[string]string{"renews": id})
	a := c.init()
	require.NotContains(t, a.text("limits_text"), "paused")
	a = c.submit(map[string]any{"asset": a.text("asset"), "sell_amount": a.text("sell_amount"), "beneficiary": a.text("beneficiary")})
	require.Equal(t, FiatReview, a.Screen, "%v", a.Data["error_message"])
	c.submit(nil)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)

	a = w.person().opens("offramp_flow", nil).submit(toNew("25", account))
	require.Equal(t, Details, a.Screen)
	require.Equal(t, "Switched off at the moment", a.text("asset_error"))
	require.Contains(t, a.text("limits_text"), "paused")
}

func TestSell_anAccountTypedAgainIsAsOldAsItWasSaved(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	p.deposits("USDT", 1000*oneUSDT)
	p.sells("25")
	w.clock.Advance(25 * time.Hour)
	w.freshRates()
	require.Equal(t, FiatReview, p.opens("offramp_flow", nil).submit(toNew("250", account)).Screen, "its first day is over")
	a := p.opens("offramp_flow", nil).submit(toNew("250", otherAccount))
	require.Equal(t, "New account: ₦300,000.00 left", a.text("sell_amount_error"))
}

func TestSell_savedAccountOfAnotherCurrencyIsNotOffered(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	p.sells("25")
	saved := p.opens("offramp_flow", nil).init().text("beneficiary")
	w.update(func(tx store.Tx) error {
		var b user.Beneficiary
		if err := tx.Get(store.Beneficiaries, saved, &b); err != nil {
			return err
		}
		b.Fiat = "GHS"
		return tx.Replace(store.Beneficiaries, &b)
	})
	c := p.opens("offramp_flow", nil)
	require.Equal(t, false, c.init().Data["has_beneficiaries"])
	a := c.submit(map[string]any{"asset": "USDC:base", "sell_amount": "25", "beneficiary": saved})
	require.Equal(t, "Choose another account", a.text("beneficiary_error"))
}

func TestSell_offersOfAnotherSessionAreNotShown(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atOffer("25")
	s, err := w.endpoint.load(t.Context(), c.token)
	require.NoError(t, err)
	v := w.sell.visit(s)
	s.Intent = "i_other"
	_, gone, err := v.glimpse(t.Context())
	require.NoError(t, err)
	require.True(t, gone, "what was noted belongs to one offer")
}

func TestSell_anOfferThatIsNoMoreEndsTheForm(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	forget := func(c *client) {
		w.update(func(tx store.Tx) error {
			s, err := LoadSession(tx, c.token)
			if err != nil {
				return err
			}
			delete(s.Values, offerValue)
			var q quote.Quote
			if err := tx.Get(store.Quotes, s.Intent, &q); err != nil {
				return err
			}
			if err := tx.Delete(store.Quotes, q.ID, q.Revision); err != nil {
				return err
			}
			return SaveSession(tx, s)
		})
	}
	for name, do := range map[string]func(c *client) shown{
		"the offer is accepted":   func(c *client) shown { return c.submit(nil) },
		"the PIN is given":        func(c *client) shown { c.submit(nil); forget(c); return c.submit(pin(rightPIN)) },
		"somebody goes back once": func(c *client) shown { c.submit(nil); forget(c); return c.back() },
	} {
		c := p.atOffer("25")
		if name == "the offer is accepted" {
			forget(c)
		}
		a := do(c)
		require.Equal(t, Refused, a.Screen, name)
		require.Contains(t, a.text("error_message"), "run out", name)
	}
	require.Empty(t, p.placed())
}

func TestSell_answersQuicklyWhenNothingOutsideIsAsked(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	c := w.person().atPIN("25")
	best := time.Hour
	for range 5 { // the best of five: the machine may be busy with something else
		start := time.Now() //nolint:forbidigo // the bound is one of real time
		c.back()
		best = min(best, time.Since(start))
	}
	require.Less(t, best, 50*time.Millisecond)
}
