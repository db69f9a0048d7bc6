package whatsapp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object with exact keys: encoding/json matches struct fields without regard to case, a map does not.
type object map[string]json.RawMessage

var errNotObject = errors.New("not an object")

// asObject decodes raw as an object; absent, null and every other kind are errNotObject.
func asObject(raw json.RawMessage) (object, error) {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, errNotObject
	}
	var o object
	if err := json.Unmarshal(trimmed, &o); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return o, nil
}

// asArray decodes raw as a list of elements; absent and null are an empty list.
func asArray(raw json.RawMessage) ([]json.RawMessage, error) {
	if isAbsent(raw) {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("not a list")
	}
	return list, nil
}

func isAbsent(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || string(trimmed) == "null"
}

// object returns a nested object, or an empty one when the key is absent or of another kind.
func (o object) object(key string) object {
	nested, err := asObject(o[key])
	if err != nil {
		return object{}
	}
	return nested
}

// list returns the elements of a nested list, none when the key is absent or of another kind.
func (o object) list(key string) []json.RawMessage {
	list, err := asArray(o[key])
	if err != nil {
		return nil
	}
	return list
}

// text returns a string or the digits of a number; samples of one field differ in this (timestamps, limits, codes).
// NUL characters are dropped: they are legal JSON and no store likes them (P59).
func (o object) text(key string) string {
	raw := bytes.TrimSpace(o[key])
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return ""
		}
		return strings.ReplaceAll(s, "\x00", "")
	}
	if raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

// first returns the first of several spellings of one field that is not empty.
func (o object) first(keys ...string) string {
	for _, key := range keys {
		if s := o.text(key); s != "" {
			return s
		}
	}
	return ""
}

func (o object) flag(key string) bool { return string(bytes.TrimSpace(o[key])) == "true" }

func (o object) has(key string) bool { return !isAbsent(o[key]) }

// number returns an integer given as number or string, zero when it is neither.
func (o object) number(key string) int64 {
	n, err := strconv.ParseInt(o.text(key), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// latestSecond bounds what is believed as a time: 9999-12-31.
const latestSecond = 253402300799

// unixTime reads seconds given as number or string. What is no time gives the zero time, which every reader must treat
// as "sent at an unknown moment" (P9).
func (o object) unixTime(key string) time.Time {
	seconds := o.number(key)
	if seconds <= 0 || seconds > latestSecond {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// isScopedID reports whether s is a business-scoped user id: two capital letters and a dot, wherever it appears (P31).
func isScopedID(s string) bool {
	return len(s) > 3 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'A' && s[1] <= 'Z' && s[2] == '.'
}

// isPhoneID reports whether s is a phone id as webhooks carry it: digits only.
func isPhoneID(s string) bool {
	if len(s) < 5 || len(s) > 20 {
		return false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
