package webhooks

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

const goodEvent = `{"type":"DEPOSIT_CONFIRMED","eventId":"e1","workflowId":"w1","depositRef":"base:0xabc:0","amountUnits":"27500000"}`

func (h *harness) deposit(body string, options ...option) (int, string) {
	h.Helper()
	options = append(options, header("X-Signature-256", signature(depositSecret, body)))
	w := h.on(h.edge.Internal, "POST", "/webhooks/deposits", body, options...)
	return w.Code, w.Body.String()
}

func TestDeposits_answers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer offramp.Confirmed
		err    error
		status int
		body   string
	}{
		{
			"applied",
			offramp.Confirmed{Outcome: offramp.Applied, Operation: "start-exchange:w1", State: offramp.Exchange},
			nil, 200,
			`{"outcome":"applied","operationId":"start-exchange:w1","state":"exchange"}`,
		},
		{"again", offramp.Confirmed{Outcome: offramp.DuplicateDelivery, State: offramp.Exchange}, nil, 200, `{"outcome":"duplicate-delivery","state":"exchange"}`},
		{"new id", offramp.Confirmed{Outcome: offramp.AlreadyApplied, State: offramp.Success}, nil, 200, `{"outcome":"already-applied","state":"success"}`},
		{"other content", offramp.Confirmed{}, fault.New("event_conflict", nil), 409, ""},
		{"operation there", offramp.Confirmed{}, fault.New("operation_conflict", nil), 409, ""},
		{"unknown order", offramp.Confirmed{}, fault.New("workflow_unknown", nil), 404, ""},
		{"other amount", offramp.Confirmed{}, fault.New("mismatch", nil), 422, ""},
		{"wrong state", offramp.Confirmed{}, fault.New("state_refused", nil).With("state", "waiting"), 422, ""},
		{"store down", offramp.Confirmed{}, store.ErrUnavailable, 503, ""},
		{"unknown commit", offramp.Confirmed{}, store.ErrCommitUnknown, 503, ""},
		{"defect", offramp.Confirmed{}, errors.New("x"), 500, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.confirm = func(c offramp.Confirmation) (offramp.Confirmed, error) {
				require.Equal(t, offramp.Confirmation{EventID: "e1", Order: "w1", Ref: "base:0xabc:0", Amount: "27500000"}, c)
				return tt.answer, tt.err
			}
			status, body := h.deposit(goodEvent)
			require.Equal(t, tt.status, status)
			if tt.body != "" {
				require.Equal(t, tt.body, body)
			}
			if tt.name == "wrong state" {
				require.Contains(t, body, "waiting", "the refusal names the state (R14)")
			}
		})
	}
}

func TestDeposits_signature(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for name, value := range map[string]string{
		"none": "", "another secret": signature(appSecret, goodEvent), "another body": signature(depositSecret, goodEvent+" "),
	} {
		t.Run(name, func(t *testing.T) {
			w := h.on(h.edge.Internal, "POST", "/webhooks/deposits", goodEvent, header("X-Signature-256", value))
			h.wantRefusal(w, 401, "signature_invalid")
		})
	}
	w := h.on(h.edge.Internal, "POST", "/webhooks/deposits", goodEvent, header("X-Hub-Signature-256", signature(depositSecret, goodEvent)))
	h.wantRefusal(w, 401, "signature_invalid")
}

// event builds an event with one field replaced by raw JSON; "-" leaves it out.
func event(field, raw string) string {
	out := []string{}
	for _, f := range [][2]string{
		{"type", `"DEPOSIT_CONFIRMED"`}, {"eventId", `"e1"`}, {"workflowId", `"w1"`}, {"depositRef", `"r1"`}, {"amountUnits", `"1"`},
	} {
		if f[0] == field {
			f[1] = raw
		}
		if f[1] != "-" {
			out = append(out, `"`+f[0]+`":`+f[1])
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

func TestDeposits_refuseWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	d78 := strings.Repeat("9", 78)
	refused := []string{
		"", "null", "[]", `"x"`, "7", "{", goodEvent + "x", goodEvent + goodEvent, strings.Repeat("[", 60000),
		event("type", "-"), event("type", "null"), event("type", `"deposit_confirmed"`), event("type", `"DEPOSIT_CONFIRMED "`),
		event("type", `["DEPOSIT_CONFIRMED"]`), `{"Type":"DEPOSIT_CONFIRMED","eventId":"e1","workflowId":"w1","depositRef":"r1","amountUnits":"1"}`,
		`{"type":"DEPOSIT_CONFIRMED","eventId":"e1","workflowId":"w1","depositRef":"r1","amountUnits":"1","amountUnits":"2"}`,
	}
	for _, field := range []string{"eventId", "workflowId", "depositRef"} {
		for _, raw := range []string{
			"-", "null", "7", "true", "{}", `["e"]`, `""`, `"  "`, `"\t\n"`, `"\u00a0"`, `"a\u0000b"`, `"a\u001bb"`, `"\ud800"`, `{"$ne":""}`,
			`"` + strings.Repeat("x", 257) + `"`,
		} {
			refused = append(refused, event(field, raw))
		}
	}
	for _, raw := range []string{
		"-", "null", "1", "1.5", "true", "{}", `["1"]`, `""`, `"0"`, `"01"`, `"-1"`, `"+1"`, `"1.0"`, `"1e3"`, `" 1"`, `"1 "`, `"1\n"`,
		`"0x10"`, `"١"`, `"１"`, `"` + d78 + `9"`,
	} {
		refused = append(refused, event("amountUnits", raw))
	}
	refused = append(refused, `{"type":"DEPOSIT_CONFIRMED","eventId":"`+"\xff"+`","workflowId":"w1","depositRef":"r1","amountUnits":"1"}`)
	h := newHarness(t)
	h.confirm = func(c offramp.Confirmation) (offramp.Confirmed, error) {
		t.Errorf("applied %+v", c)
		return offramp.Confirmed{}, nil
	}
	for _, body := range refused {
		status, answer := h.deposit(body)
		require.Equal(t, 400, status, body)
		require.Contains(t, answer, `"error":"event_invalid"`)
	}
}

func TestDeposits_acceptEveryFormOfOneEvent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var got []offramp.Confirmation
	h.confirm = func(c offramp.Confirmation) (offramp.Confirmed, error) {
		got = append(got, c)
		return offramp.Confirmed{Outcome: offramp.Applied, State: offramp.Exchange}, nil
	}
	for _, body := range []string{
		event("", ""), event("eventId", `" e1 "`), event("depositRef", `"\u00721"`),
		` { "amountUnits" : "1" , "extra" : {"deep":[1,{"type":"x"}]} , "depositRef":"r1","workflowId":"w1","eventId":"e1","type":"DEPOSIT_CONFIRMED"} ` + "\n",
	} {
		status, answer := h.deposit(body)
		require.Equal(t, 200, status, answer)
	}
	for _, c := range got {
		require.Equal(t, got[0], c)
	}
	status, _ := h.deposit(event("amountUnits", `"`+strings.Repeat("9", 78)+`"`))
	require.Equal(t, 200, status)
}

func FuzzDeposits_decode(f *testing.F) {
	f.Add([]byte(goodEvent))
	f.Add([]byte(event("amountUnits", `"01"`)))
	f.Add([]byte(`{"type":"DEPOSIT_CONFIRMED","TYPE":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeConfirmation(body)
		if err != nil {
			return
		}
		require.Regexp(t, `^[1-9][0-9]{0,77}$`, c.Amount)
		for _, id := range []string{c.EventID, c.Order, c.Ref} {
			require.NotEmpty(t, strings.TrimSpace(id))
			require.Equal(t, strings.TrimSpace(id), id)
		}
		again, err := json.Marshal(map[string]string{
			"type": "DEPOSIT_CONFIRMED", "eventId": c.EventID, "workflowId": c.Order, "depositRef": c.Ref, "amountUnits": c.Amount,
		})
		require.NoError(t, err)
		twice, err := decodeConfirmation(again)
		require.NoError(t, err)
		require.Equal(t, c, twice, "an accepted event means one thing")
	})
}
