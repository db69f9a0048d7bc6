package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"offrampbot/services/store"
)

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
