package guard

import (
	"context"
	"time"
)

// Orders is the durable truth behind the guard. Both calls only read and may be repeated.
type Orders interface {
	// Exists says whether the intent has an order, in whatever state.
	Exists(ctx context.Context, intent string) (bool, error)
	// FindOpenOrRecent finds an order whose quote has this content digest and which is open, or succeeded within the
	// life of Completed. Without one the zero Found comes back.
	FindOpenOrRecent(ctx context.Context, digest string) (Found, error)
}

// Found is an order as the guard sees it; without an Intent nothing was found.
type Found struct {
	Intent    string
	Reference string    // the order's human reference
	State     State     // Processing, TransferCompleted or Completed
	At        time.Time // since when
}

// Metrics counts what the guard does (R72–R75).
type Metrics interface {
	// DuplicateBlocked counts a refused submission: offramp_duplicates_blocked_total{channel}.
	DuplicateBlocked(channel string)
	// DuplicateInterval observes how long after the claim it came: offramp_duplicate_interval_seconds.
	DuplicateInterval(d time.Duration)
	// Expired counts a claim that ran out while its order was open: offramp_guard_expired_total.
	Expired()
	// Cleanup counts a claim freed after a failure or taken over from a crash: offramp_cleanup_total.
	Cleanup()
}
