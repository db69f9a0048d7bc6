package flows

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// shown is what a client got.
type shown struct {
	Status int            `json:"-"`
	Screen string         `json:"screen"`
	Data   map[string]any `json:"data"`
	Raw    string         `json:"-"` // the plain answer
}

// text is one text of the screen.
func (s shown) text(name string) string {
	text, _ := s.Data[name].(string)
	return text
}

// client is one open Flow on a phone: it encrypts, keeps the screen, and complains about answers it could not show.
type client struct {
	*world
	flow   string
	token  string
	screen string
	extra  map[string]any // more keys of each request
}

// opens makes the session of a Flow message and shows its first screen.
func (p *person) opens(flow string, values map[string]string) *client {
	p.t.Helper()
	c := p.receives(flow, values)
	require.Equal(p.t, 200, c.init().Status)
	return c
}

// receives makes the session of a Flow message.
func (p *person) receives(flow string, values map[string]string) *client {
	p.t.Helper()
	p.sessions++
	c := &client{world: p.world, flow: flow, token: p.tokens.Token(fmt.Sprint("session ", p.sessions))}
	p.update(func(tx store.Tx) error {
		return CreateSession(tx, c.token, Session{
			User: p.id, Flow: flow, FlowVersion: "1", PhoneNumberID: ourNumber, Values: values, CreatedAt: p.clock.Now(),
			ExpiresAt: p.clock.Now().Add(30 * time.Minute),
		})
	})
	return c
}

// post sends one request and checks that what comes back can be shown.
func (c *client) post(action, screen string, data map[string]any) shown {
	c.t.Helper()
	request := map[string]any{"version": "4.0", "action": action, "flow_token": c.token}
	if screen != "" {
		request["screen"] = screen
	}
	if data != nil {
		request["data"] = data
	}
	maps.Copy(request, c.extra)
	a := c.send(c.t, request)
	if a.Status == 200 {
		from := screen
		if action == ActionBack {
			from = "" // any earlier screen may be shown
		}
		require.Empty(c.t, complaints(c.flow, from, a), "%s %s", action, screen)
		require.Equal(c.t, "4.0", gjson(c.t, a.Raw)["version"])
	}
	return a
}

// send encrypts a request, and opens the answer.
func (w *world) send(t testing.TB, request map[string]any) shown {
	t.Helper()
	plain, err := json.Marshal(request)
	require.NoError(t, err)
	key, _ := flowKey()
	body, reply, err := sealRequest(&key.PublicKey, plain)
	require.NoError(t, err)
	return open(t, reply, w.endpoint, body)
}

func open(t testing.TB, reply *Reply, e *Endpoint, body []byte) shown {
	t.Helper()
	status, sealed := e.Answer(t.Context(), body)
	a := shown{Status: status}
	if len(sealed) == 0 {
		return a
	}
	raw, err := base64.StdEncoding.DecodeString(string(sealed))
	require.NoError(t, err)
	answer, err := reply.gcm.Open(nil, reply.nonce, raw, nil)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer, &a))
	a.Raw = string(answer)
	return a
}

// raw submits a screen without the checks of post, as a client might that is out of step.
func (c *client) raw(screen string, data map[string]any) shown {
	return c.send(c.t, map[string]any{
		"version": "4.0", "action": ActionExchange, "screen": screen, "flow_token": c.token, "data": data,
	})
}

func gjson(t testing.TB, raw string) map[string]any {
	t.Helper()
	out := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(raw), &out))
	return out
}

// move notes the screen that shows.
func (c *client) move(a shown) shown {
	if a.Status == 200 {
		c.screen = a.Screen
	}
	return a
}

func (c *client) init() shown { return c.move(c.post(ActionInit, "", nil)) }
func (c *client) back() shown { return c.move(c.post(ActionBack, c.screen, nil)) }

// submit uses the footer of the screen that shows.
func (c *client) submit(data map[string]any) shown {
	if data == nil {
		data = map[string]any{}
	}
	return c.move(c.post(ActionExchange, c.screen, data))
}

// toNew fills the first screen with a new bank account.
func toNew(amount, number string) map[string]any {
	return map[string]any{"asset": "USDT:base", "sell_amount": amount, "beneficiary": "new", "bank_code": "058", "account_number": number}
}

func pin(digits string) map[string]any { return map[string]any{"pin": digits} }

// atOffer fills the sell form up to the offer.
func (p *person) atOffer(amount string) *client {
	p.t.Helper()
	c := p.opens("offramp_flow", nil)
	a := c.submit(toNew(amount, account))
	require.Equal(p.t, FiatReview, a.Screen, "%v", a.Data["error_message"])
	return c
}

// atPIN fills the sell form up to the PIN.
func (p *person) atPIN(amount string) *client {
	p.t.Helper()
	c := p.atOffer(amount)
	require.Equal(p.t, CryptoReview, c.submit(nil).Screen)
	return c
}

// sells places a sale.
func (p *person) sells(amount string) shown {
	p.t.Helper()
	a := p.atPIN(amount).submit(pin(rightPIN))
	require.Equal(p.t, Sold, a.Screen, "%v", a.Data["error_message"])
	return a
}

// wantsQuiet checks that nothing that was typed, and no token, is in the log or in a stored session.
func (w *world) wantsQuiet(tokens ...string) {
	w.t.Helper()
	log := w.log.String()
	var stored strings.Builder
	w.view(func(r store.Reader) error {
		stored.Reset()
		all, err := store.All[Session](r, store.Query{Collection: store.FlowSessions, Index: "_id"})
		for _, s := range all {
			fmt.Fprintf(&stored, "%+v %q %q\n", *s, s.Answer, s.Secret)
		}
		return err
	})
	for _, secret := range append(tokens, rightPIN, wrongPIN, account, otherAccount) {
		require.NotContains(w.t, log, secret, "in the log")
		require.NotContains(w.t, stored.String(), secret, "in a session")
	}
}
