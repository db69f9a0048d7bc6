package bolt

import (
	"bytes"
	"slices"

	"go.etcd.io/bbolt"
	"go.mongodb.org/mongo-driver/v2/bson"

	"offrampbot/services/store"
)

// checkEvery is how many rows a scan reads between two looks at its deadline.
const checkEvery = 256

// Find implements store.Reader.
func (r *reader) Find(q store.Query, each func(store.Decode) (bool, error)) error {
	return r.scan(q, func(doc bson.Raw) (bool, error) {
		return each(func(into store.Document) error { return decode(doc, into) })
	})
}

// findAll reads all rows before it hands out the first: fn may write, and a write moves the entries under a scan.
func (r *reader) findAll(q store.Query, each func(store.Decode) (bool, error)) error {
	var docs []bson.Raw
	err := r.scan(q, func(doc bson.Raw) (bool, error) {
		docs = append(docs, doc)
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, doc := range docs {
		more, err := each(func(into store.Document) error { return decode(doc, into) })
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (r *reader) scan(q store.Query, each func(doc bson.Raw) (bool, error)) error {
	if err := r.check(); err != nil {
		return err
	}
	plan, err := r.engine.catalogue.Plan(q)
	if err != nil {
		return err
	}
	low, high, err := bounds(plan)
	if err != nil {
		return err
	}
	documents := r.tx.Bucket(documentsBucket(q.Collection))
	if documents == nil {
		return nil
	}
	byID := q.Index == store.ByID
	rows := documents
	if !byID {
		rows = r.tx.Bucket(indexBucket(q.Collection, q.Index))
	}
	// A document with several entries in the range is one row, at the first of them.
	seen := map[string]bool{}
	given, read := 0, 0
	return walkRange(rows, low, high, q.Descending, func(_, value []byte) (bool, error) {
		if read++; read%checkEvery == 0 {
			if err := r.check(); err != nil {
				return false, err
			}
		}
		doc := value
		if !byID {
			id := string(value)
			if seen[id] {
				return true, nil
			}
			seen[id] = true
			doc = documents.Get(value)
		}
		given++
		more, err := each(bson.Raw(doc))
		return more && given != q.Limit, err
	})
}

// bounds gives the half-open range of keys that a query covers; a nil high end is open.
func bounds(p store.Plan) (low, high []byte, err error) {
	if p.Index == store.ByID {
		low, high = idBounds(p)
		return low, high, nil
	}
	prefix, err := appendValues(nil, p.Equal)
	if err != nil {
		return nil, nil, err
	}
	low, high = prefix, append(slices.Clone(prefix), kindLast)
	// A bound on one side covers the values of its own kind only, as in MongoDB.
	if p.From != nil {
		if low, err = appendValue(slices.Clone(prefix), p.From); err != nil {
			return nil, nil, err
		}
		high = append(slices.Clone(prefix), low[len(prefix)]+1)
	}
	if p.Until != nil {
		if high, err = appendValue(slices.Clone(prefix), p.Until); err != nil {
			return nil, nil, err
		}
		if p.From == nil {
			low = append(slices.Clone(prefix), high[len(prefix)])
		}
	}
	if p.After == nil {
		return low, high, nil
	}
	after, err := appendValues(nil, p.After)
	if err != nil {
		return nil, nil, err
	}
	low, high = narrow(low, high, after, p.Descending)
	return low, high, nil
}

func idBounds(p store.Plan) (low, high []byte) {
	if len(p.Equal) == 1 {
		id, _ := p.Equal[0].(string)
		low, high = []byte(id), []byte(id+"\x00")
	}
	if id, ok := p.From.(string); ok {
		low = []byte(id)
	}
	if id, ok := p.Until.(string); ok {
		high = []byte(id)
	}
	if p.After != nil {
		id, _ := p.After[0].(string)
		low, high = narrow(low, high, []byte(id), p.Descending)
	}
	return low, high
}

// narrow leaves what lies behind a key in the direction of the scan.
func narrow(low, high, after []byte, descending bool) (newLow, newHigh []byte) {
	if descending {
		if high == nil || bytes.Compare(after, high) < 0 {
			high = after
		}
		return low, high
	}
	if next := append(slices.Clone(after), 0); bytes.Compare(next, low) > 0 {
		low = next
	}
	return low, high
}

func walkRange(b *bbolt.Bucket, low, high []byte, descending bool, each func(k, v []byte) (bool, error)) error {
	c := b.Cursor()
	step := c.Next
	k, v := c.Seek(low)
	if descending {
		step = c.Prev
		k, v = seekBefore(c, high)
	}
	for ; k != nil; k, v = step() {
		if descending && bytes.Compare(k, low) < 0 || !descending && high != nil && bytes.Compare(k, high) >= 0 {
			return nil
		}
		more, err := each(k, v)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// seekBefore moves to the last key below high.
func seekBefore(c *bbolt.Cursor, high []byte) (k, v []byte) {
	if high == nil {
		return c.Last()
	}
	if k, _ = c.Seek(high); k == nil {
		return c.Last()
	}
	return c.Prev()
}
