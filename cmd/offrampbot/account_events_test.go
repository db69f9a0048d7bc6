package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/audit"
	"offrampbot/services/operation"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/whatsapp"
)

// A ban stops the sender and pages an operator in one commit; what lifts it lets the sender go on.
func TestAccountEvent_stopsSendsAndForms(t *testing.T) {
	t.Parallel()
	indexes := append(append([]store.Index(nil), operation.Indexes...), audit.Indexes...)
	ban := func(state string) whatsapp.Event {
		return whatsapp.Event{Field: "account_update", Name: "DISABLED_UPDATE", Account: &whatsapp.Account{BanState: state}}
	}
	form := func(status string) whatsapp.Event {
		return whatsapp.Event{
			Field: "flows", Name: "FLOW_STATUS_CHANGE", Flow: &whatsapp.FlowEvent{ID: "123456", NewStatus: status},
		}
	}
	tests := []struct {
		name       string
		event      whatsapp.Event
		form, want string
		off        []string
		alerts     int64
	}{
		{"a ban", ban("DISABLE"), "", "stopped", []string{"messages"}, 1},
		{"a blocked form", form("BLOCKED"), "offramp_flow", "stopped", []string{"messages", "flow:offramp_flow"}, 2},
		{"a blocked form of nobody", form("THROTTLED"), "", "alert", []string{"messages", "flow:offramp_flow"}, 3},
		{"a ban that is lifted", ban("REINSTATE"), "", "resumed", []string{"flow:offramp_flow"}, 3},
		{"a form that is well", form("PUBLISHED"), "offramp_flow", "resumed", nil, 3},
		{"a form that was well", form("PUBLISHED"), "offramp_flow", "noted", nil, 3},
	}
	testkit.Engines(t, indexes, func(t *testing.T, engine store.Engine) {
		t.Helper()
		at := testkit.Noon().Now()
		for _, tt := range tests {
			at = at.Add(time.Second)
			require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
				outcome, err := accountEvent(tx, tt.event, tt.form, at, at)
				require.Equal(t, tt.want, outcome, tt.name)
				return err
			}))
			require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
				s, err := setting.Load(r)
				require.NoError(t, err)
				require.Len(t, s.Switches, len(tt.off), tt.name)
				for _, key := range tt.off {
					require.Contains(t, s.Switches, key, tt.name)
				}
				var last audit.Entry
				require.NoError(t, r.Get(store.Audit, audit.ID("system:alerts", tt.alerts), &last), tt.name)
				require.Equal(t, "alert", last.Action)
				return nil
			}))
		}
	})
}
