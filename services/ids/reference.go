package ids

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// The human reference is eight Crockford base-32 digits and one check digit of the same alphabet, because the five
// extra check symbols of Crockford's own scheme include * and ~, which WhatsApp takes for formatting. The check is a
// weighted sum over GF(32) in which every position has its own weight: one wrong character, or any two exchanged
// characters, is always noticed.
const (
	crockford       = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	referenceLength = 9
)

// Reference is the human reference of an order, nine characters, from an HMAC of its intent and n. n is 0 first; when
// the reference is taken by another order the caller uses n + 1 in a new transaction (DESIGN §4).
func Reference(key []byte, intent string, n int) string {
	bits := binary.BigEndian.Uint64(digest(key, "reference", intent, strconv.Itoa(n))) >> 24 // 40 bits
	var out [referenceLength]byte
	for i := referenceLength - 2; i >= 0; i-- {
		out[i] = crockford[bits&31]
		bits >>= 5
	}
	out[referenceLength-1] = crockford[checkDigit(out[:referenceLength-1])]
	return string(out[:])
}

// ParseReference reads a reference as people type it: any case, with spaces and hyphens anywhere, O for 0, I and L for
// 1. It returns the canonical form and whether the check character holds; ok is false for anything else.
func ParseReference(s string) (canonical string, ok bool) {
	if len(s) > 8*referenceLength { // far more than nine characters with separators: not worth reading
		return "", false
	}
	out := make([]byte, 0, referenceLength)
	for _, r := range s {
		if r == ' ' || r == '-' {
			continue
		}
		d := crockfordDigit(r)
		if d < 0 || len(out) == referenceLength {
			return "", false
		}
		out = append(out, crockford[d])
	}
	if len(out) != referenceLength {
		return "", false
	}
	if crockford[checkDigit(out[:referenceLength-1])] != out[referenceLength-1] {
		return "", false
	}
	return string(out), true
}

// crockfordDigit is the value of a character, or -1.
func crockfordDigit(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		r -= 'a' - 'A'
	case r > 'Z':
		return -1
	}
	switch r {
	case 'O':
		r = '0'
	case 'I', 'L':
		r = '1'
	}
	return strings.IndexRune(crockford, r)
}

// checkDigit is Σ xⁱ·dᵢ over GF(32) = GF(2)[x]/(x⁵+x²+1). x has order 31, so the weights of the eight digits and of the
// check digit itself (x⁰) all differ.
func checkDigit(digits []byte) int {
	sum := 0
	for _, c := range digits { // Horner's rule, one more multiplication at the end keeps x⁰ for the check digit
		sum = timesX(sum ^ strings.IndexByte(crockford, c))
	}
	return sum
}

// timesX multiplies by x in GF(32).
func timesX(v int) int {
	v <<= 1
	if v&32 != 0 {
		v ^= 0b100101
	}
	return v
}
