package docs_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reason begins a row's last cell when there is no test.
var reason = regexp.MustCompile(`^(no test|does not apply): .{5,}`)

// rowsOf reads the tables of a page, without their heads: the cells of each row.
func rowsOf(t *testing.T, page string) [][]string {
	t.Helper()
	var out [][]string
	for _, line := range strings.Split(read(t, page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| row |") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, cells)
	}
	return out
}

// testNames are the tests and fuzz targets of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	out := map[string]bool{}
	for _, name := range files(t, "_test.go") {
		for _, m := range declared.FindAllStringSubmatch(read(t, name), -1) {
			out[m[1]] = true
		}
	}
	return out
}

func TestSecurity_everyRowHasATestThatExistsOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	exists := testNames(t)
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	seen := map[string]bool{}
	for _, cells := range rowsOf(t, "docs/security.md") {
		row, last := cells[0], cells[len(cells)-1]
		require.False(t, seen[row], "the row %q stands there twice", row)
		seen[row] = true
		for _, cell := range cells {
			require.NotEmpty(t, cell, "an empty cell in the row %q", row)
		}
		if reason.MatchString(last) {
			continue
		}
		tests := named.FindAllStringSubmatch(last, -1)
		require.NotEmpty(t, tests, "the row %q names neither a test nor a reason", row)
		for _, m := range tests {
			require.True(t, exists[m[1]], "the row %q names %s, which does not exist", row, m[1])
		}
	}
	for letter, n := range map[string]int{"S": 11, "T": 7, "I": 9, "E": 11} {
		for i := 1; i <= n; i++ {
			require.True(t, seen[letter+strconv.Itoa(i)], "the row %s%d is missing", letter, i)
		}
	}
	for letter, n := range map[string]int{"R": 2, "D": 7} {
		for i := 1; i <= n; i++ {
			require.True(t, seen[letter+strconv.Itoa(i)+"s"], "the row %s%ds is missing", letter, i)
		}
	}
}

// Whoever reads the gaps must not have to read the checklist as well.
func TestSecurity_rowsWithoutATestStandInTheGaps(t *testing.T) {
	t.Parallel()
	gaps := read(t, "docs/gaps.md")
	for _, cells := range rowsOf(t, "docs/security.md") {
		if len(cells) == 4 && strings.HasPrefix(cells[3], "no test: ") {
			require.Regexp(t, `\b`+cells[0]+`\b`, gaps, "docs/gaps.md does not name the row %s", cells[0])
		}
	}
}
