package admin

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestCan_eachRoleMayWhatTheOneBeforeItMay(t *testing.T) {
	t.Parallel()
	want := map[Permission]string{ // v, s, o, a, w: who may
		Read: "vsoaw", FreezeUser: "soaw", UnlockUser: "soaw", UnfreezeUser: "oaw", ChangeSetting: "oaw", Redrive: "oaw",
		AskApproval: "oaw", Decide: "aw", ManageStaff: "w",
	}
	letters := map[Role]string{Viewer: "v", Support: "s", Operator: "o", Approver: "a", Owner: "w"}
	require.Len(t, letters, len(Roles()))
	require.Len(t, want, len(Permissions()))
	for _, p := range Permissions() {
		for _, role := range Roles() {
			require.Equal(t, strings.Contains(want[p], letters[role]), Can(role, p), "%s %s", role, p)
		}
		require.False(t, Can("", p))
		require.False(t, Can("root", p))
	}
	require.False(t, Can(Approver, "everything"))
}

var (
	operator = Identity{ID: "op@example.com", Role: Operator}
	approver = Identity{ID: "ap@example.com", Role: Approver}
)

// ask opens an approval for revision 7 of order o1.
func (h *harness) ask(change func(*Ask)) (*Approval, error) {
	in := Ask{
		ID: "approval-1", Action: Settle, Order: "o1", Revision: 7, Reason: "bank statement shows it", By: operator,
		At: h.clock.Now(),
	}
	change(&in)
	var out *Approval
	err := h.update(func(tx store.Tx) error {
		var err error
		out, err = OpenApproval(tx, in)
		return err
	})
	return out, Judge(err)
}

func (h *harness) decision(by Identity, revision int64) Decision {
	return Decision{Reason: "checked with the bank", By: by, At: h.clock.Now(), Revision: revision}
}

func (h *harness) approve(id string, d Decision) error {
	return h.update(func(tx store.Tx) error {
		_, err := h.Approve(tx, id, d)
		return err
	})
}

func (h *harness) approval(id string) *Approval {
	h.Helper()
	var out *Approval
	require.NoError(h, h.engine.View(h.Context(), func(_ context.Context, r store.Reader) (err error) {
		out, err = LoadApproval(r, id)
		return err
	}))
	return out
}

func same(*Ask) {}

func TestApproval_takesTwoPeople(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	_, err := h.ask(same)
	require.NoError(t, err)
	h.wantFault("second_person", h.approve("approval-1", h.decision(Identity{ID: operator.ID, Role: Approver}, 7)))
	h.wantFault("forbidden", h.approve("approval-1", h.decision(Identity{ID: "x@example.com", Role: Operator}, 7)))
	h.wantFault("approval_unknown", h.approve("approval-9", h.decision(approver, 7)))
	noReason := h.decision(approver, 7)
	noReason.Reason = " \n "
	h.wantFault("approval_invalid", h.approve("approval-1", noReason))
	require.NoError(t, h.approve("approval-1", h.decision(approver, 7)))
	got := h.approval("approval-1")
	require.Equal(t, Approved, got.State)
	require.Equal(t, approver.ID, got.DecidedBy)
	require.Nil(t, got.Open)
	h.wantFault("approval_refused", h.approve("approval-1", h.decision(approver, 7)))
	require.Equal(t, []string{
		"approval_asked bank statement shows it", "approval_approved checked with the bank",
	}, h.trailOf("order:o1"))
}

func TestApproval_bindsTheOrdersRevision(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	_, err := h.ask(same)
	require.NoError(t, err)
	err = h.approve("approval-1", h.decision(approver, 8))
	h.wantFault("approval_refused", err)
	require.True(t, IsMoved(err))
	require.Equal(t, Open, h.approval("approval-1").State, "the refusal aborted its transaction")
	require.NoError(t, h.update(func(tx store.Tx) error {
		return Refuse(tx, "approval-1", approver.ID, "the order moved on", h.clock.Now())
	}))
	require.Equal(t, Refused, h.approval("approval-1").State)
	require.NoError(t, h.update(func(tx store.Tx) error {
		return Refuse(tx, "approval-1", approver.ID, "again", h.clock.Now())
	}))
	require.Equal(t, "the order moved on", h.approval("approval-1").DecidedWhy)
}

func TestApproval_oneIsOpenPerOrder(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	_, err := h.ask(same)
	require.NoError(t, err)
	_, err = h.ask(func(a *Ask) { a.ID, a.Action = "approval-2", Release })
	h.wantFault("approval_refused", err)
	_, err = h.ask(func(a *Ask) { a.ID, a.Order = "approval-3", "o2" })
	require.NoError(t, err)
	require.NoError(t, h.update(func(tx store.Tx) error {
		_, err := h.Reject(tx, "approval-1", h.decision(approver, 99))
		return err
	}), "a rejection does not depend on the revision")
	_, err = h.ask(func(a *Ask) { a.ID, a.Action = "approval-2", Release })
	require.NoError(t, err)
}

func TestApproval_refusesWhatCannotBeAsked(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	tests := []struct {
		name   string
		change func(*Ask)
		want   string
	}{
		{"by support", func(a *Ask) { a.By.Role = Support }, "forbidden"},
		{"an unknown action", func(a *Ask) { a.Action = "pay" }, "approval_invalid"},
		{"no order", func(a *Ask) { a.Order = "" }, "approval_invalid"},
		{"no reason", func(a *Ask) { a.Reason = "\x00 \t" }, "approval_invalid"},
		{"a very long reason", func(a *Ask) { a.Reason = strings.Repeat("x", 501) }, "approval_invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := h.ask(tt.change)
			h.wantFault(tt.want, err)
		})
	}
	_, err := h.ask(func(a *Ask) { a.Reason = "  line\nnext\x1b[31m  " })
	require.NoError(t, err)
	require.Equal(t, "line next [31m", h.approval("approval-1").Reason)
}

func TestApproval_ofManyDecisionsAtOnceOneCounts(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, Config{})
		_, err := h.ask(same)
		require.NoError(t, err)
		var done atomic.Int32
		var wait sync.WaitGroup
		for i := range 16 {
			wait.Go(func() {
				err := h.update(func(tx store.Tx) (err error) {
					if i%2 == 0 {
						_, err = h.Approve(tx, "approval-1", h.decision(approver, 7))
					} else {
						_, err = h.Reject(tx, "approval-1", h.decision(approver, 7))
					}
					return err
				})
				if err == nil {
					done.Add(1)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, done.Load())
		require.Len(t, h.trailOf("order:o1"), 2)
	})
}

func TestStep_expiresApprovalsAndForgetsAnswers(t *testing.T) {
	t.Parallel()
	h := onBolt(t)
	_, err := h.ask(same)
	require.NoError(t, err)
	q := Request{Scope: Scope{Admin: "a", Method: "PUT", Route: "/x", Key: "key-0001"}, Hash: "h"}
	_, _, err = h.Once(t.Context(), q, answerWith(200, "ok"))
	require.NoError(t, err)
	worked, err := h.Step(t.Context())
	require.NoError(t, err)
	require.False(t, worked)

	h.clock.Advance(24 * time.Hour)
	h.wantFault("approval_refused", h.approve("approval-1", h.decision(approver, 7)))
	h.clock.Advance(time.Millisecond)
	worked, err = h.Step(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	require.Equal(t, Expired, h.approval("approval-1").State)
	require.Equal(t, []string{"approval_asked bank statement shows it", "approval_expired"}, h.trailOf("order:o1"))

	h.clock.Advance(6 * 24 * time.Hour)
	worked, err = h.Step(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	_, repeated, err := h.Once(t.Context(), q, answerWith(200, "new"))
	require.NoError(t, err)
	require.False(t, repeated, "the old answer is forgotten")
}

func answerWith(status int, body string) func(context.Context, store.Tx) (int, []byte, error) {
	return func(context.Context, store.Tx) (int, []byte, error) { return status, []byte(body), nil }
}

func TestOnce_runsARequestOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
		h := newHarness(t, engine, Config{})
		q := Request{Scope: Scope{Admin: "a", Method: "PUT", Route: "/x", Key: "key-0001"}, Hash: RequestHash("/x", []byte("1"))}
		refusal := errors.New("not now")
		_, _, err := h.Once(t.Context(), q, func(context.Context, store.Tx) (int, []byte, error) { return 0, nil, refusal })
		require.ErrorIs(t, err, refusal, "a refusal is not stored")

		var fresh atomic.Int32
		var wait sync.WaitGroup
		for range 12 {
			wait.Go(func() {
				answer, repeated, err := h.Once(t.Context(), q, answerWith(201, "first"))
				if err == nil && !repeated {
					fresh.Add(1)
				}
				if err != nil || string(answer.Body) != "first" || answer.Status != 201 {
					fresh.Add(100)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, fresh.Load())

		other := q
		other.Hash = RequestHash("/x", []byte("2"))
		_, _, err = h.Once(t.Context(), other, answerWith(200, "second"))
		h.wantFault("idempotency_conflict", err)
		for _, scope := range []Scope{
			{Admin: "b", Method: "PUT", Route: "/x", Key: "key-0001"},
			{Admin: "a", Method: "POST", Route: "/x", Key: "key-0001"},
			{Admin: "a", Method: "PUT", Route: "/y", Key: "key-0001"},
			{Admin: "a", Method: "PUT", Route: "/x", Key: "key-0002"},
			{Admin: "aP", Method: "UT", Route: "/x", Key: "key-0001"},
		} {
			answer, repeated, err := h.Once(t.Context(), Request{Scope: scope, Hash: "h"}, answerWith(200, "other"))
			require.NoError(t, err)
			require.False(t, repeated)
			require.Equal(t, "other", string(answer.Body))
		}
	})
}
