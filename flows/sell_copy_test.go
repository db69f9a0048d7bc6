package flows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/user"
)

// copies are what a client may send again when it lost an answer: the same confirmation, and one that differs.
var copies = map[string]map[string]any{"the same": pin(rightPIN), "another PIN": pin(wrongPIN)}

func TestCopy_ofARefusedConfirmationSaysThatNothingIsInProgress(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atPIN("25")
	p.change(func(u *user.User) { user.Frozen(u, "screening", p.clock.Now()) })
	require.Equal(t, Refused, c.submit(pin(rightPIN)).Screen)
	for name, data := range copies {
		a := c.raw(CryptoReview, data)
		require.Empty(t, complaints(c.flow, CryptoReview, a), name)
		require.Equal(t, Refused, a.Screen, name)
		require.Equal(t, "No transaction is in progress: this one was not accepted.", a.text("error_message"), name)
		require.Equal(t, "Nothing was sold", a.text("heading"), name)
		require.Contains(t, a.text("next_step"), "sell", name)
		require.Equal(t, false, a.Data["has_reference"], name)
	}
	require.Empty(t, p.placed())
}

func TestCopy_ofAPINLockedConfirmationSaysThatNothingIsInProgress(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	c := p.atPIN("25")
	var last map[string]any
	for range 10 {
		last = pin(wrongPIN)
		if c.submit(last).Screen == Refused {
			break
		}
		p.clock.Advance(repeatWindow)
	}
	require.Equal(t, Refused, c.screen)
	a := c.raw(CryptoReview, last)
	require.Equal(t, Refused, a.Screen)
	require.NotEqual(t, inProgress, a.text("error_message"))
	require.Contains(t, a.text("error_message"), "No transaction is in progress")
}

func TestCopy_ofASaleThatHasEndedSaysHow(t *testing.T) {
	t.Parallel()
	for state, want := range map[offramp.State]struct{ text, next string }{
		offramp.Cancelled: {"This sale was cancelled. No transaction is in progress.", "Type sell"},
		offramp.Failed:    {"This sale was not paid; the crypto is back in your balance. No transaction is in progress.", "Type sell"},
		offramp.Returned:  {"The bank returned this sale; the crypto is back in your balance. No transaction is in progress.", "Type sell"},
		offramp.Overdue:   {"The time for the deposit is over. No transaction is in progress.", "renew"},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			p := onBolt(t).person()
			c := p.atPIN("25")
			require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
			o := p.placed()[0]
			p.becomes(o.ID, func(o *offramp.Order) { o.State = state })
			for name, data := range copies {
				a := c.raw(CryptoReview, data)
				require.Empty(t, complaints(c.flow, CryptoReview, a), name)
				require.Equal(t, Refused, a.Screen, name)
				require.Equal(t, want.text, a.text("error_message"), name)
				require.Contains(t, a.text("next_step"), want.next, name)
				require.Equal(t, o.Reference, a.text("reference"), name)
			}
		})
	}
}

func TestCopy_ofARefusedDuplicateFollowsTheSaleThatHoldsTheClaim(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		p.deposits("USDT", 100*oneUSDT)
		p.sells("25")
		o := p.placed()[0]
		c := p.atPIN("25")
		require.Equal(t, inProgress, c.submit(pin(rightPIN)).text("error_message"))
		for name, data := range copies {
			a := c.raw(CryptoReview, data)
			require.Equal(t, inProgress, a.text("error_message"), name)
		}
		p.becomes(o.ID, func(o *offramp.Order) { o.State = offramp.Cancelled })
		a := c.raw(CryptoReview, pin(rightPIN))
		require.Equal(t, "No transaction is in progress: this one was not accepted.", a.text("error_message"))
	})
}
