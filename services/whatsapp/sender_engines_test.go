package whatsapp

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestSender_onBothEngines(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, senderIndexes(), func(t *testing.T, engine store.Engine) {
		t.Helper()
		h := newHarnessOn(t, engine)
		h.record("n1", "ada", text("hi"))
		h.run()
		h.wantApplied(StatusApplied, Status{Wamid: "wamid.S1", Name: StatusDelivered})
		require.Equal(t, StatusDelivered, h.op("n1").Status)

		h.meta.sendFunc = timeOut
		h.record("n2", "ada", text("paid"))
		h.run()
		require.Equal(t, operation.Called, h.op("n2").State)
		h.wantApplied(StatusApplied, Status{Wamid: "wamid.S2", Name: StatusRead, CallbackData: "n2"})
		require.Equal(t, operation.Done, h.op("n2").State)

		h.meta.sendFunc = nil
		h.clock.Advance(window)
		h.record("n3", "ada", text("later"))
		h.run()
		require.Equal(t, operation.Pending, h.op("n3").State)
		h.clock.Advance(time.Minute)
		require.Equal(t, 1, h.wrote("ada"))
		h.run()
		require.Equal(t, operation.Done, h.op("n3").State)
		require.Len(t, h.meta.sent, 3)
		_, err := h.apply(Status{Wamid: "wamid.ELSE", Name: StatusSent})
		require.ErrorIs(t, err, ErrNoSuchMessage)
	})
}

// Invariant: a message that may have gone out is not sent again before its status had time to come. Here reply and
// statuses arrive at the same moment, in every order that the engine makes of it.
func TestSender_replyAndStatusesRaceOnBothEngines(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, senderIndexes(), func(t *testing.T, engine store.Engine) {
		t.Helper()
		h := newHarnessOn(t, engine)
		for round := range 5 {
			id, wamid := "n"+strconv.Itoa(round), "wamid.R"+strconv.Itoa(round)
			var group sync.WaitGroup
			outcomes := make(chan error, 2)
			h.meta.sendFunc = func(Outgoing) (SendResult, error) {
				for _, name := range []string{StatusDelivered, StatusRead} {
					group.Go(func() {
						_, err := h.apply(Status{Wamid: wamid, Name: name, CallbackData: id})
						outcomes <- err
					})
				}
				return SendResult{Wamid: wamid}, nil
			}
			h.record(id, "ada", text("hi"))
			_, err := h.step()
			require.NoError(t, err)
			group.Wait()
			require.NoError(t, <-outcomes)
			require.NoError(t, <-outcomes)
			op := h.op(id)
			require.Equal(t, operation.Done, op.State)
			require.Equal(t, StatusRead, op.Status)
			require.Equal(t, wamid, op.Wamid)
		}
		require.Len(t, h.meta.sent, 5)
	})
}
