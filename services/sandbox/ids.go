package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"sync"
)

// minter makes ids: the n-th id of a kind is the same in every world of one seed.
type minter struct {
	mu   sync.Mutex
	seed string
	next map[string]uint64
}

func newMinter(seed string) *minter { return &minter{seed: seed, next: make(map[string]uint64)} }

// draw returns the digest of (seed, kind, n) for the next n of the kind.
func (m *minter) draw(kind string) []byte {
	m.mu.Lock()
	m.next[kind]++
	n := m.next[kind]
	m.mu.Unlock()
	return digestOf(m.seed, kind, strconv.FormatUint(n, 10))
}

// wamid returns a message id in Meta's form.
func (m *minter) wamid() string {
	return "wamid." + base64.RawURLEncoding.EncodeToString(m.draw("wamid")[:24])
}

// hex returns n hex digits, n ≤ 64.
func (m *minter) hex(kind string, n int) string { return hex.EncodeToString(m.draw(kind))[:n] }

// code returns n letters and digits as Paystack's codes have, n ≤ 32.
func (m *minter) code(kind string, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	sum := m.draw(kind)
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[int(sum[i])%len(letters)]
	}
	return string(out)
}

// number returns a positive number of at most nine digits.
func (m *minter) number(kind string) int64 {
	return int64(binary.BigEndian.Uint32(m.draw(kind))%900_000_000) + 100_000_000
}

// digestOf is an HMAC over length-prefixed parts, so that no two lists of parts run together.
func digestOf(key string, parts ...string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	var size [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		mac.Write(size[:])
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}
