package whatsapp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/operation"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// turn turns a switch as an event of the account does.
func (h *harness) turn(key string, by func(store.Tx, setting.Alarm, time.Time) (bool, error)) {
	h.t.Helper()
	h.update(func(tx store.Tx) error {
		_, err := by(tx, setting.Alarm{Actor: "system:whatsapp", Switch: key, Why: "banned"}, h.clock.Now())
		return err
	})
}

// stoppable runs a test on both engines.
func stoppable(t *testing.T, test func(h *harness)) {
	t.Helper()
	testkit.Engines(t, append(senderIndexes(), audit.Indexes...), func(t *testing.T, engine store.Engine) {
		t.Helper()
		test(newHarnessOn(t, engine))
	})
}

// Invariant: a message that waits because the sender is stopped is not given up for that.
func TestSender_waitsWhileSendingIsSwitchedOff(t *testing.T) {
	t.Parallel()
	stoppable(t, func(h *harness) {
		h.turn(setting.Messages, setting.TurnOff)
		h.record("n1", "ada", operation.Message{Type: "text", Text: "paid", Template: "sale_paid"})
		h.run()
		h.clock.Advance(100 * time.Hour) // longer than any message is tried
		h.run()
		require.Empty(h.t, h.meta.sent)
		require.Equal(h.t, operation.Pending, h.op("n1").State)
		require.LessOrEqual(h.t, h.dueIn("n1"), 20*time.Second)

		h.turn(setting.Messages, setting.TurnOn)
		h.clock.Advance(20 * time.Second)
		h.run()
		require.Len(h.t, h.meta.sent, 1)
		require.Equal(h.t, operation.Done, h.op("n1").State)
	})
}

func TestSender_replacesAFormThatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	stoppable(t, func(h *harness) {
		h.turn(setting.Flow("offramp"), setting.TurnOff)
		form := operation.Message{Type: "flow", Flow: &operation.Flow{Name: "offramp", Session: "s1", CTA: "flow.start"}}
		h.record("n1", "ada", form)
		h.record("n2", "ada", text("hi"))
		h.run()
		require.Len(h.t, h.meta.sent, 1, "only the text")
		require.Equal(h.t, OutcomeFlowRefused, h.op("n1").Outcome)
		require.Contains(h.t, h.records(), "fallback|n1|0")

		h.turn(setting.Flow("offramp"), setting.TurnOn)
		form.Flow.Session = "s2"
		h.record("n3", "ada", form)
		h.run()
		require.Len(h.t, h.meta.sent, 2)
	})
}

func TestEffect_judgesTheEventsOfWhatsApp(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("testdata", "F12-account-and-flow-alerts.json"))
	require.NoError(t, err)
	batch := Decode(body, "106000000000001")
	var got []Effect
	for _, item := range batch.Items {
		got = append(got, item.Event.Effect())
	}
	require.Equal(t, []Effect{EffectAlert, EffectAlert, EffectStop, EffectNote}, got)

	tests := []struct {
		name, field, value string
		want               Effect
	}{
		{"a ban", "account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"DISABLE"}}`, EffectStop},
		{"a ban that is announced", "account_update",
			`{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"SCHEDULE_FOR_DISABLE"}}`, EffectAlert},
		{"a ban that is lifted", "account_update",
			`{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"REINSTATE"}}`, EffectLift},
		{"a restriction", "account_update",
			`{"event":"ACCOUNT_RESTRICTION","restriction_info":[{"restriction_type":"RESTRICTED_BIZ_INITIATED_MESSAGING"}]}`, EffectStop},
		{"a deleted account", "account_update", `{"event":"ACCOUNT_DELETED"}`, EffectStop},
		{"an alert", "account_alerts", `{"alert_type":"OBA_REJECTED"}`, EffectAlert},
		{"a flagged number", "phone_number_quality_update", `{"event":"FLAGGED"}`, EffectAlert},
		{"a number that is better", "phone_number_quality_update", `{"event":"UNFLAGGED"}`, EffectNote},
		{"a throttled form", "flows", `{"event":"FLOW_STATUS_CHANGE","flow_id":"1","new_status":"THROTTLED"}`, EffectStop},
		{"a form that is well again", "flows", `{"event":"FLOW_STATUS_CHANGE","flow_id":"1","new_status":"PUBLISHED"}`, EffectLift},
		{"latency that is well again", "flows", `{"event":"ENDPOINT_LATENCY","flow_id":"1","alert_state":"DEACTIVATED"}`, EffectNote},
		{"a field of tomorrow", "tomorrow", `{"event":"NEW"}`, EffectNote},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := asObject(json.RawMessage(tt.value))
			require.NoError(t, err)
			item, err := readEvent(scope{field: tt.field}, o)
			require.NoError(t, err)
			require.Equal(t, tt.want, item.Event.Effect())
		})
	}
}
