package pages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarked_showsBoldAsWhatsAppDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]run{
		"plain":                          {{Text: "plain"}},
		"on *Base* to":                   {{Text: "on "}, {"Base", true}, {Text: " to"}},
		"*two words* and *one*":          {{}, {"two words", true}, {Text: " and "}, {"one", true}, {}},
		"GTBank ****6789 (ADA OBI)":      {{Text: "GTBank ****6789 (ADA OBI)"}},
		"****6789 on *Base*":             {{Text: "****6789 on "}, {"Base", true}, {}},
		"2 * 3 * 4":                      {{Text: "2 * 3 * 4"}},
		"*not\nacross lines*":            {{Text: "*not\nacross lines*"}},
		"<b>*typed by a person*</b> <i>": {{Text: "<b>"}, {"typed by a person", true}, {Text: "</b> <i>"}},
	} {
		require.Equal(t, want, marked(text), text)
	}
}
