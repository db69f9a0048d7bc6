// Package phone reads WhatsApp ids: phone numbers in digits, and business-scoped user ids. It never rewrites one: an id
// is stored, compared and answered exactly as it was received (P36).
package phone

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones must load in an image without zone files (B102)

	"github.com/nyaruka/phonenumbers"
)

// Number is a phone number as WhatsApp gives it: digits with the country code, no plus sign. It prints masked, because
// whoever prints it is a log line, an error or a page; string(n) is the whole number, for the few places that send it.
// It cannot mask itself as the key of a map: encoding/json writes string keys as they are.
type Number string

// shownDigits is how much of a number is ever printed: enough to recognise one's own.
const shownDigits = 3

// String masks the number: "…678".
func (n Number) String() string {
	if len(n) <= 2*shownDigits {
		return "…"
	}
	return "…" + string(n[len(n)-shownDigits:])
}

// GoString masks the number in %#v.
func (n Number) GoString() string { return n.String() }

// LogValue masks the number in logs.
func (n Number) LogValue() slog.Value { return slog.StringValue(n.String()) }

// MarshalJSON masks the number.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(n.String()) }

var (
	scopedForm = regexp.MustCompile(`^[A-Z]{2}\.`)
	digitsForm = regexp.MustCompile(`^[1-9][0-9]{6,14}$`) // E.164 without its plus sign
)

// IsScopedID reports whether an id is a business-scoped user id ("NG.134…") and not a phone number, wherever it stands:
// WhatsApp puts one into fields meant for numbers (P31–P33).
func IsScopedID(s string) bool { return scopedForm.MatchString(s) }

// IsNumber reports whether an id has the shape of a phone number: 7 to 15 digits. It says nothing about the numbering
// plan, which changes more often than a library (B104).
func IsNumber(s string) bool { return digitsForm.MatchString(s) }

// Country is the ISO 3166 code of the country of a WhatsApp id, or "" when it is not known. A scoped id says it itself;
// a number's calling code says it, and the numbering plan where countries share one (+1, +7, +44).
func Country(waID string) string {
	if IsScopedID(waID) {
		if _, ok := zones[waID[:2]]; ok {
			return waID[:2]
		}
		return ""
	}
	if !IsNumber(waID) {
		return ""
	}
	n, err := phonenumbers.Parse("+"+waID, "")
	if err != nil {
		return ""
	}
	country := phonenumbers.GetRegionCodeForNumber(n)
	if _, ok := zones[country]; !ok { // "001": a calling code of no country
		return ""
	}
	return country
}

// Zone is the time zone of a country's "today". It is UTC for a country that is not known, never the zone of the host.
func Zone(country string) *time.Location {
	name, ok := zones[country]
	if !ok {
		return time.UTC
	}
	loc, err := time.LoadLocation(name)
	if err != nil { // the data is embedded and a test loads every zone
		return time.UTC
	}
	return loc
}

// Variants are the ids under which WhatsApp may know one and the same number, the given one first: Brazil's mobile
// numbers with and without the ninth digit, Mexico's with and without 1, Argentina's with and without 9 behind the
// country code (P36). They are for finding a person, never for sending and never stored in place of the given id.
func Variants(waID string) []string {
	if !IsNumber(waID) {
		return []string{waID}
	}
	switch {
	case strings.HasPrefix(waID, "55") && len(waID) == 13 && waID[4] == '9' && waID[5] >= '6':
		return []string{waID, waID[:4] + waID[5:]}
	case strings.HasPrefix(waID, "55") && len(waID) == 12 && waID[4] >= '6':
		return []string{waID, waID[:4] + "9" + waID[4:]}
	case strings.HasPrefix(waID, "521") && len(waID) == 13:
		return []string{waID, "52" + waID[3:]}
	case strings.HasPrefix(waID, "52") && len(waID) == 12:
		return []string{waID, "521" + waID[2:]}
	case strings.HasPrefix(waID, "549") && len(waID) == 13:
		return []string{waID, "54" + waID[3:]}
	case strings.HasPrefix(waID, "54") && len(waID) == 12:
		return []string{waID, "549" + waID[2:]}
	}
	return []string{waID}
}
