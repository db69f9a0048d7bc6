package user

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost below which the process refuses to start (S3, DESIGN §11).
const (
	MinTime      = 2
	MinMemoryKiB = 19 * 1024
)

const (
	saltBytes   = 16
	hashBytes   = 32
	pepperBytes = 32
	// Bounds of a stored hash, so that a broken document cannot ask for all memory.
	maxTime      = 16
	maxMemoryKiB = 1 << 20
)

// Pepper is a key outside the database without which a stolen hash cannot be guessed at.
type Pepper struct {
	ID  string
	Key []byte // at least 32 bytes
}

// Cost is the work of one hash.
type Cost struct {
	Time      uint32
	MemoryKiB uint32
	Threads   uint8
}

// DefaultCost is the cost of DESIGN §11.
func DefaultCost() Cost { return Cost{Time: MinTime, MemoryKiB: MinMemoryKiB, Threads: 1} }

// Argon hashes PINs: argon2id over HMAC-SHA256(pepper, PIN), with a random salt.
type Argon struct {
	active  Pepper
	peppers map[string][]byte
	cost    Cost
}

// NewArgon makes the hasher. The first pepper is the active one, the others still verify. It refuses a cost below
// MinTime and MinMemoryKiB, a missing or short pepper, and two peppers of one id.
func NewArgon(peppers []Pepper, cost Cost) (*Argon, error) {
	if len(peppers) == 0 {
		return nil, errors.New("make PIN hasher: no pepper")
	}
	if cost.Time < MinTime || cost.MemoryKiB < MinMemoryKiB || cost.Threads < 1 {
		return nil, fmt.Errorf("make PIN hasher: cost t=%d m=%d KiB is below t=%d m=%d KiB",
			cost.Time, cost.MemoryKiB, MinTime, MinMemoryKiB)
	}
	if cost.Time > maxTime || cost.MemoryKiB > maxMemoryKiB {
		return nil, errors.New("make PIN hasher: cost is too high")
	}
	a := &Argon{active: peppers[0], peppers: map[string][]byte{}, cost: cost}
	for _, p := range peppers {
		if p.ID == "" || len(p.Key) < pepperBytes {
			return nil, fmt.Errorf("make PIN hasher: pepper %q has no id or a key shorter than %d bytes", p.ID, pepperBytes)
		}
		if _, twice := a.peppers[p.ID]; twice {
			return nil, fmt.Errorf("make PIN hasher: pepper %q is listed twice", p.ID)
		}
		a.peppers[p.ID] = append([]byte(nil), p.Key...)
	}
	return a, nil
}

// Hash implements Hasher.
func (a *Argon) Hash(pin TypedPIN) (encoded, pepper string, err error) {
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return "", "", fmt.Errorf("make salt: %w", err)
	}
	sum := argon2.IDKey(peppered(a.active.Key, pin), salt, a.cost.Time, a.cost.MemoryKiB, a.cost.Threads, hashBytes)
	return encode(a.cost, salt, sum), a.active.ID, nil
}

// Verify implements Hasher.
func (a *Argon) Verify(encoded, pepper string, pin TypedPIN) (right, outdated bool, err error) {
	key, ok := a.peppers[pepper]
	if !ok {
		return false, false, fmt.Errorf("verify PIN: pepper %q is not configured", pepper)
	}
	cost, salt, want, err := decode(encoded)
	if err != nil {
		return false, false, err
	}
	got := argon2.IDKey(peppered(key, pin), salt, cost.Time, cost.MemoryKiB, cost.Threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, pepper != a.active.ID || cost != a.cost, nil
}

// peppered mixes the key into the PIN before the slow hash.
func peppered(key []byte, pin TypedPIN) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(pin))
	return mac.Sum(nil)
}

// encode is the usual text form of an argon2id hash.
func encode(c Cost, salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.MemoryKiB, c.Time, c.Threads,
		b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// decode reads what encode wrote, within bounds. A weaker cost of an imported hash is read; it is outdated.
func decode(encoded string) (c Cost, salt, sum []byte, err error) {
	bad := errors.New("read PIN hash: not an argon2id hash of ours")
	parts := strings.Split(encoded, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return Cost{}, nil, nil, bad
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.MemoryKiB, &c.Time, &c.Threads); err != nil {
		return Cost{}, nil, nil, bad
	}
	if c.Time < 1 || c.Time > maxTime || c.MemoryKiB < 8 || c.MemoryKiB > maxMemoryKiB || c.Threads < 1 {
		return Cost{}, nil, nil, bad
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil || len(salt) < 8 || len(salt) > 64 {
		return Cost{}, nil, nil, bad
	}
	if sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(sum) < 16 || len(sum) > 64 {
		return Cost{}, nil, nil, bad
	}
	return c, salt, sum, nil
}

var _ Hasher = (*Argon)(nil)
