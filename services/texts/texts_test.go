package texts

import (
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
)

func loaded(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Load()
	require.NoError(t, err)
	return c
}

// tree is a file tree of texts, file name → content.
func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

func TestTexts_everyFaultHasATextInEveryLanguage(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	for _, row := range fault.Rows() {
		require.True(t, c.Has(row.Message), "fault %s: no text for %s", row.Code, row.Message)
		for _, lang := range c.Languages() {
			require.NotContains(t, c.Render(lang, row.Message, nil), "⟦")
			require.Empty(t, c.Required(lang, row.Message),
				"a fault may be raised without arguments, so %s needs its placeholders in [[an optional part]]", row.Message)
		}
	}
}

func TestTexts_fitWhereWhatsAppShowsThem(t *testing.T) {
	t.Parallel()
	c := loaded(t)
	for _, lang := range c.Languages() {
		for _, key := range c.Keys(lang) {
			length := utf8.RuneCountInString(c.languages[lang][key])
			require.LessOrEqual(t, length, 1024, "%s %s: the body of a message with buttons", lang, key)
			if strings.HasPrefix(key, "button.") {
				require.LessOrEqual(t, length, 20, "%s %s: a button's title", lang, key)
			}
		}
	}
}

func TestRender_fillsPlaceholdersOnceAndShowsWhatIsMissing(t *testing.T) {
	t.Parallel()
	c, err := load(tree(map[string]string{
		"en/a.json": `{"hi": "Hi {name}, {amount}", "plain": "No {Braces} {} {1}", "part": "A[[ b {x}]][[ c {y} {x}]] d", "only": "english"}`,
		"pt/a.json": `{"hi": "Oi {name}"}`,
	}))
	require.NoError(t, err)
	tests := []struct {
		name, lang, key string
		args            map[string]string
		want            string
	}{
		{"all there", "en", "hi", map[string]string{"name": "Ada", "amount": "5"}, "Hi Ada, 5"},
		{"an argument that looks like a placeholder", "en", "hi", map[string]string{"name": "{amount}", "amount": "5"}, "Hi {amount}, 5"},
		{"a missing argument stays visible", "en", "hi", map[string]string{"name": "Ada"}, "Hi Ada, {amount}"},
		{"what is no placeholder stays", "en", "plain", map[string]string{"Braces": "x"}, "No {Braces} {} {1}"},
		{"optional parts without arguments", "en", "part", nil, "A d"},
		{"one optional part complete", "en", "part", map[string]string{"x": "1"}, "A b 1 d"},
		{"both complete", "en", "part", map[string]string{"x": "1", "y": "2"}, "A b 1 c 2 1 d"},
		{"brackets in an argument are not markup", "en", "hi", map[string]string{"name": "[[x]]", "amount": "5"}, "Hi [[x]], 5"},
		{"another language", "pt", "hi", map[string]string{"name": "Ada"}, "Oi Ada"},
		{"a regional form of it", "pt-BR", "hi", map[string]string{"name": "Ada"}, "Oi Ada"},
		{"with an underscore and capitals", "PT_br", "hi", map[string]string{"name": "Ada"}, "Oi Ada"},
		{"a key that the language lacks", "pt", "only", nil, "english"},
		{"a language that nobody has", "xx", "only", nil, "english"},
		{"no language", "", "only", nil, "english"},
		{"a key that nobody has", "pt", "nothing", nil, "⟦nothing⟧"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, c.Render(tt.lang, tt.key, tt.args))
		})
	}
	require.Equal(t, []string{"en", "pt"}, c.Languages())
	require.Equal(t, []string{"hi", "only", "part", "plain"}, c.Keys("en"))
	require.Equal(t, []string{"x", "y"}, c.Placeholders("en", "part"))
	require.Equal(t, []string{"name", "amount"}, c.Required("en", "hi"))
	require.Equal(t, "A[[ b {x}]][[ c {y} {x}]] d", c.Source("pt", "part"))
	require.Equal(t, "⟦nothing⟧", c.Source("en", "nothing"))
	require.True(t, c.Has("only"))
	require.False(t, c.Has("nothing"))
}

func TestLoad_refusesWhatWouldHideAText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a key in two files", map[string]string{"en/a.json": `{"k":"1"}`, "en/b.json": `{"k":"2"}`}, `key "k" exists already`},
		{"a key twice in one file", map[string]string{"en/a.json": `{"k":"1","k":"2"}`}, `key "k" exists already`},
		{"an empty text", map[string]string{"en/a.json": `{"k":" "}`}, `key "k" has no text`},
		{"not flat", map[string]string{"en/a.json": `{"k":{"a":"b"}}`}, "not a string"},
		{"not a string", map[string]string{"en/a.json": `{"k":1}`}, "not a string"},
		{"not an object", map[string]string{"en/a.json": `["k"]`}, "not an object"},
		{"empty file", map[string]string{"en/a.json": ``}, "not an object"},
		{"broken", map[string]string{"en/a.json": `{"k":"1"`}, "read end"},
		{"broken in the middle", map[string]string{"en/a.json": `{"k":}`}, "read text of k"},
		{"broken key", map[string]string{"en/a.json": `{k:1}`}, "read key"},
		{"something behind it", map[string]string{"en/a.json": `{"k":"1"} {}`}, "something follows"},
		{"no fallback language", map[string]string{"pt/a.json": `{"k":"1"}`}, `no texts in "en"`},
		{"a key only elsewhere", map[string]string{"en/a.json": `{"k":"1"}`, "pt/a.json": `{"x":"1"}`}, `pt has key "x"`},
		{"a placeholder only elsewhere", map[string]string{"en/a.json": `{"k":"1"}`, "pt/a.json": `{"k":"{n}"}`}, `pt uses {n}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(tree(tt.files))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestLoad_reportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(tree(map[string]string{"en/a.json": `{"a":"","b":"x","b":"y"}`, "en/c.json": `{"b":"z"}`}))
	require.ErrorContains(t, err, `"a" has no text`)
	require.ErrorContains(t, err, "a.json: key \"a\" has no text\nkey \"b\" exists already")
	require.ErrorContains(t, err, "c.json")
}
