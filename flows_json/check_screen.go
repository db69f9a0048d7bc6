package flowsjson

import (
	"slices"
	"strings"
)

// screen is what the checker knows of one screen.
type screen struct {
	node     *node
	id       string
	data     *node
	terminal bool
	inputs   map[string]*node // components with a value, by name
	used     map[string]bool  // data fields that something is bound to
}

var screenKeys = []string{
	"id", "title", "data", "layout", "terminal", "success", "refresh_on_back", "sensitive",
}

func (c *checker) screen(s *screen) {
	n := s.node
	c.known(n, screenKeys)
	if title := n.get("title"); !title.is(kindString) || strings.TrimSpace(title.text) == "" {
		c.at(n, "screen-title", "screen has no title")
	}
	for _, key := range []string{"terminal", "success", "refresh_on_back"} {
		if v := n.get(key); v != nil && v.kind != kindBool {
			c.at(v, "screen-property", "%s is not true or false", key)
		}
	}
	if v := n.get("success"); v != nil && !s.terminal {
		c.at(v, "terminal", "success stands on a screen that is not terminal")
	}
	c.declarations(s)
	layout := n.get("layout")
	if !layout.is(kindObject) || layout.str("type") != "SingleColumnLayout" {
		c.at(n, "layout", "layout is not a SingleColumnLayout")
		return
	}
	c.known(layout, []string{"type", "children"})
	children := layout.get("children")
	if !children.is(kindArray) || len(children.items) == 0 {
		c.at(layout, "layout", "layout has no children")
		return
	}
	w := &walk{checker: c, screen: s, count: map[string]int{}}
	w.children(children, place{})
	w.totals()
	c.sensitive(s)
	c.convention(s, children)
}

// declarations checks the data that the endpoint sends to the screen.
func (c *checker) declarations(s *screen) {
	if s.data == nil {
		return
	}
	if s.data.kind != kindObject {
		c.at(s.data, "data", "data is not an object")
		return
	}
	for _, m := range s.data.members {
		if m.value.kind != kindObject {
			c.at(m.value, "data", "declaration of %s is not an object", m.key)
			continue
		}
		c.schema(m.value, m.key)
		example := m.value.get("__example__")
		if example == nil {
			c.at(m.value, "example", "%s has no __example__", m.key)
			continue
		}
		c.matches(example, m.value, m.key)
	}
}

// schema checks one declaration, down to its items and properties.
func (c *checker) schema(n *node, name string) {
	if !n.is(kindObject) {
		return
	}
	switch kind(n.str("type")) {
	case kindString, kindNumber, kindBool:
		c.known(n, []string{"type", "__example__"})
	case kindArray:
		c.known(n, []string{"type", "items", "__example__"})
		if !n.get("items").is(kindObject) {
			c.at(n, "data", "list %s does not declare its items", name)
		}
		c.schema(n.get("items"), name)
	case kindObject:
		c.known(n, []string{"type", "properties", "__example__"})
		properties := n.get("properties")
		if !properties.is(kindObject) {
			c.at(n, "data", "object %s does not declare its properties", name)
			return
		}
		for _, m := range properties.members {
			c.schema(m.value, name+"."+m.key)
		}
	case kindNull:
		c.at(n, "data", "%s is declared as null", name)
	default:
		c.at(n, "data", "%s has no type that is known", name)
	}
}

// matches checks a value against its declaration.
func (c *checker) matches(value, schema *node, name string) {
	want := kind(schema.str("type"))
	if want == "" || value.kind == kindNull {
		return // reported elsewhere
	}
	if value.kind != want {
		c.at(value, "example-type", "example of %s is %s, declared is %s", name, value.kind, want)
		return
	}
	if want == kindArray {
		if items := schema.get("items"); items.is(kindObject) {
			for _, item := range value.items {
				c.matches(item, items, name+"[]")
			}
		}
		return
	}
	for _, m := range value.members { // only an object has members
		property := schema.get("properties").get(m.key)
		if property == nil {
			c.at(m.value, "example-type", "example of %s has %s, which is not declared", name, m.key)
			continue
		}
		c.matches(m.value, property, name+"."+m.key)
	}
}

// sensitive checks the list of fields that the chat summary masks: known names, and every password among them.
func (c *checker) sensitive(s *screen) {
	var listed []string
	if list := s.node.get("sensitive"); list != nil {
		if list.kind != kindArray {
			c.at(list, "sensitive", "sensitive is not a list")
			return
		}
		for _, item := range list.items {
			if item.kind != kindString || s.inputs[item.text] == nil {
				c.at(item, "sensitive", "there is no field %q on this screen", item.text)
				continue
			}
			listed = append(listed, item.text)
		}
	}
	for name, input := range s.inputs {
		secret := slices.Contains([]string{"password", "passcode"}, input.str("input-type")) || name == "account_number"
		if secret && !slices.Contains(listed, name) {
			c.at(input, "sensitive", "field %s is not listed as sensitive", name)
		}
	}
}

// convention checks our one way to show an error: has_error and error_message, shown by an If that comes first.
func (c *checker) convention(s *screen, children *node) {
	for name, want := range map[string]kind{"has_error": kindBool, "error_message": kindString} {
		if kind(s.data.get(name).str("type")) != want {
			c.at(s.node, "error-convention", "data does not declare %s as %s", name, want)
		}
	}
	first := children.items[0]
	if first.str("type") != "If" || first.str("condition") != "${data.has_error}" {
		c.at(first, "error-convention", "the first component is not an If on ${data.has_error}")
		return
	}
	for _, n := range first.get("then").items {
		if n.str("text") == "${data.error_message}" {
			return
		}
	}
	c.at(first, "error-convention", "the If does not show ${data.error_message}")
}

// unused reports data that nothing shows: the server would fill it for nobody.
func (c *checker) unused(s *screen) {
	if !s.data.is(kindObject) {
		return
	}
	for _, m := range s.data.members {
		if !s.used[m.key] {
			c.report(m.at, m.value.pointer, "unused", "nothing on this screen uses "+m.key)
		}
	}
}
