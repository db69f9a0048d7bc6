package flows

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vector is testdata/flow-crypto.json.
type vector struct {
	KeyHex, IVHex                      string
	RequestPlaintext, RequestBase64    string
	ResponsePlaintext, ResponseBase64  string
	Body, Secret, Signature, MustNotEq string
}

func readVector(tb testing.TB) vector {
	tb.Helper()
	raw, err := os.ReadFile("testdata/flow-crypto.json")
	require.NoError(tb, err)
	var m map[string]string
	require.NoError(tb, json.Unmarshal(raw, &m))
	return vector{
		m["key_hex"], m["iv_hex"], m["request_plaintext"], m["request_base64"], m["response_plaintext"],
		m["response_base64"], m["body"], m["secret"], m["signature"], m["must_not_match"],
	}
}

func newKey(tb testing.TB, bits int) *rsa.PrivateKey {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(tb, err)
	return key
}

func pkcs1(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func pkcs8(tb testing.TB, key any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(tb, err)
	return b
}

// sealVector wraps the vector's ciphertext with its AES key sealed to the given key.
func sealVector(tb testing.TB, v vector, public *rsa.PublicKey) []byte {
	tb.Helper()
	sealed, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, public, unhex(tb, v.KeyHex), nil)
	require.NoError(tb, err)
	body, err := json.Marshal(envelope{
		Data: v.RequestBase64, Key: base64.StdEncoding.EncodeToString(sealed),
		Nonce: base64.StdEncoding.EncodeToString(unhex(tb, v.IVHex)),
	})
	require.NoError(tb, err)
	return body
}

func TestKeys_openAndSealTheVector(t *testing.T) {
	t.Parallel()
	v, key := readVector(t), newKey(t, 2048)
	keys, err := NewKeys(pkcs1(key), nil)
	require.NoError(t, err)
	plain, reply, err := keys.Open(sealVector(t, v, &key.PublicKey))
	require.NoError(t, err)
	require.Equal(t, v.RequestPlaintext, string(plain))
	require.Equal(t, v.ResponseBase64, string(reply.Seal([]byte(v.ResponsePlaintext))))
	require.Equal(t, "efeeedecebeae9e8e7e6e5e4e3e2e1e0", hex.EncodeToString(reply.nonce))
}

func TestKeys_acceptBothFileFormatsAndAPreviousKey(t *testing.T) {
	t.Parallel()
	old, current := newKey(t, 2048), newKey(t, 2048)
	for name, text := range map[string][]byte{"PKCS#1": pkcs1(current), "PKCS#8": pkcs8(t, current)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := NewKeys(text, pkcs8(t, old))
			require.NoError(t, err)
			for _, key := range []*rsa.PrivateKey{old, current} {
				body, clientReply, err := sealRequest(&key.PublicKey, []byte(`{"action":"ping"}`))
				require.NoError(t, err)
				plain, reply, err := keys.Open(body)
				require.NoError(t, err)
				require.JSONEq(t, `{"action":"ping"}`, string(plain))
				require.Equal(t, clientReply.Seal([]byte("x")), reply.Seal([]byte("x")))
			}
			public, err := keys.PublicPEM()
			require.NoError(t, err)
			block, _ := pem.Decode(public)
			parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
			require.NoError(t, err)
			require.True(t, current.PublicKey.Equal(parsed), "the current key is the one to upload")
		})
	}
}

func TestNewKeys_refuses(t *testing.T) {
	t.Parallel()
	good := newKey(t, 2048)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	encrypted := pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES-256-CBC,00"}, Bytes: []byte("x"),
	})
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")})
	wrongType := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(good)})
	tests := []struct {
		name              string
		current, previous []byte
		want              string
	}{
		{"nothing", nil, nil, "no PEM block"},
		{"no PEM", []byte("hunter2"), nil, "no PEM block"},
		{"an encrypted key", encrypted, nil, "encrypted"},
		{"a public key", public, nil, "PUBLIC KEY"},
		{"PKCS#1 under the name of PKCS#8", wrongType, nil, "PKCS#8"},
		{"an elliptic curve", pkcs8(t, curve), nil, "not an RSA key"},
		{"another length", pkcs1(newKey(t, 3072)), nil, "3072 bits"},
		{"two keys in one file", append(pkcs1(good), pkcs1(good)...), nil, "follows"},
		{"a bad previous key", pkcs1(good), []byte("x"), "previous"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewKeys(tt.current, tt.previous)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestKeys_openRefusesEverythingElseAlike(t *testing.T) {
	t.Parallel()
	v, key := readVector(t), newKey(t, 2048)
	keys, err := NewKeys(pkcs1(key), nil)
	require.NoError(t, err)
	good := sealVector(t, v, &key.PublicKey)
	var parts envelope
	require.NoError(t, json.Unmarshal(good, &parts))
	change := func(f func(e *envelope)) []byte {
		e := parts
		f(&e)
		body, err := json.Marshal(e)
		require.NoError(t, err)
		return body
	}
	b64 := base64.StdEncoding.EncodeToString
	raw, err := base64.StdEncoding.DecodeString(v.RequestBase64)
	require.NoError(t, err)
	raw[0] ^= 1
	shortKey, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &key.PublicKey, make([]byte, 32), nil)
	require.NoError(t, err)
	sha1Like, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &key.PublicKey, unhex(t, v.KeyHex), []byte("label"))
	require.NoError(t, err)
	tests := []struct {
		name string
		body []byte
	}{
		{"nothing", nil},
		{"no JSON", []byte("x")},
		{"an empty object", []byte(`{}`)},
		{"numbers", []byte(`{"encrypted_flow_data":1,"encrypted_aes_key":2,"initial_vector":3}`)},
		{"another key", sealVector(t, v, &newKey(t, 2048).PublicKey)},
		{"no base64", change(func(e *envelope) { e.Data = "*" })},
		{"base64 without padding", change(func(e *envelope) { e.Nonce = strings.TrimRight(e.Nonce, "=") })},
		{"a nonce of 12 bytes", change(func(e *envelope) { e.Nonce = b64(make([]byte, 12)) })},
		{"a nonce of 17 bytes", change(func(e *envelope) { e.Nonce = b64(make([]byte, 17)) })},
		{"no nonce", change(func(e *envelope) { e.Nonce = "" })},
		{"data shorter than a tag", change(func(e *envelope) { e.Data = b64(make([]byte, 15)) })},
		{"no data", change(func(e *envelope) { e.Data = "" })},
		{"one bit of data changed", change(func(e *envelope) { e.Data = b64(raw) })},
		{"an AES key of 32 bytes", change(func(e *envelope) { e.Key = b64(shortKey) })},
		{"a key sealed with a label", change(func(e *envelope) { e.Key = b64(sha1Like) })},
		{"a key that is too long", change(func(e *envelope) { e.Key = b64(make([]byte, 512)) })},
		{"no key", change(func(e *envelope) { e.Key = "" })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plain, reply, err := keys.Open(tt.body)
			require.ErrorIs(t, err, ErrDecrypt)
			require.Nil(t, plain)
			require.Nil(t, reply)
			require.Equal(t, ErrDecrypt.Error(), err.Error(), "the reason stays inside")
		})
	}
}

func TestKeys_openTakesAnEmptyPlaintext(t *testing.T) {
	t.Parallel()
	key := newKey(t, 2048)
	keys, err := NewKeys(pkcs1(key), nil)
	require.NoError(t, err)
	body, _, err := sealRequest(&key.PublicKey, nil)
	require.NoError(t, err)
	plain, reply, err := keys.Open(body)
	require.NoError(t, err)
	require.Empty(t, plain)
	require.NotEmpty(t, reply.Seal(nil))
}

func FuzzOpen(f *testing.F) {
	v, key := readVector(f), newKey(f, 2048)
	keys, err := NewKeys(pkcs1(key), nil)
	require.NoError(f, err)
	block, err := aes.NewCipher(unhex(f, v.KeyHex))
	require.NoError(f, err)
	gcm, err := cipher.NewGCMWithNonceSize(block, 16)
	require.NoError(f, err)
	f.Add(sealVector(f, v, &key.PublicKey))
	f.Add([]byte(`{"encrypted_flow_data":"","encrypted_aes_key":"","initial_vector":""}`))
	f.Add([]byte(v.RequestBase64))
	f.Fuzz(func(t *testing.T, body []byte) {
		plain, reply, err := keys.Open(body)
		if err != nil {
			return
		}
		// Only what this key and nonce really sealed may come out.
		var e envelope
		if json.Unmarshal(body, &e) != nil {
			t.Fatal("opened a body that is not JSON")
		}
		if want, _ := base64.StdEncoding.DecodeString(e.Data); !bytes.Equal(gcm.Seal(nil, unhex(t, v.IVHex), plain, nil), want) {
			t.Fatal("opened something that was never sealed")
		}
		reply.Seal(plain)
	})
}
