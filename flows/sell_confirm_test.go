package flows

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

const inProgress = "Transaction already in progress. Please wait for completion."

func TestConfirm_twentyCopiesAreOneOrderAndNineteenRefusals(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		p.deposits("USDT", 30*oneUSDT)
		c := p.atPIN("25")
		sold, refused := 0, 0
		for _, a := range concurrently(t, 20, func(t *testing.T) shown {
			t.Helper()
			return c.raw(CryptoReview, pin(rightPIN))
		}) {
			require.Equal(t, 200, a.Status)
			require.Empty(t, complaints(c.flow, CryptoReview, a))
			switch {
			case a.Screen == Sold:
				sold++
			case a.Screen == Refused && a.text("error_message") == inProgress:
				refused++
			default:
				require.Fail(t, "unexpected answer", "%v", a.Data)
			}
		}
		require.Equal(t, []int{1, 19}, []int{sold, refused})
		require.Len(t, p.placed(), 1)
		require.Equal(t, int64(1), w.hasher.compared.Load())
		require.Zero(t, p.tries())
		require.Equal(t, 19, p.trail(audit.DuplicateBlocked), "every refusal is in the trail")
		require.Equal(t, int64(19), w.blocks.Load())
		require.Equal(t, 19, strings.Count(w.log.String(), "[OFFRAMP] Duplicate transaction attempt detected"))
		w.wantsQuiet(c.token)
	})
}

func TestConfirm_aWrongPINInTwentyCopiesCountsOnce(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		for _, a := range concurrently(t, 20, func(t *testing.T) shown {
			t.Helper()
			return c.raw(CryptoReview, pin(wrongPIN))
		}) {
			require.Equal(t, 200, a.Status)
			require.Contains(t, []string{CryptoReview, Refused}, a.Screen)
		}
		require.Equal(t, 1, p.tries())
		require.Empty(t, p.placed())
		require.Equal(t, Sold, c.post(ActionExchange, CryptoReview, pin(rightPIN)).Screen, "the right one is not in the way of the copies")
		w.wantsQuiet(c.token)
	})
}

func TestConfirm_theSamePINAgainWithinSecondsIsTheSameRequest(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	first := c.submit(pin(wrongPIN))
	require.Equal(t, first.Raw, c.submit(pin(wrongPIN)).Raw)
	require.Equal(t, 1, p.tries())
	w.clock.Advance(repeatWindow)
	a := c.submit(pin(wrongPIN))
	require.Equal(t, "Not right, 3 tries left", a.text("pin_error"))
	require.Equal(t, 2, p.tries())
}

func TestConfirm_wrongPINsLockAndAreNeverShown(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		for left := 4; left > 0; left-- {
			a := c.submit(pin(fmt.Sprintf("11223%d", left)))
			require.Equal(t, CryptoReview, a.Screen)
			require.Equal(t, fmt.Sprintf("Not right, %d tries left", left), a.text("pin_error"))
			require.Contains(t, a.text("error_message"), fmt.Sprintf("Tries left: %d.", left))
			require.NotContains(t, a.Raw, "11223")
		}
		a := c.submit(pin(wrongPIN))
		require.Equal(t, Refused, a.Screen)
		require.Contains(t, a.text("error_message"), "locked")
		require.Contains(t, a.text("error_message"), "15 min")
		require.Equal(t, Refused, p.atPIN("25").submit(pin(rightPIN)).Screen, "the right PIN is refused too")
		require.Empty(t, p.placed())
		w.clock.Advance(15 * time.Minute)
		p.sells("25")
	})
}

func TestConfirm_tenWrongPINsADayNeedAPerson(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	for i := range 10 {
		c := p.atPIN("25")
		a := c.submit(pin(fmt.Sprintf("11223%d", i)))
		if a.Screen == Refused && i == 4 {
			p.clock.Advance(15 * time.Minute)
		}
		if i == 9 {
			require.Contains(t, a.text("error_message"), "support")
		}
	}
	p.clock.Advance(2 * time.Hour)
	require.Contains(t, p.atPIN("25").submit(pin(rightPIN)).text("error_message"), "blocked")
	require.Empty(t, p.placed())
}

func TestConfirm_busyIsNotCountedAndTheSamePINMayBeSentAgainAtOnce(t *testing.T) {
	t.Parallel()
	for _, broken := range []error{fault.New("pin_busy", nil), errBroken} {
		w := onBolt(t)
		p := w.person()
		c := p.atPIN("25")
		w.hasher.meanwhile(nil, broken)
		a := c.submit(pin(rightPIN))
		require.Equal(t, CryptoReview, a.Screen)
		require.NotEmpty(t, a.text("pin_error"))
		w.hasher.meanwhile(nil, nil)
		require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
	}
}

func TestConfirm_whatIsNoPINIsNotCounted(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atPIN("25")
	for _, data := range []map[string]any{
		{}, {"pin": ""}, {"pin": "abcdef"}, {"pin": "4829134"}, {"pin": 482913}, {"pin": map[string]any{"$ne": ""}}, {"pin": []string{rightPIN}}, {"pin": nil},
	} {
		a := c.submit(data)
		require.Equal(t, CryptoReview, a.Screen)
		require.Equal(t, "6 digits are needed", a.text("pin_error"))
	}
	require.Zero(t, p.tries())
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
}

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

func TestConfirm_aPersonWhoseNumberChanged(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		p.change(func(u *user.User) { user.Frozen(u, user.IdentityChanged, w.clock.Now()) })
		c := p.atPIN("25")
		require.Equal(t, CryptoReview, c.submit(pin(wrongPIN)).Screen)
		require.Nil(t, p.load().Frozen.ProvenAt)
		a := c.submit(pin(rightPIN))
		require.Equal(t, Refused, a.Screen)
		require.Contains(t, a.text("error_message"), "about 24 hours")
		require.NotNil(t, p.load().Frozen.ProvenAt)
		w.clock.Advance(23*time.Hour + 30*time.Minute)
		require.Contains(t, p.atPIN("25").submit(pin(rightPIN)).text("error_message"), "about 1 hours")
		require.Empty(t, p.placed())
		w.clock.Advance(30 * time.Minute)
		w.set(func(s *setting.Settings) { s.RateMaxAge = 48 * time.Hour })
		p.sells("25")
		require.Nil(t, p.load().Frozen)
	})
}

func TestConfirm_frozenForAnotherReasonTooStaysFrozen(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atPIN("25")
	p.change(func(u *user.User) {
		user.Frozen(u, user.IdentityChanged, p.clock.Now().Add(-25*time.Hour))
		user.Frozen(u, "screening", p.clock.Now())
	})
	a := c.submit(pin(rightPIN))
	require.Equal(t, Refused, a.Screen)
	require.Contains(t, a.text("error_message"), "on hold")
	require.Empty(t, p.placed())
}

func TestConfirm_secondPaymentNeedsItsTick(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		paid(p)
		c := p.atPIN("25")
		reference := p.placed()[0].Reference
		for range 2 { // without the tick it is asked again, and the PIN is not looked at
			a := c.submit(map[string]any{"pin": rightPIN, "second_payment": false})
			require.Equal(t, CryptoReview, a.Screen)
			require.Equal(t, "Transaction already completed 2 minute(s) ago. Reference: "+reference, a.text("error_message"))
			require.Equal(t, true, a.Data["ask_second_payment"])
		}
		require.Equal(t, int64(1), w.hasher.compared.Load())
		require.Equal(t, 2, p.trail(audit.DuplicateBlocked))
		a := c.submit(map[string]any{"pin": rightPIN, "second_payment": true})
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 2)
	})
}

func TestConfirm_anotherSaleOfTheSameContentInProgress(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		p.deposits("USDT", 100*oneUSDT)
		first := p.sells("25")
		c := p.atPIN("25")
		a := c.submit(pin(rightPIN))
		require.Equal(t, Refused, a.Screen)
		require.Equal(t, inProgress, a.text("error_message"))
		require.Len(t, p.placed(), 1)
		require.NotEmpty(t, first.text("reference"))
	})
}

func TestConfirm_renewalContinuesItsSale(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		first := p.sells("25")
		id := p.placed()[0].ID
		w.clock.Advance(31 * time.Minute)
		require.NoError(t, raiseElapsed(t, w, id))
		require.Equal(t, offramp.Overdue, p.placed()[0].State)

		c := p.opens("offramp_flow", map[string]string{"renews": id})
		a := c.init()
		require.Equal(t, "25 USDT", a.text("sell_amount"))
		require.Equal(t, "USDT:base", a.text("asset"))
		require.NotEqual(t, newBank, a.text("beneficiary"))
		a = c.submit(map[string]any{"asset": a.text("asset"), "sell_amount": a.text("sell_amount"), "beneficiary": a.text("beneficiary")})
		require.Equal(t, FiatReview, a.Screen, "%v", a.Data)
		c.submit(nil)
		a = c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Equal(t, first.text("reference"), a.text("reference"), "the same order goes on")
		require.Len(t, p.placed(), 1)
		require.Equal(t, offramp.Waiting, p.placed()[0].State)
		require.Contains(t, a.text("next_step"), "14:01 WAT", "its window runs anew")
	})
}

func TestConfirm_renewalOfSomethingElseIsANewSale(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	p.sells("25")
	id := p.placed()[0].ID
	w.clock.Advance(31 * time.Minute)
	require.NoError(t, raiseElapsed(t, w, id))
	c := p.opens("offramp_flow", map[string]string{"renews": id})
	a := c.submit(toNew("26", account))
	require.Equal(t, Details, a.Screen)
	require.Contains(t, a.text("error_message"), p.placed()[0].Reference, "one sale of this coin waits already, and it is named")

	stranger := w.person()
	c = stranger.opens("offramp_flow", map[string]string{"renews": id})
	require.Empty(t, c.init().text("sell_amount"), "another person's sale is not shown")
	require.Equal(t, FiatReview, c.submit(toNew("25", account)).Screen)
	c.submit(nil)
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
	require.NotEqual(t, id, stranger.placed()[0].ID)
	require.Equal(t, offramp.Overdue, p.placed()[0].State)
}

// raiseElapsed lets an order's window end, as the timer does.
func raiseElapsed(t *testing.T, w *world, id string) error {
	t.Helper()
	o, err := w.orders.Order(t.Context(), id)
	require.NoError(t, err)
	_, _, err = w.orders.Raise(t.Context(), id, offramp.Occurrence{
		On: offramp.WindowElapsed, ID: "timer:" + id, By: offramp.ByTimer, Due: o.Due,
	})
	return err
}

func TestConfirm_unfundedSaleIsNamed(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		late := p.atPIN("27")
		reference := p.sells("25").text("reference")
		want := "Your sale " + reference + " of 25 USDT still waits for its deposit."
		a := p.opens("offramp_flow", nil).submit(toNew("26", account))
		require.Equal(t, Details, a.Screen)
		require.Contains(t, a.text("error_message"), want)
		require.Equal(t, "One sale waits already", a.text("asset_error"))
		a = late.submit(pin(rightPIN))
		require.Equal(t, Refused, a.Screen)
		require.Contains(t, a.text("error_message"), want)
		require.Len(t, p.placed(), 1)

		other := toNew("26", account)
		other["asset"] = "USDC:base"
		require.Equal(t, FiatReview, p.opens("offramp_flow", nil).submit(other).Screen, "another coin is not in its way")
	})
}

func TestConfirm_endingsSayWhereTheMoneyIs(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		a := p.sells("25")
		require.Contains(t, a.text("message"), "Now send 25 USDT on the Base network")
		require.Contains(t, a.text("message"), p.load().Address)
		require.Contains(t, a.text("message"), "only on Base")
		require.Contains(t, a.text("next_step"), "until 13:30 WAT")

		q := w.person()
		q.deposits("USDT", 10*oneUSDT)
		q.deposits("USDT", 5*oneUSDT, deposit.FactSeen)
		require.Contains(t, q.sells("25").text("message"), "Now send 10 USDT on the Base network")

		r := w.person()
		r.deposits("USDT", 25*oneUSDT, deposit.FactSeen)
		require.Contains(t, r.sells("25").text("message"), "on its way in")
		require.Equal(t, offramp.Deposit, r.placed()[0].State)

		s := w.person()
		s.deposits("USDT", 25*oneUSDT)
		a = s.sells("25")
		require.Contains(t, a.text("message"), "₦37,262.50 is on its way to ADA OBI, GTBank •••• 6789")
		require.NotContains(t, strings.ToLower(a.Raw), "paid")
		require.Equal(t, offramp.Exchange, s.placed()[0].State)
	})
}

func TestConfirm_requestThatWasCutOffIsFinishedByItsRepeat(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine, realGuard(t, engine))
		p := w.person()
		c := p.atPIN("25")
		s, err := w.endpoint.load(t.Context(), c.token)
		require.NoError(t, err)
		var q quote.Quote
		w.view(func(r store.Reader) error { return r.Get(store.Quotes, s.Intent, &q) })

		// The process died with the session marked and the guard claimed: nothing was placed.
		_, err = w.deps.Guard.Claim(t.Context(), q.Content, guard.Flow, q.ID, w.clock.Now())
		require.NoError(t, err)
		s.Begin("its digest", ourNumber, w.clock.Now(), workTime)
		require.NoError(t, w.endpoint.save(t.Context(), s))
		w.clock.Advance(workTime)
		require.Equal(t, CryptoReview, c.submit(pin(wrongPIN)).Screen)
		a := c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 1)
	})
}

func TestConfirm_orderThatNobodyWasToldOfIsTold(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
		for state, want := range map[offramp.State]string{
			offramp.Waiting: Sold, offramp.Unclear: Checking, offramp.Review: Checking, offramp.Cancelled: Refused,
		} {
			w := newWorld(t, engine)
			p := w.person()
			c := p.atPIN("25")
			s, err := w.endpoint.load(t.Context(), c.token)
			require.NoError(t, err)
			// The process died after the commit of the order and before that of its answer.
			o, err := w.orders.Place(t.Context(), offramp.Placing{Intent: s.Intent, User: p.id, Delivery: "flow:" + s.ID})
			require.NoError(t, err)
			w.becomes(o.ID, func(o *offramp.Order) { o.State = state })
			a := c.submit(pin(rightPIN))
			require.Equal(t, want, a.Screen, "%s: %v", state, a.Data)
			require.Equal(t, o.Reference, a.text("reference"))
			require.Len(t, p.placed(), 1)
			require.Zero(t, w.hasher.compared.Load())
			return // one person a database: the next would be the same number
		}
	})
}

// forgetful places, and says that it does not know.
type forgetful struct {
	*offramp.Service
	err error
}

func (f forgetful) Place(ctx context.Context, p offramp.Placing) (*offramp.Order, error) {
	if f.err == nil {
		return f.Service.Place(ctx, p)
	}
	if f.err == store.ErrCommitUnknown { //nolint:errorlint // a test's own marker
		_, _ = f.Service.Place(ctx, p)
	}
	return nil, f.err
}

func TestConfirm_outcomeOfPlacingUnknown(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		w.sell.d.Orders = forgetful{w.orders, store.ErrCommitUnknown}
		a := c.submit(pin(rightPIN))
		require.Equal(t, CryptoReview, a.Screen)
		require.Contains(t, a.text("error_message"), "it counts once")
		w.sell.d.Orders = w.orders
		a = c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 1)
	})
}

func TestConfirm_nothingWasPlacedForSure(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		for _, err := range []error{store.ErrUnavailable, fault.New("rate_unavailable", nil), errBroken} {
			w.sell.d.Orders = forgetful{w.orders, err}
			a := c.submit(pin(rightPIN))
			require.Equal(t, CryptoReview, a.Screen)
			require.Equal(t, true, a.Data["has_error"])
		}
		w.sell.d.Orders = w.orders
		require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
		require.Len(t, p.placed(), 1)
	})
}

func TestConfirm_guardThatCannotSayPlacesNothing(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	g := w.sell.d.Guard.(*memoryGuard)
	g.err = errBroken
	a := c.submit(pin(rightPIN))
	require.Equal(t, CryptoReview, a.Screen)
	require.Contains(t, a.text("error_message"), "nothing was started")
	require.Zero(t, w.hasher.compared.Load())
	require.Empty(t, p.placed())
	g.err = nil
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
}

func TestConfirm_sessionReplacedByAnother(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	old := p.atPIN("25")
	w.update(func(tx store.Tx) error {
		s, err := LoadSession(tx, old.token)
		if err != nil {
			return err
		}
		s.Close()
		return SaveSession(tx, s)
	})
	require.Equal(t, StatusTokenGone, old.submit(pin(rightPIN)).Status)
	require.Empty(t, p.placed())
	p.sells("25")
}

func TestSell_screensThatWereNotShownAreNotThere(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.receives("offramp_flow", nil)
	for _, screen := range []string{FiatReview, CryptoReview, Sold, Refused, Checking, "NOWHERE", ""} {
		a := c.raw(screen, pin(rightPIN))
		require.Equal(t, 200, a.Status)
		require.Equal(t, Details, a.Screen, screen)
	}
	require.Zero(t, w.hasher.compared.Load())
	c.init()
	c.submit(toNew("25", account))
	a := c.raw(CryptoReview, pin(rightPIN))
	require.Equal(t, FiatReview, a.Screen, "the PIN screen was not shown yet")
	require.Empty(t, p.placed())
	require.Zero(t, w.hasher.compared.Load())
}

func TestSell_backFromEveryScreen(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	c := w.person().atPIN("25")
	a := c.back()
	require.Equal(t, FiatReview, a.Screen)
	require.Equal(t, false, a.Data["has_error"])
	a = c.back()
	require.Equal(t, Details, a.Screen)
	require.Equal(t, "25", a.text("sell_amount"))
	require.Equal(t, "USDT:base", a.text("asset"))
	fresh := w.person().receives("offramp_flow", nil)
	for _, screen := range []string{CryptoReview, FiatReview, Details, "NOWHERE"} {
		require.Equal(t, Details, fresh.post(ActionBack, screen, nil).Screen, screen)
	}
}

func TestSell_peopleOfACountryWithoutACurrencyUseTheFirst(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	p.change(func(u *user.User) { u.Country = "DE" })
	require.Equal(t, FiatReview, p.opens("offramp_flow", nil).submit(toNew("25", account)).Screen)
}

func TestSell_whoHasNotSignedUpSellsNothing(t *testing.T) {
	t.Parallel()
	p := onBolt(t).stranger()
	c := p.opens("offramp_flow", nil)
	a := c.submit(toNew("25", account))
	require.Equal(t, Refused, a.Screen)
	require.Contains(t, a.text("error_message"), "not signed up")
}
