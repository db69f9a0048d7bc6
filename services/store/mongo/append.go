package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"offrampbot/services/point"
	"offrampbot/services/store"
)

// Append implements store.Engine: one unordered bulk insert with majority and journal. A document whose id is taken is
// not new; a clash on another unique index is an error, and the other documents are stored all the same. After
// ErrCommitUnknown the same Append is simply repeated.
func (e *Engine) Append(ctx context.Context, c store.Collection, docs []store.Document) (isNew []bool, err error) {
	ctx, err = e.enter(ctx)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, nil
	}
	ctx, cancel := e.deadline(ctx, e.timeout)
	defer cancel()
	var revisions store.Revisions
	defer func() {
		if isNew == nil {
			revisions.Restore()
		}
	}()
	rows := make([]any, len(docs))
	for i, doc := range docs {
		if rows[i], err = encodeNew(&revisions, c, doc); err != nil {
			return nil, err
		}
	}
	if err := point.Before(ctx, point.StoreAppend); err != nil {
		return nil, err
	}
	_, err = e.collection(c).InsertMany(ctx, rows, options.InsertMany().SetOrdered(false))
	isNew, clash, err := judgeInserts(ctx, c, len(docs), err)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", c, err)
	}
	for _, doc := range docs {
		e.wakes.Wake(store.ChangeOf(c, doc))
	}
	if err := point.After(ctx, point.StoreAppend); err != nil {
		return nil, fmt.Errorf("append to %s: %w: %w", c, store.ErrCommitUnknown, err)
	}
	return isNew, clash
}

// judgeInserts reads the outcome of a bulk insert: which documents are new, and the first clash on an index other than
// the id. Any other error leaves the outcome unknown, unless no server was reached at all.
func judgeInserts(ctx context.Context, c store.Collection, count int, err error) (isNew []bool, clash, failure error) {
	isNew = make([]bool, count)
	for i := range isNew {
		isNew[i] = true
	}
	var bulk driver.BulkWriteException
	switch {
	case err == nil:
		return isNew, nil, nil
	case !errors.As(err, &bulk):
		return nil, nil, judgeFailure(ctx, err)
	case bulk.WriteConcernError != nil:
		return nil, nil, fmt.Errorf("%w: %w", store.ErrCommitUnknown, err)
	}
	for _, w := range bulk.WriteErrors {
		if w.Code != codeDuplicateKey {
			return nil, nil, err
		}
		isNew[w.Index] = false
		if d := duplicateOf(c, w.Message); d.Index != store.ByID && clash == nil {
			clash = fmt.Errorf("append to %s: %w", c, d)
		}
	}
	return isNew, clash, nil
}

// judgeFailure classifies an insert that failed as a whole.
func judgeFailure(ctx context.Context, err error) error {
	server := (driver.ServerError)(nil)
	switch {
	case errors.As(err, &topology.ServerSelectionError{}): // nothing was sent
		return unavailable(ctx, err)
	case errors.As(err, &server) && !isNetwork(err): // the server refused it
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrCommitUnknown, err)
}

func encodeNew(revisions *store.Revisions, c store.Collection, doc store.Document) (bson.Raw, error) {
	if doc.Head().ID == "" {
		return nil, fmt.Errorf("insert into %s: the document has no id", c)
	}
	revisions.Set(doc.Head(), 1)
	return encode(c, doc)
}

func encode(c store.Collection, doc store.Document) (bson.Raw, error) {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s: %w", doc.Head().ID, c, err)
	}
	return raw, nil
}
