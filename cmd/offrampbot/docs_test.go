package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// document reads one file of docs.
func document(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(body)
}

// TestDepartures_areCompleteAndTrue reads docs/departures.md: whoever changes a rule of the articles writes it there.
func TestDepartures_areCompleteAndTrue(t *testing.T) {
	t.Parallel()
	known := map[string]bool{ // the departures that the design names, by id
		"key-digest": false, "durable-claim": false, "five-endings": false, "provider-key": false, "no-expiry": false,
		"receipt-life": false, "store-then-answer": false, "revert-entry": false, "one-document": false, "collections": false,
		"funding-by-level": false, "addresses": false, "account-entry": false,
	}
	rule, weakness := regexp.MustCompile(`^R(\d+)$`), regexp.MustCompile(`\bW(\d+)\b`)
	place := regexp.MustCompile("`([^`]+)`")
	seen, rows := map[string]bool{}, 0
	for _, line := range strings.Split(document(t, "departures.md"), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| id |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 7, line)
		id, article, rules, says, here, because, where := cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]
		rows++
		require.False(t, seen[id], "%s stands there twice", id)
		seen[id] = true
		known[id] = true
		require.Contains(t, []string{"000", "001", "002", "003"}, article, id)
		for _, r := range strings.Split(rules, ", ") {
			m := rule.FindStringSubmatch(r)
			require.NotNil(t, m, "%s: %s is no rule", id, r)
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			require.True(t, n >= 1 && n <= 123, "%s: there is no R%d", id, n)
		}
		for _, m := range weakness.FindAllStringSubmatch(because, -1) {
			n, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			require.True(t, n >= 1 && n <= 28, "%s: there is no W%d", id, n)
		}
		for _, text := range []string{says, here, because} {
			require.NotEmpty(t, strings.TrimSpace(text), id)
		}
		places := place.FindAllStringSubmatch(where, -1)
		require.NotEmpty(t, places, id)
		for _, p := range places {
			require.FileExists(t, filepath.Join("..", "..", filepath.FromSlash(p[1])), id)
		}
	}
	require.Greater(t, rows, len(known)-1)
	for id, found := range known {
		require.True(t, found, "departure %s is missing", id)
	}
}

// TestDecisions_nameEveryDependency keeps docs/adr/0007 in step with go.mod.
func TestDecisions_nameEveryDependency(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	record := strings.ToLower(document(t, "adr/0007-dependencies.md"))
	direct := regexp.MustCompile(`(?m)^\t([^\s]+) v[^\s]+$`).FindAllStringSubmatch(string(body), -1)
	require.NotEmpty(t, direct)
	for _, m := range direct {
		parts := strings.Split(regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], ""), "/")
		require.Contains(t, record, strings.ToLower(parts[len(parts)-1]), "%s has no row in docs/adr/0007-dependencies.md", m[1])
	}
}

// TestDecisions_areListed keeps the table of contents of docs/adr complete.
func TestDecisions_areListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "adr", "0*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	list := document(t, "adr/README.md")
	for _, f := range files {
		require.Contains(t, list, "("+filepath.Base(f)+")")
		for _, heading := range []string{"## Context", "## Consequences"} {
			if filepath.Base(f) != "0007-dependencies.md" {
				require.Contains(t, document(t, "adr/"+filepath.Base(f)), heading, f)
			}
		}
	}
}
