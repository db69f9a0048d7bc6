package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	flowsjson "offrampbot/flows_json"
)

// TestDocuments_ofTheProductPassTheWorldsOwnChecks reads the published Flows a second time, by other rules than their
// own checker's.
func TestDocuments_ofTheProductPassTheWorldsOwnChecks(t *testing.T) {
	t.Parallel()
	for _, name := range flowsjson.Names() {
		raw, err := flowsjson.Read(name)
		require.NoError(t, err)
		require.Empty(t, validateFlow(raw), name)
		d, err := parseFlow(raw)
		require.NoError(t, err)
		require.NotEmpty(t, d.entry(), name)
		for _, s := range d.Screens {
			example := make(map[string]any)
			for field, schema := range s.Data {
				example[field] = schema.Example
			}
			require.Nil(t, checkScreenData(s, example), "%s %s: the examples fit their own declarations", name, s.ID)
			action, found := s.footer(bindings{data: example})
			require.True(t, found, "%s %s has a footer", name, s.ID)
			require.Contains(t, []string{"data_exchange", "navigate", "complete"}, action.name)
			if s.Terminal {
				require.NotEqual(t, "navigate", action.name, "%s %s: a terminal screen leads nowhere", name, s.ID)
			}
		}
	}
}
