package commands

import (
	"maps"
	"slices"
	"strings"
)

// longestPhrase is the most words of an alias.
const longestPhrase = 6

// aliases is the catalogue turned round: alias → command. aliasWords are the same aliases cut into words, by their number.
var (
	aliases    = turnRound(Catalogue())
	aliasWords = byLength(aliases)
)

func turnRound(entries []Entry) map[string]Name {
	out := map[string]Name{}
	for _, e := range entries {
		for _, a := range e.Aliases {
			out[a] = e.Name
		}
		for _, a := range elsewhere()[e.Name] {
			out[a] = e.Name
		}
	}
	return out
}

func byLength(aliases map[string]Name) (out [longestPhrase + 1][][]string) {
	for _, a := range slices.Sorted(maps.Keys(aliases)) {
		words := strings.Fields(a)
		out[len(words)] = append(out[len(words)], words)
	}
	return out
}

// match finds the alias that some words begin with: the longest first, exact spellings before typos. n is how many words
// it took, 0 when there is none.
func match(words []string) (alias string, n int) {
	phrase := make([]string, min(longestPhrase, len(words)))
	for i := range phrase {
		phrase[i] = plain(words[i])
	}
	for n = len(phrase); n > 0; n-- {
		alias = strings.Join(phrase[:n], " ")
		if _, ok := aliases[alias]; ok {
			return alias, n
		}
	}
	for n = len(phrase); n > 0; n-- {
		if alias, ok := typo(phrase[:n]); ok {
			return alias, n
		}
	}
	return "", 0
}

// typo finds an alias that these plain words miss by a little. Aliases of two commands equally near are no match.
func typo(words []string) (alias string, ok bool) {
	best, unique := maxEdits+1, false
	for _, candidate := range aliasWords[len(words)] {
		d, near := phraseDistance(words, candidate)
		if !near || d > best {
			continue
		}
		a := strings.Join(candidate, " ")
		switch {
		case d < best:
			best, alias, unique = d, a, true
		case aliases[a] != aliases[alias]:
			unique = false
		}
	}
	return alias, unique
}

// maxEdits is the most typing slips in a phrase; shortWord is the shortest word that may have one at all.
const (
	maxEdits  = 2
	shortWord = 5
	longWord  = 8 // from here on two
	// longestTypo is the longest word that is compared at all.
	longestTypo = 32
)

// phraseDistance counts the slips between two phrases of as many words. ok is false when a word is too different.
func phraseDistance(typed, alias []string) (total int, ok bool) {
	for i, w := range typed {
		if w == alias[i] {
			continue
		}
		allowed := 0
		if short := min(len(w), len(alias[i])); short >= longWord {
			allowed = 2
		} else if short >= shortWord {
			allowed = 1
		}
		if allowed == 0 || abs(len(w)-len(alias[i])) > allowed || hasDigit(w) {
			return 0, false
		}
		d := distance(w, alias[i], allowed)
		if d > allowed {
			return 0, false
		}
		total += d
	}
	return total, total > 0 && total <= maxEdits
}

// distance is how many slips (a letter too many, too few, wrong, or two exchanged) lie between two words, or limit + 1
// when there are more.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if abs(len(x)-len(y)) > limit || max(len(x), len(y)) > longestTypo {
		return limit + 1
	}
	var before, last, row [longestTypo + 1]int8 // arrays, for this is most of the time that parsing takes
	for j := range last {
		last[j] = int8(j)
	}
	for i := range x {
		row[0] = int8(i + 1)
		for j := range y {
			cost := int8(1)
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return int(last[len(y)])
}

func abs(v int) int { return max(v, -v) }
