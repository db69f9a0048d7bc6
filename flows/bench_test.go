package flows

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/payout"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// manyBanks is as long a list as a dropdown holds.
func manyBanks() []payout.Bank {
	var out []payout.Bank
	for i := range maxOptions {
		out = append(out, payout.Bank{Code: fmt.Sprintf("%05d", i), Name: fmt.Sprintf("Bank number %d of Nigeria", i)})
	}
	return out
}

// readOnly are requests that change nothing, with the name of the screen that answers.
func readOnly(b *testing.B, engine store.Engine) (*world, map[string][]byte) {
	b.Helper()
	w := newWorld(b, engine)
	w.banks.change(func(k *banks) { k.list = append(manyBanks(), k.list...)[3:] })
	p := w.person()
	p.deposits("USDT", 60*oneUSDT)
	p.sells("20")
	c := p.atPIN("25")
	key, _ := flowKey()
	out := map[string][]byte{}
	for name, request := range map[string]map[string]any{
		"details": {"action": ActionInit}, "offer": {"action": ActionBack, "screen": CryptoReview},
		"pin": {"action": ActionExchange, "screen": FiatReview, "data": map[string]any{}},
	} {
		request["version"], request["flow_token"] = "4.0", c.token
		plain, err := json.Marshal(request)
		require.NoError(b, err)
		body, _, err := sealRequest(&key.PublicKey, plain)
		require.NoError(b, err)
		out[name] = body
	}
	w.clock.Advance(repeatWindow)
	return w, out
}

// BenchmarkAnswer_readOnly is a screen that is only looked at, from the encrypted request to the encrypted answer. DESIGN
// §17: at most 1.4 times BenchmarkBareCrypto of the same screen.
func BenchmarkAnswer_readOnly(b *testing.B) {
	for _, open := range []func(testing.TB, []store.Index) store.Engine{
		func(t testing.TB, i []store.Index) store.Engine { return testkit.Bolt(t, i) },
		func(t testing.TB, i []store.Index) store.Engine { return testkit.OpenMongo(t, i) },
	} {
		w, requests := readOnly(b, open(b, allIndexes()))
		for name, body := range requests {
			b.Run(w.engine.Name()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				before := cpu()
				for b.Loop() {
					if status, _ := w.endpoint.Answer(b.Context(), body); status != 200 {
						b.Fatal(status)
					}
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// cpu is the processor time of this process so far: what a machine that others use takes away does not count.
func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkBareCrypto is RSA-OAEP and AES-GCM of the same bytes, and nothing else.
func BenchmarkBareCrypto(b *testing.B) {
	w, requests := readOnly(b, testkit.Bolt(b, allIndexes()))
	private, _ := flowKey()
	for name, body := range requests {
		_, sealed := w.endpoint.Answer(b.Context(), body)
		answer := make([]byte, base64.StdEncoding.DecodedLen(len(sealed))-tagSize)
		var e envelope
		require.NoError(b, json.Unmarshal(body, &e))
		decode := func(s string) []byte {
			raw, err := base64.StdEncoding.DecodeString(s)
			require.NoError(b, err)
			return raw
		}
		data, sealedKey, nonce := decode(e.Data), decode(e.Key), decode(e.Nonce)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				bareCrypto(b, private, sealedKey, nonce, data, answer)
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func bareCrypto(b *testing.B, private *rsa.PrivateKey, sealedKey, nonce, data, answer []byte) {
	b.Helper()
	aesKey, err := rsa.DecryptOAEP(sha256.New(), nil, private, sealedKey, nil)
	if err != nil {
		b.Fatal(err)
	}
	gcm, err := newGCM(aesKey)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := gcm.Open(nil, nonce, data, nil); err != nil {
		b.Fatal(err)
	}
	gcm.Seal(nil, invert(nonce), answer, nil)
}
