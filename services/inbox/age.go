package inbox

import (
	"context"
	"fmt"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
)

// Age is how long the oldest waiting receipt has waited at now; zero when none waits.
func (i *Inbox) Age(ctx context.Context, now time.Time) (time.Duration, error) {
	oldest := now
	err := i.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		oldest = now
		// By due time, because that is what waiting receipts are indexed by; those that wait for another try have a
		// later one, so a few more than the first are looked at.
		q := store.Query{Collection: store.Inbox, Index: "due", Equal: []any{string(delivery.Received)}, Limit: ageLook}
		return r.Find(q, func(decode store.Decode) (bool, error) {
			var rec delivery.Receipt
			if err := decode(&rec); err != nil {
				return false, err
			}
			if rec.ReceivedAt.Before(oldest) {
				oldest = rec.ReceivedAt
			}
			return true, nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("read age of the oldest waiting receipt: %w", err)
	}
	return now.Sub(oldest), nil
}

const ageLook = 50
