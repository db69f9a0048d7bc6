package flowsjson

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck_everyDocumentIsClean(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"offramp_flow", "sign_up"}, Names())
	for _, name := range Names() {
		doc, err := Read(name)
		require.NoError(t, err)
		require.Empty(t, Check(name+".json", doc))
	}
	_, err := Read("../go.mod")
	require.Error(t, err)
}

func TestCheck_findsEachMutation(t *testing.T) {
	t.Parallel()
	doc, err := Read("offramp_flow")
	require.NoError(t, err)
	tests := slices.Concat(documentMutations(), dataMutations(), componentMutations(), actionMutations())
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, string(doc), tt.old)
			mutated := strings.Replace(string(doc), tt.old, tt.new, 1)
			if tt.rule == "component-version" {
				mutated = strings.Replace(mutated, `"version": "7.3"`, `"version": "6.2"`, 1)
			}
			problems := Check("offramp_flow.json", []byte(mutated))
			var rules []string
			for _, p := range problems {
				rules = append(rules, p.Rule)
				require.Positive(t, p.Line)
				require.Positive(t, p.Column)
				require.NotEmpty(t, p.Text)
			}
			require.Contains(t, rules, tt.rule, "%v", problems)
		})
	}
}

func TestCheck_refusesWhatIsNoDocumentAtAll(t *testing.T) {
	t.Parallel()
	// The size rule needs a document of its own.
	huge := append([]byte(`{"x":"`), bytes.Repeat([]byte("x"), maxDocument)...)
	problems := Check("huge.json", append(huge, `"}`...))
	require.Len(t, problems, 1)
	require.Equal(t, "size", problems[0].Rule)
	problems = Check("list.json", []byte(`[]`))
	require.Equal(t, "document", problems[0].Rule)
}

func TestCheck_saysWhere(t *testing.T) {
	t.Parallel()
	doc, err := Read("sign_up")
	require.NoError(t, err)
	mutated := strings.Replace(string(doc), `"label": "PIN again"`, `"label": "The same PIN once more"`, 1)
	problems := Check("sign_up.json", []byte(mutated))
	require.Len(t, problems, 1)
	p := problems[0]
	lines := strings.Split(mutated, "\n")
	require.True(t, strings.HasPrefix(lines[p.Line-1][p.Column-1:], `"The same PIN once more"`), p)
	require.Equal(t, "/screens/1/layout/children/3/label", p.Pointer)
	require.Equal(t, fmt.Sprintf("sign_up.json:%d:%d: length: label of TextInput is longer than 20 (%s)", p.Line, p.Column, p.Pointer), p.String())
}

func TestCheck_wellFormedExtrasAreFine(t *testing.T) {
	t.Parallel()
	doc, err := Read("offramp_flow")
	require.NoError(t, err)
	for name, component := range map[string]string{
		"three deep":                    nested(3),
		"an expression":                 "{\"type\":\"TextBody\",\"text\":\"`'Fee: ' ${data.fee_info}`\"}",
		"data of another screen":        `{"type":"TextBody","text":"${screen.OFFRAMP_DETAILS.data.limits_text}"}`,
		"a field of another screen":     `{"type":"TextBody","text":"${screen.OFFRAMP_DETAILS.form.sell_amount}"}`,
		"a switch":                      `{"type":"Switch","value":"${data.rate}","cases":{"a":[` + oneText + `]}}`,
		"a link":                        `{"type":"EmbeddedLink","text":"Terms","on-click-action":{"name":"open_url","url":"https://example.com"}}`,
		"a form with its own error map": `{"type":"Form","name":"f","children":[{"type":"TextInput","name":"t","label":"t"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mutated := strings.Replace(string(doc), toReceive, insert(component), 1)
			require.Empty(t, Check("x.json", []byte(mutated)))
		})
	}
}

func TestCheck_aFooterInBothBranchesCountsOnce(t *testing.T) {
	t.Parallel()
	doc := `{"version":"7.3","data_api_version":"4.0","routing_model":{"A":[]},"screens":[{"id":"A","title":"A","terminal":true,
	"data":{"has_error":{"type":"boolean","__example__":false},"error_message":{"type":"string","__example__":"x"}},
	"layout":{"type":"SingleColumnLayout","children":[
	{"type":"If","condition":"${data.has_error}","then":[{"type":"TextBody","text":"${data.error_message}"},FOOTER],"else":[FOOTER]}]}}]}`
	footer := `{"type":"Footer","label":"x","on-click-action":{"name":"complete","payload":{}}}`
	require.Empty(t, Check("x.json", []byte(strings.ReplaceAll(doc, "FOOTER", footer))))
}

func FuzzCheck(f *testing.F) {
	for _, name := range Names() {
		doc, err := Read(name)
		require.NoError(f, err)
		f.Add(doc)
	}
	f.Add([]byte(`{"version":"7.3","screens":[{"id":"A","layout":{"children":[{"type":"If"},{"type":"Switch"},null,1]}}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, p := range Check("fuzz.json", doc) {
			if p.Line < 1 || p.Column < 1 || p.Rule == "" {
				t.Fatalf("problem without a place: %+v", p)
			}
		}
	})
}
