package bolt

import (
	"encoding/binary"
	"fmt"
	"time"

	"offrampbot/services/store"
)

// Kinds of values in index keys, in the order in which MongoDB sorts them.
const (
	kindEmpty  byte = 0x05 // the element of an empty array
	kindNull   byte = 0x0a
	kindInt    byte = 0x10
	kindString byte = 0x20
	kindBool   byte = 0x40
	kindTime   byte = 0x50
	kindLast   byte = 0xff // sorts behind every value
)

type (
	null       struct{}
	emptyArray struct{}
)

// appendValue appends the order-preserving form of one index value: bytes compare as the values do, and no value is a
// prefix of another.
func appendValue(key []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		key = append(key, kindString)
		for i := range len(v) {
			key = append(key, v[i])
			if v[i] == 0 { // a NUL inside is 00 FF, so that the end, 00 01, sorts first
				key = append(key, 0xff)
			}
		}
		return append(key, 0, 1), nil
	case int64:
		return binary.BigEndian.AppendUint64(append(key, kindInt), uint64(v)^1<<63), nil
	case bool:
		if v {
			return append(key, kindBool, 1), nil
		}
		return append(key, kindBool, 0), nil
	case time.Time:
		return binary.BigEndian.AppendUint64(append(key, kindTime), uint64(v.UnixMilli())^1<<63), nil
	case null:
		return append(key, kindNull), nil
	case emptyArray:
		return append(key, kindEmpty), nil
	}
	return nil, fmt.Errorf("index value of type %T: %w", v, store.ErrIndex)
}

func appendValues(key []byte, values []any) ([]byte, error) {
	for _, v := range values {
		var err error
		if key, err = appendValue(key, v); err != nil {
			return nil, err
		}
	}
	return key, nil
}
