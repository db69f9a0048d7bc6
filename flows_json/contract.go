package flowsjson

import (
	"fmt"
	"slices"
	"strings"
)

// Screen is what a server and a client must know of one screen of a document: what is filled, what comes back, where it
// can lead. It is read from the document, so it is never out of date.
type Screen struct {
	ID            string
	Title         string
	Terminal      bool
	RefreshOnBack bool
	Fields        map[string]string // declared data: name to JSON type
	Payload       []string          // keys that the footer sends, sorted
	Inputs        []string          // names of the fields a person fills, sorted
	Sensitive     []string
	Next          []string // screens that may follow

	node *node
}

// Document is one parsed Flow document.
type Document struct {
	Name    string
	Screens []Screen
}

// Parse reads a document that Check finds clean; a document with problems is refused with the first of them.
func Parse(name string, doc []byte) (*Document, error) {
	if problems := Check(name, doc); len(problems) > 0 {
		return nil, fmt.Errorf("parse flow document: %s", problems[0])
	}
	root := parse(doc, func(int, string, string, string) {})
	d := &Document{Name: name}
	for _, n := range root.get("screens").items {
		d.Screens = append(d.Screens, newScreen(root, n))
	}
	return d, nil
}

func newScreen(root, n *node) Screen {
	s := Screen{
		ID: n.str("id"), Title: n.str("title"), Fields: map[string]string{}, node: n,
		Terminal:      n.get("terminal").is(kindBool) && n.get("terminal").truth,
		RefreshOnBack: n.get("refresh_on_back").is(kindBool) && n.get("refresh_on_back").truth,
	}
	if data := n.get("data"); data != nil {
		for _, m := range data.members {
			s.Fields[m.key] = m.value.str("type")
		}
	}
	for _, item := range root.get("routing_model").get(s.ID).itemsOrNone() {
		s.Next = append(s.Next, item.text)
	}
	for _, item := range n.get("sensitive").itemsOrNone() {
		s.Sensitive = append(s.Sensitive, item.text)
	}
	eachComponent(n.get("layout").get("children"), func(c *node) {
		if components[c.str("type")].input {
			s.Inputs = append(s.Inputs, c.str("name"))
		}
		if c.str("type") == "Footer" {
			for _, m := range c.get("on-click-action").get("payload").members {
				s.Payload = append(s.Payload, m.key)
			}
		}
	})
	slices.Sort(s.Inputs)
	slices.Sort(s.Payload)
	return s
}

// eachComponent visits the components of a list and of what they contain.
func eachComponent(list *node, visit func(*node)) {
	for _, n := range list.itemsOrNone() {
		visit(n)
		for _, key := range []string{"children", "then", "else"} {
			eachComponent(n.get(key), visit)
		}
		if cases := n.get("cases"); cases != nil {
			for _, m := range cases.members {
				eachComponent(m.value, visit)
			}
		}
	}
}

// Screen returns a screen by its id.
func (d *Document) Screen(id string) (Screen, bool) {
	for i := range d.Screens {
		if d.Screens[i].ID == id {
			return d.Screens[i], true
		}
	}
	return Screen{}, false
}

// CheckAnswer examines the data that a server answers for a screen, as a client would: every declared field there, of
// its type and nothing undeclared; no null; texts that are shown not blank; labels and lists within their limits. It
// returns sentences, none when the client can show the screen.
func (s Screen) CheckAnswer(data []byte) []string {
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	c := &checker{name: s.ID, doc: data}
	root := parse(data, c.report)
	for _, p := range c.problems {
		say("%s: %s", p.Pointer, p.Text)
	}
	if !root.is(kindObject) {
		say("data is not an object")
		return problems
	}
	declared := s.node.get("data")
	for _, m := range root.members {
		if declared.get(m.key) == nil {
			say("%s is not declared", m.key)
		}
	}
	c.problems = nil
	if declared != nil {
		for _, m := range declared.members {
			value := root.get(m.key)
			if value == nil {
				say("%s is missing", m.key)
				continue
			}
			c.matches(value, m.value, m.key)
		}
	}
	for _, p := range c.problems {
		say("%s", strings.Replace(p.Text, "example of ", "", 1))
	}
	return append(problems, s.shown(root)...)
}

// shown checks the values against the components that show them.
func (s Screen) shown(data *node) []string {
	var problems []string
	hidden := func(n *node) bool {
		match := whole.FindStringSubmatch(n.str("visible"))
		value := bound(data, match)
		return value.is(kindBool) && !value.truth
	}
	eachComponent(s.node.get("layout").get("children"), func(n *node) {
		table := components[n.str("type")]
		for _, m := range n.members {
			value := bound(data, whole.FindStringSubmatch(m.value.text))
			if value == nil {
				continue
			}
			if limit := table.limits[m.key]; limit > 0 && value.kind == kindString && length(value.text) > limit {
				problems = append(problems, fmt.Sprintf("%s is longer than %d", value.pointer, limit))
			}
			blank := value.kind == kindString && strings.TrimSpace(value.text) == ""
			if m.key == "text" && blank && !hidden(n) && m.value.text != "${data.error_message}" {
				problems = append(problems, fmt.Sprintf("%s is shown and blank", value.pointer))
			}
			if m.key == "data-source" {
				problems = append(problems, optionProblems(value, table)...)
			}
		}
	})
	if e := data.get("has_error"); e.is(kindBool) && e.truth && strings.TrimSpace(data.str("error_message")) == "" {
		problems = append(problems, "has_error is true and error_message is blank")
	}
	return problems
}

// bound returns the value that a whole binding to data names.
func bound(data *node, match []string) *node {
	if match == nil {
		return nil
	}
	name, ok := strings.CutPrefix(match[1], "data.")
	if !ok {
		return nil
	}
	return data.get(name)
}

func optionProblems(list *node, s spec) []string {
	var problems []string
	if len(list.itemsOrNone()) < s.options[0] || len(list.itemsOrNone()) > s.options[1] {
		problems = append(problems, fmt.Sprintf("%s has %d options", list.pointer, len(list.itemsOrNone())))
	}
	seen := map[string]bool{}
	for _, option := range list.itemsOrNone() {
		id, title := option.str("id"), option.str("title")
		if id == "" || strings.TrimSpace(title) == "" || seen[id] {
			problems = append(problems, option.pointer+" has no id of its own or no title")
		}
		seen[id] = true
		if length(title) > s.title || length(option.str("description")) > 300 {
			problems = append(problems, option.pointer+" is too long")
		}
	}
	return problems
}
