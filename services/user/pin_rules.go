package user

import (
	"log/slog"
	"strings"

	"offrampbot/services/fault"
)

// pinLength is the length of a new PIN. Imported ones may have four or five digits (DESIGN §11).
const (
	pinLength    = 6
	minPINLength = 4
)

// TypedPIN is a PIN as somebody typed it; it prints masked and never leaves the process.
type TypedPIN string

// String masks the PIN.
func (TypedPIN) String() string { return "******" }

// GoString masks the PIN.
func (TypedPIN) GoString() string { return "******" }

// LogValue masks the PIN in logs.
func (TypedPIN) LogValue() slog.Value { return slog.StringValue("******") }

// MarshalJSON masks the PIN.
func (TypedPIN) MarshalJSON() ([]byte, error) { return []byte(`"******"`), nil }

// commonPINs are the six-digit PINs that leaks show most often and that no other rule catches.
var commonPINs = map[string]bool{
	"112233": true, "332211": true, "223344": true, "445566": true, "778899": true, "998877": true, "159753": true,
	"147258": true, "258369": true, "147852": true, "258147": true, "369258": true, "789456": true, "456123": true,
	"741852": true, "963852": true, "852456": true, "159357": true, "357159": true, "246810": true, "135790": true,
	"142536": true, "102030": true, "100000": true, "110110": true, "520131": true, "080808": true, "007007": true,
	"666999": true, "123654": true, "321654": true, "456654": true, "123321": true, "111222": true, "222333": true,
	"000111": true, "001122": true, "098765": true, "134679": true, "314159": true, "271828": true, "420420": true,
	"696969": true,
}

// CheckNewPIN says whether a PIN may be chosen: fault code pin_format when it is not six digits, pin_weak when it is on
// the deny list (S3): a repeated pattern, a run, a date of birth, a common PIN, or the end of the user's own number.
func CheckNewPIN(pin TypedPIN, whatsAppID string) error {
	p := string(pin)
	if len(p) != pinLength || !isDigits(p) {
		return fault.New("pin_format", nil)
	}
	if isRepeated(p) || isRun(p) || isBirthday(p) || commonPINs[p] || strings.HasSuffix(whatsAppID, p) {
		return fault.New("pin_weak", nil)
	}
	return nil
}

// isPIN reports whether a text can be a PIN at all, imported ones included.
func isPIN(p string) bool { return len(p) >= minPINLength && len(p) <= pinLength && isDigits(p) }

// isDigits reports whether a text is ASCII digits only.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isRepeated reports a pattern of one, two or three digits that repeats: 111111, 121212, 123123.
func isRepeated(p string) bool {
	for _, n := range []int{1, 2, 3} {
		if strings.Repeat(p[:n], len(p)/n) == p {
			return true
		}
	}
	return false
}

// isRun reports digits that each follow the last one, up or down, over the end too: 123456, 890123, 654321.
func isRun(p string) bool {
	up, down := true, true
	for i := 1; i < len(p); i++ {
		step := (int(p[i]) - int(p[i-1]) + 10) % 10
		up, down = up && step == 1, down && step == 9
	}
	return up || down
}

// isBirthday reports a date of 1940 to 2012 as day, month, year or year, month, day.
func isBirthday(p string) bool {
	a, b, c := two(p[0:2]), two(p[2:4]), two(p[4:6])
	return isDate(a, b, c) || isDate(c, b, a)
}

// isDate reports a day, month and two-digit year that somebody may have been born on.
func isDate(day, month, year int) bool {
	return day >= 1 && day <= 31 && month >= 1 && month <= 12 && (year >= 40 || year <= 12)
}

// two is the value of two digits.
func two(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
