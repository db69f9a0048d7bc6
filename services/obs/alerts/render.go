package alerts

import (
	"encoding/json"
	"fmt"
	"strings"
)

// generated stands at the head of every file that is made here.
const generated = "Generated from services/obs/alerts; `go test ./services/obs/alerts -update` writes it again."

// book is where an operator reads on.
const book = "docs/runbook.md#"

// Anchor is the address of a heading inside a Markdown page.
func Anchor(heading string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			out.WriteRune(r)
		case r == ' ':
			out.WriteByte('-')
		}
	}
	return out.String()
}

// Rules is the list as a rule file of Prometheus. Every text is quoted as JSON, which YAML reads as it is.
func Rules(all []Alert) ([]byte, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\ngroups:\n  - name: offrampbot\n    rules:\n", generated)
	for _, a := range all {
		texts, err := quoted(a.Expr, a.Summary, book+Anchor(a.Runbook))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "      - alert: %s\n        expr: %s\n        for: %s\n        labels: {severity: %s}\n"+
			"        annotations:\n          summary: %s\n          runbook: %s\n",
			a.Name, texts[0], a.For, a.Severity, texts[1], texts[2])
	}
	return []byte(out.String()), nil
}

func quoted(texts ...string) ([]string, error) {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		q, err := encode(text, "")
		if err != nil {
			return nil, err
		}
		out = append(out, strings.TrimSpace(string(q)))
	}
	return out, nil
}

// encode writes JSON for people: < and > stay what they are.
func encode(v any, indent string) ([]byte, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return []byte(out.String()), nil
}
