package whatsapp

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The limits of outgoing messages, in UTF-16 units: nobody documents whether units, code points or graphemes count, and
// units are the most of the three. What people read is shortened to fit, what we must get back whole is refused.
const (
	maxTextBody       = 4096
	maxCaption        = 1024
	maxInteractive    = 1024 // body of buttons, list and flow; lists may take 4096, an older edition said 1024
	maxHeader         = 60
	maxFooter         = 60
	maxButtons        = 3
	maxButtonTitle    = 20
	maxButtonID       = 256
	maxListButton     = 20
	maxListSections   = 10
	maxListRows       = 10 // over all sections
	maxSectionTitle   = 24
	maxRowID          = 200
	maxRowTitle       = 24
	maxRowDescription = 72
	maxFlowCTA        = 30
	maxFlowToken      = 512
	maxTemplateParam  = 1024
	maxCallbackData   = 512
	maxImageBytes     = 5 << 20
)

const ellipsis = "…"

// units counts a text as WhatsApp does at most.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// fit shortens a text to a limit and ends it with an ellipsis, without leaving half a character: a joiner, a selector or
// a combining mark at the cut goes with what it joined. Invalid bytes become the replacement character first.
func fit(s string, limit int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if units(s) <= limit {
		return s
	}
	used, end := units(ellipsis), 0
	for i, r := range s {
		if used+utf16.RuneLen(r) > limit {
			break
		}
		used += utf16.RuneLen(r)
		end = i + utf8.RuneLen(r)
	}
	return strings.TrimRightFunc(wholeCharacters(s, end), unicode.IsSpace) + ellipsis
}

// wholeCharacters cuts s at end or before it, so that neither side of the cut is part of the other's character.
func wholeCharacters(s string, end int) string {
	for end > 0 {
		next, _ := utf8.DecodeRuneInString(s[end:])
		last, size := utf8.DecodeLastRuneInString(s[:end])
		if !extends(next) && !joins(last) {
			break
		}
		end -= size
	}
	return s[:end]
}

func joins(r rune) bool { return r == '\u200d' }

func extends(r rune) bool {
	return joins(r) || unicode.Is(unicode.M, r) || (r >= 0x1f3fb && r <= 0x1f3ff) || (r >= 0xfe00 && r <= 0xfe0f)
}

// oneLine is a label or a template parameter: no line breaks, tabs or runs of spaces, which WhatsApp refuses there.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// distinct makes shortened labels differ again, because buttons with equal titles are refused: the second becomes
// "title 2".
func distinct(titles []string, limit int) []string {
	out, seen := make([]string, len(titles)), map[string]bool{}
	for i, title := range titles {
		label := title
		for n := 2; seen[label]; n++ {
			suffix := " " + string(rune('0'+n%10))
			label = fit(title, limit-len(suffix)) + suffix
		}
		seen[label], out[i] = true, label
	}
	return out
}
