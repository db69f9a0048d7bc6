package commands

import (
	"regexp"
	"strings"
	"unicode"

	"offrampbot/services/assets"
)

// Sensitive says which secret a text seems to hold. The transaction that handles the message overwrites such a text in
// the stored body (DESIGN §11), and nothing of it is repeated or logged.
type Sensitive string

// What a text may hold.
const (
	Nothing Sensitive = ""
	PIN     Sensitive = "pin"     // 4 to 6 digits alone, or beside a word for a PIN or glued to it
	Account Sensitive = "account" // as many digits as an account number of the registry has, or as a card number has
)

var (
	digitsAlone = regexp.MustCompile(`^[0-9](?:[ \-|]*[0-9]){3,5}[.,]?$`)
	digitRun    = regexp.MustCompile(`[0-9]+(?:[ \-|/~=]+[0-9]+)*`)
	dotted      = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+){2,}`)
	thousands   = regexp.MustCompile(`^[0-9]{1,3}(?:[.,][0-9]{3})+$`)
	pinWord     = regexp.MustCompile(`(?:^|[^\pL\pN])(?:pins?|p[ .]i[ .]n|pincode|passcode|password|passwd|pwd|secret|otp)(?:$|[^\pL\pN])`)
	gluedPIN    = regexp.MustCompile(`^(?:my|the|new|old)?(?:pins?|pincode|passcode|password|passwd|pwd|secret|otp)(?:is|no|code|number)?$`)
	gluedWord   = regexp.MustCompile(`^(\pL+)([0-9]+)$|^([0-9]+)(\pL+)$`)
	longHex     = regexp.MustCompile(`^(?:0x[0-9a-f]+|[0-9a-f]{32,})$`)
)

// sensitive looks for a secret in a cleaned text. It rather finds one too many: a false find costs a message in the
// archive, a missed one leaves a secret there.
func sensitive(cleaned string, reg *assets.Registry) Sensitive {
	cleaned = unglue(cleaned, reg)
	withPINWord := pinWord.MatchString(cleaned)
	found := Nothing
	for _, at := range digitRun.FindAllStringIndex(cleaned, -1) {
		if !standsAlone(cleaned, at[0], at[1]) {
			continue
		}
		groups := strings.FieldsFunc(cleaned[at[0]:at[1]], func(r rune) bool { return !isDigit(r) })
		if accountLike(groups, reg) {
			return Account
		}
		if withPINWord && anySum(groups, func(n int) bool { return n >= 4 && n <= 6 }) {
			found = PIN
		}
	}
	for _, number := range dotted.FindAllString(cleaned, -1) { // "208.765.4321" is no amount
		groups := strings.FieldsFunc(number, func(r rune) bool { return !isDigit(r) })
		if !thousands.MatchString(number) && accountLike(groups, reg) {
			return Account
		}
	}
	if digitsAlone.MatchString(cleaned) {
		found = PIN
	}
	return found
}

// unglue puts a space between a number and the word that it was typed together with ("pin739164", "2087654321gtb"),
// where the number has the length of a secret. The names of coins and currencies keep theirs, which is an amount, and so
// do addresses and transaction hashes.
func unglue(cleaned string, reg *assets.Registry) string {
	var b strings.Builder
	for i, w := range wordParts(cleaned) {
		if m := gluedWord.FindStringSubmatch(w); m != nil && i%2 == 0 && !longHex.MatchString(w) {
			letters, digits := m[1]+m[4], m[2]+m[3]
			_, notAsset := reg.AssetNamed(letters)
			_, notFiat := reg.FiatNamed(letters)
			switch {
			case gluedPIN.MatchString(letters):
				w = digits + " pin"
				if m[1] != "" {
					w = "pin " + digits
				}
			case notAsset != nil && notFiat != nil && accountLike([]string{digits}, reg), letters == "is":
				w = strings.TrimSpace(m[1] + " " + m[2] + m[3] + " " + m[4])
			}
		}
		b.WriteString(w)
	}
	return b.String()
}

// wordParts cuts a text into its words of letters and digits, at even places, and what stands between them, at odd ones.
func wordParts(s string) []string {
	var out []string
	start, inWord := 0, true
	for i, r := range s {
		if is := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r); is != inWord {
			out = append(out, s[start:i])
			start, inWord = i, is
		}
	}
	return append(out, s[start:])
}

// standsAlone reports whether the digits from a to b are no part of a word, an address or a decimal number.
func standsAlone(s string, a, b int) bool {
	before, after := s[:a], s[b:]
	switch {
	case before != "" && !strings.ContainsAny(before[len(before)-1:], " |-#.,'/=~+"),
		after != "" && !strings.ContainsAny(after[:1], " |-.,'/=~"),
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
