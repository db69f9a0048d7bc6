package assets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Parse reads REGISTRY_FILE. Unknown fields and anything behind the document are refused; every problem is reported at
// once, joined.
func Parse(data []byte) (*Registry, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var d Document
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("read registry: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read registry: something follows the document")
	}
	return build(d)
}
