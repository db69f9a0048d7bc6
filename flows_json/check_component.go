package flowsjson

import (
	"slices"
	"strings"
)

// place is where a component stands.
type place struct {
	nesting int // of If and Switch
	inForm  bool
}

// walk goes through the components of one screen.
type walk struct {
	*checker
	*screen
	count     map[string]int
	total     int
	footers   int // at the top level, an If with one in each branch counting once
	imageSets int
}

// inputs notes the components with values, also inside If, Switch and Form, before anything is bound to them.
func (c *checker) inputs(s *screen, children *node) {
	if !children.is(kindArray) {
		return
	}
	for _, n := range children.items {
		name := n.str("name")
		if components[n.str("type")].input && name != "" {
			if s.inputs[name] != nil {
				c.at(n.get("name"), "name", "name %s comes twice on this screen", name)
			}
			s.inputs[name] = n
		}
		for _, key := range []string{"children", "then", "else"} {
			c.inputs(s, n.get(key))
		}
		if cases := n.get("cases"); cases.is(kindObject) {
			for _, m := range cases.members {
				c.inputs(s, m.value)
			}
		}
	}
}

func (w *walk) children(list *node, p place) {
	if !list.is(kindArray) {
		return
	}
	for _, n := range list.items {
		w.component(n, p)
	}
}

func (w *walk) component(n *node, p place) {
	if n.kind != kindObject {
		w.at(n, "component", "component is not an object")
		return
	}
	name := n.str("type")
	s, ok := components[name]
	if !ok {
		w.at(n, "component", "component %q is not known", name)
		return
	}
	w.total++
	w.count[name]++
	if s.since != "" && older(w.version, s.since) {
		w.at(n, "component-version", "%s needs version %s", name, s.since)
	}
	w.properties(n, name, s)
	switch name {
	case "If":
		w.branching(n, p)
	case "Switch":
		w.cases(n, p)
	case "Form":
		w.children(n.get("children"), place{nesting: p.nesting, inForm: true})
	case "Footer":
		w.footer(n, p)
	case "TextInput":
		w.textInput(n)
	case "ImageCarousel":
		w.imageSets += len(n.get("images").itemsOrNone())
	}
	if p.inForm {
		for _, key := range []string{"init-value", "error-message"} {
			if v := n.get(key); v != nil {
				w.at(v, "form", "%s belongs outside a Form", key)
			}
		}
	}
}

func (n *node) itemsOrNone() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// properties checks a component against the table: what must be there, what may, how long it is, what it is bound to.
func (w *walk) properties(n *node, name string, s spec) {
	w.known(n, append(append([]string{"type"}, s.required...), s.optional...))
	for _, key := range s.required {
		if v := n.get(key); v == nil || v.kind == kindString && strings.TrimSpace(v.text) == "" {
			w.at(n, "required", "%s has no %s", name, key)
		}
	}
	for _, m := range n.members {
		if limit := s.limits[m.key]; limit > 0 && m.value.kind == kindString && !isDynamic(m.value.text) &&
			length(m.value.text) > limit {
			w.at(m.value, "length", "%s of %s is longer than %d", m.key, name, limit)
		}
		switch {
		case strings.HasPrefix(m.key, "on-"):
			w.action(m.value, m.key, name)
		case m.key == "data-source" && m.value.kind == kindArray:
			w.options(m.value, s)
		case slices.Contains([]string{"children", "then", "else", "cases"}, m.key):
		case m.key == "condition" || m.key == "value":
			w.expression(m.value)
		default:
			w.bind(m.value, wanted[m.key])
		}
	}
}

// options checks a data-source that stands in the document.
func (w *walk) options(list *node, s spec) {
	if len(list.items) < s.options[0] || len(list.items) > s.options[1] {
		w.at(list, "options", "%d options, %d to %d are allowed", len(list.items), s.options[0], s.options[1])
	}
	seen := map[string]bool{}
	for _, option := range list.items {
		id, title := option.str("id"), option.str("title")
		if id == "" || title == "" || seen[id] {
			w.at(option, "options", "option has no id of its own or no title")
		}
		seen[id] = true
		for key, limit := range map[string]int{"title": s.title, "description": 300, "metadata": 20} {
			if length(option.str(key)) > limit {
				w.at(option.get(key), "length", "%s of an option is longer than %d", key, limit)
			}
		}
	}
}

func (w *walk) textInput(n *node) {
	input := n.get("input-type")
	if input != nil && !isDynamic(input.text) && !slices.Contains(inputTypes, input.text) {
		w.at(input, "input-type", "input-type %q is not known", input.text)
	}
	if pattern := n.get("pattern"); pattern != nil {
		if n.get("helper-text") == nil {
			w.at(pattern, "pattern", "pattern needs a helper-text")
		}
		if older(w.version, "6.2") {
			w.at(pattern, "component-version", "pattern needs version 6.2")
		}
		if t := n.str("input-type"); t == "email" || t == "phone" {
			w.at(pattern, "pattern", "pattern does not go with input-type %s", t)
		}
	}
	least, most := n.get("min-chars"), n.get("max-chars")
	if least.is(kindNumber) && most.is(kindNumber) && number(least.text) > number(most.text) {
		w.at(least, "length", "min-chars is more than max-chars")
	}
}

// branching checks an If: a condition with something dynamic, a branch that shows something, and a Footer in both
// branches or in none.
func (w *walk) branching(n *node, p place) {
	if p.nesting >= maxNesting {
		w.at(n, "nesting", "If is nested more than %d deep", maxNesting)
	}
	if condition := n.get("condition"); condition.is(kindString) && !strings.Contains(condition.text, "${") {
		w.at(condition, "condition", "condition has nothing dynamic")
	}
	then, other := n.get("then"), n.get("else")
	if !then.is(kindArray) || len(then.items) == 0 {
		w.at(n, "condition", "then shows nothing")
	}
	if other != nil && (other.kind != kindArray || len(other.items) == 0) {
		w.at(other, "condition", "else shows nothing")
	}
	inThen, inElse := hasFooter(then), hasFooter(other)
	if inThen != inElse {
		w.at(n, "footer", "a Footer stands in one branch only")
	}
	inside := place{nesting: p.nesting + 1, inForm: p.inForm}
	before := w.footers
	w.children(then, inside)
	w.children(other, inside)
	if inThen && inElse {
		w.footers = before + 1
		if p.nesting > 0 {
			w.at(n, "footer", "a Footer stands deeper than the first level")
		}
	}
}

func hasFooter(list *node) bool {
	return slices.ContainsFunc(list.itemsOrNone(), func(n *node) bool { return n.str("type") == "Footer" })
}

// cases checks a Switch.
func (w *walk) cases(n *node, p place) {
	if p.nesting >= maxNesting {
		w.at(n, "nesting", "Switch is nested more than %d deep", maxNesting)
	}
	if value := n.get("value"); value.is(kindString) && !strings.Contains(value.text, "${") {
		w.at(value, "condition", "value has nothing dynamic")
	}
	cases := n.get("cases")
	if !cases.is(kindObject) || len(cases.members) == 0 {
		w.at(n, "switch", "Switch has no cases")
		return
	}
	for _, m := range cases.members {
		if m.value.kind != kindArray || len(m.value.items) == 0 {
			w.at(m.value, "switch", "case %q shows nothing", m.key)
		}
		if hasFooter(m.value) {
			w.at(m.value, "footer", "a Footer stands in a case")
		}
		w.children(m.value, place{nesting: p.nesting + 1, inForm: p.inForm})
	}
}

func (w *walk) footer(n *node, p place) {
	if p.nesting <= 1 {
		w.footers++
	}
	if n.get("center-caption") != nil && (n.get("left-caption") != nil || n.get("right-caption") != nil) {
		w.at(n, "footer", "center-caption stands beside left-caption or right-caption")
	}
	action := n.get("on-click-action").str("name")
	if w.terminal && action == "navigate" {
		w.at(n.get("on-click-action"), "terminal", "the Footer of a terminal screen navigates")
	}
	if !w.terminal && action == "complete" {
		w.at(n.get("on-click-action"), "terminal", "complete stands on a screen that is not terminal")
	}
}

// totals checks what the whole screen may have.
func (w *walk) totals() {
	n := w.node
	if w.total > maxComponents {
		w.at(n, "components", "%d components, %d are allowed", w.total, maxComponents)
	}
	for _, name := range sortedKeys(w.count) {
		if most := components[name].most; most > 0 && w.count[name] > most {
			w.at(n, "components", "%d times %s, %d are allowed", w.count[name], name, most)
		}
	}
	switch {
	case w.footers > 1:
		w.at(n, "footer", "%d Footers, one is allowed", w.footers)
	case w.footers == 0 && w.terminal:
		w.at(n, "footer", "a terminal screen needs a Footer")
	}
	if w.count["NavigationList"] > 0 && (w.footers > 0 || w.terminal) {
		w.at(n, "components", "NavigationList stands beside a Footer or on a terminal screen")
	}
	if w.count["PhotoPicker"]+w.count["DocumentPicker"] > 1 {
		w.at(n, "components", "more than one picker of files")
	}
	if w.imageSets > 6 {
		w.at(n, "components", "more than three images in a carousel")
	}
}
