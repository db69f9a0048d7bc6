// Package store is the one narrow port between the domain and a database. Two engines implement it: store/mongo (the
// system of record) and store/bolt (embedded, for the demo and fast tests). One conformance suite,
// store/storetest, passes on both.
//
// Snapshot isolation is not serialisable: two transactions may read the same sum, write different documents and both
// commit. A rule over several documents therefore names a guard document, reads it through its Tx and replaces it.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Collection names one kind of document. The names are contract: operators read them in any MongoDB client.
type Collection string

// The collections, see docs/glossary.md.
const (
	Users         Collection = "users"
	Beneficiaries Collection = "beneficiaries"
	Quotes        Collection = "quotes"
	Orders        Collection = "orders"
	Accounts      Collection = "accounts"
	Limits        Collection = "limits"
	Postings      Collection = "postings"
	Deposits      Collection = "deposits"
	Cursors       Collection = "cursors"
	Inbox         Collection = "inbox"
	Outbox        Collection = "outbox"
	Audit         Collection = "audit"
	Heads         Collection = "heads"
	Links         Collection = "links"
	Figures       Collection = "figures"
	FlowSessions  Collection = "flow_sessions"
	Counters      Collection = "counters"
	Leases        Collection = "leases"
	Admins        Collection = "admins"
	Approvals     Collection = "approvals"
	Settings      Collection = "settings"
	Migrations    Collection = "migrations"
)

var (
	// ErrNotFound: no document has this id.
	ErrNotFound = errors.New("not found")
	// ErrStale: the document was changed or deleted since it was read. Load it again and decide again.
	ErrStale = errors.New("stale revision")
	// ErrNested: Update or View was called inside a transaction.
	ErrNested = errors.New("transaction inside a transaction")
	// ErrCommitUnknown: the commit may or may not have happened. Running the same Update again is safe by construction.
	ErrCommitUnknown = errors.New("commit outcome unknown")
	// ErrUnavailable: the store cannot be reached; nothing was written.
	ErrUnavailable = errors.New("store unavailable")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("store closed")
	// ErrIndex: the query names an index that is not declared, or does not fit its fields.
	ErrIndex = errors.New("no such index")
)

// ErrDuplicate reports a unique index that already holds the document's values; Index is "_id" for the id itself.
type ErrDuplicate struct {
	Collection Collection
	Index      string
}

// Error implements error.
func (e *ErrDuplicate) Error() string {
	return fmt.Sprintf("duplicate %s in %s", e.Index, e.Collection)
}

// Is makes errors.Is(err, &ErrDuplicate{}) true for every duplicate, and compares the fields that are set.
func (e *ErrDuplicate) Is(target error) bool {
	t, ok := target.(*ErrDuplicate)
	return ok && (t.Collection == "" || t.Collection == e.Collection) && (t.Index == "" || t.Index == e.Index)
}

// IsDuplicate reports whether err is a duplicate of any unique index.
func IsDuplicate(err error) bool { return errors.Is(err, &ErrDuplicate{}) }

// Meta is the head of every document: embed it with `bson:",inline"`.
type Meta struct {
	ID       string `bson:"_id" json:"id"`
	Version  int    `bson:"v" json:"v"`     // schema version of the document, for rolling releases
	Revision int64  `bson:"rev" json:"rev"` // raised by every Replace; 1 after Insert
}

// Head returns the head of the document it is embedded in.
func (m *Meta) Head() *Meta { return m }

// Document is a pointer to a struct with bson tags that embeds Meta.
type Document interface{ Head() *Meta }

// Engine is a database.
type Engine interface {
	// Update runs fn atomically and isolated and commits durably (majority, journaled). fn may run again after a
	// conflict: it touches nothing but tx, and uses the ctx it is given. Its error aborts and comes back unchanged.
	// ErrCommitUnknown: may or may not have committed; every caller is written so that the same Update again is safe.
	// The first error of any Tx method poisons the transaction: later calls and the commit return it.
	Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// View runs fn on one consistent snapshot, for at most ten seconds. Nothing is decided in a View.
	View(ctx context.Context, fn func(ctx context.Context, r Reader) error) error
	// Append inserts many documents if absent, each on its own, durably, in one round trip; safe to repeat. isNew says
	// for each document whether this call stored it. Intake only.
	Append(ctx context.Context, c Collection, docs []Document) (isNew []bool, err error)
	// Now is the store's own clock, for the skew check of several processes.
	Now(ctx context.Context) (time.Time, error)
	// Watch returns a channel that receives a value (never blocks, coalesced) after each commit of this process that
	// wrote to c; workers wake on it instead of polling. With topics only documents that concern one of them count, see
	// Waker.
	Watch(c Collection, topics ...string) <-chan struct{}
	// Name is "mongo" or "bolt".
	Name() string
	Close(ctx context.Context) error
}

// Waker is a document that knows whom its commit concerns, so that a worker is not woken by what it can do nothing about.
// Any other document concerns every watcher of its collection.
type Waker interface {
	Document
	// Wakes is the topic of the watchers to wake; empty: only those without topics.
	Wakes() (topic string)
}

// Reader reads within one snapshot.
type Reader interface {
	// Get loads the document with this id, or returns ErrNotFound (which does not poison a transaction).
	Get(c Collection, id string, into Document) error
	// Find calls each for the documents the query covers, in index order, until each returns an error or false.
	Find(q Query, each func(decode Decode) (more bool, err error)) error
}

// Decode loads the current row of a Find.
type Decode func(into Document) error

// Tx reads and writes within one transaction.
type Tx interface {
	Reader
	// Insert stores a new document with revision 1, or fails with ErrDuplicate, which names the index.
	Insert(c Collection, doc Document) error
	// Ensure inserts the document unless one with its id exists, and says whether it did. An existing one is left as is.
	Ensure(c Collection, doc Document) (inserted bool, err error)
	// Replace stores the document over the one with the same id and revision and raises the revision in doc, or fails
	// with ErrStale.
	Replace(c Collection, doc Document) error
	// Delete removes the document of this id and revision, or fails with ErrStale.
	Delete(c Collection, id string, revision int64) error
}

// Query is a scan of one declared index: an equality prefix, then a half-open range on the next field.
type Query struct {
	Collection Collection
	Index      string // name of a declared index; "_id" scans by id
	Equal      []any  // values of the first fields
	From       any    // next field >= From; nil: open
	Until      any    // next field < Until; nil: open
	Descending bool
	Limit      int    // 0: no limit
	After      Cursor // continue behind this row
}

// Cursor is the place of a row in an index: the values of all index fields and the id. It is made by CursorOf.
type Cursor []any

// Index declares one secondary index. It covers the documents that have all of its fields. Values are string, int64
// (any Go integer), bool or time.Time; a dotted path may run through an array, then each element counts.
type Index struct {
	Collection Collection
	Name       string
	Fields     []string
	Unique     bool
}

// All loads every row of a query.
func All[T any, P interface {
	*T
	Document
}](r Reader, q Query) ([]P, error) {
	var out []P
	err := r.Find(q, func(decode Decode) (bool, error) {
		var p P = new(T)
		if err := decode(p); err != nil {
			return false, err
		}
		out = append(out, p)
		return true, nil
	})
	return out, err
}

// First loads the first row of a query, or returns ErrNotFound.
func First[T any, P interface {
	*T
	Document
}](r Reader, q Query) (P, error) {
	q.Limit = 1
	rows, err := All[T, P](r, q)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ErrNotFound
	}
	return rows[0], nil
}
