package store

import "context"

type onceKey struct{}

// Once returns a context under which Update does not run fn again after a conflict with another transaction but fails
// with ErrStale at once: for work that is somebody else's as soon as a rival has touched it, such as a claim. A rival may
// also be a process that died in the middle, whose transaction the server keeps open for a while.
func Once(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, true) }

// IsOnce reports whether ctx came from Once; engines ask it.
func IsOnce(ctx context.Context) bool {
	once, _ := ctx.Value(onceKey{}).(bool)
	return once
}
