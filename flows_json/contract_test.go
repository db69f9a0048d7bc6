package flowsjson

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func sellDocument(t *testing.T) *Document {
	t.Helper()
	raw, err := Read("offramp_flow")
	require.NoError(t, err)
	d, err := Parse("offramp_flow", raw)
	require.NoError(t, err)
	return d
}

func TestParse_tellsTheContractOfEachScreen(t *testing.T) {
	t.Parallel()
	d := sellDocument(t)
	details, ok := d.Screen("OFFRAMP_DETAILS")
	require.True(t, ok)
	require.Equal(t, []string{"account_number", "asset", "bank_code", "beneficiary", "sell_amount"}, details.Payload)
	require.Equal(t, details.Payload, details.Inputs)
	require.Equal(t, []string{"account_number"}, details.Sensitive)
	require.Equal(t, []string{"OFFRAMP_FIAT_REVIEW", "OFFRAMP_REFUSED"}, details.Next)
	require.Equal(t, "boolean", details.Fields["has_error"])
	require.False(t, details.Terminal)
	pin, ok := d.Screen("OFFRAMP_CRYPTO_REVIEW")
	require.True(t, ok)
	require.Equal(t, []string{"pin", "second_payment"}, pin.Payload)
	require.True(t, pin.RefreshOnBack)
	success, ok := d.Screen("OFFRAMP_SUCCESS")
	require.True(t, ok)
	require.True(t, success.Terminal)
	require.Contains(t, success.Fields, "reference")
	_, ok = d.Screen("NOWHERE")
	require.False(t, ok)
}

func TestParse_refusesADocumentWithProblems(t *testing.T) {
	t.Parallel()
	_, err := Parse("x", []byte(`{"version":"1.0"}`))
	require.ErrorContains(t, err, "screens")
}

// Every screen's own examples are an answer that a client could show.
func TestScreen_checkAnswerTakesTheExamples(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		raw, err := Read(name)
		require.NoError(t, err)
		d, err := Parse(name, raw)
		require.NoError(t, err)
		for _, s := range d.Screens {
			answer := examples(t, raw, s.ID)
			encoded, err := json.Marshal(answer)
			require.NoError(t, err)
			require.Empty(t, s.CheckAnswer(encoded), s.ID)
		}
	}
}

func examples(t *testing.T, raw []byte, id string) map[string]any {
	t.Helper()
	var doc struct {
		Screens []struct {
			ID   string                    `json:"id"`
			Data map[string]map[string]any `json:"data"`
		} `json:"screens"`
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	answer := map[string]any{}
	for _, s := range doc.Screens {
		if s.ID == id {
			for field, declared := range s.Data {
				answer[field] = declared["__example__"]
			}
		}
	}
	return answer
}

func TestScreen_checkAnswerFinds(t *testing.T) {
	t.Parallel()
	raw, err := Read("offramp_flow")
	require.NoError(t, err)
	details, _ := sellDocument(t).Screen("OFFRAMP_DETAILS")
	refused, _ := sellDocument(t).Screen("OFFRAMP_REFUSED")
	many := make([]map[string]string, 201)
	for i := range many {
		many[i] = map[string]string{"id": strings.Repeat("i", i+1), "title": "bank"}
	}
	tests := []struct {
		name   string
		screen Screen
		change func(a map[string]any)
		want   string
	}{
		{"a missing field", details, func(a map[string]any) { delete(a, "banks") }, "banks is missing"},
		{"an undeclared field", details, func(a map[string]any) { a["pin"] = "1" }, "pin is not declared"},
		{"a null", details, func(a map[string]any) { a["asset"] = nil }, "null"},
		{"another type", details, func(a map[string]any) { a["has_error"] = "false" }, "has_error is string"},
		{"another type deep inside", details, func(a map[string]any) { a["banks"] = []any{map[string]any{"id": 5, "title": "x"}} }, "banks[].id is number"},
		{"an empty list", details, func(a map[string]any) { a["banks"] = []any{} }, "0 options"},
		{"201 options", details, func(a map[string]any) { a["banks"] = many }, "201 options"},
		{"a long option", details, func(a map[string]any) {
			a["banks"] = []any{map[string]any{"id": "1", "title": strings.Repeat("x", 31)}}
		}, "too long"},
		{"two options of one id", details, func(a map[string]any) {
			a["banks"] = []any{map[string]any{"id": "1", "title": "x"}, map[string]any{"id": "1", "title": "y"}}
		}, "no id of its own"},
		{"a long field error", details, func(a map[string]any) { a["sell_amount_error"] = strings.Repeat("x", 31) }, "longer than 30"},
		{"a blank text", details, func(a map[string]any) { a["limits_text"] = " " }, "shown and blank"},
		{"an error without words", details, func(a map[string]any) { a["has_error"], a["error_message"] = true, "" }, "error_message is blank"},
		{"a blank reference", refused, func(a map[string]any) { a["reference_text"] = "" }, "shown and blank"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer := examples(t, raw, tt.screen.ID)
			tt.change(answer)
			encoded, err := json.Marshal(answer)
			require.NoError(t, err)
			require.Contains(t, strings.Join(tt.screen.CheckAnswer(encoded), "; "), tt.want)
		})
	}
	hidden := examples(t, raw, "OFFRAMP_REFUSED")
	hidden["has_reference"], hidden["reference_text"], hidden["reference"] = false, "", ""
	encoded, err := json.Marshal(hidden)
	require.NoError(t, err)
	require.Empty(t, refused.CheckAnswer(encoded), "what is hidden may be blank")
	require.NotEmpty(t, refused.CheckAnswer([]byte(`[]`)))
	require.NotEmpty(t, refused.CheckAnswer([]byte(`{`)))
}
