package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
)

// TestOrderTable_everyStateHasItsPlaceInThePicture: a state without a place would be missing from the phone page.
func TestOrderTable_everyStateHasItsPlaceInThePicture(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../services/sandbox/page/order_picture.js")
	require.NoError(t, err)
	placed := map[string]bool{}
	for _, found := range regexp.MustCompile(`(\w+): \[\d+, \d+\]`).FindAllStringSubmatch(string(source), -1) {
		placed[found[1]] = true
	}
	table := orderTable()
	states := map[string]bool{}
	for _, s := range table.States {
		states[s.Name] = true
		require.NotEmpty(t, s.Meaning, s.Name)
		require.True(t, placed[s.Name], "%s has no place", s.Name)
	}
	require.Len(t, states, len(offramp.States()))
	for name := range placed {
		require.True(t, states[name], "%s has a place and is no state", name)
	}
	for _, row := range offramp.Rows() {
		drawn := row.From == row.To
		for _, e := range table.Edges {
			drawn = drawn || (e.From == string(row.From) && e.To == string(row.To))
		}
		require.True(t, drawn, "%s leads from %q to %s, which is not drawn", row.Event, row.From, row.To)
	}
}
