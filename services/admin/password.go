package admin

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a password hash: OWASP's second choice for argon2id.
const (
	hashTime     = 2
	hashMemory   = 19 * 1024 // KiB
	hashThreads  = 1
	hashSize     = 32
	saltSize     = 16
	hashesAtOnce = 2 // each takes 19 MiB and a core (D4s)
)

// hasher makes and compares password hashes, a few at a time.
type hasher struct {
	slots chan struct{}
	rand  io.Reader
	dummy string // compared when the account does not exist, so that both cases take as long (security I6)
}

func newHasher(rand io.Reader) (*hasher, error) {
	h := &hasher{slots: make(chan struct{}, hashesAtOnce), rand: rand}
	salt := make([]byte, saltSize)
	if _, err := io.ReadFull(rand, salt); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	h.dummy = encodeHash(salt, make([]byte, hashSize))
	return h, nil
}

// hash makes the stored form of a password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltSize)
	if _, err := io.ReadFull(h.rand, salt); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	sum, err := h.sum(ctx, password, salt)
	if err != nil {
		return "", err
	}
	return encodeHash(salt, sum), nil
}

// matches compares a password with its stored form in constant time.
func (h *hasher) matches(ctx context.Context, password, stored string) (bool, error) {
	salt, want, err := decodeHash(stored)
	if err != nil {
		return false, err
	}
	got, err := h.sum(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// sum waits for a slot, as long as the caller waits.
func (h *hasher) sum(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a free hash slot: %w", context.Cause(ctx))
	}
	return argon2.IDKey([]byte(password), salt, hashTime, hashMemory, hashThreads, hashSize), nil
}

func encodeHash(salt, sum []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashTime, hashThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// decodeHash reads a stored hash; one of another cost than ours is refused, never compared at a weaker one.
func decodeHash(stored string) (salt, sum []byte, err error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || !strings.HasPrefix(stored, encodeHashPrefix()) {
		return nil, nil, fmt.Errorf("password hash has another form or cost")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return nil, nil, fmt.Errorf("read password salt: %w", err)
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil {
		return nil, nil, fmt.Errorf("read password hash: %w", err)
	}
	return salt, sum, nil
}

func encodeHashPrefix() string {
	return strings.TrimSuffix(encodeHash(nil, nil), "$")
}
