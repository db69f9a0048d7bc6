package operation

import (
	"context"
	"time"
)

type leftKey struct{}

// WithLeft returns a context that knows how long the lease of the operation in hand still lasts. Workers set it; left
// measures with a monotonic clock, so a jump of the wall clock never lengthens a lease.
func WithLeft(ctx context.Context, left func() time.Duration) context.Context {
	return context.WithValue(ctx, leftKey{}, left)
}

// Left returns how long the lease still lasts. A call to a provider starts only when this is at least the provider's
// time-out plus the store's deadline (DESIGN §7 rule 2). Outside a worker it is zero: no lease, no call.
func Left(ctx context.Context) time.Duration {
	left, ok := ctx.Value(leftKey{}).(func() time.Duration)
	if !ok {
		return 0
	}
	return max(0, left())
}
