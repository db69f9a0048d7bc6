package whatsapp

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/operation"
)

func TestApplyStatus_F09endsAsReadWithAndWithoutTheMessageID(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wamid stored", "reply lost"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.meta.sendFunc = timeOut
			if name == "wamid stored" {
				h.meta.sendFunc = func(Outgoing) (SendResult, error) { return SendResult{Wamid: "wamid.OUT9"}, nil }
			}
			h.record("outbox-9", "ada", text("hi"))
			h.run()
			want := []StatusOutcome{StatusApplied, StatusNotNewer, StatusNotNewer, StatusLate}
			items := Decode(fixture(t, "F09"), ourNumber).Items
			require.Len(t, items, 4)
			for i, item := range items {
				h.wantApplied(want[i], *item.Status)
			}
			op := h.op("outbox-9")
			require.Equal(t, StatusRead, op.Status)
			require.Equal(t, operation.Done, op.State)
			require.Equal(t, "wamid.OUT9", op.Wamid)
		})
	}
}

func TestApplyStatus_F10movesEachMessageOnItsOwnWay(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	next := 9
	h.meta.sendFunc = func(m Outgoing) (SendResult, error) {
		next++
		return SendResult{Wamid: "wamid.OUT" + map[int]string{10: "10", 11: "11", 12: "12"}[next] + strings.Repeat("x", max(0, next-12))}, nil
	}
	h.record("outbox-10", "ada", operation.Message{Type: "text", Key: "order.paid", Template: "sale_paid"})
	h.run()
	h.record("outbox-11", "sam", text("hi"))
	h.run()
	h.record("outbox-12", "ada", text("hi"))
	h.run()
	items := Decode(fixture(t, "F10"), ourNumber).Items
	require.Len(t, items, 4)
	for _, item := range items[:3] {
		h.wantApplied(StatusFailure, *item.Status)
	}
	require.Equal(t, operation.Parked, h.op("outbox-11").State, "permanent")
	require.Equal(t, 16*time.Second, h.dueIn("outbox-12"), "this person only")
	h.run()
	require.Equal(t, operation.Done, h.op("outbox-10").State)
	require.Len(t, h.meta.sent, 4)
	require.Equal(t, TypeTemplate, h.meta.sent[3].Type)
	h.wantApplied(StatusOlder, Status{Wamid: "wamid.OUT10", Name: StatusDelivered, CallbackData: "outbox-10"})
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.OUTx", Name: StatusDelivered, CallbackData: "outbox-10"})

	h.sender.ApplyNumberError(items[3].Event.Errors[0], h.clock.Now())
	h.record("n4", "sam", text("hi"))
	h.run()
	require.Len(t, h.meta.sent, 4, "the whole number waits")
	h.clock.Advance(20 * time.Second)
	h.run()
	require.Equal(t, operation.Done, h.op("n4").State)
	require.Equal(t, operation.Done, h.op("outbox-12").State)
}

func TestApplyStatus_ofAnEarlierSendWhoseReplyWasLost(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = timeOut
	h.record("n1", "ada", text("hi"))
	h.run()
	h.clock.Advance(45 * time.Second)
	h.meta.sendFunc = nil
	h.run()
	require.Equal(t, "wamid.S2", h.op("n1").Wamid)
	h.wantApplied(StatusOlder, Status{Wamid: "wamid.S1", Name: StatusRead, CallbackData: "n1"})
	h.wantApplied(StatusOlder, Status{Wamid: "wamid.S1", Name: StatusFailed, CallbackData: "n1", Errors: []APIError{{Code: 131026}}})
	require.Equal(t, operation.Done, h.op("n1").State)
	require.Equal(t, StatusAccepted, h.op("n1").Status)
}

func TestApplyStatus_stopsAMessageThatIsDueAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.meta.sendFunc = timeOut
	h.record("n1", "ada", text("hi"))
	h.run()
	h.clock.Advance(window) // the grace is over, and now the window too
	h.run()
	require.Equal(t, operation.Pending, h.op("n1").State)
	h.wantApplied(StatusApplied, Status{Wamid: "wamid.S1", Name: StatusDelivered, CallbackData: "n1"})
	require.Equal(t, operation.Done, h.op("n1").State)
	h.wrote("ada")
	h.run()
	require.Len(t, h.meta.sent, 1)
}

func TestApplyStatus_failuresByClass(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		code  int
		state operation.State
		alert string
	}{
		{"transient, known not to be delivered", 131000, operation.Pending, ""},
		{"number throttled", 130429, operation.Pending, ""},
		{"account", 131031, operation.Pending, AlertStopped},
		{"undeliverable", 131026, operation.Parked, ""},
		{"media", 131053, operation.Pending, ""},
		{"a code from the future", 999999, operation.Parked, AlertMessage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.record("n1", "ada", text("hi"))
			h.run()
			h.wantApplied(StatusFailure, Status{Wamid: "wamid.S1", Name: StatusFailed, CallbackData: "n1", Errors: []APIError{{Code: tt.code}}})
			require.Equal(t, tt.state, h.op("n1").State)
			require.Equal(t, tt.alert != "", len(h.records()) > 0)
			if tt.state == operation.Pending {
				h.clock.Advance(time.Hour)
				h.run()
				require.Len(t, h.meta.sent, 2)
				require.Equal(t, operation.Done, h.op("n1").State)
			}
		})
	}
}

func TestApplyStatus_failedWithoutAReasonIsForAPerson(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.record("n1", "ada", text("hi"))
	h.run()
	h.wantApplied(StatusFailure, Status{Wamid: "wamid.S1", Name: StatusFailed})
	require.Equal(t, operation.Parked, h.op("n1").State)
	require.Len(t, h.records(), 1)
}

func TestApplyStatus_nobodysStatus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, err := h.apply(Status{Wamid: "wamid.ELSE", Name: StatusSent, CallbackData: "another-system"})
	require.ErrorIs(t, err, ErrNoSuchMessage)
	_, err = h.apply(Status{Wamid: "wamid.ELSE", Name: StatusSent})
	require.ErrorIs(t, err, ErrNoSuchMessage)
}

// Statuses in any order, repeated at will, end at the highest rank; failed counts only when nothing above sent came first.
func TestApplyStatus_anyOrderEndsAtTheHighestRank(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := "any" + strings.Repeat("i", n)
		h.record(id, "ada", text("hi"))
		h.run()
		wamid, best := h.op(id).Wamid, 0
		names := rapid.SliceOf(rapid.SampledFrom([]string{StatusSent, StatusDelivered, StatusRead, StatusPlayed, "deleted"})).Draw(t, "names")
		for _, name := range names {
			rank, _ := Rank(name)
			best = max(best, rank)
			if _, err := h.apply(Status{Wamid: wamid, Name: name, CallbackData: id}); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := Rank(h.op(id).Status)
		if got != best {
			t.Fatalf("rank %d, want %d", got, best)
		}
	})
}
