package config

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// KeySize is the length of every key in bytes.
const KeySize = 32

var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// errKeyShort: a key has less than 256 bits of text.
var errKeyShort = errors.New("a key is 32 bytes as hex or base64, or a text of 32 characters or more")

// Key is one named key. It masks like a Secret, because that is what it holds.
type Key struct {
	ID     string
	Secret Secret
}

// Bytes returns the key's 32 bytes.
func (k Key) Bytes() []byte {
	b, err := KeyBytes(k.Secret.Reveal())
	if err != nil { // a Key comes out of UnmarshalText, which has checked it
		panic(fmt.Sprintf("key %s was not checked", k.ID))
	}
	return b
}

// Keys is a list id:key,id:key of at least one key; the first is active, all are accepted.
type Keys []Key

// Active returns the key that new data is made with.
func (k Keys) Active() Key { return k[0] }

// String names the keys.
func (k Keys) String() string {
	ids := make([]string, len(k))
	for i, one := range k {
		ids[i] = one.ID
	}
	return strings.Join(ids, ",")
}

// LogValue names the keys.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }

// UnmarshalText reads the list. Its errors name positions and ids, never keys.
func (k *Keys) UnmarshalText(b []byte) error {
	var out Keys
	seen := map[string]bool{}
	for i, part := range strings.Split(string(b), ",") {
		id, key, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok || !keyID.MatchString(id) {
			return shapeError(fmt.Sprintf("entry %d is not id:key", i+1))
		}
		if seen[id] {
			return shapeError(fmt.Sprintf("has the id of entry %d twice", i+1))
		}
		seen[id] = true
		if _, err := KeyBytes(key); err != nil {
			return shapeError(fmt.Sprintf("entry %d: %v", i+1, err))
		}
		out = append(out, Key{ID: id, Secret: NewSecret(key)})
	}
	*k = out
	return nil
}

// KeyBytes turns the text of a key into 32 bytes: hex or base64 of exactly 32 bytes is decoded, any other text of at
// least 32 characters is hashed. The rule has no third case, so that a text always means the same key.
func KeyBytes(text string) ([]byte, error) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == KeySize {
		return b, nil
	}
	for _, enc := range []*base64.Encoding{
		base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding,
	} {
		if b, err := enc.DecodeString(text); err == nil && len(b) == KeySize {
			return b, nil
		}
	}
	if len(text) < KeySize {
		return nil, errKeyShort
	}
	sum := sha256.Sum256([]byte(text))
	return sum[:], nil
}

// Digest is the form in which known sandbox secrets are listed: the hex SHA-256 of the secret's text.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:])
}
