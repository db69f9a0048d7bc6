package ids

import (
	"regexp"
	"strings"
	"unicode"
)

// caseless are the kinds of ids whose letters have no case: chain addresses and transaction hashes, deposit refs, UUIDs
// and what we derive from them, our provider references, and e-mail addresses.
var caseless = regexp.MustCompile(`(?i)^(?:` +
	`0x[0-9a-f]{40}|0x[0-9a-f]{64}` +
	`|[a-z]+:0x[0-9a-f]{64}(?::[0-9]+)?` +
	`|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}` +
	`|ofr-[a-z2-7]{32}` +
	`|[^@\s]+@[^@\s]+\.[a-z]+` +
	`)$`)

// NormalID is the form in which an id is stored in `links` and looked up there. Spaces around it and invisible
// formatting characters go, because ids are pasted (P60). Then, by kind:
//
//   - a human reference becomes canonical (ParseReference): upper case, no separators;
//   - addresses, transaction hashes, deposit refs, UUIDs, our provider references and e-mail addresses become lower
//     case;
//   - everything else keeps its case: wamids, digests and providers' own codes are case-sensitive (B69).
func NormalID(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) {
			return -1
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if canonical, ok := ParseReference(s); ok {
		return canonical
	}
	if caseless.MatchString(s) {
		return strings.ToLower(s)
	}
	return s
}

// LinkID is the `_id` of a document in `links`: "<normalised id>|<target>".
func LinkID(id, target string) string { return NormalID(id) + "|" + target }
