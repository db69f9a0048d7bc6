package flows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/setting"
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
