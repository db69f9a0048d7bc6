package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// CursorOf is the place of a document in an index: the values of all fields of the index, in their order, and the id.
// For the index "_id" there are no values. Values may be named types and pointers, as the document holds them.
func CursorOf(doc Document, values ...any) Cursor {
	return append(append(make(Cursor, 0, len(values)+1), values...), doc.Head().ID)
}

// Encode writes the cursor as one opaque word that a URL can carry; an empty cursor is the empty word.
func (c Cursor) Encode() (string, error) {
	if len(c) == 0 {
		return "", nil
	}
	parts := make([]string, len(c))
	for i, v := range c {
		v, err := Value(v)
		if err != nil {
			return "", err
		}
		switch v := v.(type) {
		case string:
			parts[i] = "s" + v
		case int64:
			parts[i] = "i" + strconv.FormatInt(v, 10)
		case bool:
			parts[i] = "b" + strconv.FormatBool(v)
		case time.Time:
			parts[i] = "t" + strconv.FormatInt(v.UnixMilli(), 10)
		}
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return "", fmt.Errorf("encode cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(text), nil
}

// DecodeCursor reads what Encode wrote. It comes from outside, so anything else is refused with ErrIndex.
func DecodeCursor(word string) (Cursor, error) {
	if word == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return nil, fmt.Errorf("decode cursor: %w", ErrIndex)
	}
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) == 0 {
		return nil, fmt.Errorf("decode cursor: %w", ErrIndex)
	}
	c := make(Cursor, len(parts))
	for i, p := range parts {
		if c[i], err = decodeValue(p); err != nil {
			return nil, fmt.Errorf("decode cursor: %w", ErrIndex)
		}
	}
	return c, nil
}

func decodeValue(p string) (any, error) {
	if p == "" {
		return nil, ErrIndex
	}
	switch kind, rest := p[0], p[1:]; kind {
	case 's':
		return rest, nil
	case 'i':
		return strconv.ParseInt(rest, 10, 64)
	case 'b':
		return strconv.ParseBool(rest)
	case 't':
		ms, err := strconv.ParseInt(rest, 10, 64)
		return time.UnixMilli(ms).UTC(), err
	}
	return nil, ErrIndex
}

// Value reduces an index value to one of string, int64, bool and time.Time (UTC, milliseconds, which is what a database
// keeps). Named types and pointers are followed; anything else is refused with ErrIndex.
func Value(v any) (any, error) {
	switch v := v.(type) {
	case string, int64, bool:
		return v, nil
	case int:
		return int64(v), nil
	case time.Time:
		return v.UTC().Truncate(time.Millisecond), nil
	}
	r := reflect.ValueOf(v)
	for r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	if !r.IsValid() {
		return nil, fmt.Errorf("index value is nil: %w", ErrIndex)
	}
	if t, ok := r.Interface().(time.Time); ok {
		return t.UTC().Truncate(time.Millisecond), nil
	}
	switch {
	case r.Kind() == reflect.String:
		return r.String(), nil
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return int64(r.Uint()), nil
	case r.Kind() == reflect.Bool:
		return r.Bool(), nil
	}
	return nil, fmt.Errorf("index value of type %T: %w", v, ErrIndex)
}
