package mongo

import (
	"cmp"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"offrampbot/services/store"
)

// scan is a query in MongoDB's terms: a range of keys of one hinted index. The range is given to the server as such
// (min, max) instead of as a filter, for three reasons: the planner has nothing to choose, so a scan costs the same at
// every size; "behind (values…, id)" is one bound instead of a disjunction; and a partial index is then exactly the
// documents that it covers, so its conditions are met by construction.
type scan struct {
	collection store.Collection
	hint       string
	keys       []string // of the index, _id included
	low, high  []any    // one value per key; high is exclusive
	filter     bson.D
	sort       bson.D
	limit      int
	empty      bool // the range holds nothing
}

// scanOf plans a query.
func (e *Engine) scanOf(q store.Query) (scan, error) {
	p, err := e.catalogue.Plan(q)
	if err != nil {
		return scan{}, err
	}
	s := scan{collection: q.Collection, hint: q.Index, keys: indexKeys(p.Fields, p.Unique), filter: bson.D{}, limit: q.Limit}
	if q.Index == store.ByID {
		s.hint, s.keys = "_id_", []string{"_id"}
	}
	s.bound(p)
	if p.After != nil {
		s.behind(p)
	}
	s.order(p)
	s.empty = compareTuples(s.low, s.high) >= 0
	return s, nil
}

// bound sets the range of the equality prefix and of the range on the next field. A bound on one side covers values of
// its own type only.
func (s *scan) bound(p store.Plan) {
	n := len(p.Equal)
	s.low, s.high = make([]any, len(s.keys)), make([]any, len(s.keys))
	for i := range s.keys {
		s.low[i], s.high[i] = bson.MinKey{}, bson.MaxKey{}
	}
	copy(s.low, p.Equal)
	copy(s.high, p.Equal)
	if n == len(s.keys) { // every key has its value: the range ends right behind them
		s.high[n-1] = successor(p.Equal[n-1])
		return
	}
	if p.From == nil && p.Until == nil {
		return
	}
	lowest, next := typeRange(cmp.Or(p.From, p.Until))
	s.low[n], s.high[n] = lowest, next
	if p.From != nil {
		s.low[n] = p.From
	}
	if p.Until != nil {
		s.high[n] = p.Until
	}
	for i := n + 1; i < len(s.keys); i++ {
		s.high[i] = bson.MinKey{} // high is exclusive in its first differing key
	}
}

// behind narrows the range to what follows a row in the direction of the scan.
func (s *scan) behind(p store.Plan) {
	at := append([]any(nil), p.After[:len(s.keys)]...)
	if p.Descending {
		if compareTuples(at, s.high) < 0 {
			s.high = at
		}
		return
	}
	last := len(at) - 1
	if s.keys[last] == "_id" {
		at[last] = successor(at[last])
	} else {
		// A unique index has no id in its keys: the row itself is the one with these values.
		s.filter = bson.D{{Key: "_id", Value: bson.D{{Key: "$ne", Value: p.After[len(p.After)-1]}}}}
	}
	if compareTuples(at, s.low) > 0 {
		s.low = at
	}
}

// order asks for the index's own order. Keys with one fixed value are left out, so that an index over an array still
// gives the order of the keys behind.
func (s *scan) order(p store.Plan) {
	direction := 1
	if p.Descending {
		direction = -1
	}
	for _, key := range s.keys[len(p.Equal):] {
		s.sort = append(s.sort, bson.E{Key: key, Value: direction})
	}
}

func (s *scan) bounds(values []any) bson.D {
	d := make(bson.D, len(values))
	for i, v := range values {
		d[i] = bson.E{Key: s.keys[i], Value: v}
	}
	return d
}

func (s *scan) options() *options.FindOptionsBuilder {
	o := options.Find().SetHint(s.hint).SetMin(s.bounds(s.low)).SetMax(s.bounds(s.high))
	if len(s.sort) > 0 {
		o.SetSort(s.sort)
	}
	if s.limit > 0 {
		o.SetLimit(int64(s.limit)).SetBatchSize(int32(min(s.limit, math.MaxInt32)))
	}
	return o
}

// indexKeys are the keys of a declared index in the database: a plain one ends with the id, so that equal values have an
// order; a unique one cannot.
func indexKeys(fields []string, unique bool) []string {
	if unique {
		return fields
	}
	return append(append(make([]string, 0, len(fields)+1), fields...), "_id")
}
