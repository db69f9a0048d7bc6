package user_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

var noon = testkit.Noon().Now()

func TestFrozen_keepsEveryReasonUntilItGoes(t *testing.T) {
	t.Parallel()
	u := &user.User{}
	user.Frozen(u, user.IdentityChanged, noon)
	user.Frozen(u, "screening", noon.Add(time.Hour))
	user.Frozen(u, "screening", noon.Add(2*time.Hour))
	require.Equal(t, "screening", u.Frozen.Why, "what only an operator ends comes first")
	require.Equal(t, noon, u.Frozen.Since)
	require.False(t, user.ThawReason(u, "debt"))
	require.False(t, user.ThawReason(u, "screening"), "the identity change is left")
	require.Equal(t, user.IdentityChanged, u.Frozen.Why)
	require.True(t, user.ThawReason(u, user.IdentityChanged))
	require.Nil(t, u.Frozen)
	require.False(t, user.ThawReason(u, user.IdentityChanged), "who is free is not thawed")
	user.Frozen(u, "debt", noon)
	user.Frozen(u, user.IdentityChanged, noon)
	require.Equal(t, "debt", u.Frozen.Why)
	user.Thaw(u)
	require.Nil(t, u.Frozen)
}

func TestFreeze_touchesTheGuardsInTheSameTransaction(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp("2348030000001", "")
		require.NoError(t, h.update(func(tx store.Tx) error { return h.users.Freeze(tx, u.ID, "screening", "staff:eve") }))
		require.NoError(t, h.update(func(tx store.Tx) error { return h.users.Unfreeze(tx, u.ID, "cleared", "staff:eve") }))
		require.NoError(t, h.update(func(tx store.Tx) error { return h.users.Unfreeze(tx, u.ID, "cleared", "staff:eve") }))
		require.Nil(t, h.load(u.ID).Frozen)
		require.Equal(t, []string{"user.sign_up", "user.freeze", "user.unfreeze"}, h.actions(u.ID))
		require.NoError(t, h.engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			var d guardDocument
			err := r.Get(store.Limits, u.ID, &d)
			require.Equal(t, int64(2), d.Revision, "one touch a change")
			return err
		}))
		require.True(t, fault.Is(h.update(func(tx store.Tx) error { return h.users.Freeze(tx, "u_x", "x", "y") }), "user_unknown"))
	})
}

func TestReauthenticated_needsBothPINAndCoolDown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, adaID)
		h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID})
		prove := func(proven bool) (thawed bool, wait time.Duration) {
			require.NoError(t, h.update(func(tx store.Tx) (err error) {
				thawed, wait, err = h.users.Reauthenticated(tx, u.ID, proven)
				return err
			}))
			return thawed, wait
		}
		thawed, wait := prove(false)
		require.False(t, thawed)
		require.Equal(t, 24*time.Hour, wait)
		h.clock.Advance(23 * time.Hour)
		thawed, wait = prove(true)
		require.False(t, thawed)
		require.Equal(t, time.Hour, wait)
		h.clock.Advance(time.Hour)
		thawed, _ = prove(false)
		require.True(t, thawed, "the proof is stored")
		require.Nil(t, h.load(u.ID).Frozen)
		thawed, _ = prove(true)
		require.False(t, thawed, "once")
	})
}

func TestReauthenticated_doesNotEndAnOperatorsFreeze(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, adaID)
		require.NoError(t, h.update(func(tx store.Tx) error { return h.users.Freeze(tx, u.ID, "screening", "staff:eve") }))
		h.moved(user.Move{OldWhatsAppID: ada, WhatsAppID: adaNew, PreviousScopedID: adaID, ScopedID: newID})
		h.clock.Advance(48 * time.Hour)
		require.NoError(t, h.update(func(tx store.Tx) error {
			thawed, _, err := h.users.Reauthenticated(tx, u.ID, true)
			require.False(t, thawed)
			return err
		}))
		require.Equal(t, "screening", h.load(u.ID).Frozen.Why)
	})
}

func TestProfile_changesAreAuditedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		u := h.signedUp(ada, "")
		for range 2 {
			require.NoError(t, h.update(func(tx store.Tx) error {
				return errors.Join(
					h.users.SetTier(tx, u.ID, "tier2", "papers seen", "staff:eve"),
					h.users.SetLanguage(tx, u.ID, "fr"),
					h.users.SetStopped(tx, u.ID, true),
				)
			}))
		}
		got := h.load(u.ID)
		require.Equal(t, "tier2", got.Tier)
		require.Equal(t, "fr", got.Language)
		require.NotNil(t, got.StoppedAt)
		require.Equal(t, []string{"user.sign_up", "user.tier", "user.language", "user.stop"}, h.actions(u.ID))
		require.NoError(t, h.update(func(tx store.Tx) error { return h.users.SetStopped(tx, u.ID, false) }))
		require.Nil(t, h.load(u.ID).StoppedAt)
	})
}
