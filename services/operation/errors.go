package operation

import "errors"

var (
	// ErrLeaseLost: the operation is not held by this lease any more. It ran out, somebody else took it, or the
	// operation was closed meanwhile. Nothing may be written under it; whoever holds it now goes on.
	ErrLeaseLost = errors.New("operation lease lost")
	// ErrBusy: somebody else works on the same order right now, or seemed to when it was asked. A handler returns it
	// (wrapped or not); the operation waits a moment and the try does not count, because nothing is wrong with it.
	ErrBusy = errors.New("somebody else is at it")
	// ErrClosed: the operation is done or superseded, and a closed operation never changes its outcome.
	ErrClosed = errors.New("operation closed")
	// ErrCalled: the operation was called at least once, so it can only be finished or parked, never superseded.
	ErrCalled = errors.New("operation was called")
)
