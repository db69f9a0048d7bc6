package commands

import (
	"regexp"
	"strings"

	"offrampbot/services/assets"
)

// Sensitive says which secret a text seems to hold. The transaction that handles the message overwrites such a text in
// the stored body (DESIGN §11), and nothing of it is repeated or logged.
type Sensitive string

// What a text may hold.
const (
	Nothing Sensitive = ""
	PIN     Sensitive = "pin"     // 4 to 6 digits alone, or beside a word for a PIN
	Account Sensitive = "account" // as many digits as an account number of the registry has, or as a card number has
)

var (
	digitsAlone = regexp.MustCompile(`^[0-9](?:[ \-|]*[0-9]){3,5}[.,]?$`)
	digitRun    = regexp.MustCompile(`[0-9]+(?:[ \-]+[0-9]+)*`)
	pinWord     = regexp.MustCompile(`(?:^| )(?:pin|pins|pincode|passcode|password|passwd|pwd|secret|otp)(?:$|[ .,:='-])`)
)

// sensitive looks for a secret in a cleaned text. It rather finds one too many: a false find costs a message in the
// archive, a missed one leaves a secret there.
func sensitive(cleaned string, reg *assets.Registry) Sensitive {
	withPINWord := pinWord.MatchString(cleaned)
	found := Nothing
	for _, at := range digitRun.FindAllStringIndex(cleaned, -1) {
		if !standsAlone(cleaned, at[0], at[1]) {
			continue
		}
		groups := strings.FieldsFunc(cleaned[at[0]:at[1]], func(r rune) bool { return r == ' ' || r == '-' })
		if accountLike(groups, reg) {
			return Account
		}
		if withPINWord && anySum(groups, func(n int) bool { return n >= 4 && n <= 6 }) {
			found = PIN
		}
	}
	if digitsAlone.MatchString(cleaned) {
		found = PIN
	}
	return found
}

// standsAlone reports whether the digits from a to b are no part of a word, an address or a decimal number.
func standsAlone(s string, a, b int) bool {
	before, after := s[:a], s[b:]
	switch {
	case before != "" && !strings.ContainsAny(before[len(before)-1:], " |-#.,'"),
		after != "" && !strings.ContainsAny(after[:1], " |-.,'"),
		len(after) > 1 && strings.ContainsAny(after[:1], ".,") && isDigit(rune(after[1])):
		return false
	}
	n := len(before)
	return n < 2 || !strings.ContainsAny(before[n-1:], ".,") || !isDigit(rune(before[n-2]))
}

// accountLike reports whether neighbouring groups of digits make an account or card number.
func accountLike(groups []string, reg *assets.Registry) bool {
	return anySum(groups, func(n int) bool {
		for _, f := range reg.Fiats() {
			if n == f.AccountDigits {
				return true
			}
		}
		return n >= 16 && n <= 19
	})
}

// anySum reports whether the digits of any groups in a row have a wanted number.
func anySum(groups []string, want func(n int) bool) bool {
	for i := range groups {
		n := 0
		for _, g := range groups[i:] {
			if n += len(g); want(n) {
				return true
			}
		}
	}
	return false
}

// isPINLike reports whether a word is 4 to 6 digits and nothing else.
func isPINLike(w string) bool {
	return len(w) >= 4 && len(w) <= 6 && strings.Trim(w, "0123456789") == ""
}
