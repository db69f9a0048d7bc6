package webhooks

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

const callbackPath = "/webhooks/payouts/paystack"

func TestPayoutCallback(t *testing.T) {
	t.Parallel()
	good := header("X-Sign", "good")
	t.Run("is stored and acknowledged in the article's words", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		w := h.do("POST", callbackPath, "transfer.success ref-1 success", good)
		require.Equal(t, 200, w.Code)
		require.Equal(t, `{"code":"0","message":"Success","reqCode":"paystack:transfer.success:ref-1:success"}`, w.Body.String())
		r := h.inbox.receipts["paystack:transfer.success:ref-1:success"]
		require.Equal(t, delivery.Payout, r.Source)
		require.Equal(t, "transfer.success", r.Kind)
		require.Equal(t, "paystack", r.Provider)
		require.Equal(t, "ref-1", r.Reference)
		require.Equal(t, delivery.Received, r.State)
	})
	t.Run("again is acknowledged, logged and passed on", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		var repeated []string
		h.repeated = func(id string) error {
			repeated = append(repeated, id)
			return errors.New("busy")
		}
		for range 3 {
			require.Equal(t, 200, h.do("POST", callbackPath, "a b c", good).Code)
		}
		require.Equal(t, []string{"paystack:a:b:c", "paystack:a:b:c"}, repeated)
		require.Contains(t, h.log.String(), `"msg":"Duplicate callback ignored."`)
		require.Contains(t, h.log.String(), `"delivery_id":"paystack:a:b:c","provider":"paystack"`)
	})
	t.Run("of another status is another callback", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, body := range []string{"a b c", "a b d", "a e c", "f b c"} {
			h.do("POST", callbackPath, body, good)
		}
		require.Len(t, h.inbox.receipts, 4)
	})
	t.Run("with a missing part is parked under its own digest", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, body := range []string{"a  c", " b c", "a b ", "", "{}", "{} "} {
			require.Equal(t, 200, h.do("POST", callbackPath, body, good).Code)
		}
		require.Len(t, h.inbox.receipts, 6, "two malformed callbacks do not hide each other")
		for _, r := range h.inbox.receipts {
			require.Equal(t, delivery.Parked, r.State)
		}
	})
	t.Run("with a wrong signature, or of an unknown provider, stores nothing", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.wantRefusal(h.do("POST", callbackPath, "a b c"), 401, "signature_invalid")
		h.wantRefusal(h.do("POST", "/webhooks/payouts/other", "a b c", good), 404, "route_unknown")
		require.Empty(t, h.inbox.receipts)
	})
	t.Run("is refused with 503 when the store is down, whatever its error", func(t *testing.T) {
		t.Parallel()
		for _, err := range []error{errors.New("unclassified"), store.ErrUnavailable, store.ErrCommitUnknown} {
			h := newHarness(t)
			h.inbox.err = err
			h.wantRefusal(h.do("POST", callbackPath, "a b c", good), 503, "store_unavailable")
		}
	})
}

func TestPayoutApproval(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		err    error
		status int
	}{
		{"current attempt", nil, 200},
		{"not current", fault.New("approval_refused", nil), 400},
		{"unknown reference", fault.New("order_unknown", nil), 400},
		{"store down", store.ErrUnavailable, 503},
		{"unknown commit", store.ErrCommitUnknown, 503},
		{"defect", errors.New("nil pointer"), 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			asked := ""
			h.approve = func(provider, reference string, amount money.Minor) error {
				asked = provider + " " + reference
				require.EqualValues(t, 100, amount)
				return tt.err
			}
			require.Equal(t, tt.status, h.do("POST", callbackPath+"/approval", "ref-1", header("X-Sign", "good")).Code)
			require.Equal(t, "paystack ref-1", asked)
		})
	}
	h := newHarness(t)
	require.Equal(t, 401, h.do("POST", callbackPath+"/approval", "ref-1").Code)
	require.Equal(t, 400, h.do("POST", callbackPath+"/approval", "", header("X-Sign", "good")).Code)
	require.Equal(t, 404, h.do("POST", "/webhooks/payouts/other/approval", "x", header("X-Sign", "good")).Code)
}
