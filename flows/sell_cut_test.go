package flows

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/guard"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestConfirm_copyOfARequestThatWasCutOffIsNotToldThatItIsInProgress(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine, realGuard(t, engine))
		p := w.person()
		c := p.atPIN("25")
		s, err := w.endpoint.load(t.Context(), c.token)
		require.NoError(t, err)
		var q quote.Quote
		w.view(func(r store.Reader) error { return r.Get(store.Quotes, s.Intent, &q) })
		plain, err := json.Marshal(map[string]any{
			"version": "4.0", "action": ActionExchange, "screen": CryptoReview, "flow_token": c.token, "data": pin(rightPIN),
		})
		require.NoError(t, err)

		// The process died with the session marked and the guard claimed: nothing was placed, and nobody is at it.
		_, err = w.deps.Guard.Claim(t.Context(), q.Content, guard.Flow, q.ID, w.clock.Now())
		require.NoError(t, err)
		r, err := DecodeRequest(plain)
		require.NoError(t, err)
		s.Begin(w.endpoint.d.Tokens.RequestDigest(r.Canonical()), ourNumber, w.clock.Now(), workTime)
		require.NoError(t, w.endpoint.save(t.Context(), s))

		key, _ := flowKey()
		body, _, err := sealRequest(&key.PublicKey, plain)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
		defer cancel()
		status, _ := w.endpoint.Answer(ctx, body)
		require.Equal(t, 500, status, "it waits for the first one, and gives up in time")
		w.clock.Advance(workTime)
		a := c.raw(CryptoReview, pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 1)
	})
}
