package evm

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"offrampbot/services/assets"
)

// errHex: a field of a node's answer is not what the JSON-RPC specification says. Nothing is guessed from it (B60).
var errHex = errors.New("not a hexadecimal value of this kind")

const (
	hashDigits = 64 // of a block or transaction hash, a topic, a data word
	wordDigits = 64
)

// quantity reads a "0x…" number of at most 63 bits. It is always base 16 and never without the prefix.
func quantity(s string) (int64, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || digits == "" {
		return 0, fmt.Errorf("read quantity %q: %w", clip(s), errHex)
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	if err != nil {
		return 0, fmt.Errorf("read quantity %q: %w", clip(s), errHex)
	}
	return int64(n), nil
}

// encode writes a block height as a quantity.
func encode(n int64) string { return "0x" + strconv.FormatInt(n, 16) }

// hash reads a 32-byte hash in canonical form: lower case.
func hash(s string) (string, error) {
	s = strings.ToLower(s)
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || len(digits) != hashDigits || !isHex(digits) {
		return "", fmt.Errorf("read hash %q: %w", clip(s), errHex)
	}
	return s, nil
}

// address reads a 20-byte address in canonical form. A node's answer carries no meaning in its case.
func address(s string) (string, error) {
	a, err := assets.CanonicalAddress(strings.ToLower(s))
	if err != nil {
		return "", fmt.Errorf("read address %q: %w", clip(s), errHex)
	}
	return a, nil
}

// topicAddress reads the address in an indexed topic; the twelve bytes before it must be zero.
func topicAddress(topic string) (string, error) {
	const padding = "0x000000000000000000000000"
	h, err := hash(topic)
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(h, padding)
	if !ok {
		return "", fmt.Errorf("read address topic %q: %w", h, errHex)
	}
	return address("0x" + rest)
}

// topicOf pads a canonical address to a topic.
func topicOf(canonical string) string {
	return "0x" + strings.Repeat("0", 24) + strings.TrimPrefix(canonical, "0x")
}

// word reads one 32-byte unsigned number.
func word(s string) (*big.Int, error) {
	digits, ok := strings.CutPrefix(strings.ToLower(s), "0x")
	if !ok || len(digits) != wordDigits || !isHex(digits) {
		return nil, fmt.Errorf("read number %q: %w", clip(s), errHex)
	}
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		return nil, fmt.Errorf("read number %q: %w", clip(s), errHex)
	}
	return n, nil
}

func isHex(digits string) bool {
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// clip keeps a foreign text short enough for a log line.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
