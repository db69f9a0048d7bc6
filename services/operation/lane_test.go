package operation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

var ordered = operation.Claimer{Kind: operation.Notify, Lease: lease, Ordered: true}

func message(user string, seq int, created, due time.Time) *operation.Operation {
	id := fmt.Sprintf("notify:%s:%d", user, seq)
	return operation.New(operation.Notify, id, "", user, "user:"+user, due, created)
}

func (b bench) next(owner string, now time.Time) *operation.Operation {
	b.t.Helper()
	op, _, err := ordered.Next(b.t.Context(), b.engine, owner, now)
	require.NoError(b.t, err)
	return op
}

func (b bench) finish(id string) {
	b.t.Helper()
	require.NoError(b.t, b.change(id, steps["finish"]))
}

func TestOrdered_aLaneGoesStrictlyInCreatedOrder(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		for seq := 12; seq >= 1; seq-- { // recorded in one moment, and due the wrong way round
			b.record(message("ann", seq, noon, noon.Add(-time.Duration(seq)*time.Second)))
		}
		b.record(message("bob", 1, noon.Add(time.Second), noon.Add(time.Second)))
		now := noon.Add(time.Minute)
		for seq := 1; seq <= 12; seq++ {
			op := b.next(fmt.Sprint("p#", seq), now)
			require.Equal(b.t, fmt.Sprintf("notify:ann:%d", seq), op.ID)
			if seq == 1 {
				require.Equal(b.t, "notify:bob:1", b.next("p#bob", now).ID, "other lanes go on meanwhile")
				require.Nil(b.t, b.next("p#none", now), "nothing of a lane in hand")
			}
			b.finish(op.ID)
		}
		require.Nil(b.t, b.next("p#end", now))
	})
}

func TestOrdered_aHeadOfAnotherKindHoldsTheLane(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(operation.New(operation.Alert, "alert:order-1", "order-1", "ann", "user:ann", noon, noon))
		b.record(message("ann", 1, noon.Add(time.Second), noon))
		require.Nil(b.t, b.next("p#1", noon.Add(time.Minute)))
		b.finish("alert:order-1")
		require.Equal(b.t, "notify:ann:1", b.next("p#2", noon.Add(time.Minute)).ID)
	})
}

func TestOrdered_closedAndAcceptedOnesHoldNothing(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		for seq, step := range []string{"finish", "park", "supersede", "accept"} {
			b.record(message("ann", seq, noon, noon))
			require.NoError(b.t, b.change(fmt.Sprintf("notify:ann:%d", seq), steps[step]))
		}
		b.record(message("ann", 9, noon.Add(time.Second), noon))
		require.Equal(b.t, "notify:ann:9", b.next("p#1", noon.Add(time.Minute)).ID)
	})
}

// A provider outage leaves many lanes whose heads wait for another try. What waits behind them must not hide the lanes
// that can go on, however many they are.
func TestOrdered_waitingLanesDoNotHideTheOthers(t *testing.T) {
	t.Parallel()
	b := bench{t, testkit.Bolt(t, operation.Indexes)}
	const lanes = 700
	later := noon.Add(10 * time.Minute)
	require.NoError(t, b.update(func(tx store.Tx) error {
		for lane := range lanes {
			user := fmt.Sprint("user-", lane)
			for seq, due := range []time.Time{later, noon} {
				if _, err := operation.Record(tx, message(user, seq, noon.Add(time.Duration(seq)*time.Second), due)); err != nil {
					return err
				}
			}
		}
		_, err := operation.Record(tx, message("ann", 1, noon, noon.Add(time.Second)))
		return err
	}))
	now := noon.Add(time.Minute)
	var op *operation.Operation
	looks := 0
	for ; op == nil && looks < 10; looks++ {
		op = b.next("p#1", now)
	}
	require.NotNil(t, op)
	require.Equal(t, "notify:ann:1", op.ID)
	moved := b.load("notify:user-0:1")
	require.True(t, moved.Due.After(now), "it is due with its head")
	require.False(t, moved.Due.After(later))
	require.Zero(t, moved.Tries)
	require.NotNil(t, b.next("p#2", later), "and goes on when the head does")
}

func TestSkip_leavesOutUsersWithASlot(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(message("ann", 1, noon, noon))
		b.record(message("bob", 1, noon.Add(time.Second), noon.Add(time.Second)))
		c := ordered
		c.SkipFunc = func(op *operation.Operation) bool { return op.User == "ann" }
		op, _, err := c.Next(b.t.Context(), b.engine, "p#1", noon.Add(time.Minute))
		require.NoError(b.t, err)
		require.Equal(b.t, "bob", op.User)
	})
}

func TestClaim_severalAtOnceOnePerUserAndLane(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		for n := range 20 { // ten users with two messages each
			b.record(message(fmt.Sprint("user-", n%10), n/10, noon.Add(time.Duration(n)*time.Second), noon))
		}
		for _, c := range []operation.Claimer{
			{Kind: operation.Notify, Lease: lease, Most: 6, Ordered: true},
			{Kind: operation.Notify, Lease: lease, Most: 6},
		} {
			ops, _, err := c.Some(b.t.Context(), b.engine, fmt.Sprint("p#", c.Ordered), noon.Add(time.Minute))
			require.NoError(b.t, err)
			require.Len(b.t, ops, 6)
			users := map[string]bool{}
			for _, op := range ops {
				require.False(b.t, users[op.User])
				users[op.User] = true
				require.Equal(b.t, 1, b.load(op.ID).Tries)
				b.finish(op.ID)
			}
		}
	})
}
