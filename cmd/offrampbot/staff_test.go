package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
)

// staff is somebody at the admin API.
type staff struct {
	w     *town
	token string
}

func (w *town) staff(email string) *staff {
	w.t.Helper()
	token, err := w.app.staff.Issue(w.t.Context(), email)
	require.NoError(w.t, err)
	return &staff{w: w, token: token.Text}
}

// call makes one request and wants this status.
func (s *staff) call(status int, method, path string, body any, header ...string) map[string]any {
	s.w.t.Helper()
	headers := map[string]string{"Authorization": "Bearer " + s.token}
	for i := 0; i < len(header); i += 2 {
		headers[header[i]] = header[i+1]
	}
	got, out := s.w.try(method, s.w.bot+"/admin/api/v1"+path, body, headers)
	require.Equal(s.w.t, status, got, "%s %s: %v", method, path, out)
	return out
}

// items reads the first page of a list.
func (s *staff) items(path string) []map[string]any {
	s.w.t.Helper()
	var out []map[string]any
	list, ok := s.call(200, "GET", path, nil)["items"].([]any)
	require.True(s.w.t, ok)
	for _, item := range list {
		one, ok := item.(map[string]any)
		require.True(s.w.t, ok)
		out = append(out, one)
	}
	return out
}

func TestStaff_readTheWholeStory(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		const account = "0123456789"
		reference := p.sells("25 usdt on base", account)
		tx := p.deposits("base", "USDT", "30")
		p.hears("🎉 Paid")
		o := w.becomes(reference, offramp.Success)
		s := w.staff(sandbox.DefaultOperator().Email)

		for name, id := range map[string]string{
			"id": o.ID, "reference": reference, "transaction": tx, "provider reference": o.Attempts[0].Reference,
			"operation": "payout:" + o.ID, "messages": o.ID,
		} {
			story := s.call(200, "GET", "/orders/"+url.PathEscape(id), nil)
			order, ok := story["order"].(map[string]any)
			require.True(t, ok, name)
			require.Equal(t, o.ID, order["id"], name)
			for _, part := range []string{"quote", "history", "postings", "operations", "deposits", "receipts", "audit"} {
				require.NotEmpty(t, story[part], "%s: %s", name, part)
			}
		}
		s.call(404, "GET", "/orders/nothing", nil)
		require.Len(t, s.items("/orders?q="+reference), 1)
		require.Len(t, s.items("/orders?q="+url.QueryEscape(p.phone)), 1, "by the person's number")
		require.Len(t, s.items("/orders?state=success"), 1)
		require.Empty(t, s.items("/orders?state=failed"))
		require.Len(t, s.items("/deposits?q="+tx), 1)
		require.NotEmpty(t, s.items("/ledger"))
		require.NotEmpty(t, s.items("/ledger?order="+reference))
		require.NotEmpty(t, s.items("/audit?q="+reference))
		require.NotEmpty(t, s.items("/settings"))
		for _, list := range []string{"duplicates", "parked", "approvals"} {
			s.items("/" + list)
		}
		s.wantNoAccountNumber(o.ID, account)

		r, err := w.app.reconciler(24 * time.Hour)
		require.NoError(t, err)
		report, err := r.Reconcile(t.Context())
		require.NoError(t, err)
		require.Empty(t, report.Differences)
		require.Positive(t, report.Checked["transfers"])
		w.holds()
	})
}

// wantNoAccountNumber reads every list and the story as staff get them, JSON and CSV.
func (s *staff) wantNoAccountNumber(order, account string) {
	s.w.t.Helper()
	paths := []string{"/orders/" + order}
	for _, list := range []string{"orders", "audit", "duplicates", "deposits", "ledger", "parked", "settings", "approvals", "users"} {
		paths = append(paths, "/"+list+"?limit=200", "/"+list+"?format=csv")
	}
	for _, path := range paths {
		req, err := http.NewRequestWithContext(s.w.t.Context(), http.MethodGet, s.w.bot+"/admin/api/v1"+path, nil)
		require.NoError(s.w.t, err)
		req.Header.Set("Authorization", "Bearer "+s.token)
		res, err := http.DefaultClient.Do(req)
		require.NoError(s.w.t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(s.w.t, err)
		require.NoError(s.w.t, res.Body.Close())
		require.Equal(s.w.t, 200, res.StatusCode, path)
		require.NotContains(s.w.t, string(body), account, path)
	}
}

func TestStaff_settleWithASecondPerson(t *testing.T) {
	t.Parallel()
	onBoth(t, map[string]string{"LOOKUP_GIVE_UP": "5s"}, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		w.faults("paystack", "transfer", "lost_reply", 1)
		w.faults("paystack", "verify", "http_500", 1000)
		reference := p.sells("25 usdt on base", "0123456789")
		p.deposits("base", "USDT", "25")
		o := w.becomes(reference, offramp.Review)
		operator, second := w.staff(sandbox.DefaultOperator().Email), w.staff(sandbox.DefaultApprover().Email)
		ask := map[string]any{"action": "settle", "order": reference, "reason": "seen on the statement"}
		made := operator.call(201, "POST", "/approvals", ask, "Idempotency-Key", "ask-1")
		require.Equal(t, made["id"], operator.call(201, "POST", "/approvals", ask, "Idempotency-Key", "ask-1")["id"])
		ask["reason"] = "another"
		operator.call(409, "POST", "/approvals", ask, "Idempotency-Key", "ask-1")
		approve := "/approvals/" + made["id"].(string) + "/approve" //nolint:forcetypeassert // a test
		why := map[string]any{"reason": "I have seen it too"}
		operator.call(403, "POST", approve, why)
		require.Equal(t, "evidence_missing", second.call(409, "POST", approve, why)["error"], "the provider still does not answer")
		require.Equal(t, offramp.Review, w.order(reference).State)

		w.call("DELETE", "/world/faults", nil)
		second.call(200, "POST", approve, why, "Idempotency-Key", "approve-1")
		require.Equal(t, offramp.Success, w.order(reference).State)
		second.call(200, "POST", approve, why, "Idempotency-Key", "approve-1")
		require.Len(t, w.bank(), 1)
		require.Equal(t, 1, w.bank()[0].Calls)
		require.Len(t, operator.items("/approvals?order="+o.ID+"&state=approved"), 1)
		w.holds()
	})
}

func TestStaff_freezeUnlockUnfreeze(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUp()
		s := w.staff(sandbox.DefaultOperator().Email)
		found := s.items("/users?q=" + p.phone)
		require.Len(t, found, 1)
		require.NotContains(t, fmt.Sprint(found), p.phone, "numbers are masked")
		user := "/users/" + found[0]["id"].(string) //nolint:forcetypeassert // a test
		why := map[string]any{"reason": "they called us"}
		require.Equal(t, "approval_invalid", s.call(422, "POST", user+"/freeze", map[string]any{"reason": ""})["error"])
		s.call(404, "POST", "/users/nobody/freeze", why)
		for range 2 {
			require.NotNil(t, s.call(200, "POST", user+"/freeze", why, "Idempotency-Key", "f1")["frozen"])
		}
		require.Len(t, s.items("/users?frozen=true"), 1)
		p.says("sell 25 usdt on base")
		p.hears("paused")
		s.call(200, "POST", user+"/unlock", why)
		require.Nil(t, s.call(200, "POST", user+"/unfreeze", why)["frozen"])
		require.Empty(t, s.items("/users?frozen=true"))
		require.Len(t, s.items("/audit?action="+url.QueryEscape("user frozen")), 1)
		w.holds()
	})
}

func TestStaff_settingsAndParked(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		s := w.staff(sandbox.DefaultOperator().Email)
		change := map[string]any{"reason": "market", "settings": map[string]any{"spread_bps": 25}}
		s.call(200, "PUT", "/settings", change, "Idempotency-Key", "k1")
		s.call(200, "PUT", "/settings", change, "Idempotency-Key", "k1")
		require.Equal(t, "25", s.items("/settings?q=spread_bps")[0]["value"])
		require.Equal(t, "setting_invalid", s.call(422, "PUT", "/settings", map[string]any{"spread_bps": "many"})["error"])
		fee := s.call(202, "PUT", "/settings", map[string]any{"reason": "costs", "settings": map[string]any{"fee.NGN.bps": 77}})
		decide := fmt.Sprintf("/approvals/%s/approve", fee["id"])
		s.call(403, "POST", decide, map[string]any{"reason": "I agree with me"})
		require.NotEqual(t, "77", s.items("/settings?q=fee.NGN.bps")[0]["value"])
		w.staff(sandbox.DefaultApprover().Email).call(200, "POST", decide, map[string]any{"reason": "seen the invoice"})
		require.Equal(t, "77", s.items("/settings?q=fee.NGN.bps")[0]["value"])
		s.call(404, "POST", "/parked/"+url.PathEscape("wa:nothing")+"/redrive", map[string]any{"reason": "try again"})
		s.call(404, "POST", "/parked/paystack:x:y:z/redrive", map[string]any{"reason": "try again"})
		s.call(400, "GET", "/orders?cursor=nonsense", nil)
	})
}
