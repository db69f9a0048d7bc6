package figures

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"offrampbot/services/store"
)

const (
	// Lag is how old a record must be before it is folded. Its time is taken before its transaction commits, so a
	// younger one may still appear behind a place that was passed; two minutes are far more than a commit may take.
	Lag = 2 * time.Minute

	batch      = 500 // records of one transaction
	mostTouch  = 11  // figures of one transaction; with the cursor a dozen documents
	searchDays = 1   // rows read for a name's latest figure
)

// Figures makes the roll-ups.
type Figures struct {
	engine store.Engine
	now    func() time.Time
}

// New returns Figures, or says what is missing.
func New(engine store.Engine, now func() time.Time) (*Figures, error) {
	if engine == nil {
		return nil, errors.New("figures: engine is missing")
	}
	if now == nil {
		return nil, errors.New("figures: now is missing")
	}
	return &Figures{engine: engine, now: now}, nil
}

// Step folds one batch of each stream and reports whether there was any. Any number of processes may run it: one that
// was overtaken changes nothing.
func (f *Figures) Step(ctx context.Context) (worked bool, err error) {
	for _, k := range []Kind{Account, State} {
		n, err := f.fold(ctx, k)
		if errors.Is(err, store.ErrStale) || store.IsDuplicate(err) { // another process folded these records
			worked = true
			continue
		}
		if err != nil {
			return worked, fmt.Errorf("roll up %s figures: %w", k, err)
		}
		worked = worked || n > 0
	}
	return worked, nil
}

// fold folds one batch of a stream in one transaction and returns how many records it took.
func (f *Figures) fold(ctx context.Context, k Kind) (n int, err error) {
	until := f.now().UTC().Truncate(time.Millisecond).Add(-Lag)
	err = f.engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		n = 0
		c, err := loadCursor(tx, k)
		if err != nil {
			return err
		}
		records, err := after(tx, k, c, until, batch)
		if err != nil || len(records) == 0 {
			return err
		}
		b := &roll{tx: tx, kind: k, figures: map[string]*Figure{}}
		for _, r := range records {
			if !b.fits(r) {
				break
			}
			if err := b.take(r); err != nil {
				return err
			}
			c.At, c.Last = r.at, r.id
			n++
		}
		c.Records += int64(n)
		return b.save(c)
	})
	return n, err
}

// loadCursor reads the place of a stream, a fresh one at its beginning.
func loadCursor(r store.Reader, k Kind) (*Cursor, error) {
	c := &Cursor{}
	err := r.Get(store.Figures, cursorID(k), c)
	if errors.Is(err, store.ErrNotFound) {
		*c = Cursor{}
		c.ID, c.Version = cursorID(k), version
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cursor of %s figures: %w", k, err)
	}
	return c, nil
}

// place is the cursor as a place in the stream's index, nil for the beginning.
func (c *Cursor) place() store.Cursor {
	if c.Last == "" {
		return nil
	}
	return store.Cursor{c.At, c.Last}
}

// after reads records behind a place, in order; until zero and limit zero are open.
func after(r store.Reader, k Kind, c *Cursor, until time.Time, limit int) ([]record, error) {
	q := store.Query{Collection: stream(k), Index: "at", After: c.place(), Limit: limit}
	if !until.IsZero() {
		q.Until = until
	}
	var out []record
	err := r.Find(q, func(decode store.Decode) (bool, error) {
		one, err := readRecord(k, decode)
		out = append(out, one)
		return true, err
	})
	return out, err
}

// roll is one transaction's figures.
type roll struct {
	tx      store.Tx
	kind    Kind
	figures map[string]*Figure
}

// fits reports whether a record's figures still fit into the transaction.
func (b *roll) fits(r record) bool {
	more := 0
	for _, c := range r.changes {
		if b.figures[id(b.kind, c.name, dayOf(r.at))] == nil {
			more++
		}
	}
	return len(b.figures)+more <= mostTouch
}

func (b *roll) take(r record) error {
	for _, c := range r.changes {
		f, err := b.figure(c, dayOf(r.at))
		if err != nil {
			return err
		}
		if err := f.apply(c); err != nil {
			return err
		}
	}
	return nil
}

// figure loads the figure of a day, or opens it with the balance of the latest day before it.
func (b *roll) figure(c change, day string) (*Figure, error) {
	key := id(b.kind, c.name, day)
	if f := b.figures[key]; f != nil {
		return f, nil
	}
	f, err := latest(b.tx, b.kind, c.name)
	if err != nil {
		return nil, err
	}
	switch {
	case f == nil:
		f = newFigure(b.kind, c, day, b.opening(c.name, day, 0))
	case f.Day != day:
		f = newFigure(b.kind, c, day, b.opening(c.name, day, f.Balance))
	}
	b.figures[key] = f
	return f, nil
}

// opening is the balance with which a day begins: of the latest earlier day of the same transaction, else the stored one.
func (b *roll) opening(name, day string, stored int64) int64 {
	balance, best := stored, ""
	for _, f := range b.figures {
		if f.Name == name && f.Day < day && f.Day > best {
			balance, best = f.Balance, f.Day
		}
	}
	return balance
}

// latest is a name's newest figure, nil when it has none.
func latest(r store.Reader, k Kind, name string) (*Figure, error) {
	all, err := store.All[Figure](r, store.Query{
		Collection: store.Figures, Index: store.ByID, From: id(k, name, ""), Until: id(k, name, last), Descending: true,
		Limit: searchDays,
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// save stores the figures, and the cursor last.
func (b *roll) save(c *Cursor) error {
	var keys []string
	for key := range b.figures {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := put(b.tx, b.figures[key]); err != nil {
			return err
		}
	}
	return put(b.tx, c)
}

// put inserts what is new and replaces what was read.
func put(tx store.Tx, doc store.Document) error {
	if doc.Head().Revision == 0 {
		return tx.Insert(store.Figures, doc)
	}
	return tx.Replace(store.Figures, doc)
}
