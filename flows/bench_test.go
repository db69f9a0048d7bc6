package flows

import (
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
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

// BenchmarkAnswer_readOnly is a screen that is only looked at, from the encrypted request to the encrypted answer, beside
// RSA-OAEP and AES-GCM of the same bytes and nothing else. DESIGN §17: at most 1.4 times the processor time. Both run in
// turns, so that whatever else the machine does meets both; with one caller the processor sleeps and wakes for every read
// of the store, with eight it works on another's request meanwhile.
func BenchmarkAnswer_readOnly(b *testing.B) {
	for _, open := range []func(testing.TB, []store.Index) store.Engine{
		func(t testing.TB, i []store.Index) store.Engine { return testkit.Bolt(t, i) },
		func(t testing.TB, i []store.Index) store.Engine { return testkit.OpenMongo(t, i) },
	} {
		w, requests := readOnly(b, open(b, allIndexes()))
		for _, name := range slices.Sorted(maps.Keys(requests)) {
			body := requests[name]
			for _, callers := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%s/%d", w.engine.Name(), name, callers), func(b *testing.B) {
					screen := func() {
						if status, _ := w.endpoint.Answer(b.Context(), body); status != 200 {
							b.Error(status)
						}
					}
					inTurns(b, callers, screen, bare(b, w, body))
				})
			}
		}
	}
}

// inTurns reports the processor time of one call of each, and how many times the second is in the first.
func inTurns(b *testing.B, callers int, screen, bare func()) {
	b.Helper()
	const calls = 64
	var ofScreen, ofBare time.Duration
	for b.Loop() {
		ofScreen += spent(callers, calls/callers, screen)
		ofBare += spent(callers, calls/callers, bare)
	}
	each := float64(b.N * calls)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ofScreen)/each, "cpu-ns/screen")
	b.ReportMetric(float64(ofBare)/each, "cpu-ns/bare")
	b.ReportMetric(float64(ofScreen)/float64(ofBare), "x-bare")
}

// spent is the processor time of a number of calls by each of so many callers at once.
func spent(callers, calls int, call func()) time.Duration {
	runtime.GC() // what the others left is not these calls' to clean up
	before := cpu()
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range calls {
				call()
			}
		})
	}
	all.Wait()
	return cpu() - before
}

// cpu is the processor time of this process so far: what a machine that others use takes away does not count.
func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// bare is the cryptography of one request and its answer.
func bare(b *testing.B, w *world, body []byte) func() {
	b.Helper()
	private, _ := flowKey()
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
	return func() { bareCrypto(b, private, sealedKey, nonce, data, answer) }
}

func bareCrypto(b *testing.B, private *rsa.PrivateKey, sealedKey, nonce, data, answer []byte) {
	b.Helper()
	aesKey, err := rsa.DecryptOAEP(sha256.New(), nil, private, sealedKey, nil)
	if err != nil {
		b.Error(err)
		return
	}
	gcm, err := newGCM(aesKey)
	if err != nil {
		b.Error(err)
		return
	}
	if _, err := gcm.Open(nil, nonce, data, nil); err != nil {
		b.Error(err)
	}
	gcm.Seal(nil, invert(nonce), answer, nil)
}
