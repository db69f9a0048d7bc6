package user

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"offrampbot/services/fault"
)

// maxName is the most characters of a name.
const maxName = 60

// CleanName is a name as it is stored: NFC, single spaces, without control, direction and other invisible characters.
// It fails with fault code name_invalid when fewer than two letters are left, it is longer than 60 characters, or it
// holds anything but letters, accents, digits, spaces and ' ’ - . — a name is shown to other people and must not carry
// formatting or a link.
func CleanName(typed string) (string, error) {
	if len(typed) > 16*maxName { // length before work
		return "", fault.New("name_invalid", nil)
	}
	name, clean := foldName(typed)
	letters := 0
	for _, r := range name {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if !clean || letters < 2 || utf8.RuneCountInString(name) > maxName {
		return "", fault.New("name_invalid", nil)
	}
	return name, nil
}

// profileName is a WhatsApp profile name with everything left out that a name may not hold; it may be empty.
func profileName(typed string) string {
	if len(typed) > 16*maxName {
		return ""
	}
	name, _ := foldName(typed)
	runes := []rune(name)
	return strings.TrimSpace(string(runes[:min(len(runes), maxName)]))
}

// foldName keeps what a name may hold; clean is false when something visible was dropped.
func foldName(typed string) (name string, clean bool) {
	clean = utf8.ValidString(typed)
	marks := 0
	kept := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsMark(r):
			if marks++; marks > 2 { // no letter of a name carries more
				clean = false
				return -1
			}
			return r
		case unicode.IsSpace(r):
			marks = 0
			return ' '
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r):
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("'’-.", r):
			marks = 0
			return r
		}
		clean = false
		return -1
	}, norm.NFC.String(typed))
	return strings.Join(strings.Fields(kept), " "), clean
}
