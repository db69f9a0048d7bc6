package offramp_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// stoppedInCall carries an operation out while its worker is told to stop during the outside call.
func (w *world) stoppedInCall(op *operation.Operation, handle func(context.Context, *operation.Operation, operation.Lease) error) {
	w.t.Helper()
	ctx, stop := context.WithCancel(operation.WithLeft(w.t.Context(), func() time.Duration { return time.Minute }))
	defer stop()
	w.during = stop
	require.NoError(w.t, handle(ctx, op, *op.Lease))
}

// What the other side has said is stored, also when the worker was stopped during the call.
func TestStop_inTheMiddleOfACallKeepsItsAnswer(t *testing.T) {
	t.Parallel()
	scenario(t, "the venue's", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		o := w.place(w.offer(25))
		w.stoppedInCall(w.claim(operation.StartExchange), w.svc.Exchange)
		require.Equal(t, offramp.Sending, w.order(o.ID).State)
	})
	scenario(t, "the bank's", func(t *testing.T, w *world) {
		o := w.sending()
		w.stoppedInCall(w.claim(operation.Payout), w.svc.Payout)
		require.Equal(t, offramp.Success, w.order(o.ID).State)
		require.Len(t, w.rail.order, 1, "paid once")
	})
}

// vague is an engine whose first commit happens and is not confirmed, and that answers nothing afterwards.
type vague struct {
	store.Engine
	commits int
}

func (v *vague) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	v.commits++
	if v.commits > 1 {
		return store.ErrUnavailable
	}
	if err := v.Engine.Update(ctx, fn); err != nil {
		return err
	}
	return store.ErrCommitUnknown
}

func TestPlace_thatMayHaveBeenCommittedSaysSoWhateverFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testkit.Bolt(t, indexes()))
	w.deposited("0x1", 30*oneUSDT)
	q := w.offer(25)
	_, err := w.service(&vague{Engine: w.engine}).Place(t.Context(), offramp.Placing{Intent: q.ID, User: "ada", Delivery: "wa:test"})
	require.ErrorIs(t, err, store.ErrCommitUnknown)
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Equal(t, q.ID, w.place(q).ID, "the same placing again finds it")
}
