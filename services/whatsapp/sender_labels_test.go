package whatsapp

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
	"offrampbot/services/texts"
)

// labelled sends messages with the texts that ship and returns every label that reached the phone.
func labelled(t *testing.T, messages ...operation.Message) []string {
	t.Helper()
	h := newHarness(t)
	catalogue, err := texts.Load()
	require.NoError(t, err)
	deps := h.deps()
	deps.Texts = catalogue
	h.sender, err = NewSender(deps, SenderConfig{Flows: map[string]FlowTarget{"offramp": {ID: "123456"}}})
	require.NoError(t, err)
	for i, m := range messages {
		h.record("labels"+strconv.Itoa(i), "ada", m)
	}
	for range messages {
		_, err := h.step()
		require.NoError(t, err)
	}
	require.Len(t, h.meta.sent, len(messages))
	var out []string
	for _, m := range h.meta.sent {
		out = append(out, labelsOf(m)...)
	}
	return out
}

func labelsOf(m Outgoing) (out []string) {
	for _, b := range m.Buttons {
		out = append(out, b.Title)
	}
	if m.Flow != nil {
		out = append(out, m.Flow.CTA)
	}
	if m.List != nil {
		out = append(out, m.List.Button)
		for _, s := range m.List.Sections {
			out = append(out, s.Title)
			for _, r := range s.Rows {
				out = append(out, r.Title, r.Description)
			}
		}
	}
	return out
}

// everywhere has one label in every place that shows one.
func everywhere(label string) []operation.Message {
	row := operation.Row{ID: "a", Title: label, Description: label}
	four := []operation.Button{{ID: "a", Title: label}, {ID: "b", Title: "B"}, {ID: "c", Title: "C"}, {ID: "d", Title: "D"}}
	return []operation.Message{
		{Type: "buttons", Text: "body", Buttons: four[:1]},
		{Type: "buttons", Text: "body", Buttons: four},
		{Type: "list", Text: "body", List: &operation.List{Button: label, Sections: []operation.Section{{Title: label, Rows: []operation.Row{row}}}}},
		{Type: "flow", Text: "body", Flow: &operation.Flow{Name: "offramp", Session: "s", CTA: label}},
	}
}

func TestSender_writesEveryTextKeyAsWordsWhereverALabelStands(t *testing.T) {
	t.Parallel()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	h := newHarness(t)
	deps := h.deps()
	deps.Texts = catalogue
	sender, err := NewSender(deps, SenderConfig{})
	require.NoError(t, err)
	for _, key := range catalogue.Keys(texts.Fallback) {
		for _, m := range everywhere(key) {
			w := &handling{Sender: sender, op: &operation.Operation{Message: &m}}
			var out Outgoing
			require.NoError(t, w.composeType(&out, "en"), key)
			require.NotContains(t, labelsOf(out), key, "%s: the key itself reaches the phone", m.Type)
		}
	}
}

func TestSender_sendsTheMenuInWords(t *testing.T) {
	t.Parallel()
	labels := labelled(t, everywhere("row.sell.about")...)
	require.NotContains(t, labels, "row.sell.about")
	require.Contains(t, labels, "USDT or USDC to your bank")
}

func TestSender_leavesALiteralLabelAsItIs(t *testing.T) {
	t.Parallel()
	for _, literal := range []string{"GTBank", "1.5 USDT", "First City Monument Bank", "button", "button.", "row.unheard.of", "{name}"} {
		labels := labelled(t, everywhere(literal)...)
		seen := 0
		for _, l := range labels {
			if l == literal {
				seen++
			}
		}
		require.Equal(t, 7, seen, "%q in %q", literal, labels)
	}
}
