package assets

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/crypto/sha3"
)

// ErrAddress: a text is not an EVM address, or its mixed case is not its checksum.
var ErrAddress = errors.New("not an address")

var addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// CanonicalAddress is the one form in which EVM addresses are stored and compared: lower case. An address in mixed case
// must carry its EIP-55 checksum, so that a mistyped one is refused (P60, B69); one case throughout carries none.
func CanonicalAddress(s string) (string, error) {
	if !addressForm.MatchString(s) {
		return "", fmt.Errorf("read address: %w", ErrAddress)
	}
	lower, digits := strings.ToLower(s), s[2:]
	if digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) && s != ChecksumAddress(lower) {
		return "", fmt.Errorf("check address checksum: %w", ErrAddress)
	}
	return lower, nil
}

// ChecksumAddress is the EIP-55 form of a canonical address, for showing it to people.
func ChecksumAddress(canonical string) string {
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(strings.TrimPrefix(canonical, "0x"))) // a hash never returns an error
	sum := hex.EncodeToString(h.Sum(nil))
	out := []byte(canonical)
	for i := 2; i < len(out); i++ {
		if out[i] >= 'a' && out[i] <= 'f' && sum[i-2] >= '8' {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}
