package evm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantity_isBase16AndNothingElse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0x0", 0, true},
		{"0x10", 16, true},
		{"0xfF", 255, true},
		{"0x00ff", 255, true},
		{"0x7fffffffffffffff", 1<<63 - 1, true},
		{"0x8000000000000000", 0, false},
		{"16", 0, false}, // B60
		{"0x", 0, false},
		{"", 0, false},
		{"0X10", 0, false},
		{"0x-1", 0, false},
		{"0x+1", 0, false},
		{"0x1_0", 0, false},
		{"0xg", 0, false},
		{" 0x1", 0, false},
		{"0x1 ", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := quantity(tt.in)
			require.Equal(t, tt.ok, err == nil)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestTopicAddress_refusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	const canonical = "0xa11ce00000000000000000000000000000000001"
	got, err := topicAddress(strings.ToUpper(topicOf(canonical)[2:]))
	require.Error(t, err)
	require.Empty(t, got)
	got, err = topicAddress("0x" + strings.ToUpper(topicOf(canonical)[2:]))
	require.NoError(t, err)
	require.Equal(t, canonical, got)
	for _, bad := range []string{"", "0x", canonical, "0x1" + topicOf(canonical)[3:], topicOf(canonical) + "00", topicOf(canonical)[:65] + "z"} {
		_, err := topicAddress(bad)
		require.Error(t, err, bad)
	}
}

func TestLimit_isHalvedAndGrowsSlowly(t *testing.T) {
	t.Parallel()
	n := &node{most: 100, span: 100}
	n.shrink(100)
	require.EqualValues(t, 50, n.limit())
	n.shrink(3)
	require.EqualValues(t, 1, n.limit())
	n.shrink(1)
	require.EqualValues(t, 1, n.limit())
	for range growAfter {
		n.worked()
	}
	require.EqualValues(t, 2, n.limit())
	for range growAfter * 10 {
		n.worked()
	}
	require.EqualValues(t, 100, n.limit())
}

func FuzzQuantity(f *testing.F) {
	for _, seed := range []string{"0x0", "0x1f", "16", "0x", "0x8000000000000000", "0x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := quantity(s)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, n, int64(0))
		again, err := quantity(encode(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
	})
}

func FuzzWord(f *testing.F) {
	f.Add("0x" + strings.Repeat("f", 64))
	f.Add("0x1")
	f.Add("0x" + strings.Repeat("-", 64))
	f.Fuzz(func(t *testing.T, s string) {
		n, err := word(s)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, n.Sign(), 0)
		require.LessOrEqual(t, n.BitLen(), 256)
	})
}
