package screening

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// List is a list of addresses and names. Nothing changes it, so it is safe for concurrent use; its checks are pure
// memory and may run inside a transaction.
//
// Addresses are compared without case. Names are folded first: no accents, no case, no punctuation; the order of the
// words does not matter, and a checked name may have more words than the listed one ("ADA CHIDI OBI" is "Obi, Ada"). A
// listed name of one word hits only that whole name.
type List struct {
	addresses map[string]int    // folded → line
	exact     map[string]int    // names of one word → line
	byWord    map[string][]name // names of several words, under their first
	size      int
}

// name is a listed name of several words.
type name struct {
	words []string
	line  int
}

// maxLine is the most bytes of a line.
const maxLine = 4096

// Empty is a list that hits nothing, for a caller that has said so. It still refuses values that cannot be read.
func Empty() *List {
	return &List{addresses: map[string]int{}, exact: map[string]int{}, byWord: map[string][]name{}}
}

// Parse reads a list: one address or name per line, # starts a comment. A line may say which with "address:" or
// "name:"; otherwise 0x… and long words with digits are addresses. All bad lines are reported together, by number; a
// list that has any is refused whole, because a line that is skipped is a person who is served.
func Parse(r io.Reader) (*List, error) {
	l := Empty()
	var problems []error
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, maxLine), maxLine)
	for n := 1; scanner.Scan(); n++ {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line == "" {
			continue
		}
		if err := l.add(line, n); err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", n, err))
		}
	}
	if err := scanner.Err(); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("read screening list: %w", errors.Join(problems...))
	}
	return l, nil
}

// Size is how many entries the list has, for the start-up log.
func (l *List) Size() int { return l.size }

// add puts a line on the list.
func (l *List) add(line string, n int) error {
	l.size++
	kind, value := kindOf(line)
	if kind == Address {
		address, err := foldAddress(value)
		if err != nil {
			return err
		}
		l.addresses[address] = n
		return nil
	}
	words := foldName(value)
	switch len(words) {
	case 0:
		return errors.New("a name without a letter")
	case 1:
		l.exact[words[0]] = n
	default:
		l.byWord[words[0]] = append(l.byWord[words[0]], name{words: words, line: n})
	}
	return nil
}

// Check implements Screener.
func (l *List) Check(_ context.Context, kind Kind, value string) (Hit, error) {
	switch kind {
	case Address:
		return l.checkAddress(value)
	case Name:
		return l.checkName(value)
	}
	return Hit{}, fmt.Errorf("screen %q: no such kind", kind)
}

// Address is nil, or fault code screening_hit, or an error that says why the address could not be checked.
func (l *List) Address(address string) error {
	hit, err := l.checkAddress(address)
	if err != nil {
		return err
	}
	return hit.Err()
}

// Name is Address for a name.
func (l *List) Name(person string) error {
	hit, err := l.checkName(person)
	if err != nil {
		return err
	}
	return hit.Err()
}

func (l *List) checkAddress(value string) (Hit, error) {
	address, err := foldAddress(value)
	if err != nil {
		return Hit{}, fmt.Errorf("screen address: %w", err)
	}
	line, found := l.addresses[address]
	return Hit{Found: found, Kind: Address, Line: line}, nil
}

func (l *List) checkName(value string) (Hit, error) {
	words := foldName(value)
	if len(words) == 0 {
		return Hit{}, errors.New("screen name: no letter in it")
	}
	if line, found := l.exact[words[0]]; found && len(words) == 1 {
		return Hit{Found: true, Kind: Name, Line: line}, nil
	}
	has := make(map[string]bool, len(words))
	for _, w := range words {
		has[w] = true
	}
	for w := range has {
		for _, listed := range l.byWord[w] {
			if isWithin(listed.words, has) {
				return Hit{Found: true, Kind: Name, Line: listed.line}, nil
			}
		}
	}
	return Hit{Kind: Name}, nil
}

// isWithin reports whether every word is there.
func isWithin(words []string, has map[string]bool) bool {
	for _, w := range words {
		if !has[w] {
			return false
		}
	}
	return true
}

var (
	evmForm     = regexp.MustCompile(`^0x[0-9a-f]{40}$`)
	addressForm = regexp.MustCompile(`^[0-9a-z]{20,100}$`)
	hasDigit    = regexp.MustCompile(`[0-9]`)
)

// kindOf says what a line is.
func kindOf(line string) (Kind, string) {
	if value, ok := strings.CutPrefix(line, "address:"); ok {
		return Address, value
	}
	if value, ok := strings.CutPrefix(line, "name:"); ok {
		return Name, value
	}
	folded := strings.ToLower(line)
	if strings.HasPrefix(folded, "0x") || addressForm.MatchString(folded) && hasDigit.MatchString(folded) {
		return Address, line
	}
	return Name, line
}

// foldAddress is an address without case, or an error for what is none.
func foldAddress(value string) (string, error) {
	address := strings.ToLower(strings.TrimSpace(value))
	if evmForm.MatchString(address) || !strings.HasPrefix(address, "0x") && addressForm.MatchString(address) {
		return address, nil
	}
	return "", errors.New("not an address")
}

// foldName is the words of a name without accents, case and punctuation. Letters that Unicode does not take apart, such
// as ø, keep their form; so do other scripts.
func foldName(value string) []string {
	if len(value) > maxLine {
		return nil
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(value) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		case unicode.IsMark(r), unicode.Is(unicode.Cf, r), r == '\'', r == '’', r == '.':
			// O'Brien is OBrien, J.R. is JR.
		default:
			b.WriteByte(' ')
		}
	}
	words := strings.Fields(b.String())
	for _, w := range words {
		if strings.IndexFunc(w, unicode.IsLetter) >= 0 {
			return words
		}
	}
	return nil
}

var _ Screener = (*List)(nil)
