package whatsapp

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var gateStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestGate_oneProbeAfterThePause(t *testing.T) {
	t.Parallel()
	g := newGate(time.Minute)
	require.Zero(t, g.wait("ada", gateStart))
	wait, first := g.trip(gateStart)
	require.Equal(t, time.Minute, wait)
	require.True(t, first)
	require.Equal(t, time.Minute, g.wait("ada", gateStart))
	later := gateStart.Add(time.Minute)
	require.Zero(t, g.wait("ada", later), "the probe")
	require.Equal(t, 30*time.Second, g.wait("sam", later), "the others wait for it")
	_, first = g.trip(later)
	require.False(t, first)
	g.passed("ada")
	require.Zero(t, g.wait("sam", later))
	_, first = g.trip(later)
	require.True(t, first, "stopped anew")
}

func TestGate_theNumberBacksOffUpToAMinuteOrWhatIsAsked(t *testing.T) {
	t.Parallel()
	g := newGate(time.Minute)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		require.Equal(t, want*time.Second, g.throttleNumber(gateStart, 0))
	}
	require.Equal(t, time.Hour, g.throttleNumber(gateStart, time.Hour))
	require.Equal(t, time.Hour, g.wait("ada", gateStart))
	g.throttleNumber(gateStart, 0)
	require.Equal(t, time.Hour, g.wait("ada", gateStart), "a shorter wait never shortens a longer one")
	g.passed("ada")
	require.Equal(t, time.Second, g.throttleNumber(gateStart.Add(2*time.Hour), 0))
}

func TestGate_remembersABoundedNumberOfPeople(t *testing.T) {
	t.Parallel()
	g := newGate(time.Minute)
	for i := range mostPeople + 10 {
		g.throttlePair("p"+strconv.Itoa(i), gateStart)
	}
	require.LessOrEqual(t, len(g.people), mostPeople)
	for i := range mostPeople {
		g.throttlePair("q"+strconv.Itoa(i), gateStart.Add(time.Hour))
	}
	require.LessOrEqual(t, len(g.people), mostPeople)
}

func TestSpread_isStableAndSmall(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "notify:o1:1", "notify:o1:2"} {
		got := spread(time.Minute, id)
		require.Equal(t, got, spread(time.Minute, id))
		require.GreaterOrEqual(t, got, time.Minute)
		require.Less(t, got, 75*time.Second)
	}
}
