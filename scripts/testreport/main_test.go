package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func run(t *testing.T, strict bool, lines ...string) (string, bool) {
	t.Helper()
	r, err := read(strings.NewReader(strings.Join(lines, "\n")))
	require.NoError(t, err)
	var b strings.Builder
	ok := r.print(&b, strict)
	return b.String(), ok
}

func TestReport_countsWhatRan(t *testing.T) {
	t.Parallel()
	got, ok := run(
		t, true,
		`{"Action":"output","Package":"m/a","Test":"TestX","Output":"noise\n"}`,
		`{"Action":"pass","Package":"m/a","Test":"TestX/mongo/deep"}`, `{"Action":"pass","Package":"m/a","Test":"TestX/mongo"}`,
		`{"Action":"pass","Package":"m/a","Test":"TestX/bolt"}`, `{"Action":"pass","Package":"m/a","Test":"TestX"}`,
		`{"Action":"pass","Package":"m/a"}`, `{"Action":"pass","Package":"m/store/mongo","Test":"TestY"}`,
		`{"Action":"pass","Package":"m/store/mongo"}`, `{"Action":"skip","Package":"m/none"}`,
	)
	require.True(t, ok)
	require.Equal(t, "packages: 2 good, 0 bad, 1 without tests\n"+
		"tests on mongo: 2\ntests on bolt: 1\ntests: 5 passed, 0 failed, 0 skipped\n", got)
}

func TestReport_failsWhenSomethingFailedOrDidNotFinish(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"a test", []string{
			`{"Action":"output","Package":"m/a","Test":"TestX","Output":"wrong\n"}`, `{"Action":"fail","Package":"m/a","Test":"TestX"}`,
			`{"Action":"fail","Package":"m/a"}`,
		}, "--- failed: m/a TestX\n    wrong\n"},
		{"a build", []string{"# m/a", "x.go:1: undefined", `{"Action":"fail","Package":"m/a"}`}, "x.go:1: undefined"},
		{"a crash", []string{
			`{"Action":"output","Package":"m/a","Test":"TestX","Output":"panic: y\n"}`, `{"Action":"fail","Package":"m/a"}`,
		}, "--- did not finish: m/a TestX\n    panic: y\n"},
		{"a race, shown during a test that passed", []string{
			`{"Action":"output","Package":"m/a","Test":"TestX","Output":"==================\n"}`,
			`{"Action":"output","Package":"m/a","Test":"TestX","Output":"WARNING: DATA RACE\n"}`,
			`{"Action":"output","Package":"m/a","Test":"TestX","Output":"Write at 0x1\n"}`,
			`{"Action":"output","Package":"m/a","Test":"TestX","Output":"==================\n"}`,
			`{"Action":"pass","Package":"m/a","Test":"TestX"}`, `{"Action":"fail","Package":"m/a","Test":"TestY"}`,
			`{"Action":"fail","Package":"m/a"}`,
		}, "WARNING: DATA RACE\nWrite at 0x1\n==================\n--- failed: m/a TestY"},
		{"nothing ran", nil, "tests: 0 passed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := run(t, false, tt.lines...)
			require.False(t, ok)
			require.Contains(t, got, tt.want)
			require.Regexp(t, `tests: \d+ passed, \d+ failed, 0 skipped\n$`, got)
		})
	}
}

func TestReport_aSkipIsShownAndFailsWhenStrict(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"Action":"output","Package":"m/a","Test":"TestX","Output":"no MongoDB\n"}`, `{"Action":"skip","Package":"m/a","Test":"TestX"}`,
		`{"Action":"pass","Package":"m/a"}`,
	}
	got, ok := run(t, false, lines...)
	require.True(t, ok)
	require.Contains(t, got, "--- skipped: m/a TestX\n    no MongoDB\n")
	_, ok = run(t, true, lines...)
	require.False(t, ok)
}
