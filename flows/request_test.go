package flows

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeRequest_reads(t *testing.T) {
	t.Parallel()
	r, err := DecodeRequest([]byte(`{"version":"4.0","action":"data_exchange","screen":"OFFRAMP_DETAILS","flow_token":"ft",` +
		`"flow_token_signature":"a.b.c","data":{"amount":"25.50","tick":true,"n":5,"list":["x"]},"future":{"a":1}}`))
	require.NoError(t, err)
	require.Equal(t, "4.0", r.Version)
	require.Equal(t, ActionExchange, r.Action)
	require.Equal(t, "OFFRAMP_DETAILS", r.Screen)
	require.Equal(t, "ft", r.Token)
	amount, ok := r.Field("amount")
	require.True(t, ok)
	require.Equal(t, "25.50", amount)
	for _, name := range []string{"n", "list", "tick", "absent"} {
		_, ok := r.Field(name)
		require.False(t, ok, name)
	}
	require.True(t, r.Ticked("tick"))
	require.False(t, r.Ticked("amount"))
	require.False(t, r.IsPing())
	require.False(t, r.IsErrorNotice())
	require.NotContains(t, r.String(), "25.50")
}

func TestDecodeRequest_kinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body   string
		ping, notice bool
	}{
		{"a ping", `{"version":"3.0","action":"ping"}`, true, false},
		{"a ping with null data", `{"action":"ping","data":null}`, true, false},
		{"INIT without data", `{"action":"INIT","flow_token":"ft"}`, false, false},
		{"INIT with empty screen", `{"action":"INIT","flow_token":"ft","screen":"","data":{}}`, false, false},
		{"going back", `{"action":"BACK","screen":"OFFRAMP_FIAT_REVIEW","flow_token":"ft"}`, false, false},
		{"an error notice", `{"action":"data_exchange","screen":"A","data":{"error_key":"payload-schema-error","error_message":"x"}}`, false, true},
		{"an error notice in the older form", `{"action":"INIT","data":{"error":"timeout_error"}}`, false, true},
		{"an error notice while navigating", `{"action":"navigate","data":{"error":"x"}}`, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := DecodeRequest([]byte(tt.body))
			require.NoError(t, err)
			require.Equal(t, tt.ping, r.IsPing())
			require.Equal(t, tt.notice, r.IsErrorNotice())
			if tt.notice {
				key, _ := r.ErrorNotice()
				require.NotEmpty(t, key)
			}
		})
	}
}

func TestDecodeRequest_refuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body string }{
		{"nothing", ``},
		{"a list", `[]`},
		{"null", `null`},
		{"no action", `{"version":"4.0"}`},
		{"an action nobody knows", `{"action":"pay"}`},
		{"an action in another case", `{"action":"PING"}`},
		{"an action that is a list", `{"action":["ping"]}`},
		{"the screen in two spellings", `{"action":"data_exchange","screen":"A","SCREEN":"B"}`},
		{"the screen in a wrong spelling", `{"action":"data_exchange","Screen":"A"}`},
		{"a known key with a long s", `{"action":"data_exchange","ſcreen":"A"}`},
		{"the screen twice", `{"action":"data_exchange","screen":"A","screen":"B"}`},
		{"an escaped spelling of the same key", `{"action":"data_exchange","screen":"A","\u0073creen":"B"}`},
		{"a field twice", `{"action":"data_exchange","data":{"pin":"1","pin":"2"}}`},
		{"a field in two spellings", `{"action":"data_exchange","data":{"pin":"1","PIN":"2"}}`},
		{"a field twice, deep", `{"action":"data_exchange","data":{"a":[{"b":1,"b":2}]}}`},
		{"data that is a list", `{"action":"data_exchange","data":[]}`},
		{"a token that is an object", `{"action":"INIT","flow_token":{"$gt":""}}`},
		{"two documents", `{"action":"ping"}{"action":"ping"}`},
		{"cut off", `{"action":"ping"`},
		{"a hundred levels", `{"action":"INIT","data":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeRequest([]byte(tt.body))
			require.ErrorIs(t, err, ErrRequest)
		})
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(`{"version":"4.0","action":"data_exchange","screen":"A","data":{"pin":"1"},"flow_token":"ft"}`))
	f.Add([]byte(`{"action":"ping"}`))
	f.Fuzz(func(t *testing.T, plain []byte) {
		r, err := DecodeRequest(plain)
		if err != nil {
			return
		}
		r.IsErrorNotice()
		r.ErrorNotice()
		for name := range r.Data {
			r.Field(name)
			r.Ticked(name)
		}
	})
}

// jwt signs a token the way Meta does.
func jwt(secret, header, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

func TestVerifyTokenSignature_table(t *testing.T) {
	t.Parallel()
	const hs256 = `{"alg":"HS256","typ":"JWT"}`
	secrets := [][]byte{[]byte("new"), []byte("old")}
	unsigned := jwt("new", `{"alg":"none"}`, `{"flow_token":"ft"}`)
	tests := []struct {
		name, signature, token string
		want                   bool
	}{
		{"signed with the current secret", jwt("new", hs256, `{"flow_token":"ft","iat":1}`), "ft", true},
		{"signed with the previous secret", jwt("old", hs256, `{"flow_token":"ft"}`), "ft", true},
		{"another token", jwt("new", hs256, `{"flow_token":"other"}`), "ft", false},
		{"another secret", jwt("evil", hs256, `{"flow_token":"ft"}`), "ft", false},
		{"an empty secret", jwt("", hs256, `{"flow_token":"ft"}`), "ft", false},
		{"no algorithm", unsigned, "ft", false},
		{"no algorithm and no signature", unsigned[:strings.LastIndex(unsigned, ".")+1], "ft", false},
		{"a stronger name", jwt("new", `{"alg":"HS512"}`, `{"flow_token":"ft"}`), "ft", false},
		{"an empty token", jwt("new", hs256, `{"flow_token":""}`), "", false},
		{"a claim that is a list", jwt("new", hs256, `{"flow_token":["ft"]}`), "ft", false},
		{"claims that are no object", jwt("new", hs256, `"ft"`), "ft", false},
		{"two parts", "a.b", "ft", false},
		{"nothing", "", "ft", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, VerifyTokenSignature(append(secrets, nil), tt.signature, tt.token))
		})
	}
}
