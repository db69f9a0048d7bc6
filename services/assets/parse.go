package assets

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Document is the registry as REGISTRY_FILE holds it: strict JSON with these field names. Amounts are integers in
// micro-units or minor units, as their names say.
type Document struct {
	Chains []Chain `json:"chains"`
	Assets []Asset `json:"assets"`
	Tokens []Token `json:"tokens"`
	Fiats  []Fiat  `json:"fiats"`
	Tiers  []Tier  `json:"tiers"`
}

// Parse reads REGISTRY_FILE. Unknown fields, fields in another case and anything behind the document are refused, and
// every problem of the content is reported at once, joined.
func Parse(data []byte) (*Registry, error) {
	var raw any
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	found := unknownFields(raw, reflect.TypeFor[Document](), "")
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read registry: %w", errors.Join(append(found, err)...))
	}
	r, err := build(d)
	if err = errors.Join(append(found, err)...); err != nil {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	return r, nil
}

// MarshalJSON writes the registry in the form that Parse reads: a start for an operator's own file.
func (r *Registry) MarshalJSON() ([]byte, error) {
	return json.Marshal(Document{Chains: r.chains, Assets: r.assets, Tokens: r.tokens, Fiats: r.fiats, Tiers: r.tiers})
}

// unknownFields lists the fields of a decoded value that a type does not have. encoding/json itself stops at the first
// and takes "Depth" for "depth".
func unknownFields(value any, t reflect.Type, path string) []error {
	var found []error
	switch v := value.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			return nil // another shape: decoding reports it
		}
		for i, e := range v {
			found = append(found, unknownFields(e, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, ok := fieldType(t, name)
			if !ok {
				found = append(found, fmt.Errorf("unknown field %s", strings.TrimPrefix(path+"."+name, ".")))
				continue
			}
			found = append(found, unknownFields(v[name], inner, path+"."+name)...)
		}
	}
	return found
}

// fieldType is the type behind a name in a struct, by its json tag, or in a map.
func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for i := range t.NumField() {
			if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
				return t.Field(i).Type, true
			}
		}
	}
	return nil, false
}
