package bolt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"offrampbot/services/store"
)

// entries returns the keys under which an index holds a document, each the encoded values without the id, sorted and
// without repeats. It follows MongoDB: a document that lacks a field has none; where a path runs through an array each
// element counts, and an element without the rest of the path counts as null if another element has it.
func entries(doc bson.Raw, ix store.Index) ([][]byte, error) {
	values := make([]any, len(ix.Fields))
	var spread *spreading
	for i, field := range ix.Fields {
		v, rest, at, err := walk(doc, field)
		if err != nil {
			return nil, fmt.Errorf("index %s of %s: %w", ix.Name, ix.Collection, err)
		}
		array, isArray := v.(bson.RawArray)
		switch {
		case v == nil:
			return nil, nil
		case !isArray:
			values[i] = v
			continue
		case spread == nil:
			spread = &spreading{at: at, array: array}
		case spread.at != at:
			return nil, fmt.Errorf("index %s of %s runs through two arrays: %w", ix.Name, ix.Collection, store.ErrIndex)
		}
		spread.fields = append(spread.fields, spreadField{i, rest})
	}
	var keys [][]byte
	var err error
	if spread == nil {
		keys, err = appendKey(nil, values)
	} else {
		keys, err = spread.keys(values)
	}
	if err != nil {
		return nil, fmt.Errorf("index %s of %s: %w", ix.Name, ix.Collection, err)
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal), nil
}

// spreading is the one array that an index may run through, and the fields of the index that continue inside it.
type spreading struct {
	at     string
	array  bson.RawArray
	fields []spreadField
}

type spreadField struct {
	position int
	rest     string // path below the element; empty: the element itself
}

func (s *spreading) keys(values []any) ([][]byte, error) {
	elements, err := s.array.Values()
	if err != nil {
		return nil, fmt.Errorf("read array: %w", err)
	}
	if len(elements) == 0 {
		return s.keysOfEmpty(values)
	}
	var keys [][]byte
	present := make([]bool, len(s.fields))
	for _, element := range elements {
		for i, f := range s.fields {
			v, err := below(element, f.rest)
			if err != nil {
				return nil, err
			}
			if values[f.position] = v; v == nil {
				values[f.position] = null{}
			} else {
				present[i] = true
			}
		}
		if keys, err = appendKey(keys, values); err != nil {
			return nil, err
		}
	}
	if slices.Contains(present, false) {
		return nil, nil // no element has this field: the document lacks it
	}
	return keys, nil
}

func (s *spreading) keysOfEmpty(values []any) ([][]byte, error) {
	for _, f := range s.fields {
		if f.rest != "" {
			return nil, nil
		}
		values[f.position] = emptyArray{}
	}
	return appendKey(nil, values)
}

func appendKey(keys [][]byte, values []any) ([][]byte, error) {
	key, err := appendValues(nil, values)
	if err != nil {
		return nil, err
	}
	return append(keys, key), nil
}

// walk follows a dotted path to a value, or to the first array on it: then rest is what remains of the path and at is
// the path of the array. A path that ends nowhere gives nil.
func walk(doc bson.Raw, path string) (v any, rest, at string, err error) {
	rest = path
	for {
		var name string
		name, rest, _ = strings.Cut(rest, ".")
		value, err := doc.LookupErr(name)
		if err != nil {
			return nil, "", "", nil // a missing field is no error
		}
		switch value.Type {
		case bson.TypeArray:
			return value.Array(), rest, strings.TrimSuffix(strings.TrimSuffix(path, rest), "."), nil
		case bson.TypeEmbeddedDocument:
			if rest == "" {
				return nil, "", "", fmt.Errorf("%s is a document, not a value: %w", path, store.ErrIndex)
			}
			doc = value.Document()
		default:
			if rest != "" {
				return nil, "", "", nil
			}
			v, err := plain(value)
			return v, "", "", err
		}
	}
}

// below follows the rest of a path inside one array element.
func below(element bson.RawValue, rest string) (any, error) {
	if rest == "" {
		return plain(element)
	}
	if element.Type != bson.TypeEmbeddedDocument {
		return nil, nil
	}
	v, _, _, err := walk(element.Document(), rest)
	if _, isArray := v.(bson.RawArray); isArray {
		return nil, fmt.Errorf("array inside an array at %s: %w", rest, store.ErrIndex)
	}
	return v, err
}

func plain(value bson.RawValue) (any, error) {
	switch value.Type {
	case bson.TypeString:
		return value.StringValue(), nil
	case bson.TypeInt32, bson.TypeInt64:
		return value.AsInt64(), nil
	case bson.TypeBoolean:
		return value.Boolean(), nil
	case bson.TypeDateTime:
		return value.Time().UTC(), nil
	case bson.TypeNull:
		return null{}, nil
	}
	return nil, fmt.Errorf("stored value of type %s: %w", value.Type, store.ErrIndex)
}
