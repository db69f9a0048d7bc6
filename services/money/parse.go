package money

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTyped is the most runes of a text that is looked at.
const maxTyped = 120

// longestName is the most words in the name of a unit: "tether usd", "nigerian naira".
const longestName = 3

// Parse reads an amount as people type it (P53–P57): "50 usdt", "₦50,000", "N5k", "usdc 0.5", "2.5m", "half", "all my
// usdt", in the digits and separators of any script. The number may be followed by k, m, thousand or million, and has
// its unit before or behind it. Signs, exponents, hexadecimal, a zero in front, more decimals than the unit has and any
// unknown character or word are refused; nothing is skipped and nothing rounded.
//
// A single point or comma before three digits ("1,000") has two readings. In a unit with fewer than three decimals a
// comma can only separate thousands, so "₦50,000" has one. Otherwise both readings come back with ErrAmbiguous.
//
// Errors: ErrSyntax, ErrUnit, ErrDecimals, ErrZero, ErrOverflow, ErrAmbiguous.
func Parse(typed string, ctx ParseContext) (Parsed, error) {
	if utf8.RuneCountInString(typed) > maxTyped {
		return Parsed{}, ErrSyntax
	}
	s, ok := normal(typed)
	if !ok {
		return Parsed{}, ErrSyntax
	}
	p := &parser{ctx: ctx, pieces: pieces(s)}
	if kind, ok := p.share(); ok {
		return p.shareOf(kind)
	}
	return p.amount()
}

// piece is a run of one sort inside the text: a number with its separators, a word, or one symbol.
type piece struct {
	text     string
	isNumber bool
	glued    bool // no space before it
}

// pieces cuts a normal text. A separator belongs to a number only beside its digits, a space only between them.
func pieces(s string) []piece {
	var out []piece
	runes := []rune(s)
	glued := false
	for i := 0; i < len(runes); {
		j := i + 1
		switch r := runes[i]; {
		case r == ' ':
			glued, i = false, j
			continue
		case isDigit(r) || !unicode.IsLetter(r) && !unicode.Is(unicode.Sc, r) && r != '#':
			for j < len(runes) && (isDigit(runes[j]) || isMark(runes[j]) || betweenDigits(runes, j)) {
				j++
			}
			out = append(out, piece{string(runes[i:j]), true, glued})
		case unicode.IsLetter(r):
			for j < len(runes) && (unicode.IsLetter(runes[j]) || unicode.IsMark(runes[j])) {
				j++
			}
			out = append(out, piece{string(runes[i:j]), false, glued})
		default:
			out = append(out, piece{string(r), false, glued})
		}
		glued, i = true, j
	}
	return out
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isMark(r rune) bool {
	return r == '.' || r == ',' || r == '\'' || r == arabicDecimal || r == arabicGroup
}

// betweenDigits reports whether the rune at i is a space with a digit on each side.
func betweenDigits(runes []rune, i int) bool {
	return runes[i] == ' ' && i+1 < len(runes) && isDigit(runes[i-1]) && isDigit(runes[i+1])
}

// parser walks the pieces of one text.
type parser struct {
	ctx    ParseContext
	pieces []piece
	unit   *Unit
}

// amount reads [unit] number [suffix] [unit].
func (p *parser) amount() (Parsed, error) {
	at := -1
	for i, c := range p.pieces {
		if c.isNumber {
			if at >= 0 {
				return Parsed{}, ErrSyntax
			}
			at = i
		}
	}
	if at < 0 {
		return Parsed{}, ErrSyntax
	}
	n, err := parseNumber(p.pieces[at].text)
	if err != nil {
		return Parsed{}, err
	}
	exp, behind := p.suffix(p.pieces[at+1:])
	for _, words := range [][]piece{p.pieces[:at], behind} {
		if err := p.units(words); err != nil {
			return Parsed{}, err
		}
	}
	if p.unit == nil {
		p.unit = p.ctx.Bare
	}
	return p.choose(n, exp)
}

// suffix takes a multiplier off the words behind the number, also one that is glued to the unit: "5kusdt".
func (p *parser) suffix(words []piece) (exp int, rest []piece) {
	if len(words) == 0 {
		return 0, words
	}
	word := words[0].text
	if exp, ok := multiplier(word); ok {
		return exp, words[1:]
	}
	if exp, ok := multiplier(word[:1]); ok && words[0].glued && p.named(word) == nil && p.named(word[1:]) != nil {
		rest = append([]piece{{text: word[1:], glued: true}}, words[1:]...)
		return exp, rest
	}
	return 0, words
}

// multiplier is the power of ten of a suffix.
func multiplier(word string) (exp int, ok bool) {
	switch word {
	case "k", "thousand":
		return 3, true
	case "m", "million":
		return 6, true
	}
	return 0, false
}

// units takes the names of units off some words, the longest name first, and wants nothing else there.
func (p *parser) units(words []piece) error {
	for len(words) > 0 {
		found := false
		for n := min(longestName, len(words)); n > 0 && !found; n-- {
			name := ""
			for _, w := range words[:n] {
				name += w.text
			}
			if u := p.named(name); u != nil {
				if err := p.setUnit(u); err != nil {
					return err
				}
				words, found = words[n:], true
			}
		}
		if !found {
			return ErrUnit
		}
	}
	return nil
}

// setUnit notes a unit. The same one twice is fine ("₦500 naira"), and a stablecoin is more exact than a dollar sign.
func (p *parser) setUnit(u *Unit) error {
	switch {
	case p.unit == nil, p.unit.ID == "" && p.unit.Kind == u.Kind:
		p.unit = u
	case p.unit.ID == u.ID && p.unit.Kind == u.Kind, u.ID == "" && p.unit.Kind == u.Kind:
	default:
		return ErrUnit
	}
	return nil
}

// named is the unit of a name, or nil.
func (p *parser) named(name string) *Unit {
	if name == "" {
		return nil
	}
	for i := range p.ctx.Units {
		for _, n := range p.ctx.Units[i].Names {
			if strings.ReplaceAll(strings.ToLower(n), " ", "") == name {
				return &p.ctx.Units[i]
			}
		}
	}
	return nil
}

// choose turns the readings of a number into the result.
func (p *parser) choose(n number, exp int) (Parsed, error) {
	if len(n.readings) == 1 {
		return parsed(n.readings[0], exp, p.unit)
	}
	decimals := MicroDecimals
	if p.unit != nil {
		decimals = p.unit.Decimals
	}
	small, large := n.readings[0], n.readings[1]
	if decimals+exp < 3 {
		if n.mark == ',' {
			return parsed(large, exp, p.unit)
		}
		// "₦1.500": a point is nobody's habit for thousands of naira, and three decimals are too many. One that could
		// still be meant is asked about, the rest is refused.
		small.part = strings.TrimRight(small.part, "0")
	}
	second, err := parsed(small, exp, p.unit)
	if err != nil {
		return Parsed{}, err
	}
	first, err := parsed(large, exp, p.unit)
	if err != nil {
		return Parsed{}, err
	}
	return Parsed{Kind: first.Kind, Unit: first.Unit, Candidates: []Parsed{first, second}}, ErrAmbiguous
}

// share finds "half" or "all" at the front.
func (p *parser) share() (Kind, bool) {
	if len(p.pieces) == 0 {
		return "", false
	}
	switch p.pieces[0].text {
	case "half":
		return Half, true
	case "all", "everything", "max", "maximum":
		return All, true
	}
	return "", false
}

// shareOf reads what the share is of: nothing, or a stablecoin, with the small words that people put between.
func (p *parser) shareOf(kind Kind) (Parsed, error) {
	rest := p.pieces[1:]
	for len(rest) > 0 && isSmallWord(rest[0].text) {
		rest = rest[1:]
	}
	if err := p.units(rest); err != nil {
		return Parsed{}, err
	}
	out := Parsed{Kind: kind}
	if p.unit != nil {
		if p.unit.Kind != Token {
			return Parsed{}, ErrUnit
		}
		out.Unit = p.unit.ID
	}
	return out, nil
}

func isSmallWord(s string) bool {
	switch s {
	case "of", "my", "the", "it", "in":
		return true
	}
	return false
}
