package flows

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// The lengths that WhatsApp allows, in UTF-16 units (Meta: Flow components).
const (
	maxTitle      = 30
	maxFieldError = 30
	maxName       = 60 // of ours: a name shown in a heading, which may have 80
	maxCaption    = 409
	maxHelper     = 80
	maxLogged     = 120
)

// length is how long a client finds a text.
func length(s string) int { return len(utf16.Encode([]rune(s))) }

// short cuts a text to n units, with an ellipsis in place of what is left out.
func short(s string, n int) string {
	if len(s) <= n || length(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		used += utf16.RuneLen(r)
		if used > n-1 {
			return strings.TrimSpace(s[:i]) + "…"
		}
	}
	return s
}

// foreign is a text of somebody else, a bank or a person, as it may stand beside our own words: one line, without control,
// direction and other invisible characters, without what WhatsApp reads as formatting, and no longer than n (E8).
func foreign(s string, n int) string {
	marks := 0
	kept := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			marks = 0
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), r == unicode.ReplacementChar,
			strings.ContainsRune("*_~`", r):
			return -1
		case unicode.IsMark(r):
			if marks++; marks > 2 { // no letter of a name carries more
				return -1
			}
			return r
		}
		marks = 0
		return r
	}, s)
	return short(strings.Join(strings.Fields(kept), " "), n)
}

// plain takes the chat's bold marks out of a sentence that is written for both: a Flow shows them as they are.
func plain(s string) string { return strings.ReplaceAll(s, "*", "") }

// clean is what a client says of itself, fit for a log: bounded, one line, and without anything that may have been typed
// or may be a secret. Digits go, and so does every long run of letters and digits (I13).
func clean(s string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(short(s, 8*maxLogged), func(r rune) bool { return !isWordRune(r) && r != '-' }) {
		if len(word) > 32 || strings.ContainsFunc(word, unicode.IsDigit) {
			word = "#"
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.WriteString(word)
	}
	return short(out.String(), maxLogged)
}

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// minSecret is the shortest typed value that is looked for in an error; a shorter one is no secret.
const minSecret = 3

// Scrub takes everything that a person typed, and the token, out of a text that is to be logged (I13). The texts of
// errors should never hold them; this is the net below.
func (r Request) Scrub(text string) string {
	for name := range r.Data {
		typed, _ := r.Field(name)
		for _, secret := range []string{typed, strings.Join(strings.Fields(typed), "")} {
			if len(secret) >= minSecret {
				text = strings.ReplaceAll(text, secret, "***")
			}
		}
	}
	if r.Token != "" {
		text = strings.ReplaceAll(text, r.Token, "***")
	}
	return text
}
