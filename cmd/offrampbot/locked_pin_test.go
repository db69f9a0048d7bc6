package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
)

// TestPIN_aLockedOneStopsNothingButThePIN types wrong PINs until the PIN is locked: nothing is sold by it, the right one
// does not help, and whatever needs no PIN goes on, a sale that was placed before among it (D5s).
func TestPIN_aLockedOneStopsNothingButThePIN(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		placed := p.sells("25 usdt on base", "0123456789")
		p.hears("Now send 25 USDT")
		s := p.review("20 usdc on base", "0123456789")
		var last screen
		for _, wrong := range []string{"916374", "916375", "916376", "916377", "916378"} { // one that comes twice in a row counts once
			last = p.submits(s, map[string]any{"pin": wrong})
		}
		require.Contains(t, last.Data["error_message"], "your PIN is locked", "%v", last)
		require.NotEqual(t, "OFFRAMP_SUCCESS", p.submits(s, map[string]any{"pin": goodPIN}).Screen)
		require.Len(t, w.orders(), 1)

		for text, answer := range map[string]string{
			"help": "How it works", "balance": "Your balance", "rate": "Rate now", "support": "A person will help you",
			"status": placed, "history": placed,
		} {
			before := len(p.chat())
			p.says(text)
			p.read = before
			p.hears(answer)
		}
		p.deposits("base", "USDT", "25")
		w.becomes(placed, offramp.Success)
		w.holds()
	})
}
