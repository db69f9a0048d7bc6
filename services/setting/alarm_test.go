package setting_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// turn applies one event that happened at seen.
func turn(
	t *testing.T, engine store.Engine, seen time.Time, by func(store.Tx, setting.Alarm, time.Time) (bool, error),
) (changed bool) {
	t.Helper()
	alarm := setting.Alarm{Actor: "system:whatsapp", Switch: setting.Messages, Why: "WhatsApp says banned", Seen: seen}
	require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) (err error) {
		changed, err = by(tx, alarm, noon)
		return err
	}))
	return changed
}

func isOff(t *testing.T, engine store.Engine) bool {
	t.Helper()
	_, off := load(t, engine).Off(setting.Messages)
	return off
}

func TestTurnOff_stopsUntilTheEventIsLifted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		require.True(t, turn(t, engine, noon, setting.TurnOff))
		require.True(t, isOff(t, engine))
		require.False(t, turn(t, engine, noon, setting.TurnOff), "once is enough")
		require.True(t, turn(t, engine, noon.Add(time.Minute), setting.TurnOn))
		require.False(t, isOff(t, engine))

		require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			var first, second audit.Entry
			require.NoError(t, r.Get(store.Audit, audit.ID(setting.Stream, 1), &first))
			require.NoError(t, r.Get(store.Audit, audit.ID(setting.Stream, 2), &second))
			require.Equal(t, "switch.messages=off:WhatsApp says banned", first.After)
			require.Equal(t, "switch.messages=on", second.After)
			return nil
		}))
	})
}

func TestTurnOn_leavesWhatAPersonTurnedOff(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		turn(t, engine, noon, setting.TurnOff)
		_, err := change(t, engine, noon, changes{"switch.messages": "off:" + strings.Repeat("x", 200)})
		require.NoError(t, err)
		require.False(t, turn(t, engine, noon.Add(time.Minute), setting.TurnOn), "it is the person's now")
		require.True(t, isOff(t, engine))
		_, err = change(t, engine, noon, changes{"switch.messages": "on"})
		require.NoError(t, err)
		require.False(t, isOff(t, engine))
		require.Equal(t, "staff:ada", load(t, engine).Toggled[setting.Messages].By)
	})
}

func TestTurn_passesOverEventsThatComeLate(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		require.False(t, turn(t, engine, noon.Add(time.Minute), setting.TurnOn), "it is on")
		require.False(t, turn(t, engine, noon, setting.TurnOff), "the ban was lifted already")
		require.False(t, isOff(t, engine))

		require.True(t, turn(t, engine, noon.Add(2*time.Minute), setting.TurnOff))
		turn(t, engine, noon.Add(4*time.Minute), setting.TurnOff)
		require.False(t, turn(t, engine, noon.Add(3*time.Minute), setting.TurnOn), "banned again since")
		require.True(t, isOff(t, engine))
	})
}
