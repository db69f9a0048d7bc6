package main

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
)

// secret is a value of the bot's environment.
func (w *town) secret(name string) string {
	w.t.Helper()
	for _, line := range environment(w.file) {
		if value, found := strings.CutPrefix(line, name+"="); found {
			return value
		}
	}
	require.Fail(w.t, "the environment has no "+name)
	return ""
}

// internal is where trusted events go.
func (w *town) internal() string { return "http://" + w.env["INTERNAL_ADDR"] }

func mac(h func() hash.Hash, secret string, body []byte) string {
	m := hmac.New(h, []byte(secret))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

// metaSigned signs a body as Meta does.
func (w *town) metaSigned(body []byte) map[string]string {
	return map[string]string{"X-Hub-Signature-256": "sha256=" + mac(sha256.New, w.secret("WHATSAPP_APP_SECRET"), body)}
}

// paystackSigned signs a body as Paystack does.
func (w *town) paystackSigned(body []byte) map[string]string {
	return map[string]string{"X-Paystack-Signature": mac(sha512.New, w.secret("PAYSTACK_SECRET_KEY"), body)}
}

// depositSigned signs a body as the verifier of deposits does.
func (w *town) depositSigned(body []byte) map[string]string {
	return map[string]string{"X-Signature-256": "sha256=" + mac(sha256.New, w.secret("DEPOSIT_WEBHOOK_SECRET"), body)}
}

// ask sends bytes as they are and returns status and body.
func (w *town) ask(method, url string, body []byte, header map[string]string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, url, bytes.NewReader(body))
	require.NoError(w.t, err)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return res.StatusCode, string(answer)
}

// sealedFlow encrypts a request as the Flow client does; open decrypts the answer.
func (w *town) sealedFlow(request any) (body []byte, open func(answer string) string) {
	w.t.Helper()
	block, _ := pem.Decode([]byte(w.secret("FLOW_PRIVATE_KEY")))
	require.NotNil(w.t, block)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	require.NoError(w.t, err)
	private, ok := parsed.(*rsa.PrivateKey)
	require.True(w.t, ok)
	key, iv := make([]byte, 16), make([]byte, 16)
	_, err = rand.Read(key)
	require.NoError(w.t, err)
	_, err = rand.Read(iv)
	require.NoError(w.t, err)
	aesBlock, err := aes.NewCipher(key)
	require.NoError(w.t, err)
	gcm, err := cipher.NewGCMWithNonceSize(aesBlock, 16)
	require.NoError(w.t, err)
	plain, err := json.Marshal(request)
	require.NoError(w.t, err)
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &private.PublicKey, key, nil)
	require.NoError(w.t, err)
	body, err = json.Marshal(map[string]string{
		"encrypted_flow_data": base64.StdEncoding.EncodeToString(gcm.Seal(nil, iv, plain, nil)),
		"encrypted_aes_key":   base64.StdEncoding.EncodeToString(wrapped),
		"initial_vector":      base64.StdEncoding.EncodeToString(iv),
	})
	require.NoError(w.t, err)
	return body, func(answer string) string {
		sealed, err := base64.StdEncoding.DecodeString(answer)
		require.NoError(w.t, err)
		flipped := make([]byte, len(iv))
		for i, b := range iv {
			flipped[i] = ^b
		}
		opened, err := gcm.Open(nil, flipped, sealed, nil)
		require.NoError(w.t, err)
		return string(opened)
	}
}

// receipts are all receipts of a state.
func (w *town) receipts(state delivery.State) []*delivery.Receipt {
	w.t.Helper()
	var all []*delivery.Receipt
	require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) (err error) {
		all, err = store.All[delivery.Receipt](r, store.Query{
			Collection: store.Inbox, Index: "done", Equal: []any{string(state)}, Limit: 1000,
		})
		return err
	}))
	return all
}
