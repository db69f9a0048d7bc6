package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// announces delivers one event of the account as Meta does and waits for the switch to stand as told.
func (w *town) announces(field, value, key string, wantOff bool) {
	w.t.Helper()
	body := fmt.Appendf(nil, `{"object":"whatsapp_business_account","entry":[{"id":%q,"time":%d,"changes":[{"field":%q,"value":%s}]}]}`,
		sandbox.BusinessAccountID, time.Now().Unix(), field, value)
	status, answer := w.ask("POST", w.bot+"/webhooks/whatsapp", body, w.metaSigned(body))
	require.Equal(w.t, 200, status, answer)
	w.eventually("switch "+key, func() bool {
		off := false
		require.NoError(w.t, w.app.db.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
			s, err := setting.Load(r)
			if err == nil {
				_, off = s.Switches[key]
			}
			return err
		}))
		return off == wantOff
	})
}

// flowID is the id under which WhatsApp keeps a form.
func (w *town) flowID(name string) string {
	w.t.Helper()
	status, answer := w.ask("GET", w.world+"/graph/v25.0/"+sandbox.BusinessAccountID+"/flows", nil,
		map[string]string{"Authorization": "Bearer " + w.secret("WHATSAPP_ACCESS_TOKEN")})
	require.Equal(w.t, 200, status, answer)
	var list struct{ Data []struct{ ID, Name string } }
	require.NoError(w.t, json.Unmarshal([]byte(answer), &list))
	for _, f := range list.Data {
		if f.Name == name {
			return f.ID
		}
	}
	require.FailNow(w.t, "no such form", answer)
	return ""
}

func TestBan_stopsMessagesAndNoPayout(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	p := w.newPerson()
	p.signsUp()
	form := w.flowID("offramp_flow")
	blocked := func(status string) string {
		return fmt.Sprintf(`{"event":"FLOW_STATUS_CHANGE","flow_id":%q,"old_status":"PUBLISHED","new_status":%q}`, form, status)
	}
	w.announces("flows", blocked("BLOCKED"), setting.Flow("offramp_flow"), true)
	p.says("sell 25 usdt on base")
	p.hears("not showing our forms right now")
	w.announces("flows", blocked("PUBLISHED"), setting.Flow("offramp_flow"), false)

	p.knowsAddress()
	reference := p.sells("25 usdt on base", "0123456789")
	w.announces("account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"DISABLE"}}`, setting.Messages, true)
	heard := len(p.chat())
	p.deposits("base", "USDT", "25")
	w.becomes(reference, offramp.Success)
	require.Len(t, w.bank(), 1, "payouts go on")
	for _, m := range p.chat()[heard:] {
		require.NotContains(t, m.Text, "Paid", "nothing is sent during a ban")
	}
	w.announces("account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"REINSTATE"}}`, setting.Messages, false)
	p.hears("Paid")
	w.holds()
}
