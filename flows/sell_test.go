package flows

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
)

func TestSell_aSaleFromTheFormToItsReference(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.opens("offramp_flow", map[string]string{"asset": "USDT", "chain": "base", "amount": "25"})
		require.Equal(t, Details, c.screen)
		a := c.submit(toNew("25", account))
		require.Equal(t, FiatReview, a.Screen, "%v", a.Data)
		require.Equal(t, "ADA OBI", a.text("recipient_name"))
		require.Equal(t, "•••• 6789", a.text("account_masked"))
		a = c.submit(nil)
		require.Equal(t, CryptoReview, a.Screen)
		a = c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		o := p.placed()
		require.Len(t, o, 1)
		require.Equal(t, offramp.Waiting, o[0].State)
		require.Equal(t, o[0].Reference, a.text("reference"))
		w.wantsQuiet(c.token)
	})
}
