package store

import (
	"fmt"
	"slices"
)

// ByID is the name of the index that every collection has: the order of the ids.
const ByID = "_id"

// Collections lists every collection, in the order of the declarations above.
func Collections() []Collection {
	return []Collection{
		Users, Beneficiaries, Quotes, Orders, Accounts, Limits, Postings, Deposits, Cursors, Inbox, Outbox, Audit, Heads,
		Links, Figures, FlowSessions, Counters, Leases, Admins, Approvals, Settings, Migrations,
	}
}

// Catalogue is the set of declared indexes that an engine serves.
type Catalogue struct {
	indexes []Index
	byName  map[indexName]Index
}

type indexName struct {
	collection Collection
	name       string
}

// NewCatalogue checks the declarations: names are unique within a collection and not "_id", and each index has fields.
func NewCatalogue(indexes []Index) (*Catalogue, error) {
	c := &Catalogue{indexes: slices.Clone(indexes), byName: make(map[indexName]Index, len(indexes))}
	for _, ix := range indexes {
		key := indexName{ix.Collection, ix.Name}
		switch _, twice := c.byName[key]; {
		case ix.Collection == "" || ix.Name == "" || ix.Name == ByID || ix.Name == "_id_":
			return nil, fmt.Errorf("index %q of collection %q has no usable name: %w", ix.Name, ix.Collection, ErrIndex)
		case len(ix.Fields) == 0 || slices.Contains(ix.Fields, "") || slices.Contains(ix.Fields, ByID):
			return nil, fmt.Errorf("index %s of %s needs fields other than _id: %w", ix.Name, ix.Collection, ErrIndex)
		case twice:
			return nil, fmt.Errorf("index %s of %s is declared twice: %w", ix.Name, ix.Collection, ErrIndex)
		}
		c.byName[key] = ix
	}
	return c, nil
}

// Indexes lists the declarations.
func (c *Catalogue) Indexes() []Index { return slices.Clone(c.indexes) }

// Find returns the declaration of a secondary index.
func (c *Catalogue) Find(collection Collection, name string) (Index, bool) {
	ix, ok := c.byName[indexName{collection, name}]
	return ix, ok
}

// Plan is a query that was checked against its index; all values are reduced by Value.
type Plan struct {
	Query
	Fields []string // of the index; none for "_id"
	Unique bool
}

// Plan checks a query against its index, or fails with ErrIndex.
func (c *Catalogue) Plan(q Query) (Plan, error) {
	p := Plan{Query: q}
	if q.Index != ByID {
		ix, ok := c.Find(q.Collection, q.Index)
		if !ok {
			return p, fmt.Errorf("index %s of %s: %w", q.Index, q.Collection, ErrIndex)
		}
		p.Fields, p.Unique = ix.Fields, ix.Unique
	}
	bounded := len(p.Fields) // fields that may carry a condition
	if q.Index == ByID {
		bounded = 1
	}
	ranged := q.From != nil || q.Until != nil
	switch {
	case len(q.Equal) > bounded || ranged && len(q.Equal) == bounded:
		return p, fmt.Errorf("query has more conditions than index %s of %s has fields: %w", q.Index, q.Collection, ErrIndex)
	case q.After != nil && len(q.After) != len(p.Fields)+1:
		return p, fmt.Errorf("cursor does not fit index %s of %s: %w", q.Index, q.Collection, ErrIndex)
	case q.Limit < 0:
		return p, fmt.Errorf("limit below zero on index %s of %s: %w", q.Index, q.Collection, ErrIndex)
	}
	return p, p.reduce()
}

func (p *Plan) reduce() (err error) {
	if p.Equal, err = values(p.Equal); err != nil {
		return err
	}
	if p.From, err = optional(p.From); err != nil {
		return err
	}
	if p.Until, err = optional(p.Until); err != nil {
		return err
	}
	after, err := values(p.After)
	p.After = after
	if err != nil || after == nil {
		return err
	}
	for i, v := range p.Equal {
		if after[i] != v {
			return fmt.Errorf("cursor lies outside the query on index %s of %s: %w", p.Index, p.Collection, ErrIndex)
		}
	}
	if _, ok := after[len(after)-1].(string); !ok {
		return fmt.Errorf("cursor without an id on index %s of %s: %w", p.Index, p.Collection, ErrIndex)
	}
	return nil
}

func optional(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	return Value(v)
}

func values(in []any) ([]any, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]any, len(in))
	for i, v := range in {
		var err error
		if out[i], err = Value(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
