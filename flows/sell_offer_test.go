package flows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/money"
	"offrampbot/services/setting"
)

func TestConfirm_onlyTheStoredQuoteCounts(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	other := p.atPIN("31")
	c := p.atPIN("25")
	s, err := w.endpoint.load(t.Context(), other.token)
	require.NoError(t, err)
	a := c.submit(map[string]any{
		"pin": rightPIN, "sell_amount": "1", "amount_to_receive": "₦9,000,000.00", "intent": s.Intent, "quote": s.Intent, "quote_id": s.Intent,
		"rate": "1 USDT = ₦9,000,000.00", "bank_code": "057", "account_number": otherAccount, "user": "u_other", "status": "paid", "amount": 1,
	})
	require.Equal(t, Sold, a.Screen, "%v", a.Data)
	o := p.placed()[0]
	require.Equal(t, 25*oneUSDT, o.Amount)
	require.Equal(t, money.Minor(37_262_50), o.Net)
	require.Equal(t, "058", o.Beneficiary.BankCode)
	require.Equal(t, "6789", o.Beneficiary.Last4)
	require.NotEqual(t, s.Intent, o.ID)
	w.wantsQuiet()
}

func TestConfirm_thePriceOfTheOfferHolds(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atPIN("25")
	p.set(func(s *setting.Settings) {
		for pair, r := range s.Rates {
			r.Rate.Num = 120_000
			s.Rates[pair] = r
		}
		s.Fees["NGN"] = setting.Fee{FlatMinor: 5_000_00}
	})
	require.Contains(t, c.submit(pin(rightPIN)).text("next_step"), "₦37,262.50")
	require.Equal(t, money.Minor(37_262_50), p.placed()[0].Net)
}

func TestConfirm_offerThatRanOut(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		p.set(func(s *setting.Settings) {
			r := s.Rates["USDT/NGN"]
			r.Rate.Num = 140_000
			s.Rates["USDT/NGN"] = r
		})
		w.clock.Advance(10 * time.Minute)
		a := c.submit(pin(rightPIN))
		require.Equal(t, CryptoReview, a.Screen)
		require.Contains(t, a.text("error_message"), "run out")
		require.Equal(t, "This offer ran out at 13:10 WAT.", a.text("expires_text"))
		require.Zero(t, w.hasher.compared.Load(), "the PIN was not looked at")
		require.Empty(t, p.placed())

		a = c.back()
		require.Equal(t, FiatReview, a.Screen)
		require.Contains(t, a.text("error_message"), "fresh")
		require.Equal(t, "₦34,775.00", a.text("amount_to_receive"), "at the price of now")
		require.Equal(t, FiatReview, c.raw(CryptoReview, pin(rightPIN)).Screen,
			"a PIN typed under the old price confirms nothing: its screen was not shown for the new one")
		require.Empty(t, p.placed())
		require.Equal(t, CryptoReview, c.submit(nil).Screen)
		require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
		require.Equal(t, money.Minor(34_775_00), p.placed()[0].Net)
	})
}

func TestConfirm_offerThatRunsOutWhileThePINIsChecked(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	w.clock.Advance(9 * time.Minute)
	w.hasher.meanwhile(func() { w.clock.Advance(time.Minute) }, nil)
	a := c.submit(pin(rightPIN))
	require.Equal(t, CryptoReview, a.Screen)
	require.Contains(t, a.text("error_message"), "run out")
	require.Empty(t, p.placed())
	w.hasher.meanwhile(nil, nil)
	require.Equal(t, FiatReview, c.back().Screen)
	c.submit(nil)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
}

func TestConfirm_offerThatCannotBeMadeAgain(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atOffer("25")
	p.clock.Advance(10 * time.Minute)
	p.set(func(s *setting.Settings) { clear(s.Rates) })
	a := c.submit(nil)
	require.Equal(t, FiatReview, a.Screen)
	require.Contains(t, a.text("error_message"), "no fresh price")
	require.Equal(t, "This offer ran out at 13:10 WAT.", a.text("expires_text"))
}

func TestConfirm_anotherOfferMadeMeanwhileIsNotConfirmedByTheOldScreen(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	first := p.atPIN("25")
	second := &client{world: w, flow: first.flow, token: first.token} // the same form, opened a second time
	second.init()
	require.Equal(t, FiatReview, second.submit(toNew("31", otherAccount)).Screen)
	a := first.raw(CryptoReview, pin(rightPIN))
	require.Equal(t, FiatReview, a.Screen)
	require.Empty(t, p.placed())
	require.Zero(t, w.hasher.compared.Load())
}

func TestConfirm_switchedOffAtThePINCanBeSentAgain(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		for _, name := range []string{"asset:USDT", "placing", "country:NG", "venue:desk"} {
			off(name)(p)
			a := c.submit(pin(rightPIN))
			require.Equal(t, CryptoReview, a.Screen, name)
			require.Contains(t, a.text("error_message"), "switched off", name)
			p.set(func(s *setting.Settings) { clear(s.Switches) })
		}
		require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen, "nothing was left behind that refuses it")
	})
}

func TestConfirm_limitsThatBecameSmallerKeepTheScreen(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atPIN("25")
	p.set(func(s *setting.Settings) {
		s.Limits["tier0/NGN"] = setting.Limit{SaleMinor: 10_000_00, DayMinor: 10_000_00, MonthMinor: 10_000_00, NewBeneficiaryMinor: 10_000_00}
	})
	a := c.submit(pin(rightPIN))
	require.Equal(t, CryptoReview, a.Screen)
	require.Contains(t, a.text("error_message"), "₦10,000.00")
	require.Equal(t, FiatReview, c.back().Screen)
	require.Equal(t, Details, c.back().Screen)
	require.Equal(t, FiatReview, c.submit(toNew("6", account)).Screen)
	c.submit(nil)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
}
