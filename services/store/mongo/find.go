package mongo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
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

// successor is the smallest value above v, of the same type or the next.
func successor(v any) any {
	switch v := v.(type) {
	case string:
		return v + "\x00"
	case int64:
		if v < math.MaxInt64 {
			return v + 1
		}
	case bool:
		if !v {
			return true
		}
	case time.Time:
		return v.Add(time.Millisecond)
	}
	_, next := typeRange(v)
	return next
}

// typeRange gives the lowest value of a type and the lowest of the type that MongoDB sorts behind it.
func typeRange(v any) (lowest, next any) {
	switch v.(type) {
	case int64:
		return int64(math.MinInt64), ""
	case string:
		return "", bson.D{}
	case bool:
		return false, bson.DateTime(math.MinInt64)
	}
	return bson.DateTime(math.MinInt64), bson.Timestamp{}
}

// compareTuples compares two bounds as the server does.
func compareTuples(a, b []any) int {
	for i := range a {
		if c := compareValues(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func compareValues(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		return cmp.Compare(a, b.(string))
	case bool:
		if a == b.(bool) {
			return 0
		} else if a {
			return 1
		}
		return -1
	}
	return cmp.Compare(millis(a), millis(b))
}

func millis(v any) int64 {
	switch v := v.(type) {
	case time.Time:
		return v.UnixMilli()
	case bson.DateTime:
		return int64(v)
	}
	return 0
}

func rank(v any) int {
	switch v.(type) {
	case bson.MinKey:
		return 0
	case int64:
		return 1
	case string:
		return 2
	case bson.D:
		return 3
	case bool:
		return 4
	case time.Time, bson.DateTime:
		return 5
	case bson.Timestamp:
		return 6
	}
	return 7 // bson.MaxKey
}

// Find implements store.Reader.
func (r *reader) Find(q store.Query, each func(store.Decode) (bool, error)) error {
	s, err := r.engine.scanOf(q)
	if err != nil || s.empty {
		return err
	}
	rows, err := read(r, func() (*driver.Cursor, error) {
		return r.engine.collection(q.Collection).Find(r.ctx, s.filter, s.options())
	})
	if err != nil {
		return classify(r.ctx, "find in", q.Collection, err)
	}
	defer func() {
		ctx, cancel := cleanUp(r.ctx)
		defer cancel()
		_ = rows.Close(ctx) // what is not closed is closed by the server
	}()
	if err := eachRow(r.ctx, rows, each); err != nil {
		return err
	}
	if err := rows.Err(); err != nil {
		return classify(r.ctx, "find in", q.Collection, err)
	}
	return nil
}

func eachRow(ctx context.Context, rows *driver.Cursor, each func(store.Decode) (bool, error)) error {
	for rows.Next(ctx) {
		more, err := each(func(into store.Document) error { return decode(rows.Current, into) })
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// Explain runs the planner on a query and returns the stages of its plan, from the outermost in: "FETCH", "IXSCAN". It
// fails when the plan does not use the index of the query. For tests and operators.
func (e *Engine) Explain(ctx context.Context, q store.Query) (stages []string, err error) {
	s, err := e.scanOf(q)
	if err != nil {
		return nil, err
	}
	find := bson.D{
		{Key: "find", Value: string(q.Collection)}, {Key: "filter", Value: s.filter}, {Key: "hint", Value: s.hint},
		{Key: "min", Value: s.bounds(s.low)}, {Key: "max", Value: s.bounds(s.high)},
	}
	if len(s.sort) > 0 {
		find = append(find, bson.E{Key: "sort", Value: s.sort})
	}
	if s.limit > 0 {
		find = append(find, bson.E{Key: "limit", Value: int64(s.limit)})
	}
	var answer struct {
		QueryPlanner struct {
			WinningPlan plan `bson:"winningPlan"`
		} `bson:"queryPlanner"`
	}
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	if err := e.database.RunCommand(ctx, bson.D{{Key: "explain", Value: find}}).Decode(&answer); err != nil {
		return nil, classify(ctx, "explain find in", q.Collection, err)
	}
	used := ""
	for p := &answer.QueryPlanner.WinningPlan; p != nil; p = p.Input {
		if p.QueryPlan != nil {
			p = p.QueryPlan
		}
		stages = append(stages, p.Stage)
		used = p.Index
	}
	if used != s.hint {
		return stages, fmt.Errorf("explain find in %s: the plan uses %q, not %s: %w", q.Collection, used, s.hint, store.ErrIndex)
	}
	return stages, nil
}

type plan struct {
	Stage     string `bson:"stage"`
	Index     string `bson:"indexName"`
	Input     *plan  `bson:"inputStage"`
	QueryPlan *plan  `bson:"queryPlan"`
}
