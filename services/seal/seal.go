// Package seal encrypts single fields and bodies at rest, and compares secrets in constant time. Account numbers,
// identity numbers and inbox bodies are sealed on arrival (DESIGN §5): XChaCha20-Poly1305 under a named key, with the id
// of the record as associated data, so that a sealed value moved to another record does not open. For look-up a keyed
// digest stands beside the sealed value; that is ids.Digest under LOOKUP_KEY.
package seal

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the length of every key in bytes.
const KeySize = chacha20poly1305.KeySize

// version is the first byte of everything sealed in this form.
const version = 1

var (
	// ErrForm: the bytes were not sealed by this package.
	ErrForm = errors.New("not a sealed value")
	// ErrKeyUnknown: the value was sealed under a key that the keyring does not hold.
	ErrKeyUnknown = errors.New("key of sealed value is not known")
	// ErrOpen: the value was changed, belongs to another record, or was sealed under another key of the same id.
	ErrOpen = errors.New("sealed value does not open")
)

var keyIDForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Key is one named key of KeySize bytes.
type Key struct {
	ID    string
	Bytes []byte
}

// Keyring seals under its first key and opens under all of them. Nothing changes it; it prints the ids of its keys only.
type Keyring struct {
	ids   []string // the first is active
	aeads map[string]cipher.AEAD
}

// ParseKeyring reads "id:base64,id2:base64": the first key is active, every key has 32 bytes. Its errors name positions
// and never show a key.
func ParseKeyring(text string) (*Keyring, error) {
	var keys []Key
	for i, entry := range strings.Split(text, ",") {
		id, encoded, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok {
			return nil, fmt.Errorf("read key %d: not id:base64", i+1)
		}
		bytes, err := decode(encoded)
		if err != nil {
			return nil, fmt.Errorf("read key %d: the key is not base64", i+1) // the cause would quote the key
		}
		keys = append(keys, Key{ID: id, Bytes: bytes})
	}
	return NewKeyring(keys...)
}

// decode reads base64 in either alphabet, with or without padding.
func decode(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.Strict().DecodeString(s)
}

// NewKeyring makes a keyring; the first key is active. Its errors name positions and never show a key.
func NewKeyring(keys ...Key) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("make keyring: no key")
	}
	k := &Keyring{aeads: make(map[string]cipher.AEAD, len(keys))}
	for i, key := range keys {
		if !keyIDForm.MatchString(key.ID) {
			return nil, fmt.Errorf("make keyring: id of key %d must be 1 to 32 letters, digits, - or _", i+1)
		}
		if _, twice := k.aeads[key.ID]; twice {
			return nil, fmt.Errorf("make keyring: key %d has the id of another", i+1)
		}
		aead, err := chacha20poly1305.NewX(key.Bytes)
		if err != nil {
			return nil, fmt.Errorf("make keyring: key %d has %d bytes instead of %d", i+1, len(key.Bytes), KeySize)
		}
		k.ids, k.aeads[key.ID] = append(k.ids, key.ID), aead
	}
	return k, nil
}

// Seal encrypts plain for one record under the active key. The result differs each time: it cannot be searched for.
func (k *Keyring) Seal(plain []byte, record string) ([]byte, error) {
	id := k.ids[0]
	aead := k.aeads[id]
	out := make([]byte, 0, 2+len(id)+aead.NonceSize()+len(plain)+aead.Overhead())
	out = append(out, version, byte(len(id)))
	out = append(out, id...)
	associated := append(out[:len(out):len(out)], record...)
	nonce := make([]byte, aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("seal value: %w", err)
	}
	return aead.Seal(append(out, nonce...), nonce, plain, associated), nil
}

// Open decrypts what Seal made for the same record. ErrForm, ErrKeyUnknown or ErrOpen.
func (k *Keyring) Open(sealed []byte, record string) ([]byte, error) {
	id, rest, err := header(sealed)
	if err != nil {
		return nil, err
	}
	aead, ok := k.aeads[id]
	if !ok {
		return nil, fmt.Errorf("open under key %s: %w", id, ErrKeyUnknown)
	}
	if len(rest) < aead.NonceSize()+aead.Overhead() {
		return nil, ErrForm
	}
	head := sealed[:len(sealed)-len(rest)]
	associated := append(head[:len(head):len(head)], record...)
	plain, err := aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], associated)
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}

// NeedsReseal reports whether a sealed value is not under the active key, so that `keys rotate` opens and seals it again.
// It is also true for what is no sealed value at all: opening it then tells.
func (k *Keyring) NeedsReseal(sealed []byte) bool {
	id, _, err := header(sealed)
	return err != nil || id != k.ids[0]
}

// KeyID is the id of the key that a value was sealed under. ErrForm.
func KeyID(sealed []byte) (string, error) {
	id, _, err := header(sealed)
	return id, err
}

// header splits a sealed value into its key id and what follows: nonce and ciphertext.
func header(sealed []byte) (id string, rest []byte, err error) {
	if len(sealed) < 2 || sealed[0] != version || len(sealed) < 2+int(sealed[1]) {
		return "", nil, ErrForm
	}
	end := 2 + int(sealed[1])
	if id = string(sealed[2:end]); !keyIDForm.MatchString(id) {
		return "", nil, ErrForm
	}
	return id, sealed[end:], nil
}

// String names the keys, the active one first.
func (k *Keyring) String() string { return strings.Join(k.ids, ",") }

// GoString names the keys in %#v.
func (k *Keyring) GoString() string { return k.String() }

// LogValue names the keys in logs.
func (k *Keyring) LogValue() slog.Value { return slog.StringValue(k.String()) }

// String shows the id of a key only.
func (k Key) String() string { return k.ID }

// GoString shows the id of a key only, in %#v.
func (k Key) GoString() string { return k.ID }

// LogValue shows the id of a key only, in logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.ID) }

// MarshalText shows the id of a key only, in JSON.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.ID), nil }

// Equal compares two secrets in a time that tells nothing about either, their lengths included: both are hashed first.
func Equal(a, b []byte) bool {
	x, y := sha256.Sum256(a), sha256.Sum256(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// EqualText is Equal for texts.
func EqualText(a, b string) bool { return Equal([]byte(a), []byte(b)) }
