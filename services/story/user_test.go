package story_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/story"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// person loads a user.
func (d *desk) person(id string) *user.User {
	d.t.Helper()
	var u *user.User
	d.update(func(tx store.Tx) (err error) {
		u, err = user.Load(tx, id)
		return err
	})
	return u
}

func TestUsers_freezeUnlockUnfreeze(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		support := admin.Identity{ID: "s@x.test", Role: admin.Support}
		_, err := d.sut.FreezeUser(t.Context(), d.by(d.viewer, "looks odd"), "ada")
		d.refused(err, "forbidden")
		_, err = d.sut.FreezeUser(t.Context(), d.by(support, "x"), "ada")
		d.refused(err, "approval_invalid")
		_, err = d.sut.FreezeUser(t.Context(), d.by(support, "looks odd"), "nobody")
		d.refused(err, "user_unknown")

		freeze := d.by(support, "identity_changed")
		first, err := d.sut.FreezeUser(t.Context(), freeze, phoneNumber)
		require.NoError(t, err)
		require.Equal(t, "staff: identity_changed", d.person("ada").Frozen.Why, "no typed reason ends by itself")
		_, err = d.sut.UnfreezeUser(t.Context(), d.by(support, "all good"), "ada")
		d.refused(err, "forbidden")
		_, err = d.sut.UnfreezeUser(t.Context(), d.by(d.operator, "all good"), "ada")
		require.NoError(t, err)
		require.Nil(t, d.person("ada").Frozen)
		again, err := d.sut.FreezeUser(t.Context(), freeze, phoneNumber)
		require.NoError(t, err)
		require.True(t, again.Repeated, "a late repeat of the request is answered, not carried out")
		require.JSONEq(t, string(first.Body), string(again.Body))
		require.Nil(t, d.person("ada").Frozen)
		require.Len(t, d.list(admin.Audit, 5, "", map[string]string{"stream": "user:ada", "actor": "staff:s@x.test"}), 1)

		_, err = d.sut.UnlockUser(t.Context(), d.by(support, "called us"), "ada")
		d.refused(err, "user_not_active")
		d.update(func(tx store.Tx) error {
			u, err := user.Load(tx, "ada")
			if err != nil {
				return err
			}
			u.PIN = &user.PIN{Hash: "h", Blocked: true}
			return tx.Replace(store.Users, u)
		})
		unlock := d.by(support, "called us")
		for range 2 {
			_, err = d.sut.UnlockUser(t.Context(), unlock, "ada")
			require.NoError(t, err)
		}
		require.False(t, d.person("ada").PIN.Blocked)
		require.Len(t, d.list(admin.Audit, 5, "", map[string]string{"stream": "user:ada", "action": "pin.unlock"}), 1)
	})
}

func TestUsers_listIsMasked(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		o := d.sell("bob", 20)
		find := func(text string, filters map[string]string) []string {
			var out []string
			for _, item := range d.list(admin.Users, 1, text, filters) {
				body, err := json.Marshal(item)
				require.NoError(t, err)
				require.NotContains(t, string(body), phoneNumber)
				out = append(out, item["id"].(string)) //nolint:forcetypeassert // a test
			}
			return out
		}
		require.ElementsMatch(t, []string{"ada", "bob"}, find("", nil))
		require.Equal(t, []string{"ada"}, find(phoneNumber, nil))
		require.Equal(t, []string{"bob"}, find(o.Reference, nil), "by an order of theirs")
		require.Empty(t, find("nobody", nil))
		_, err := d.sut.FreezeUser(t.Context(), d.by(d.operator, "looks odd"), "bob")
		require.NoError(t, err)
		require.Equal(t, []string{"bob"}, find("", map[string]string{"frozen": "true"}))
		require.Equal(t, []string{"ada"}, find("", map[string]string{"frozen": "false", "status": "active"}))
	})
}

func TestOverview_countsWhatStandsInTheRecords(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		d := newDesk(t, engine)
		d.rail.pays = true
		d.deposited("ada", 1, 100)
		d.sell("ada", 10)
		d.work()
		old := d.sell("bob", 20)
		d.clock.Advance(time.Minute)
		d.sell("ada", 95)
		o, err := d.sut.Overview(t.Context())
		require.NoError(t, err)
		by := map[offramp.State]story.StateNow{}
		for _, s := range o.States {
			by[s.State] = s
		}
		require.Len(t, by, len(offramp.States()))
		require.EqualValues(t, 1, by[offramp.Success].Orders)
		require.Nil(t, by[offramp.Success].Oldest, "nobody waits for the end of what has ended")
		require.EqualValues(t, 2, by[offramp.Waiting].Orders)
		require.Equal(t, old.ID, by[offramp.Waiting].Oldest.ID)
		accounts := map[string]int64{}
		for _, a := range o.Accounts {
			accounts[a.Account] = a.Balance
		}
		require.Equal(t, int64(90*oneUSDT), accounts["user:*:USDT:available"])
		require.Positive(t, accounts["float:bank:NGN"])
		require.Zero(t, o.Approvals+o.Parked)
	})
}
