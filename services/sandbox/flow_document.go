package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// flowDocument is a Flow JSON document as the client reads it.
type flowDocument struct {
	Version string              `json:"version"`
	DataAPI string              `json:"data_api_version"`
	Routing map[string][]string `json:"routing_model"`
	Screens []*flowScreen       `json:"screens"`
}

// flowScreen is one page of a Flow.
type flowScreen struct {
	ID            string                 `json:"id"`
	Title         string                 `json:"title"`
	Terminal      bool                   `json:"terminal"`
	Success       *bool                  `json:"success"`
	RefreshOnBack bool                   `json:"refresh_on_back"`
	Data          map[string]fieldSchema `json:"data"`
	Layout        map[string]any         `json:"layout"`
}

// fieldSchema declares one field of a screen's data: the part of JSON Schema that Flows know.
type fieldSchema struct {
	Type       string                 `json:"type"`
	Items      *fieldSchema           `json:"items"`
	Properties map[string]fieldSchema `json:"properties"`
	Example    any                    `json:"__example__"`
}

// parseFlow reads a document; numbers keep their digits.
func parseFlow(raw []byte) (*flowDocument, error) {
	var d flowDocument
	if err := decodeExact(raw, &d); err != nil {
		return nil, fmt.Errorf("read the Flow JSON: %w", err)
	}
	return &d, nil
}

func decodeExact(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

func (d *flowDocument) screen(id string) *flowScreen {
	for _, s := range d.Screens {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// entry is the first screen without an edge into it.
func (d *flowDocument) entry() string {
	into := make(map[string]bool)
	for _, targets := range d.Routing {
		for _, target := range targets {
			into[target] = true
		}
	}
	for _, s := range d.Screens {
		if !into[s.ID] {
			return s.ID
		}
	}
	return ""
}

// mayFollow reports whether the endpoint may answer with a screen: the current one again, or a routed next one.
func (d *flowDocument) mayFollow(from, to string) bool {
	if from == "" || from == to {
		return d.screen(to) != nil
	}
	for _, next := range d.Routing[from] {
		if next == to {
			return d.screen(to) != nil
		}
	}
	return false
}

// components calls visit for every component that the client shows with this data: an If or Switch whose condition can
// be told shows one branch, any other shows all.
func (s *flowScreen) components(b bindings, visit func(c map[string]any)) {
	walkComponents(s.Layout["children"], b, visit)
}

func walkComponents(children any, b bindings, visit func(c map[string]any)) {
	list, _ := children.([]any)
	for _, child := range list {
		c, ok := child.(map[string]any)
		if !ok {
			continue
		}
		visit(c)
		switch c["type"] {
		case "If":
			shown, known := b.condition(text(c["condition"]))
			if !known || shown {
				walkComponents(c["then"], b, visit)
			}
			if !known || !shown {
				walkComponents(c["else"], b, visit)
			}
		case "Switch":
			walkCases(c, b, visit)
		default:
			walkComponents(c["children"], b, visit)
		}
	}
}

func walkCases(c map[string]any, b bindings, visit func(c map[string]any)) {
	cases, _ := c["cases"].(map[string]any)
	value := b.resolve(c["value"])
	if value == nil {
		for _, name := range sortedNames(cases) {
			walkComponents(cases[name], b, visit)
		}
		return
	}
	if chosen, found := cases[fmt.Sprint(value)]; found {
		walkComponents(chosen, b, visit)
		return
	}
	if fallback, found := cases["default"]; found {
		walkComponents(fallback, b, visit)
	}
}

// emptyForm is what the client holds for the inputs of a screen before anything is typed.
func (s *flowScreen) emptyForm(b bindings) map[string]any {
	form := make(map[string]any)
	s.components(b, func(c map[string]any) {
		name := text(c["name"])
		if name == "" {
			return
		}
		switch c["type"] {
		case "OptIn":
			form[name] = false
		case "CheckboxGroup", "ChipsSelector", "PhotoPicker", "DocumentPicker":
			form[name] = []any{}
		case "Form", "NavigationList":
			return
		default:
			form[name] = ""
		}
		if initial, found := c["init-value"]; found {
			form[name] = b.resolve(initial)
		}
	})
	return form
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// bindings are the values that ${…} reaches on a screen.
type bindings struct {
	data  map[string]any
	form  map[string]any
	other func(screen, kind, name string) any // ${screen.ID.data.x}, ${screen.ID.form.x}; may be nil
}

// resolve replaces a property value that is a binding or a backtick expression; anything else stays.
func (b bindings) resolve(value any) any {
	s, ok := value.(string)
	switch {
	case !ok:
		return value
	case strings.HasPrefix(s, "${") && strings.HasSuffix(s, "}") && strings.Count(s, "${") == 1:
		return b.lookUp(s[2 : len(s)-1])
	case len(s) > 1 && strings.HasPrefix(s, "`") && strings.HasSuffix(s, "`"):
		return b.join(s[1 : len(s)-1])
	}
	return s
}

func (b bindings) lookUp(path string) any {
	parts := strings.Split(path, ".")
	switch {
	case len(parts) == 2 && parts[0] == "data":
		return b.data[parts[1]]
	case len(parts) == 2 && parts[0] == "form":
		return b.form[parts[1]]
	case len(parts) == 4 && parts[0] == "screen" && b.other != nil:
		return b.other(parts[1], parts[2], parts[3])
	}
	return nil
}

// join evaluates the concatenation form of a backtick expression: quoted literals and bindings side by side.
func (b bindings) join(expression string) string {
	var out strings.Builder
	for rest := strings.TrimSpace(expression); rest != ""; rest = strings.TrimSpace(rest) {
		var end int
		switch {
		case strings.HasPrefix(rest, "'"):
			if end = strings.IndexByte(rest[1:], '\'') + 2; end < 2 {
				return out.String()
			}
			out.WriteString(rest[1 : end-1])
		case strings.HasPrefix(rest, "${"):
			if end = strings.IndexByte(rest, '}') + 1; end < 1 {
				return out.String()
			}
			if v := b.lookUp(rest[2 : end-1]); v != nil {
				fmt.Fprint(&out, v)
			}
		default:
			end = 1
		}
		rest = rest[end:]
	}
	return out.String()
}

// condition evaluates `${x}`, `!${x}`, `${x} == 'v'` and `!=`, bare or in backticks; known is false for anything else
// and for a binding without a value.
func (b bindings) condition(s string) (value, known bool) {
	s = strings.Trim(strings.TrimSpace(s), "`")
	if strings.ContainsAny(s, "&|") {
		return false, false
	}
	for _, operator := range []string{"==", "!="} {
		left, right, found := strings.Cut(s, operator)
		if !found {
			continue
		}
		got := b.resolve(strings.TrimSpace(left))
		equal := fmt.Sprint(got) == strings.Trim(strings.TrimSpace(right), "'")
		return equal == (operator == "=="), got != nil
	}
	negated := strings.HasPrefix(s, "!")
	s = strings.TrimSpace(strings.TrimPrefix(s, "!"))
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	if !strings.HasPrefix(s, "${") || strings.IndexByte(s, '}') != len(s)-1 {
		return false, false
	}
	truth, ok := b.resolve(s).(bool)
	return truth != negated, ok
}
