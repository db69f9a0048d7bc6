package money

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// The separators after normal. Point and comma serve for both purposes, in one country or another; the others for one.
const (
	arabicDecimal = '\u066B' // only a decimal mark
	arabicGroup   = '\u066C' // only between groups, like a space and an apostrophe
)

// normal brings a typed text into the form of the grammar: lower case, ASCII digits for the digits of any script, plain
// spaces for all spaces, no invisible formatting characters, no spaces around it (P56). It folds widths but does not
// apply NFKC, which would read "10²" as 102 and "½" as 1⁄2. ok is false for a rune that no amount holds.
func normal(s string) (out string, ok bool) {
	var b strings.Builder
	for _, r := range strings.ToLower(width.Fold.String(strings.TrimSpace(s))) {
		switch {
		case unicode.Is(unicode.Nd, r):
			b.WriteByte(DigitOf(r))
		case unicode.Is(unicode.Zs, r) || r == '\t': // a line break separates two things
			b.WriteByte(' ')
		case r == '\'' || r == '’' || r == 'ʼ':
			b.WriteByte('\'')
		case r == '.' || r == ',' || r == '#' || r == arabicDecimal || r == arabicGroup,
			unicode.IsLetter(r), unicode.IsMark(r), unicode.Is(unicode.Sc, r):
			b.WriteRune(r)
		case unicode.Is(unicode.Cf, r): // zero-width and direction marks
		default:
			return "", false
		}
	}
	return strings.TrimSpace(b.String()), true
}

// DigitOf is the ASCII digit of a decimal digit of any script (unicode.Nd); they stand in runs of ten from zero on. It is
// '0' for every other rune.
func DigitOf(r rune) byte {
	for _, run := range unicode.Nd.R16 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return '0' + byte((r-rune(run.Lo))%10)
		}
	}
	for _, run := range unicode.Nd.R32 {
		if uint32(r) >= run.Lo && uint32(r) <= run.Hi {
			return '0' + byte((uint32(r)-run.Lo)%10)
		}
	}
	return '0'
}

// reading is one way to read a number.
type reading struct{ whole, part string }

// number is a number as typed: its readings, the decimal one first when there are two, and the mark they turn on.
type number struct {
	readings []reading
	mark     rune
}

// parseNumber reads digits with separators (P53, P54). With two different separators the last one is the decimal mark;
// separators of groups must stand before groups of three. A single point or comma before three digits may be either.
func parseNumber(s string) (number, error) {
	groups, marks, ok := split(s)
	if !ok {
		return number{}, ErrSyntax
	}
	last := len(marks) - 1
	switch {
	case len(marks) == 0:
		return one(groups[0], "")
	case isGroupOnly(marks[0]) && same(marks), len(marks) > 1 && same(marks):
		return grouped(groups, marks[0])
	case len(marks) > 1:
		if isGroupOnly(marks[last]) || !same(marks[:last]) || marks[0] == arabicDecimal || !inThrees(groups[:last+1]) {
			return number{}, ErrSyntax
		}
		return one(strings.Join(groups[:last+1], ""), groups[last+1])
	}
	n, err := one(groups[0], groups[1])
	if err == nil && marks[0] != arabicDecimal && inThrees(groups) {
		n.readings = append(n.readings, reading{whole: groups[0] + groups[1]})
		n.mark = marks[0]
	}
	return n, err
}

// split cuts a number at its separators. ok is false when two stand together, one is at the end, or there are too many
// digits. A mark in front stands for a zero before it: ".5".
func split(s string) (groups []string, marks []rune, ok bool) {
	if r, size := firstRune(s); (r == '.' || r == ',' || r == arabicDecimal) && size < len(s) {
		s = "0" + s
	}
	digits, start := 0, 0
	for i, r := range s {
		if r >= '0' && r <= '9' {
			digits++
			continue
		}
		groups, marks = append(groups, s[start:i]), append(marks, r)
		start = i + len(string(r))
	}
	groups = append(groups, s[start:])
	for _, g := range groups {
		if g == "" {
			return nil, nil, false
		}
	}
	return groups, marks, digits <= maxDigits
}

func firstRune(s string) (rune, int) {
	for _, r := range s {
		return r, len(string(r))
	}
	return 0, 0
}

// one is a number with a single reading. A zero in front of other digits is refused: it is an account or a phone number.
func one(whole, part string) (number, error) {
	if len(whole) > 1 && whole[0] == '0' {
		return number{}, ErrSyntax
	}
	return number{readings: []reading{{whole, part}}}, nil
}

// grouped is a whole number whose separators are all the same.
func grouped(groups []string, mark rune) (number, error) {
	if mark == arabicDecimal || !inThrees(groups) {
		return number{}, ErrSyntax
	}
	return one(strings.Join(groups, ""), "")
}

// inThrees reports whether groups are one to three digits without a zero in front, then three each.
func inThrees(groups []string) bool {
	if len(groups[0]) > 3 || groups[0][0] == '0' {
		return false
	}
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return false
		}
	}
	return true
}

func isGroupOnly(r rune) bool { return r == ' ' || r == '\'' || r == arabicGroup }

func same(marks []rune) bool {
	for _, m := range marks {
		if m != marks[0] {
			return false
		}
	}
	return true
}
