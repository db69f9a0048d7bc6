// Package docs_test keeps the documents true: what they name exists, and what the code names stands in them.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module's root, seen from this folder.
const root = ".."

// read returns one file by its path from the module's root.
func read(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(body)
}

// files returns every file with one of the extensions, by its path from the module's root.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "bin" || base == "data") {
				return filepath.SkipDir
			}
			return nil
		}
		for _, extension := range extensions {
			if strings.HasSuffix(name, extension) {
				rel, err := filepath.Rel(root, name)
				if err != nil {
					return err
				}
				out = append(out, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}

func TestDesign_hasEverySectionThatACommentNames(t *testing.T) {
	t.Parallel()
	heading := regexp.MustCompile(`(?m)^##+ (\d+(?:\.\d+)?)\.? `)
	rule := regexp.MustCompile(`(?m)^(\d+)\. `)
	mention := regexp.MustCompile(`DESIGN[\s/]+§(\d+(?:\.\d+)?)(?:,? rule (\d+))?`)
	design := read(t, "docs/design.md")
	sections, rules := map[string]bool{}, map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(design, -1) {
		sections[m[1]] = true
	}
	for _, m := range rule.FindAllStringSubmatch(design, -1) {
		rules[m[1]] = true
	}
	require.Len(t, rules, 10)
	found := 0
	for _, name := range files(t, ".go", ".js") {
		for _, m := range mention.FindAllStringSubmatch(read(t, name), -1) {
			found++
			require.True(t, sections[m[1]], "%s names §%s, which docs/design.md does not have", name, m[1])
			if m[2] != "" {
				require.True(t, rules[m[2]], "%s names rule %s, which docs/design.md does not have", name, m[2])
			}
		}
	}
	require.Greater(t, found, 50)
}

func TestDocuments_linkOnlyToWhatExists(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	for _, name := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(root, filepath.Dir(filepath.FromSlash(name)), filepath.FromSlash(m[1]))
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", name, m[1])
		}
	}
}
