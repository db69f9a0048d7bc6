package whatsapp

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/testkit"
)

// goldenJSON compares the indented JSON of v with a golden file.
func goldenJSON(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(v))
	testkit.Golden(t, "golden/"+name, b.Bytes())
}
