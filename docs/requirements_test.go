package docs_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	requirements = "docs/requirements.md"
	notShownYet  = "\n## Not shown yet\n"
)

// ruleNumbers are how many rules of each letter there are.
var ruleNumbers = map[string]int{"R": 123, "D": 24, "G": 17, "B": 105, "P": 60}

var (
	whyNot  = regexp.MustCompile(`^does not apply: .{10,}`)
	owed    = regexp.MustCompile(`^not shown yet: .{10,}`)
	shownBy = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)((?:/[^`]+)?)`")
)

// subtestNames are the texts that can name a subtest, written as the tool prints them.
func subtestNames(t *testing.T) map[string]bool {
	t.Helper()
	literal := regexp.MustCompile(`"(?:[^"\\\n]|\\.)+"`)
	out := map[string]bool{}
	for _, name := range files(t, ".go") {
		for _, quoted := range literal.FindAllString(read(t, name), -1) {
			if text, err := strconv.Unquote(quoted); err == nil {
				out[strings.ReplaceAll(text, " ", "_")] = true
			}
		}
	}
	return out
}

// TestRequirements_everyRuleHasATestThatExistsOrAReason keeps docs/requirements.md whole: every rule once, and none without
// the name of a test that is there, or the reason why there can be none.
func TestRequirements_everyRuleHasATestThatExistsOrAReason(t *testing.T) {
	t.Parallel()
	tests, subtests := testNames(t), subtestNames(t)
	seen := map[string]bool{}
	for _, cells := range rowsOf(t, requirements) {
		require.Len(t, cells, 3, "%q", cells)
		rule, says, how := cells[0], cells[1], cells[2]
		require.False(t, seen[rule], "the rule %s stands there twice", rule)
		seen[rule] = true
		require.NotEmpty(t, says, "the rule %s has no words", rule)
		if whyNot.MatchString(how) || owed.MatchString(how) {
			continue
		}
		named := shownBy.FindAllStringSubmatch(how, -1)
		require.NotEmpty(t, named, "the rule %s names neither a test nor a reason", rule)
		require.Equal(t, strings.Count(how, "`"), 2*len(named), "the rule %s quotes something that is no test: %s", rule, how)
		for _, m := range named {
			require.True(t, tests[m[1]], "the rule %s names %s, which does not exist", rule, m[1])
			if sub := strings.TrimPrefix(m[2], "/"); sub != "" {
				require.True(t, subtests[sub], "the rule %s names a part of %s that does not exist: %s", rule, m[1], sub)
			}
		}
	}
	known := 0
	for letter, n := range ruleNumbers {
		known += n
		for i := 1; i <= n; i++ {
			require.True(t, seen[letter+strconv.Itoa(i)], "the rule %s%d is missing", letter, i)
		}
	}
	require.Len(t, seen, known, "the page has a row that is none of the rules")
}

// What no test shows yet stands at the end of the page, where it is not overlooked, and nowhere else.
func TestRequirements_whatIsNotShownStandsAtTheEnd(t *testing.T) {
	t.Parallel()
	shown, left, hasLeft := strings.Cut(read(t, requirements), notShownYet)
	require.NotContains(t, shown, "| not shown yet: ")
	for _, line := range strings.Split(left, "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| row |") {
			require.Contains(t, line, "| not shown yet: ")
		}
	}
	require.Equal(t, hasLeft, strings.Contains(left, "| not shown yet: "), "the list at the end is empty: take its heading away")
}

// R40: at-least-once delivery with effects that happen once is what there is; nobody may read more out of a document.
func TestRequirements_noDocumentPromisesExactlyOnceDelivery(t *testing.T) {
	t.Parallel()
	promise := regexp.MustCompile(`(?i)exactly[- ]once[- ]+(delivery|processing|semantics|execution)`)
	for _, name := range files(t, ".md") {
		if name != requirements {
			require.NotRegexp(t, promise, read(t, name), "%s promises what nobody can keep", name)
		}
	}
	require.Regexp(t, promise, "It guarantees exactly-once delivery.", "the rule can fail")
}
