package deposit

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestThin_keepsTheEndsAndFewInBetween(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var c Cursor
		height := int64(0)
		polls := rapid.IntRange(1, 3000).Draw(rt, "polls")
		for range polls {
			height += rapid.Int64Range(0, 20).Draw(rt, "blocks")
			c = c.advance(Block{Number: height, Hash: strconv.FormatInt(height, 10)}, c.Height, time.Time{})
		}
		require.Equal(rt, height, c.Marks[len(c.Marks)-1].Height)
		require.Less(rt, len(c.Marks), 90)
		for i := 1; i < len(c.Marks); i++ {
			require.Less(rt, c.Marks[i-1].Height, c.Marks[i].Height)
		}
	})
}

func TestAdvance_forgetsMarksAboveTheCommonAncestor(t *testing.T) {
	t.Parallel()
	c := Cursor{Height: 10, Marks: []Mark{{1, "a"}, {5, "b"}, {9, "c"}, {10, "d"}}}
	c = c.advance(Block{Number: 11, Hash: "new"}, 5, time.Time{})
	require.Equal(t, []Mark{{1, "a"}, {5, "b"}, {11, "new"}}, c.Marks)
	c = c.advance(Block{Number: 11, Hash: "newer"}, 5, time.Time{})
	require.Equal(t, []Mark{{1, "a"}, {5, "b"}, {11, "newer"}}, c.Marks)
}

func TestSweep_readsEveryBlockOnceMoreAfterItsTime(t *testing.T) {
	t.Parallel()
	const every, most = time.Hour, 100
	now := time.Unix(0, 0)
	c := Cursor{Height: 49, Since: 50, Swept: 49, SweepTo: 49}
	read := map[int64]time.Time{}
	swept := int64(49)
	for range 600 {
		now = now.Add(time.Minute)
		from, to := c.sweep(now, most)
		for h := from; h <= to; h++ {
			require.Equal(t, swept+1, h, "no gap and nothing twice")
			require.GreaterOrEqual(t, now.Sub(read[h]), every)
			swept = h
		}
		c.Height += 5
		for h := c.Height - 4; h <= c.Height; h++ {
			read[h] = now
		}
		c = c.swept(to, now, every)
	}
	require.Greater(t, swept, c.Height-700)
}
