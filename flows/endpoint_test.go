package flows

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

func TestNewEndpoint_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := NewEndpoint(Deps{})
	require.ErrorContains(t, err, "is missing")
	full := onBolt(t).endpoint.d
	for name, drop := range map[string]func(d *Deps){
		"Keys": func(d *Deps) { d.Keys = nil }, "Tokens": func(d *Deps) { d.Tokens = nil }, "Secrets": func(d *Deps) { d.Secrets = nil },
		"Engine": func(d *Deps) { d.Engine = nil }, "Sealer": func(d *Deps) { d.Sealer = nil }, "Flows": func(d *Deps) { d.Flows = nil },
		"Now": func(d *Deps) { d.Now = nil }, "Log": func(d *Deps) { d.Log = nil }, "PhoneID": func(d *Deps) { d.PhoneID = "" },
		"TokenGone": func(d *Deps) { d.TokenGone = nil },
	} {
		d := full
		drop(&d)
		_, err := NewEndpoint(d)
		require.EqualError(t, err, "flow endpoint: "+name+" is missing")
	}
}

func TestNewSell_namesWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := NewSell(SellDeps{})
	require.ErrorContains(t, err, "is missing")
	d := onBolt(t).deps
	d.Guard = nil
	_, err = NewSell(d)
	require.EqualError(t, err, "sell form: Guard is missing")
	_, err = NewSignUp(nil, nil, nil, nil)
	require.ErrorContains(t, err, "required")
}

func TestEndpoint_answersWhatIsNoScreen(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	c := w.person().receives("offramp_flow", nil)
	for _, version := range []string{"3.0", "4.0"} {
		a := w.send(t, map[string]any{"version": version, "action": "ping"})
		require.Equal(t, 200, a.Status)
		require.JSONEq(t, `{"data":{"status":"active"}}`, a.Raw)
	}
	for _, notice := range []map[string]any{
		{"action": "data_exchange", "screen": Details, "data": map[string]any{"error_key": "payload-schema-error", "error_message": "x"}},
		{"action": "INIT", "data": map[string]any{"error": "timeout_error"}},
		{"action": "navigate", "data": map[string]any{"error": "x"}},
		{"action": "navigate", "screen": Details, "data": map[string]any{}},
	} {
		notice["flow_token"] = c.token
		a := w.send(t, notice)
		require.Equal(t, 200, a.Status)
		require.JSONEq(t, `{"data":{"acknowledged":true}}`, a.Raw)
	}
	require.Contains(t, w.log.String(), "payload-schema-error", "an operator sees the client's complaint")
	s, err := w.endpoint.load(t.Context(), c.token)
	require.NoError(t, err)
	require.Equal(t, int64(1), s.Revision, "a notice changes nothing")
}

func TestEndpoint_cannotDecrypt(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	stranger := newKey(t, 2048)
	foreignBody, _, err := sealRequest(&stranger.PublicKey, []byte(`{"version":"4.0","action":"ping"}`))
	require.NoError(t, err)
	for _, body := range [][]byte{nil, []byte("{}"), []byte("x"), foreignBody} {
		status, answer := w.endpoint.Answer(t.Context(), body)
		require.Equal(t, StatusDecrypt, status)
		require.Empty(t, answer)
	}
}

func TestEndpoint_tokenIsGone(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	change := func(c *client, f func(s *Session)) {
		w.update(func(tx store.Tx) error {
			s, err := LoadSession(tx, c.token)
			if err != nil {
				return err
			}
			f(s)
			return SaveSession(tx, s)
		})
	}
	tests := []struct {
		name string
		do   func(c *client)
	}{
		{"no token", func(c *client) { c.token = "" }},
		{"a guessed token", func(c *client) { c.token = strings.Repeat("A", 43) }},
		{"a token that is no text", func(c *client) { c.extra = map[string]any{"flow_token": map[string]any{"$gt": ""}} }},
		{"null", func(c *client) { c.extra = map[string]any{"flow_token": nil} }},
		{"expired", func(c *client) { change(c, func(s *Session) { s.ExpiresAt = w.clock.Now() }) }},
		{"closed", func(c *client) { change(c, func(s *Session) { s.Close() }) }},
		{"used", func(c *client) { change(c, func(s *Session) { s.State = SessionSubmitted }) }},
		{"of another number", func(c *client) { change(c, func(s *Session) { s.PhoneNumberID = "999" }) }},
		{"used and of another number", func(c *client) {
			change(c, func(s *Session) { s.PhoneNumberID, s.State, s.Intent = "999", SessionSubmitted, "i1" })
		}},
		{"used and expired", func(c *client) {
			change(c, func(s *Session) { s.State, s.Intent, s.ExpiresAt = SessionSubmitted, "i1", w.clock.Now() })
		}},
		{"of a form that is no more", func(c *client) { change(c, func(s *Session) { s.Flow = "gone" }) }},
		{"of nobody", func(c *client) { change(c, func(s *Session) { s.User = "u_nobody" }) }},
		{"signed by somebody else", func(c *client) {
			c.extra = map[string]any{"flow_token_signature": jwt("evil", `{"alg":"HS256"}`, `{"flow_token":"x"}`)}
		}},
		{"a request that is malformed", func(c *client) { c.extra = map[string]any{"Action": "INIT"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { //nolint:paralleltest // they share a world, and a clock that stands
			for _, screen := range []string{"", Details, CryptoReview} {
				c := p.receives("offramp_flow", nil)
				tt.do(c)
				action := ActionExchange
				if screen == "" {
					action = ActionInit
				}
				a := c.post(action, screen, pin(rightPIN))
				require.Equal(t, StatusTokenGone, a.Status)
				require.JSONEq(t, `{"error_msg":"This form is over."}`, a.Raw, "the reason is nobody's business")
			}
		})
	}
	require.Empty(t, p.placed())
	require.Zero(t, p.tries())
	w.wantsQuiet()
}

func TestEndpoint_acceptsTheTokensSignature(t *testing.T) {
	t.Parallel()
	c := onBolt(t).person().receives("offramp_flow", nil)
	c.extra = map[string]any{"flow_token_signature": jwt("app secret", `{"alg":"HS256"}`, `{"flow_token":"`+c.token+`"}`)}
	require.Equal(t, 200, c.init().Status)
}
