// Package testkit gives tests their surroundings: a random database on each engine, Redis under a random prefix, a
// chain node, a clock that stands still and golden files. Only tests import it.
//
// Real services are named by MONGO_URI, REDIS_URL and ANVIL_URL, or are those that scripts/services starts. Without one
// a test is skipped, but with CI=true it fails: a check that did not run must not look like one that passed.
package testkit

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// What scripts/services starts.
const (
	ownMongoURI = "mongodb://127.0.0.1:27117/?replicaSet=rs0"
	ownRedisURL = "redis://127.0.0.1:6479"
	ownAnvilURL = "http://127.0.0.1:8645"
)

// missing ends a test whose service does not answer.
func missing(t testing.TB, service, variable string, cause error) {
	t.Helper()
	const text = "%s does not answer (%v): run scripts/services start, or set %s"
	if os.Getenv("CI") == "true" {
		t.Fatalf(text, service, cause, variable)
	}
	t.Skipf(text, service, cause, variable)
}

func address(variable, own string) string { return cmp.Or(os.Getenv(variable), own) }

// Random returns a lower-case word that no other test has.
func Random(t testing.TB) string {
	t.Helper()
	b := make([]byte, 8)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return hex.EncodeToString(b)
}
