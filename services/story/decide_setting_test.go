package story_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// askSetting asks for a change that needs a second person and returns the approval's id.
func (d *desk) askSetting(who admin.Identity, name, value string) string {
	d.t.Helper()
	changed, err := d.sut.PutSettings(d.t.Context(), d.by(who, "market"), map[string]string{name: value})
	require.NoError(d.t, err)
	require.Equal(d.t, 202, changed.Status)
	id := d.body(changed)["id"]
	require.NotEmpty(d.t, id)
	return id
}

func (d *desk) setting(name string) any {
	d.t.Helper()
	return d.list(admin.Settings, 5, name, nil)[0]["value"]
}

// Invariant: what needs a second person is never changed by the one who asked.
func TestPutSettings_waitsForASecondPerson(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		before := d.setting("fee.NGN.bps")
		_, err := d.sut.PutSettings(t.Context(), d.by(d.approver, ""), map[string]string{"fee.NGN.bps": "77"})
		d.refused(err, "approval_invalid")
		_, err = d.sut.PutSettings(t.Context(), d.by(d.viewer, "market"), map[string]string{"fee.NGN.bps": "77"})
		d.refused(err, "forbidden")
		id := d.askSetting(d.approver, "fee.NGN.bps", "77")
		require.Equal(t, before, d.setting("fee.NGN.bps"), "nothing is changed yet")
		_, err = d.sut.PutSettings(t.Context(), d.by(d.operator, "market"), map[string]string{"fee.NGN.bps": "78"})
		d.refused(err, "approval_refused")

		_, err = d.sut.Decide(t.Context(), d.by(d.approver, "I agree with me"), id, true)
		d.refused(err, "second_person")
		_, err = d.sut.Decide(t.Context(), d.by(d.operator, "looks good"), id, true)
		d.refused(err, "forbidden")
		request := d.by(d.second, "looks good")
		changed, err := d.sut.Decide(t.Context(), request, id, true)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"id": id, "state": "approved"}, d.body(changed))
		require.Equal(t, "77", d.setting("fee.NGN.bps"))
		again, err := d.sut.Decide(t.Context(), request, id, true)
		require.NoError(t, err)
		require.True(t, again.Repeated)
		_, err = d.sut.Decide(t.Context(), d.by(d.second, "once more"), id, true)
		d.refused(err, "approval_refused")

		trail := d.list(admin.Audit, 5, "", map[string]string{"stream": "settings"})
		require.Len(t, trail, 3, "asked, approved and changed")
		require.Equal(t, "staff:"+d.approver.ID, trail[0]["actor"])
		require.Contains(t, trail[0]["why"], "approved by staff:"+d.second.ID)
	})
}

func TestDecide_rejectsOrVoidsAChangeOfSettings(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		before := d.setting("spread_bps")
		id := d.askSetting(d.operator, "spread_bps", "900")
		changed, err := d.sut.Decide(t.Context(), d.by(d.approver, "too much"), id, false)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"id": id, "state": "rejected"}, d.body(changed))
		require.Equal(t, before, d.setting("spread_bps"))

		id = d.askSetting(d.operator, "spread_bps", "900")
		_, err = d.sut.PutSettings(t.Context(), d.by(d.operator, "meanwhile"), map[string]string{"spread_bps": "120"})
		require.NoError(t, err)
		_, err = d.sut.Decide(t.Context(), d.by(d.approver, "looks good"), id, true)
		d.refused(err, "approval_refused")
		require.Equal(t, "120", d.setting("spread_bps"), "it was asked about another present")
		require.Equal(t, admin.Refused, d.approval(id).State)
		d.askSetting(d.operator, "spread_bps", "901")
	})
}
