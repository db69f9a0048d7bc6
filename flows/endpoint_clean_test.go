package flows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogs_neverHoldWhatWasTyped(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	// A hasher, a bank and a client that say what they should not.
	w.hasher.meanwhile(nil, fmt.Errorf("compare %s: %w", rightPIN, errBroken))
	require.Equal(t, 200, c.submit(pin(rightPIN)).Status)
	w.hasher.meanwhile(nil, nil)
	w.banks.change(func(b *banks) { b.nameErr = errors.New("GET /bank/resolve?account_number=" + account) })
	d := p.opens("offramp_flow", nil)
	require.Equal(t, Details, d.submit(toNew("25", account[:4]+" "+account[4:])).Screen)
	for _, notice := range []map[string]any{
		{"error": "x", "error_message": "pin " + rightPIN + " token " + c.token + " account " + account},
		{"error_key": rightPIN, "error_message": "\x1b[31m" + c.token},
	} {
		w.send(t, map[string]any{"version": "4.0", "action": ActionExchange, "screen": rightPIN, "flow_token": c.token, "data": notice})
	}
	w.send(t, map[string]any{"version": "4.0", "action": ActionExchange, "screen": "S" + rightPIN, "flow_token": c.token, "data": pin(rightPIN)})
	w.wantsQuiet(c.token, d.token, p.tokens.Token("session 1"))
	require.Contains(t, w.log.String(), "sell form failed")
	require.False(t, bytes.ContainsAny([]byte(w.log.String()), "\x1b"))
}

func TestRequest_scrubTable(t *testing.T) {
	t.Parallel()
	r := Request{Token: "the-token", Data: map[string]json.RawMessage{
		"pin": json.RawMessage(`"482913"`), "account_number": json.RawMessage(`"0123 456 789"`), "short": json.RawMessage(`"a"`),
		"blank": json.RawMessage(`"    "`), "list": json.RawMessage(`["x"]`),
	}}
	for in, want := range map[string]string{
		"open 482913 and 0123456789": "open *** and ***", "as typed 0123 456 789": "as typed ***", "a the-token": "a ***", "plain": "plain", "": "",
	} {
		require.Equal(t, want, r.Scrub(in))
	}
}

func TestClean_table(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"payload-schema-error": "payload-schema-error", "OFFRAMP_DETAILS": "OFFRAMP_DETAILS", "pin 482913 x9": "pin # #",
		strings.Repeat("a", 33): "#", "a\nb\x1b[31m": "a b #", "": "",
	} {
		require.Equal(t, want, clean(in), in)
	}
	require.LessOrEqual(t, length(clean(strings.Repeat("word ", 4000))), maxLogged)
}
