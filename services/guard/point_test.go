//go:build crashpoints

package guard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/guard"
	"offrampbot/services/point"
	"offrampbot/services/redishook/redistest"
)

// A claim whose reply is lost, or that never arrived, is decided by the store, and the sale goes on as any other. The
// hook of the points is one for the process, so this test does not run beside others.
func TestClaim_aLostReplyAtEachPoint(t *testing.T) {
	for _, after := range []bool{false, true} {
		for lost := range 3 {
			s := redistest.Mini(t)
			h := newHarness(t, s, guard.Config{})
			n := -1
			remove := point.Install(func(_ context.Context, _ string, isAfter bool) error {
				if !isAfter {
					n++
				}
				if n == lost && isAfter == after {
					return errors.New("lost")
				}
				return nil
			})
			require.True(t, h.claim(guard.Flow, "intent-1").Allowed())
			h.place("intent-1")
			h.guard.Transferred(t.Context(), h.digest, "intent-1")
			h.guard.Completed(t.Context(), h.digest, "intent-1")
			require.Equal(t, 2, n, "three round trips, whatever is lost")
			require.False(t, h.claim(guard.Page, "intent-2").Allowed())
			remove()
		}
	}
}
