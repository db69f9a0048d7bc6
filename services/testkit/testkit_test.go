package testkit_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/testkit"
)

func TestRedis_givesEachTestItsOwnPrefixAndCleansUp(t *testing.T) {
	t.Parallel()
	var url, first string
	t.Run("a test writes a key", func(t *testing.T) {
		url, first = testkit.Redis(t)
		o, err := redis.ParseURL(url)
		require.NoError(t, err)
		client := redis.NewClient(o)
		require.NoError(t, client.Set(t.Context(), first+"key", "value", time.Minute).Err())
		require.NoError(t, client.Close())
	})
	url, second := testkit.Redis(t)
	require.NotEqual(t, first, second)
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(o)
	require.ErrorIs(t, client.Get(t.Context(), first+"key").Err(), redis.Nil)
	require.NoError(t, client.Close())
}

func TestAnvilURL_answers(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, testkit.AnvilURL(t))
}

func TestClock_movesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	c := testkit.Noon()
	at := c.Now()
	require.Equal(t, at, c.Now())
	require.Equal(t, time.UTC, at.Location())
	require.Equal(t, at.Add(time.Second), c.Advance(time.Second+time.Microsecond))
	c.Set(at)
	require.Equal(t, at, c.Now())
}

// TestMissingService_skipsLocallyAndFailsInCI runs one test of this binary again with services that do not answer.
func TestMissingService_skipsLocallyAndFailsInCI(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, ci, want string }{
		{"on a desk it is skipped", "", "SKIP: TestAnvilURL_answers"},
		{"in CI it fails", "true", "FAIL: TestAnvilURL_answers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnvilURL_answers$", "-test.v")
			again.Env = append(os.Environ(), "CI="+tt.ci, "ANVIL_URL=http://127.0.0.1:1")
			output, err := again.CombinedOutput()
			require.Contains(t, string(output), tt.want)
			require.Contains(t, string(output), "scripts/services start")
			require.Equal(t, tt.ci == "true", err != nil)
		})
	}
}
