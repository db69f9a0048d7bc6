// Package bolt is the embedded store engine: one file, one process, one writer at a time. It serves the demo and
// fast tests, and behaves as the MongoDB engine does (DESIGN §5); the suite in store/storetest proves it.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"offrampbot/services/store"
)

const (
	defaultTimeout = 10 * time.Second
	viewTimeout    = 10 * time.Second
	lockTimeout    = 700 * time.Millisecond // a second process is told "in use" within a second
	mappedBytes    = 1 << 30                // address space only; growing the map would make writers wait for readers
	mappedTemp     = 64 << 20
)

// Options says where the file is and which indexes it serves.
type Options struct {
	// Path of the database file; its folder exists. Empty: a nameless temporary file that is never synced and vanishes
	// with the process, for tests and the demo.
	Path    string
	Indexes []store.Index
	// Now is the clock behind Engine.Now.
	Now func() time.Time
	// NoSync leaves out the flush at each commit: a power cut may lose commits. Only for tests and the demo.
	NoSync bool
	// Timeout bounds every Update and Append, waiting for the writer's turn included; 0 is ten seconds.
	Timeout time.Duration
}

// Engine implements store.Engine on one bbolt file.
type Engine struct {
	db        *bbolt.DB
	catalogue *store.Catalogue
	kept      map[store.Collection][]store.Index // declared and extra: all are kept up to date
	writer    chan struct{}                      // holds the one writer's turn
	wakes     store.Wakes
	now       func() time.Time
	timeout   time.Duration
	note      string // the file that says who uses the database; empty for a temporary one
}

var _ store.Engine = (*Engine)(nil)

// Open opens or creates the database and builds the indexes that are missing or declared differently. A database that
// another process has open is refused within a second, and the error says which process.
func Open(o Options) (*Engine, error) {
	if o.Now == nil {
		return nil, errors.New("open embedded store: Now is nil")
	}
	catalogue, err := store.NewCatalogue(o.Indexes)
	if err != nil {
		return nil, fmt.Errorf("open embedded store: %w", err)
	}
	e := &Engine{catalogue: catalogue, writer: make(chan struct{}, 1), now: o.Now, timeout: o.Timeout}
	if e.timeout <= 0 {
		e.timeout = defaultTimeout
	}
	if o.Path == "" {
		err = e.openTemp()
	} else {
		err = e.openFile(o.Path, o.NoSync)
	}
	if err != nil {
		return nil, fmt.Errorf("open embedded store: %w", err)
	}
	if err := e.loadIndexes(); err != nil {
		return nil, errors.Join(fmt.Errorf("open embedded store: %w", err), e.release())
	}
	return e, nil
}

func (e *Engine) openFile(path string, noSync bool) (err error) {
	_, statErr := os.Stat(path)
	e.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockTimeout, NoSync: noSync, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mappedBytes,
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return fmt.Errorf("%s is in use by %s", path, readNote(path))
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if errors.Is(statErr, os.ErrNotExist) && !noSync {
		if err := syncFolder(filepath.Dir(path)); err != nil {
			return errors.Join(err, e.db.Close())
		}
	}
	if e.note, err = writeNote(path); err != nil {
		return errors.Join(err, e.db.Close())
	}
	return nil
}

func (e *Engine) openTemp() error {
	f, err := os.CreateTemp("", "offrampbot-*.bolt")
	if err != nil {
		return fmt.Errorf("make temporary file: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("make temporary file: %w", err)
	}
	e.db, err = bbolt.Open(f.Name(), 0o600, &bbolt.Options{
		Timeout: lockTimeout, NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType, InitialMmapSize: mappedTemp,
	})
	// The open file lives on without its name, and nothing is left behind however the process ends.
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return fmt.Errorf("open temporary file: %w", err)
	}
	return nil
}

// Name implements store.Engine.
func (e *Engine) Name() string { return "bolt" }

// Now implements store.Engine: the process and its store have one clock.
func (e *Engine) Now(context.Context) (time.Time, error) {
	return e.now().UTC().Truncate(time.Millisecond), nil
}

// Watch implements store.Engine.
func (e *Engine) Watch(c store.Collection, topics ...string) <-chan struct{} {
	return e.wakes.Watch(c, topics...)
}

// Close waits for the running writer, under ctx, and closes the file.
func (e *Engine) Close(ctx context.Context) error {
	if err := e.takeTurn(ctx); err != nil {
		return fmt.Errorf("close embedded store: %w", err)
	}
	defer e.giveTurn()
	if err := e.release(); err != nil {
		return fmt.Errorf("close embedded store: %w", err)
	}
	return nil
}

// release removes the note while the lock is still held, so that it never removes the note of the next process.
func (e *Engine) release() error {
	var err error
	if e.note != "" {
		err = os.Remove(e.note)
		e.note = ""
	}
	return errors.Join(err, e.db.Close())
}

// takeTurn waits for the writer's turn. bbolt's own lock would wait for ever.
func (e *Engine) takeTurn(ctx context.Context) error {
	if ctx.Err() == nil {
		select {
		case e.writer <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("wait for the writer's turn: %w: %w", store.ErrUnavailable, context.Cause(ctx))
}

func (e *Engine) giveTurn() { <-e.writer }

func (e *Engine) deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("store time-out of %s: %w", d, context.DeadlineExceeded))
}

// View implements store.Engine.
func (e *Engine) View(ctx context.Context, fn func(ctx context.Context, r store.Reader) error) error {
	ctx, err := store.Enter(ctx, e)
	if err != nil {
		return err
	}
	ctx, cancel := e.deadline(ctx, viewTimeout)
	defer cancel()
	btx, err := e.begin(false)
	if err != nil {
		return err
	}
	defer func() { _ = btx.Rollback() }() // a read transaction has nothing to lose
	return fn(ctx, &reader{ctx: ctx, engine: e, tx: btx})
}

func (e *Engine) begin(writable bool) (*bbolt.Tx, error) {
	btx, err := e.db.Begin(writable)
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return nil, store.ErrClosed
	}
	if err != nil {
		return nil, fmt.Errorf("begin: %w: %w", store.ErrUnavailable, err)
	}
	return btx, nil
}

// EndAbandoned does nothing here: the transactions of an embedded store end with their process.
func (e *Engine) EndAbandoned(context.Context) (ended int, err error) { return 0, nil }
