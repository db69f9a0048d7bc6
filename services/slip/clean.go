package slip

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxRunes is as much of a text as is looked at; no line has room for more.
	maxRunes = 160
	// nothing is drawn where a text is empty, missing where the font has no picture of a character.
	nothing = "–"
	missing = '?'
	cut     = "…"
)

// clean makes a text of a person or a bank safe to draw: one line, composed, without control and formatting characters
// (line feeds, zero-width characters, marks that turn the direction of writing), and only with what the font has.
func (f *fonts) clean(text string) string {
	var b strings.Builder
	space, n := false, 0
	for _, r := range norm.NFC.String(strings.ToValidUTF8(text, "")) {
		if n == maxRunes {
			break
		}
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unicode.In(r, unicode.C, unicode.Mn, unicode.Me):
			continue
		case !f.draws(r):
			r = missing
		}
		if space {
			b.WriteRune(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	if b.Len() == 0 {
		return nothing
	}
	return b.String()
}
