package flows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/user"
)

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
