//go:build crashpoints

package point

import (
	"context"
	"sync/atomic"
)

// Hook decides what happens at a point: nil goes on, an error replaces the effect (before) or its reply (after). It may
// also end the process.
type Hook func(ctx context.Context, name string, after bool) error

var hook atomic.Pointer[Hook]

// Install sets the hook and returns a function that takes it away again.
func Install(h Hook) (remove func()) {
	hook.Store(&h)
	return func() { hook.Store(nil) }
}

// Before is called right before the effect; a non-nil error replaces it.
func Before(ctx context.Context, name string) error { return run(ctx, name, false) }

// After is called right after the effect; a non-nil error means that the reply was lost.
func After(ctx context.Context, name string) error { return run(ctx, name, true) }

func run(ctx context.Context, name string, after bool) error {
	if h := hook.Load(); h != nil {
		return (*h)(ctx, name, after)
	}
	return nil
}
