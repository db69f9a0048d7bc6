package screening

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// None is what an operator writes for SCREENING_FILE to run without a list, on purpose.
const None = "none"

// File is the list of a file, which may change while the process runs.
type File struct {
	path string
	list atomic.Pointer[loaded]
}

// loaded is a list with the digest of the file it came from.
type loaded struct {
	list   *List
	digest [sha256.Size]byte
}

// Open reads the file of SCREENING_FILE. An empty path is an error: a missing setting must not quietly mean that nobody
// is screened. The word "none" is an empty list that somebody asked for.
func Open(path string) (*File, error) {
	f := &File{path: path}
	switch path {
	case "":
		return nil, errors.New(`open screening list: SCREENING_FILE is not set; write "none" to run without a list`)
	case None:
		f.list.Store(&loaded{list: Empty()})
		return f, nil
	}
	if _, err := f.reload(); err != nil {
		return nil, err
	}
	return f, nil
}

// Step reads the file again when its content has changed. When that fails the list in force stays, and the error is for
// the operator.
func (f *File) Step(context.Context) (worked bool, err error) { return f.reload() }

// reload is Step.
func (f *File) reload() (worked bool, err error) {
	if f.path == None {
		return false, nil
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return false, fmt.Errorf("read screening list: %w", err)
	}
	digest := sha256.Sum256(raw)
	if known := f.list.Load(); known != nil && known.digest == digest {
		return false, nil
	}
	list, err := Parse(bytes.NewReader(raw))
	if err != nil {
		return false, err
	}
	f.list.Store(&loaded{list: list, digest: digest})
	return true, nil
}

// Check implements Screener.
func (f *File) Check(ctx context.Context, kind Kind, value string) (Hit, error) {
	return f.list.Load().list.Check(ctx, kind, value)
}

// Address is List.Address on the list in force.
func (f *File) Address(address string) error { return f.list.Load().list.Address(address) }

// Name is List.Name on the list in force.
func (f *File) Name(person string) error { return f.list.Load().list.Name(person) }

// Size is how many entries the list in force has.
func (f *File) Size() int { return f.list.Load().list.Size() }

var _ Screener = (*File)(nil)
