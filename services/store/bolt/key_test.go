package bolt

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// compareValues is the order that the keys must have: by kind, then by value.
func compareValues(a, b any) int {
	kind := func(v any) int {
		switch v.(type) {
		case emptyArray:
			return 0
		case null:
			return 1
		case int64:
			return 2
		case string:
			return 3
		case bool:
			return 4
		}
		return 5
	}
	if c := cmp.Compare(kind(a), kind(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		return strings.Compare(a, b.(string))
	case bool:
		return cmp.Compare(map[bool]int{true: 1}[a], map[bool]int{true: 1}[b.(bool)])
	case time.Time:
		return a.Compare(b.(time.Time))
	}
	return 0
}

func anyValue() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64(), func(v int64) any { return v }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 6), func(b []byte) any { return string(b) }),
		rapid.Map(rapid.String(), func(v string) any { return v }),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Int64Range(-1<<50, 1<<50), func(ms int64) any { return time.UnixMilli(ms).UTC() }),
		rapid.SampledFrom([]any{null{}, emptyArray{}}),
	)
}

func TestAppendValues_keysSortAsTheirValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "fields")
		a := rapid.SliceOfN(anyValue(), n, n).Draw(t, "a")
		b := rapid.SliceOfN(anyValue(), n, n).Draw(t, "b")
		want := 0
		for i := 0; i < n && want == 0; i++ {
			want = compareValues(a[i], b[i])
		}
		keyA, err := appendValues(nil, a)
		require.NoError(t, err)
		keyB, err := appendValues(nil, b)
		require.NoError(t, err)
		require.Equal(t, want, bytes.Compare(keyA, keyB))
		require.Equal(t, want == 0, bytes.HasPrefix(keyA, keyB), "no key is a prefix of another")
	})
}
