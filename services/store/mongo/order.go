package mongo

import (
	"cmp"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// successor is the smallest value above v, of the same type or the next.
func successor(v any) any {
	switch v := v.(type) {
	case string:
		return v + "\x00"
	case int64:
		if v < math.MaxInt64 {
			return v + 1
		}
	case bool:
		if !v {
			return true
		}
	case time.Time:
		return v.Add(time.Millisecond)
	}
	_, next := typeRange(v)
	return next
}

// typeRange gives the lowest value of a type and the lowest of the type that MongoDB sorts behind it.
func typeRange(v any) (lowest, next any) {
	switch v.(type) {
	case int64:
		return int64(math.MinInt64), ""
	case string:
		return "", bson.D{}
	case bool:
		return false, bson.DateTime(math.MinInt64)
	}
	return bson.DateTime(math.MinInt64), bson.Timestamp{}
}

// compareTuples compares two bounds as the server does.
func compareTuples(a, b []any) int {
	for i := range a {
		if c := compareValues(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func compareValues(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		return cmp.Compare(a, b.(string))
	case bool:
		if a == b.(bool) {
			return 0
		} else if a {
			return 1
		}
		return -1
	}
	return cmp.Compare(millis(a), millis(b))
}

func millis(v any) int64 {
	switch v := v.(type) {
	case time.Time:
		return v.UnixMilli()
	case bson.DateTime:
		return int64(v)
	}
	return 0
}

func rank(v any) int {
	switch v.(type) {
	case bson.MinKey:
		return 0
	case int64:
		return 1
	case string:
		return 2
	case bson.D:
		return 3
	case bool:
		return 4
	case time.Time, bson.DateTime:
		return 5
	case bson.Timestamp:
		return 6
	}
	return 7 // bson.MaxKey
}
