package config

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const mask = "****"

// Secret is a value that never prints: every formatting, logging and encoding path shows a mask. Reveal is the only
// way to its text, so that each use can be found by searching for it (I13).
type Secret struct{ text string }

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text.
func (s Secret) Reveal() string { return s.text }

// Bytes returns the text as bytes, for use as an HMAC key.
func (s Secret) Bytes() []byte { return []byte(s.text) }

// IsSet reports whether there is a text.
func (s Secret) IsSet() bool { return s.text != "" }

// String masks.
func (s Secret) String() string { return mask }

// GoString masks.
func (s Secret) GoString() string { return mask }

// Format masks under every verb, also those that do not ask for a Stringer.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, mask) // a fmt.State reports its own errors to its caller
}

// LogValue masks in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalJSON masks in JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// MarshalText masks in every text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// UnmarshalText reads the text as it is.
func (s *Secret) UnmarshalText(b []byte) error {
	s.text = string(b)
	return nil
}

// trimEnd drops the one newline that editors and secret mounts put at the end of a file; it is not part of a secret.
func trimEnd(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }
