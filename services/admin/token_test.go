package admin

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"offrampbot/services/testkit"
)

func TestVerify_refusesEveryOtherToken(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("op@example.com", Operator)
	key := []byte(strings.Repeat("s", 32))
	now := h.clock.Now()
	good := func() (jwt.MapClaims, map[string]any) {
		return jwt.MapClaims{
			"iss": issuer, "aud": audience, "sub": "op@example.com", "jti": "j", "epoch": 0,
			"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(15 * time.Minute).Unix(),
		}, map[string]any{"kid": "k1"}
	}
	sign := func(change func(jwt.MapClaims, map[string]any), method jwt.SigningMethod, key any) string {
		claims, header := good()
		change(claims, header)
		token := jwt.NewWithClaims(method, claims)
		for k, v := range header {
			token.Header[k] = v
		}
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	same := func(jwt.MapClaims, map[string]any) {}
	claim := func(name string, value any) func(jwt.MapClaims, map[string]any) {
		return func(c jwt.MapClaims, _ map[string]any) {
			if value == nil {
				delete(c, name)
				return
			}
			c[name] = value
		}
	}
	_, err := h.Verify(t.Context(), sign(same, jwt.SigningMethodHS256, key))
	require.NoError(t, err, "the unchanged token is good, so each change below is what refuses it")

	tests := map[string]string{
		"nothing":               "",
		"no token":              "a.b.c",
		"alg none":              sign(same, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"another method":        sign(same, jwt.SigningMethodHS512, key),
		"another key":           sign(same, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32))),
		"an unknown key id":     sign(func(_ jwt.MapClaims, h map[string]any) { h["kid"] = "k9" }, jwt.SigningMethodHS256, key),
		"no key id":             sign(func(_ jwt.MapClaims, h map[string]any) { h["kid"] = 7 }, jwt.SigningMethodHS256, key),
		"another issuer":        sign(claim("iss", "evil"), jwt.SigningMethodHS256, key),
		"no issuer":             sign(claim("iss", nil), jwt.SigningMethodHS256, key),
		"another audience":      sign(claim("aud", "users"), jwt.SigningMethodHS256, key),
		"no audience":           sign(claim("aud", nil), jwt.SigningMethodHS256, key),
		"no expiry":             sign(claim("exp", nil), jwt.SigningMethodHS256, key),
		"expired":               sign(claim("exp", now.Add(-3*time.Second).Unix()), jwt.SigningMethodHS256, key),
		"a life of an hour":     sign(claim("exp", now.Add(time.Hour).Unix()), jwt.SigningMethodHS256, key),
		"not yet valid":         sign(claim("nbf", now.Add(time.Minute).Unix()), jwt.SigningMethodHS256, key),
		"issued in the future":  sign(claim("iat", now.Add(time.Minute).Unix()), jwt.SigningMethodHS256, key),
		"no jti":                sign(claim("jti", nil), jwt.SigningMethodHS256, key),
		"no subject":            sign(claim("sub", nil), jwt.SigningMethodHS256, key),
		"an unknown subject":    sign(claim("sub", "x@example.com"), jwt.SigningMethodHS256, key),
		"another epoch":         sign(claim("epoch", 1), jwt.SigningMethodHS256, key),
		"a role it gave itself": tamper(t, sign(same, jwt.SigningMethodHS256, key)),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := h.Verify(t.Context(), text)
			h.wantFault("unauthorized", err)
		})
	}
}

// tamper changes the content of a token and leaves its signature.
func tamper(t *testing.T, text string) string {
	t.Helper()
	parts := strings.Split(text, ".")
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var content map[string]any
	require.NoError(t, json.Unmarshal(body, &content))
	content["role"] = "approver"
	body, err = json.Marshal(content)
	require.NoError(t, err)
	parts[1] = base64.RawURLEncoding.EncodeToString(body)
	return strings.Join(parts, ".")
}

func TestVerify_followsTheAccount(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("op@example.com", Operator)
	issue := func() Token {
		token, err := h.Issue(t.Context(), "op@example.com")
		require.NoError(t, err)
		return token
	}
	first, second := issue(), issue()
	who, err := h.Verify(t.Context(), first.Text)
	require.NoError(t, err)

	require.NoError(t, h.Logout(t.Context(), who))
	_, err = h.Verify(t.Context(), first.Text)
	h.wantFault("unauthorized", err)
	_, err = h.Verify(t.Context(), second.Text)
	require.NoError(t, err, "the other session goes on")

	require.NoError(t, h.SetRole(t.Context(), "op@example.com", Viewer, "host", "moved"))
	who, err = h.Verify(t.Context(), second.Text)
	require.NoError(t, err)
	require.Equal(t, Viewer, who.Role, "a smaller role applies at once")

	require.NoError(t, h.RevokeAll(t.Context(), "op@example.com", "host", "laptop lost"))
	_, err = h.Verify(t.Context(), second.Text)
	h.wantFault("unauthorized", err)

	third := issue()
	require.NoError(t, h.SetDisabled(t.Context(), "op@example.com", true, "host", "left us"))
	_, err = h.Verify(t.Context(), third.Text)
	h.wantFault("unauthorized", err)
	_, err = h.Issue(t.Context(), "op@example.com")
	h.wantFault("staff_unknown", err)
	require.NoError(t, h.SetDisabled(t.Context(), "op@example.com", false, "host", "came back"))
	_, err = h.Verify(t.Context(), third.Text)
	h.wantFault("unauthorized", err)

	h.wantFault("staff_unknown", h.RevokeAll(t.Context(), "nobody@example.com", "host", ""))
	h.wantFault("staff_invalid", h.SetRole(t.Context(), "op@example.com", "root", "host", ""))
	require.Equal(t, []string{
		"staff_created", "token_issued", "token_issued", "logout", "role_changed moved", "tokens_revoked laptop lost",
		"token_issued", "staff_disabled left us", "staff_enabled came back",
	}, h.trailOf("staff:op@example.com"))
}

func TestVerify_acceptsTheKeyBeforeARotation(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, indexes())
	old := Key{ID: "old", Secret: []byte(strings.Repeat("o", 32))}
	fresh := Key{ID: "new", Secret: []byte(strings.Repeat("n", 32))}
	before := newHarness(t, engine, Config{Keys: []Key{old}})
	before.staff("op@example.com", Operator)
	token, err := before.Issue(t.Context(), "op@example.com")
	require.NoError(t, err)

	during := newHarness(t, engine, Config{Keys: []Key{fresh, old}})
	_, err = during.Verify(t.Context(), token.Text)
	require.NoError(t, err)
	after := newHarness(t, engine, Config{Keys: []Key{fresh}})
	_, err = after.Verify(t.Context(), token.Text)
	after.wantFault("unauthorized", err)
}

func TestRevoked_listStaysShort(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("op@example.com", Operator)
	for range 5 {
		token, err := h.Issue(t.Context(), "op@example.com")
		require.NoError(t, err)
		who, err := h.Verify(t.Context(), token.Text)
		require.NoError(t, err)
		require.NoError(t, h.Logout(t.Context(), who))
		h.clock.Advance(20 * time.Minute)
	}
	require.Len(t, h.account("op@example.com").Revoked, 1)
}
