package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/guard"
	"offrampbot/services/redishook/redistest"
)

func TestReturned_freesWhatWasCompleted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		h := newHarness(t, s, guard.Config{})
		h.claim(guard.Page, "intent-1")
		h.guard.Completed(t.Context(), h.digest, "intent-1")
		h.guard.Failed(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Page), "completed|intent-1|", "a paid sale does not fail")
		require.Equal(t, guard.Refused, h.claim(guard.Flow, "intent-2").Verdict)

		h.guard.Returned(t.Context(), h.digest, "intent-2")
		require.Contains(t, h.value(guard.Page), "completed|intent-1|", "somebody else's claim stays")
		h.guard.Returned(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Page), "failed|intent-1|")
		h.wantLife(guard.Page, 300*time.Second)
		require.Equal(t, 1, h.metrics.cleanup)
		h.guard.Completed(t.Context(), h.digest, "intent-1")
		require.Contains(t, h.value(guard.Page), "failed|intent-1|", "news of the payment that comes late changes nothing")
		require.True(t, h.claim(guard.Flow, "intent-2").Allowed())
	})
}

func TestReturned_leavesAnAbsentClaimAbsent(t *testing.T) {
	t.Parallel()
	h := newHarness(t, redistest.Mini(t), guard.Config{})
	h.guard.Returned(t.Context(), h.digest, "intent-1")
	require.Empty(t, h.value(guard.Flow))
	require.Zero(t, h.metrics.cleanup)
}

func TestInstallations_doNotSeeEachOther(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		first := newHarness(t, s, guard.Config{Installation: "first"})
		second := newHarness(t, s, guard.Config{Installation: "second"})
		require.True(t, first.claim(guard.Flow, "intent-1").Allowed())
		require.True(t, second.claim(guard.Flow, "intent-2").Allowed(), "a claim of a database that is gone refuses nothing")
		again := newHarness(t, s, guard.Config{Installation: "first"})
		require.Equal(t, guard.Refused, again.claim(guard.Page, "intent-3").Verdict, "processes of one database share their claims")

		keys := s.Client.Keys(t.Context(), s.Prefix+"*").Val()
		require.Len(t, keys, 2)
		for _, key := range keys {
			digest, ok := strings.CutPrefix(key, s.Prefix+"offramp:transaction:")
			require.True(t, ok, key)
			require.Len(t, digest, 43)
			require.NotContains(t, key, first.digest)
		}
	})
}
