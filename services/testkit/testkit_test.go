package testkit_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
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

// TestGolden_comparesAndRewrites runs itself in an empty folder: written first, then compared, then found different.
func TestGolden_comparesAndRewrites(t *testing.T) {
	t.Parallel()
	if content := os.Getenv("GOLDEN_TEST_CONTENT"); content != "" {
		testkit.Golden(t, "texts/one.txt", []byte(content))
		testkit.Golden(t, "picture.png", []byte(content))
		return
	}
	folder := t.TempDir()
	run := func(content string, flags ...string) error {
		again := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=^TestGolden_comparesAndRewrites$"}, flags...)...)
		again.Env, again.Dir = append(os.Environ(), "GOLDEN_TEST_CONTENT="+content), folder
		return again.Run()
	}
	require.Error(t, run("one"), "a golden file that is not there")
	require.NoError(t, run("one", "-update"))
	require.NoError(t, run("one"))
	require.Error(t, run("two"))
	require.NoError(t, run("two", "-update"))
	require.NoError(t, run("two"))
}

func TestEngines_startEmptyOnBoth(t *testing.T) {
	t.Parallel()
	var names []string
	t.Run("engines", func(t *testing.T) {
		seen := make(chan string, 2)
		t.Cleanup(func() {
			close(seen)
			for name := range seen {
				names = append(names, name)
			}
		})
		testkit.Engines(t, nil, func(t *testing.T, e store.Engine) {
			require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
				return r.Find(store.Query{Collection: store.Users, Index: store.ByID}, func(store.Decode) (bool, error) {
					t.Error("the database is not empty")
					return true, nil
				})
			}))
			seen <- e.Name()
		})
	})
	require.ElementsMatch(t, []string{"bolt", "mongo"}, names)
}
