package commands

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"offrampbot/services/money"
)

// longest is the most runes that are read as a command; a longer text is a letter to somebody.
const longest = 300

// barrier stands in a cleaned text where something that was not a space stood between two digits. It is no part of an
// amount, so "50 (200)" or "50🚀200" never becomes one number.
const barrier = '|'

// clean brings a text into the form that the parser reads: lower case, ASCII digits, single spaces, no punctuation, emoji
// or invisible characters. What can belong to an amount, or would change it, stays.
func clean(text string) string {
	runes := []rune(strings.ToLower(width.Fold.String(text)))
	var b strings.Builder
	last := ' '                   // last rune written that is not a space
	space, broken := false, false // what lies between it and the next
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Cf, r):
			continue
		case r == ' ' || r == '\t' || unicode.Is(unicode.Zs, r):
			space = true
			continue
		case !belongs(runes, i):
			broken = true
			continue
		}
		switch {
		case unicode.Is(unicode.Nd, r):
			r = rune(money.DigitOf(r))
		case r == '’' || r == 'ʼ' || r == '‘':
			r = '\''
		}
		switch {
		case b.Len() == 0:
		case broken && isDigit(last) && isDigit(r):
			b.WriteString(" " + string(barrier) + " ")
		case space || broken:
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last, space, broken = r, false, false
	}
	return b.String()
}

// belongs reports whether the rune at i can be part of a word or an amount. A sign between letters is punctuation
// ("off-ramp"); beside a digit it is part of what was typed and stays, so that "-5" and "1/2" are refused.
func belongs(runes []rune, i int) bool {
	switch r := runes[i]; {
	case r == '\uFE0F' || r == '\u20E3': // emoji presentation, keycap
		return false
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r), unicode.Is(unicode.Sc, r):
		return true
	case strings.ContainsRune("#.,'’ʼ‘\u066B\u066C", r):
		return true
	case strings.ContainsRune("+-−%^/~=×±", r):
		return digitAt(runes, i-1) || digitAt(runes, i+1)
	}
	return false
}

func digitAt(runes []rune, i int) bool {
	return i >= 0 && i < len(runes) && unicode.Is(unicode.Nd, runes[i])
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// words cuts a cleaned text and takes the punctuation off the ends of its words. A mark before another number stays: in
// "50, 000" it might be part of an amount, and the amount parser shall see it.
func words(cleaned string) []string {
	var out []string
	fields := strings.Fields(cleaned)
	for i, w := range fields {
		if i+1 == len(fields) || !isDigit(rune(fields[i+1][0])) || !hasDigit(w) {
			w = strings.TrimRight(w, ".,'")
		}
		if w = trimFront(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// trimFront takes punctuation off the front of a word, but for a mark before digits: ".5".
func trimFront(w string) string {
	for w != "" && strings.ContainsRune(".,'", rune(w[0])) && (len(w) == 1 || !isDigit(rune(w[1]))) {
		w = w[1:]
	}
	return w
}

func hasDigit(w string) bool { return strings.ContainsAny(w, "0123456789") }

// plain is a word as the catalogue writes it: "what's" is "whats".
func plain(w string) string {
	if !strings.ContainsAny(w, "'.,") {
		return w
	}
	return marks.Replace(w)
}

var marks = strings.NewReplacer("'", "", ".", "", ",", "")
