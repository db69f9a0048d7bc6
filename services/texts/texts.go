// Package texts holds every sentence that a person reads, per language, by key. The files of a language are flat JSON
// objects (key → text with {placeholders}), one per package that speaks, merged at start.
//
// It does without go-i18n: we need a look-up with a fallback and one pass of named placeholders. The library's plural
// rules, message structs and global bundle would be more code at every call than the hundred lines here.
package texts

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Fallback is the language that has every text; the others may lack some.
const Fallback = "en"

// files are the texts. A language is one folder: a new one is added to this line and nowhere else.
//
//go:embed en
var files embed.FS

var (
	placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)
	optional    = regexp.MustCompile(`(?s)\[\[(.*?)\]\]`)
)

// Catalogue is the texts of all languages. Nothing changes it once it is loaded.
type Catalogue struct {
	languages map[string]map[string]string
}

// Load merges the embedded files. It refuses, all at once: a key in two files or twice in one, an empty text, a key or
// placeholder that the fallback language does not have.
func Load() (*Catalogue, error) { return load(files) }

// load is Load over any file tree of <language>/<file>.json.
func load(tree fs.FS) (*Catalogue, error) {
	c := &Catalogue{languages: map[string]map[string]string{}}
	names, err := fs.Glob(tree, "*/*.json")
	if err != nil {
		return nil, fmt.Errorf("list texts: %w", err)
	}
	var problems []error
	for _, name := range names {
		if err := c.merge(tree, name); err != nil {
			problems = append(problems, fmt.Errorf("load texts %s: %w", name, err))
		}
	}
	problems = append(problems, c.compare()...)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return c, nil
}

// merge adds one file.
func (c *Catalogue) merge(tree fs.FS, name string) error {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return fmt.Errorf("read file: %w", err)
	}
	lang := path.Dir(name)
	if c.languages[lang] == nil {
		c.languages[lang] = map[string]string{}
	}
	var problems []error
	err = eachPair(data, func(key, text string) {
		switch _, taken := c.languages[lang][key]; {
		case taken:
			problems = append(problems, fmt.Errorf("key %q exists already", key))
		case strings.TrimSpace(text) == "":
			problems = append(problems, fmt.Errorf("key %q has no text", key))
		default:
			c.languages[lang][key] = text
		}
	})
	return errors.Join(append(problems, err)...)
}

// eachPair walks a flat JSON object of strings. It reads tokens instead of a map because a map would hide a key that
// stands there twice.
func eachPair(data []byte, visit func(key, text string)) error {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errors.New("not an object"), err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("read key: %w", err)
		}
		value, err := dec.Token()
		if err != nil {
			return fmt.Errorf("read text of %v: %w", key, err)
		}
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("text of %v is not a string", key)
		}
		visit(fmt.Sprint(key), text)
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("read end: %w", err)
	}
	if dec.More() {
		return errors.New("something follows the object")
	}
	return nil
}

// compare holds the other languages against the fallback.
func (c *Catalogue) compare() []error {
	base := c.languages[Fallback]
	if len(base) == 0 {
		return []error{fmt.Errorf("load texts: no texts in %q", Fallback)}
	}
	var problems []error
	for _, lang := range c.Languages() {
		for _, key := range c.Keys(lang) {
			original, ok := base[key]
			if !ok {
				problems = append(problems, fmt.Errorf("load texts: %s has key %q, which %s has not", lang, key, Fallback))
				continue
			}
			for _, name := range placeholdersIn(c.languages[lang][key]) {
				if !slices.Contains(placeholdersIn(original), name) {
					problems = append(problems, fmt.Errorf("load texts: %s uses {%s} in %q, which %s does not", lang, name, key, Fallback))
				}
			}
		}
	}
	return problems
}

// Render returns a text with its placeholders filled from args, in one pass: an argument that looks like a placeholder
// is not filled again. A part in [[double brackets]] appears only when args has all of its placeholders, so that one
// text serves callers who know more and callers who know less. A language or key that is missing falls back ("pt-BR" → "pt" → "en"); a key that nobody has gives
// Missing(key), and a placeholder without an argument stays visible, so that a test or a reader notices.
func (c *Catalogue) Render(lang, key string, args map[string]string) string {
	text, ok := c.find(lang, key)
	if !ok {
		return Missing(key)
	}
	text = optional.ReplaceAllStringFunc(text, func(part string) string {
		part = part[2 : len(part)-2]
		for _, name := range placeholdersIn(part) {
			if _, ok := args[name]; !ok {
				return ""
			}
		}
		return part
	})
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		if value, ok := args[m[1:len(m)-1]]; ok {
			return value
		}
		return m
	})
}

// Missing is what Render returns for a key that has no text.
func Missing(key string) string { return "⟦" + key + "⟧" }

// find looks a key up along the fallbacks of a language.
func (c *Catalogue) find(lang, key string) (string, bool) {
	base, _, _ := strings.Cut(strings.ReplaceAll(lang, "_", "-"), "-")
	for _, l := range []string{lang, strings.ToLower(base), Fallback} {
		if text, ok := c.languages[l][key]; ok {
			return text, true
		}
	}
	return "", false
}

// Has reports whether a key has a text in the fallback language, and so in every language.
func (c *Catalogue) Has(key string) bool {
	_, ok := c.languages[Fallback][key]
	return ok
}

// Keys returns the keys that a language itself has, sorted.
func (c *Catalogue) Keys(lang string) []string { return slices.Sorted(maps.Keys(c.languages[lang])) }

// Languages returns the languages, sorted.
func (c *Catalogue) Languages() []string { return slices.Sorted(maps.Keys(c.languages)) }

// Source returns the text of a key as it is written, optional parts and placeholders included, or Missing(key).
func (c *Catalogue) Source(lang, key string) string {
	if text, ok := c.find(lang, key); ok {
		return text
	}
	return Missing(key)
}

// Placeholders returns the names that the text of a key has placeholders for, each once, those of optional parts too.
func (c *Catalogue) Placeholders(lang, key string) []string {
	text, _ := c.find(lang, key)
	return placeholdersIn(text)
}

// Required returns the names without which the text of a key shows a bare placeholder.
func (c *Catalogue) Required(lang, key string) []string {
	text, _ := c.find(lang, key)
	return placeholdersIn(optional.ReplaceAllString(text, ""))
}

// placeholdersIn returns the names of a text, each once, in order.
func placeholdersIn(text string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}
