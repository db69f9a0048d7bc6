package delivery

import "errors"

var (
	// ErrLeaseLost: the receipt is not held by this worker any more, or was handled meanwhile. Nothing may be written
	// for it; whoever holds it now goes on.
	ErrLeaseLost = errors.New("receipt lease lost")
	// ErrUnhandled: nobody knows what to do with a receipt of this kind. A handler returns it (wrapped or not); the
	// receipt is kept as unhandled and can be driven again by a release that knows it (W20).
	ErrUnhandled = errors.New("unhandled kind")
	// ErrBusy: somebody else works for the same person right now, or seemed to when it was asked. A handler returns it
	// (wrapped or not); the receipt waits a moment and the try does not count, because nothing is wrong with it.
	ErrBusy = errors.New("somebody else is at it")
	// ErrNotParked: only a parked or unhandled receipt can be driven again.
	ErrNotParked = errors.New("receipt is not parked")
)
