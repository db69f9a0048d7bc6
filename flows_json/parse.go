package flowsjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// kind is the JSON type of a node.
type kind string

const (
	kindObject kind = "object"
	kindArray  kind = "array"
	kindString kind = "string"
	kindNumber kind = "number"
	kindBool   kind = "boolean"
	kindNull   kind = "null"
)

// node is a JSON value that knows where it stands.
type node struct {
	kind    kind
	at      int // offset of its first byte
	pointer string
	text    string // of a string or number
	truth   bool
	members []member
	items   []*node
}

type member struct {
	key   string
	at    int
	value *node
}

// get returns a member's value, nil when there is none; a nil node has none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// str returns a member that is a string, or "".
func (n *node) str(key string) string {
	if v := n.get(key); v != nil && v.kind == kindString {
		return v.text
	}
	return ""
}

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// parser builds nodes from the tokens of encoding/json, which checks the syntax.
type parser struct {
	doc     []byte
	decoder *json.Decoder
	report  func(at int, pointer, rule, text string)
}

// parse reads the whole document. It returns nil after reporting what stops it.
func parse(doc []byte, report func(at int, pointer, rule, text string)) *node {
	p := &parser{doc: doc, decoder: json.NewDecoder(bytes.NewReader(doc)), report: report}
	p.decoder.UseNumber()
	root, err := p.value("")
	if err == nil {
		if _, end := p.decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("something follows the document")
		}
	}
	if err != nil {
		at := int(p.decoder.InputOffset())
		if syntax := (&json.SyntaxError{}); errors.As(err, &syntax) {
			at = int(syntax.Offset) - 1
		}
		report(at, "", "json", err.Error())
		return nil
	}
	return root
}

// next returns the next token and where it starts.
func (p *parser) next() (json.Token, int, error) {
	at := int(p.decoder.InputOffset())
	for at < len(p.doc) && strings.IndexByte(" \t\r\n,:", p.doc[at]) >= 0 {
		at++
	}
	token, err := p.decoder.Token()
	return token, at, err
}

func (p *parser) value(pointer string) (*node, error) {
	token, at, err := p.next()
	if err != nil {
		return nil, err
	}
	n := &node{at: at, pointer: pointer}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			n.kind = kindObject
			return n, p.object(n)
		}
		n.kind = kindArray
		return n, p.array(n)
	case string:
		n.kind, n.text = kindString, v
	case json.Number:
		n.kind, n.text = kindNumber, v.String()
	case bool:
		n.kind, n.truth = kindBool, v
	case nil:
		n.kind = kindNull
		p.report(at, pointer, "null", "null is not allowed")
	}
	return n, nil
}

func (p *parser) object(n *node) error {
	seen := map[string]bool{}
	for p.decoder.More() {
		token, at, err := p.next()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errors.New("key is not a string")
		}
		pointer := n.pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		if seen[key] {
			p.report(at, pointer, "duplicate-key", "key "+key+" comes twice")
		}
		seen[key] = true
		value, err := p.value(pointer)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key, at, value})
	}
	_, err := p.decoder.Token()
	return err
}

func (p *parser) array(n *node) error {
	for i := 0; p.decoder.More(); i++ {
		item, err := p.value(n.pointer + "/" + itoa(i))
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := p.decoder.Token()
	return err
}
