package fault_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/texts"
)

var update = flag.Bool("update", false, "write docs/errors.md anew")

// document is docs/errors.md.
func document(t *testing.T) string {
	t.Helper()
	c, err := texts.Load()
	require.NoError(t, err)
	kinds := map[fault.Kind]string{
		fault.Invalid:     "the input is wrong; the sender can correct it",
		fault.NotFound:    "the thing named does not exist, or not for this caller",
		fault.Conflict:    "it exists in another form, or has moved on",
		fault.Denied:      "this caller may not do it",
		fault.Limited:     "too much or too often",
		fault.Expired:     "it was right once",
		fault.Unavailable: "a part is down; nothing was sent",
		fault.Unknown:     "something was sent and its outcome is not known; it may be asked about, never simply repeated",
		fault.Internal:    "our own defect; no detail leaves the process",
	}
	var b strings.Builder
	b.WriteString("# Errors\n\nGenerated from `services/fault/table.go` and `services/texts/en`; `go test ./services/fault -update` writes it again.\n\n")
	b.WriteString("| kind | means |\n|---|---|\n")
	for _, k := range []fault.Kind{
		fault.Invalid, fault.NotFound, fault.Conflict, fault.Denied, fault.Limited, fault.Expired, fault.Unavailable, fault.Unknown, fault.Internal,
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", k, kinds[k])
	}
	b.WriteString("\nParts in [[double brackets]] are shown when their values are known.\n\n| code | kind | status | level | text |\n|---|---|---|---|---|\n")
	for _, row := range fault.Rows() {
		text := strings.NewReplacer("|", `\|`, "\n", "<br>").Replace(c.Source(texts.Fallback, row.Message))
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %s |\n", row.Code, row.Kind, row.Status, strings.ToLower(row.Level.String()), text)
	}
	return b.String()
}

func TestDocument_errorsAreUpToDate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root(t), "docs", "errors.md")
	want := document(t)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "docs/errors.md is stale: go test ./services/fault -update")
}
