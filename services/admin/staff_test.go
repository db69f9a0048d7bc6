package admin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRenew_keepsASessionInUse(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("op@example.com", Operator)
	first, err := h.Login(t.Context(), "op@example.com", password, h.code())
	require.NoError(t, err)
	who, err := h.Verify(t.Context(), first.Text)
	require.NoError(t, err)
	require.Equal(t, h.clock.Now().Truncate(time.Second), who.Since)

	h.clock.Advance(14 * time.Minute)
	second, ok, err := h.Renew(who)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, first.JTI, second.JTI, "it is the same session")
	h.clock.Advance(14 * time.Minute)
	_, err = h.Verify(t.Context(), first.Text)
	h.wantFault("unauthorized", err)
	again, err := h.Verify(t.Context(), second.Text)
	require.NoError(t, err)
	require.Equal(t, who.Since, again.Since)

	t.Run("a log-out ends every token of the session", func(t *testing.T) {
		third, _, err := h.Renew(again)
		require.NoError(t, err)
		require.NoError(t, h.Logout(t.Context(), again))
		for _, token := range []Token{second, third} {
			_, err = h.Verify(t.Context(), token.Text)
			h.wantFault("unauthorized", err)
		}
		h.clock.Advance(14 * time.Minute)
		_, err = h.Verify(t.Context(), third.Text)
		h.wantFault("unauthorized", err)
	})
	t.Run("a session ends eight hours after its login", func(t *testing.T) {
		h.clock.Advance(8*time.Hour - 42*time.Minute)
		_, ok, err := h.Renew(again)
		require.NoError(t, err)
		require.False(t, ok)
	})
	t.Run("a token from the host cannot be renewed", func(t *testing.T) {
		token, err := h.Issue(t.Context(), "op@example.com")
		require.NoError(t, err)
		who, err := h.Verify(t.Context(), token.Text)
		require.NoError(t, err)
		_, ok, err := h.Renew(who)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func TestStaff_ownersManageOthers(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	h.staff("own@example.com", Owner)
	h.staff("op@example.com", Operator)
	owner, other := Identity{ID: "own@example.com", Role: Owner}, Identity{ID: "ap@example.com", Role: Approver}
	all, err := h.Staff(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "op@example.com", all[0].ID)

	require.NoError(t, h.ChangeRole(t.Context(), owner, "OP@example.com", Viewer, "moved to another team"))
	require.Equal(t, Viewer, h.account("op@example.com").Role)
	h.wantFault("forbidden", h.ChangeRole(t.Context(), other, "op@example.com", Approver, "please"))
	h.wantFault("own_account", h.ChangeRole(t.Context(), owner, "own@example.com", Viewer, "a slip"))
	h.wantFault("approval_invalid", h.ChangeRole(t.Context(), owner, "op@example.com", Approver, " "))
	h.wantFault("staff_invalid", h.ChangeRole(t.Context(), owner, "op@example.com", "root", "a joke"))
	h.wantFault("staff_unknown", h.ChangeRole(t.Context(), owner, "nobody", Viewer, "who?"))

	token, err := h.Issue(t.Context(), "op@example.com")
	require.NoError(t, err)
	require.NoError(t, h.EndSessions(t.Context(), owner, "op@example.com", "laptop lost"))
	_, err = h.Verify(t.Context(), token.Text)
	h.wantFault("unauthorized", err)
	require.NoError(t, h.CloseAccount(t.Context(), owner, "op@example.com", true, "left us"))
	require.True(t, h.account("op@example.com").Disabled)
	h.wantFault("own_account", h.CloseAccount(t.Context(), owner, "own@example.com", true, "left us"))
	require.NoError(t, h.CloseAccount(t.Context(), owner, "op@example.com", false, "came back"))
	require.Equal(t, []string{
		"staff_created", "role_changed moved to another team", "token_issued", "tokens_revoked laptop lost", "staff_disabled left us",
		"staff_enabled came back",
	}, h.trailOf("staff:op@example.com"))
}
