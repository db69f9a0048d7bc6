package offramp

import (
	"fmt"
	"time"

	"offrampbot/services/store"
)

// recentLife is how long a completed sale still stops the same sale (R52).
const recentLife = 5 * time.Minute

// OpenOrRecent finds the newest order of a content that stops the same sale from being placed again: one that is not
// final, or one that succeeded in the last five minutes. Nil: there is none.
func OpenOrRecent(r store.Reader, content string, now time.Time) (*Order, error) {
	var found *Order
	err := r.Find(store.Query{Collection: store.Orders, Index: "content", Equal: []any{content}, Descending: true},
		func(decode store.Decode) (bool, error) {
			var o Order
			if err := decode(&o); err != nil {
				return false, err
			}
			if !o.State.Final() || o.State == Success && now.Sub(*o.EndedAt) < recentLife {
				found = &o
			}
			return found == nil, nil
		})
	if err != nil {
		return nil, fmt.Errorf("find orders of the same content: %w", err)
	}
	return found, nil
}
