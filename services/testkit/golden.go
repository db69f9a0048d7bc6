package testkit

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// update is the one flag that rewrites golden files: go test ./some/package -update.
var update = flag.Bool("update", false, "rewrite golden files instead of comparing with them")

// Updating reports whether golden files are being rewritten.
func Updating() bool { return *update }

// writers is how tests that write files are named: `scripts/check generated` and `make generate` run these and no others.
var writers = regexp.MustCompile(`(?i)golden|document`)

// Golden compares got with testdata/<name> of the package under test, or writes it when the flag -update is given. The name
// of the test must contain "golden" or "document".
func Golden(t testing.TB, name string, got []byte) {
	t.Helper()
	require.Regexp(t, writers, t.Name(), "or the file would never be written anew")
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "make the golden file with -update")
	if filepath.Ext(path) == ".png" {
		require.Equal(t, len(want), len(got), "size of %s", path)
		require.True(t, string(want) == string(got), "the picture differs from %s", path)
		return
	}
	require.Equal(t, string(want), string(got), "differs from %s; rewrite it with -update if that is right", path)
}
