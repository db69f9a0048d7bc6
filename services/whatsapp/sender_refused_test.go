package whatsapp

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
)

func TestSender_thePairLimitDelaysOnePersonOnly(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = func(m Outgoing) (SendResult, error) {
		if m.To.Phone != "" {
			return refuse(131056)(m)
		}
		return SendResult{Wamid: "wamid.S"}, nil
	}
	h.record("n1", "ada", text("one"))
	h.record("n2", "ada", text("two"))
	h.record("n3", "sam", text("three"))
	for _, wait := range []time.Duration{1, 4, 16, 64, 64} {
		h.run()
		require.Equal(t, wait*time.Second, h.dueIn("n1"))
		require.Equal(t, operation.Done, h.op("n3").State)
		require.Zero(t, h.op("n2").Calls)
		h.clock.Advance(wait * time.Second)
	}
	h.meta.sendFunc = nil
	h.run()
	require.Equal(t, operation.Done, h.op("n1").State)
	h.clock.Advance(time.Minute)
	h.run()
	require.Equal(t, operation.Done, h.op("n2").State)
}

func TestSender_theNumberLimitDelaysEverybody(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = refuse(130429)
	h.record("n1", "ada", text("one"))
	h.record("n2", "sam", text("two"))
	h.run()
	require.Len(t, h.meta.sent, 1)
	require.Equal(t, operation.Pending, h.op("n2").State)
	h.meta.sendFunc = nil
	h.clock.Advance(2 * time.Second)
	h.run()
	require.Equal(t, operation.Done, h.op("n1").State)
	require.Equal(t, operation.Done, h.op("n2").State)
}

func TestSender_tokenAndAccountErrorsStopEverythingAndAlertOnce(t *testing.T) {
	t.Parallel()
	for _, code := range []int{190, 368} {
		h := newHarness(t)
		h.meta.sendFunc = refuse(code)
		h.record("n1", "ada", text("one"))
		h.record("n2", "sam", text("two"))
		h.run()
		require.Len(t, h.meta.sent, 1)
		require.Len(t, h.records(), 1)
		require.Contains(t, h.records()[0], AlertStopped)

		h.clock.Advance(7 * time.Minute)
		h.run()
		require.Len(t, h.meta.sent, 2, "one probe")
		require.Len(t, h.records(), 1)
		h.meta.sendFunc = nil
		h.clock.Advance(7 * time.Minute)
		h.run()
		h.clock.Advance(time.Minute)
		h.run()
		require.Equal(t, operation.Done, h.op("n1").State)
		require.Equal(t, operation.Done, h.op("n2").State)
	}
}

func TestSender_aRefusedFlowFallsBackToChatSteps(t *testing.T) {
	t.Parallel()
	for _, code := range []int{132068, 132069} {
		h := newHarness(t)
		h.meta.sendFunc = refuse(code)
		h.record("n1", "ada", operation.Message{
			Type: "flow", Key: "flow.start", Flow: &operation.Flow{Name: "offramp", Session: "s1", CTA: "Start"},
		})
		h.run()
		require.Equal(t, &OutgoingFlow{ID: "123456", CTA: "Start", Token: "token-of-s1"}, h.meta.sent[0].Flow)
		require.Equal(t, operation.Done, h.op("n1").State)
		require.Equal(t, OutcomeFlowRefused, h.op("n1").Outcome)
		require.Len(t, h.records(), 1)
		require.Contains(t, h.records()[0], "fallback|n1")
	}
}

func TestSender_aFlowWithoutTargetGoesByItsName(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.record("n1", "ada", operation.Message{
		Type: "flow", Key: "flow.start", Flow: &operation.Flow{Name: "sign_up", Session: "s1", CTA: "Start"},
	})
	h.run()
	require.Equal(t, "sign_up", h.meta.sent[0].Flow.Name)
}

func TestSender_picturesAreUploadedAndOnceMoreAfterAMediaError(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	slip := operation.Message{Type: "image", Key: "order.paid", Image: &operation.Image{Kind: "slip", Value: "o1"}}
	h.record("n1", "ada", slip)
	h.run()
	require.Equal(t, "media1", h.meta.sent[0].MediaID)
	require.Equal(t, "en:paid ", h.meta.sent[0].Body)

	h.meta.sendFunc = refuse(131053)
	h.record("n2", "ada", slip)
	h.run()
	require.Equal(t, 3, h.meta.uploads)
	require.Equal(t, operation.Parked, h.op("n2").State)

	h.meta.sendFunc = nil
	h.pictures.err = errors.New("no font")
	h.record("n3", "ada", slip)
	_, err := h.step()
	require.ErrorIs(t, err, h.pictures.err, "the worker counts the try")
}

func TestSender_anUploadOfUnknownOutcomeIsJustRepeated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.uploadFunc = func() (string, error) { return "", failed(errors.New("reset")) }
	h.record("n1", "ada", operation.Message{Type: "image", Text: "x", Image: &operation.Image{Kind: "slip", Value: "o1"}})
	h.run()
	require.Empty(t, h.meta.sent)
	require.Equal(t, operation.Pending, h.op("n1").State)
	require.LessOrEqual(t, h.dueIn("n1"), 3*time.Second)
	h.meta.uploadFunc = nil
	h.clock.Advance(time.Minute)
	h.run()
	require.Equal(t, operation.Done, h.op("n1").State)
}

func TestSender_conclusiveErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		code  int
		alert string
	}{
		{"undeliverable", 131026, ""},
		{"identity changed", 137000, AlertIdentity},
		{"our defect", 100, AlertMessage},
		{"template paused", 132015, AlertMessage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.meta.sendFunc = refuse(tt.code)
			h.record("n1", "ada", text("hi"))
			h.run()
			h.clock.Advance(time.Hour)
			h.run()
			require.Len(t, h.meta.sent, 1)
			require.Equal(t, operation.Parked, h.op("n1").State)
			require.NotContains(t, h.op("n1").Reason, "2348030000001")
			if tt.alert == "" {
				require.Empty(t, h.records())
				return
			}
			require.Len(t, h.records(), 1)
			require.Contains(t, h.records()[0], tt.alert)
		})
	}
}

func TestSender_qualityErrorsWaitLong(t *testing.T) {
	t.Parallel()
	for code, wait := range map[int]time.Duration{131048: time.Hour, 131049: 24 * time.Hour} {
		h := newHarness(t)
		h.meta.sendFunc = refuse(code)
		h.record("n1", "ada", text("hi"))
		h.run()
		require.Equal(t, wait, h.dueIn("n1"))
		require.Len(t, h.records(), 1)
	}
}
