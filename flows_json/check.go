package flowsjson

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problem is one breach of a rule, with the place in the document: line and column count from 1, the column in bytes.
type Problem struct {
	Document string `json:"document"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Pointer  string `json:"pointer"` // JSON pointer
	Rule     string `json:"rule"`    // one word that names the rule
	Text     string `json:"text"`
}

// String reads like a compiler's message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s (%s)", p.Document, p.Line, p.Column, p.Rule, p.Text, p.Pointer)
}

// Check examines a Flow document by Meta's rules for Flow JSON and by ours: one error convention on every screen,
// secrets listed as sensitive, nothing declared that is not shown. It returns every problem, in the order of the
// document; none means that the document can be published.
func Check(name string, doc []byte) []Problem {
	c := &checker{name: name, doc: doc, screens: map[string]*screen{}}
	if len(doc) > maxDocument {
		c.report(0, "", "size", "document is larger than 10 MB")
		return c.problems
	}
	root := parse(doc, c.report)
	if root == nil {
		return c.problems
	}
	if root.kind != kindObject {
		c.report(root.at, "", "document", "document is not an object")
		return c.problems
	}
	c.top(root)
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule))
	})
	return c.problems
}

// checker collects the problems of one document.
type checker struct {
	name     string
	doc      []byte
	version  string
	endpoint bool
	screens  map[string]*screen
	order    []*screen
	routes   map[string][]string
	problems []Problem
}

func (c *checker) report(at int, pointer, rule, text string) {
	at = max(0, min(at, len(c.doc)))
	before := c.doc[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := at - bytes.LastIndexByte(before, '\n')
	c.problems = append(c.problems, Problem{c.name, line, column, pointer, rule, text})
}

// at reports a problem of a node.
func (c *checker) at(n *node, rule, format string, args ...any) {
	c.report(n.at, n.pointer, rule, fmt.Sprintf(format, args...))
}

var topKeys = []string{"version", "data_api_version", "routing_model", "screens"}

func (c *checker) top(root *node) {
	c.known(root, topKeys)
	c.version = root.str("version")
	switch {
	case root.get("version") == nil:
		c.at(root, "version", "version is missing")
	case !slices.Contains(publishable, c.version):
		c.at(root.get("version"), "version", "version %q is not published any more or not yet", c.version)
	}
	if v := root.get("data_api_version"); v != nil {
		c.endpoint = true
		if v.text != "3.0" && v.text != dataVersion {
			c.at(v, "data-api-version", "data_api_version %q is neither 3.0 nor 4.0", v.text)
		}
		if root.get("routing_model") == nil {
			c.at(root, "routing", "routing_model is missing; an endpoint needs one")
		}
	}
	list := root.get("screens")
	if !list.is(kindArray) || len(list.items) == 0 {
		c.at(root, "screens", "screens is not a list with something in it")
		return
	}
	for _, item := range list.items {
		c.collect(item)
	}
	c.routing(root.get("routing_model"))
	for _, s := range c.order {
		c.screen(s)
	}
	for _, s := range c.order {
		c.unused(s)
	}
	c.ending(list)
}

// known reports members that Meta does not know, which it refuses as INVALID_PROPERTY.
func (c *checker) known(n *node, keys []string) {
	for _, m := range n.members {
		if !slices.Contains(keys, m.key) {
			c.report(m.at, m.value.pointer, "unknown-property", "property "+m.key+" is not known here")
		}
	}
}

var screenID = regexp.MustCompile(`^[A-Za-z_]+$`)

// collect notes a screen, so that others may refer to it wherever it stands.
func (c *checker) collect(n *node) {
	if n.kind != kindObject {
		c.at(n, "screens", "screen is not an object")
		return
	}
	s := &screen{node: n, id: n.str("id"), inputs: map[string]*node{}, used: map[string]bool{}}
	id := n.get("id")
	switch {
	case s.id == "":
		c.at(n, "screen-id", "screen has no id")
	case !screenID.MatchString(s.id):
		c.at(id, "screen-id", "screen id %q has other characters than letters and _", s.id)
	case s.id == "SUCCESS":
		c.at(id, "screen-id", "screen id SUCCESS is reserved")
	case c.screens[s.id] != nil:
		c.at(id, "screen-id", "screen id %s comes twice", s.id)
	default:
		c.screens[s.id] = s
	}
	s.data = n.get("data")
	s.terminal = n.get("terminal").is(kindBool) && n.get("terminal").truth
	c.order = append(c.order, s)
	c.inputs(s, n.get("layout").get("children"))
}

// ending checks that the Flow can end well.
func (c *checker) ending(list *node) {
	for _, s := range c.order {
		success := s.node.get("success")
		if s.terminal && (success == nil || success.truth) {
			return
		}
	}
	c.at(list, "terminal", "no terminal screen ends in success")
}

func itoa(i int) string { return strconv.Itoa(i) }

// split reads a version like 7.3.
func split(version string) (major, minor int, ok bool) {
	left, right, ok := strings.Cut(version, ".")
	if !ok {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(left)
	minor, err2 := strconv.Atoi(right)
	return major, minor, err1 == nil && err2 == nil
}
