package flowsjson

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// whole is a binding that is the whole value; part is a reference inside an expression.
var (
	whole = regexp.MustCompile(`^\$\{([^{}]*)\}$`)
	part  = regexp.MustCompile(`\$\{([^{}]*)\}`)
)

// isDynamic reports whether a text is computed on the client.
func isDynamic(s string) bool { return strings.Contains(s, "${") || isExpression(s) }

// isExpression reports a text between backticks.
func isExpression(s string) bool { return len(s) > 1 && s[0] == '`' && s[len(s)-1] == '`' }

// bind checks a property's value: plain, or one whole binding, or an expression. want is the type that the bound data
// must have, empty when any will do.
func (w *walk) bind(v *node, want kind) {
	switch v.kind {
	case kindObject:
		for _, m := range v.members {
			w.bind(m.value, "")
		}
		return
	case kindArray:
		for _, item := range v.items {
			w.bind(item, "")
		}
		return
	case kindNumber, kindBool, kindNull:
		return
	case kindString:
	}
	switch match := whole.FindStringSubmatch(v.text); {
	case match != nil:
		w.reference(v, match[1], want)
	case isExpression(v.text):
		w.inside(v)
	case strings.Contains(v.text, "${"):
		w.at(v, "binding", "a binding must be the whole value: %s", v.text)
	}
}

// expression checks a condition, which may be an expression without backticks.
func (w *walk) expression(v *node) {
	if !v.is(kindString) {
		w.at(v, "condition", "condition is not a text")
		return
	}
	w.inside(v)
}

func (w *walk) inside(v *node) {
	if older(w.version, "6.0") && isExpression(v.text) {
		w.at(v, "component-version", "expressions need version 6.0")
	}
	if strings.Contains(v.text, "''") {
		w.at(v, "binding", "an expression has an empty text in it")
	}
	references := part.FindAllStringSubmatch(v.text, -1)
	if len(references) != strings.Count(v.text, "${") {
		w.at(v, "binding", "a binding is not closed: %s", v.text)
	}
	for _, match := range references {
		w.reference(v, match[1], "")
	}
}

// reference checks what a binding names: data of this screen, a field of this screen, or either of another screen.
func (w *walk) reference(v *node, path string, want kind) {
	parts := strings.Split(path, ".")
	target := w.screen
	if parts[0] == "screen" {
		if len(parts) < 4 || w.screens[parts[1]] == nil {
			w.at(v, "binding", "there is no screen for ${%s}", path)
			return
		}
		target, parts = w.screens[parts[1]], parts[2:]
	}
	switch {
	case len(parts) < 2 || slices.Contains(parts, ""):
		w.at(v, "binding", "${%s} is no reference", path)
	case parts[0] == "data":
		w.dataReference(v, target, path, parts[1:], want)
	case parts[0] == "form":
		if len(parts) != 2 || target.inputs[parts[1]] == nil {
			w.at(v, "form-field", "there is no field for ${%s}", path)
		}
	default:
		w.at(v, "binding", "${%s} is neither data nor form", path)
	}
}

func (w *walk) dataReference(v *node, target *screen, path string, names []string, want kind) {
	declared := target.data.get(names[0])
	for _, name := range names[1:] {
		declared = declared.get("properties").get(name)
	}
	if declared == nil {
		w.at(v, "undeclared", "${%s} is not declared", path)
		return
	}
	target.used[names[0]] = true
	if got := kind(declared.str("type")); want != "" && got != want {
		w.at(v, "binding-type", "${%s} is %s, %s is wanted", path, got, want)
	}
}

// number reads an integer of the document, zero for anything else.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
