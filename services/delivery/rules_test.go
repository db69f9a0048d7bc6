package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/delivery"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

const lease = 30 * time.Second

var noon = time.Date(2026, 6, 3, 12, 0, 0, 0, time.UTC)

// bench is an engine with shorthands; every call is one transaction.
type bench struct {
	t      *testing.T
	engine store.Engine
}

func onEngines(t *testing.T, test func(b bench)) {
	t.Helper()
	testkit.Engines(t, delivery.Indexes, func(t *testing.T, engine store.Engine) { test(bench{t, engine}) })
	t.Run("bolt, every transaction twice", func(t *testing.T) {
		t.Parallel()
		test(bench{t, storetest.Twice(testkit.Bolt(t, delivery.Indexes))})
	})
}

func (b bench) update(fn func(tx store.Tx) error) error {
	return b.engine.Update(b.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) })
}

func (b bench) store(receipts ...*delivery.Receipt) {
	b.t.Helper()
	docs := make([]store.Document, len(receipts))
	for n, r := range receipts {
		c := *r
		docs[n] = &c
	}
	_, err := b.engine.Append(b.t.Context(), store.Inbox, docs)
	require.NoError(b.t, err)
}

func (b bench) load(id string) *delivery.Receipt {
	b.t.Helper()
	var r *delivery.Receipt
	require.NoError(b.t, b.engine.View(b.t.Context(), func(_ context.Context, reader store.Reader) error {
		var err error
		r, err = delivery.Load(reader, id)
		return err
	}))
	return r
}

func (b bench) claim(owner string, now time.Time) *delivery.Claim {
	b.t.Helper()
	c, _, err := delivery.Claimer{Lease: lease}.Next(b.t.Context(), b.engine, owner, now)
	require.NoError(b.t, err)
	return c
}

func (b bench) finish(r *delivery.Receipt, now time.Time) error {
	return b.update(func(tx store.Tx) error { return delivery.Finish(tx, r, "applied", now) })
}

// message is a receipt sent second seconds after noon.
func message(partition string, second int) *delivery.Receipt {
	at := noon.Add(time.Duration(second) * time.Second)
	return delivery.New(fmt.Sprintf("wa:%s-%d", partition, second), delivery.Message, "text", partition, "print",
		[]byte("sealed"), at, at)
}

func TestClaim_inOrderOneAtATimePerPartition(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.store(message("ann", 3), message("ann", 1), message("bob", 2), message("ann", 2))
		now := noon.Add(time.Minute)
		first := b.claim("p#1", now)
		require.Equal(b.t, "wa:ann-1", first.Receipt.ID)
		require.Equal(b.t, 3, first.Waiting)
		require.Equal(b.t, 1, first.Receipt.Tries, "counted before it is handled")
		require.Equal(b.t, "wa:bob-2", b.claim("p#2", now).Receipt.ID)
		require.Nil(b.t, b.claim("p#3", now), "both partitions are in hand")
		require.NoError(b.t, b.finish(first.Receipt, now))
		second := b.claim("p#4", now)
		require.Equal(b.t, "wa:ann-2", second.Receipt.ID)
		b.store(message("ann", 0)) // sent first, arrived last
		require.Nil(b.t, b.claim("p#5", now), "never beside one that is in hand")
		require.NoError(b.t, b.finish(second.Receipt, now))
		require.Equal(b.t, "wa:ann-0", b.claim("p#6", now).Receipt.ID)
	})
}

func TestClaim_severalPartitionsAtOnce(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		for n := range 20 {
			b.store(message(fmt.Sprint("user-", n%10), n))
		}
		now := noon.Add(time.Minute)
		c := delivery.Claimer{Lease: lease, Most: 6, SkipFunc: func(p string) bool { return p == "user-0" }}
		seen := map[string]bool{}
		for _, want := range []int{6, 3, 0} {
			claims, _, err := c.Some(b.t.Context(), b.engine, fmt.Sprint("p#", want), now)
			require.NoError(b.t, err)
			require.Len(b.t, claims, want)
			for _, claim := range claims {
				require.Equal(b.t, 2, claim.Waiting)
				require.False(b.t, seen[claim.Receipt.Partition])
				seen[claim.Receipt.Partition] = true
				require.Equal(b.t, claim.Receipt.LeaseOwner, b.load(claim.Receipt.ID).LeaseOwner)
			}
		}
	})
}

func TestClaim_of8ClaimantsEachReceiptHasOne(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		const all = 40
		for n := range all {
			b.store(message(fmt.Sprint("user-", n), 0))
		}
		var mu sync.Mutex
		owners := map[string][]string{}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					claims, _, err := delivery.Claimer{Lease: lease, Most: 1 + w}.
						Some(b.t.Context(), b.engine, fmt.Sprintf("p%d#%d", w, n), noon)
					if err != nil || len(claims) == 0 {
						return
					}
					mu.Lock()
					for _, c := range claims {
						owners[c.Receipt.ID] = append(owners[c.Receipt.ID], c.Receipt.LeaseOwner)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.Len(b.t, owners, all)
		for id, owner := range owners {
			require.Equal(b.t, []string{b.load(id).LeaseOwner}, owner)
		}
	})
}

func TestClaim_recoversAnExpiredLeaseClocksTolerated(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.store(message("ann", 0))
		dead := b.claim("dead#1", noon)
		ends := noon.Add(lease)
		require.Nil(b.t, b.claim("p#1", ends.Add(delivery.Tolerance-time.Millisecond)))
		taken := b.claim("p#2", ends.Add(delivery.Tolerance))
		require.Equal(b.t, 2, taken.Receipt.Tries)
		require.ErrorIs(b.t, b.finish(dead.Receipt, ends), delivery.ErrLeaseLost)
		require.NoError(b.t, b.finish(taken.Receipt, ends))
	})
}

func TestClaim_aHeadThatWaitsHoldsOnlyItsPartition(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		for n := range 12 { // more partitions than the first look covers
			partition := fmt.Sprint("user-", n)
			b.store(message(partition, 0), message(partition, 1))
			c := b.claim(fmt.Sprint("p#", n), noon.Add(time.Second))
			require.NotNil(b.t, c)
			require.NoError(b.t, b.update(func(tx store.Tx) error {
				return delivery.Retry(tx, c.Receipt, noon.Add(time.Minute), "why")
			}))
		}
		b.store(message("zoe", 2))
		require.Equal(b.t, "wa:zoe-2", b.claim("p#zoe", noon.Add(3*time.Second)).Receipt.ID)
		c, next, err := delivery.Claimer{Lease: lease}.Next(b.t.Context(), b.engine, "p#none", noon.Add(3*time.Second))
		require.NoError(b.t, err)
		require.Nil(b.t, c)
		require.True(b.t, next.Equal(noon.Add(time.Minute)))
		require.Equal(b.t, "wa:user-0-0", b.claim("p#later", noon.Add(time.Minute)).Receipt.ID)
	})
}

func TestFinish_commitsWithItsEffectOrNotAtAll(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.store(message("ann", 0))
		c := b.claim("p#1", noon)
		before := *c.Receipt
		broken := errors.New("the effect failed")
		err := b.update(func(tx store.Tx) error {
			if err := delivery.Finish(tx, c.Receipt, "applied", noon); err != nil {
				return err
			}
			return broken
		})
		require.ErrorIs(b.t, err, broken)
		require.Equal(b.t, delivery.Received, b.load("wa:ann-0").State)
		require.Equal(b.t, before, *c.Receipt, "the transaction may run again with the same receipt")

		c.Receipt.Order, c.Receipt.User, c.Receipt.Body = "order-1", "user-1", []byte("overwritten")
		require.NoError(b.t, b.finish(c.Receipt, noon.Add(time.Second)))
		got := b.load("wa:ann-0")
		require.Equal(b.t, delivery.Done, got.State)
		require.Equal(b.t, "applied", got.Outcome)
		require.Equal(b.t, []string{"order-1", "user-1"}, []string{got.Order, got.User})
		require.Equal(b.t, []byte("overwritten"), got.Body)
		require.Nil(b.t, got.Due)
		require.Nil(b.t, got.LeaseUntil)
		require.ErrorIs(b.t, b.finish(c.Receipt, noon), delivery.ErrLeaseLost, "once")
	})
}

func TestSetAside_leavesThePartitionAndCanBeRedriven(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.store(message("ann", 0), message("ann", 1))
		how := map[delivery.State]func(store.Tx, *delivery.Receipt, string, time.Time) error{
			delivery.Parked: delivery.Park, delivery.Unhandled: delivery.MarkUnhandled,
		}
		for n, state := range []delivery.State{delivery.Parked, delivery.Unhandled} {
			c := b.claim(fmt.Sprint("p#", n), noon.Add(time.Minute))
			require.Equal(b.t, fmt.Sprint("wa:ann-", n), c.Receipt.ID, "the next one is not blocked")
			require.NoError(b.t, b.update(func(tx store.Tx) error { return how[state](tx, c.Receipt, "why", noon) }))
			got := b.load(c.Receipt.ID)
			require.Equal(b.t, state, got.State)
			require.Equal(b.t, "why", got.Reason)
			require.Nil(b.t, got.SweepAt, "what is set aside is never swept")
		}
		require.Nil(b.t, b.claim("p#none", noon.Add(time.Hour)))
		for _, id := range []string{"wa:ann-0", "wa:ann-1"} {
			require.NoError(b.t, b.update(func(tx store.Tx) error {
				_, err := delivery.Redrive(tx, id, noon.Add(time.Hour))
				return err
			}))
			require.Zero(b.t, b.load(id).Tries)
		}
		require.ErrorIs(b.t, b.update(func(tx store.Tx) error {
			_, err := delivery.Redrive(tx, "wa:ann-0", noon)
			return err
		}), delivery.ErrNotParked)
		c := b.claim("p#again", noon.Add(time.Hour))
		require.Equal(b.t, "wa:ann-0", c.Receipt.ID)
		require.NoError(b.t, b.finish(c.Receipt, noon))
	})
}

func TestGiveBack_isNoTry(t *testing.T) {
	t.Parallel()
	b := bench{t, testkit.Bolt(t, delivery.Indexes)}
	b.store(message("ann", 0))
	for range 3 {
		c := b.claim("p#1", noon)
		require.Equal(t, 1, c.Receipt.Tries)
		require.NoError(t, b.update(func(tx store.Tx) error { return delivery.GiveBack(tx, c.Receipt, noon) }))
	}
}

func TestRecordDone_knowsWhatWasDelivered(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		record := func() error {
			return b.update(func(tx store.Tx) error {
				return delivery.RecordDone(tx, message("ann", 0), "applied", noon)
			})
		}
		require.NoError(b.t, record())
		require.True(b.t, store.IsDuplicate(record()))
		require.Equal(b.t, delivery.Done, b.load("wa:ann-0").State)
		require.Nil(b.t, b.claim("p#1", noon.Add(time.Hour)))
	})
}

func TestBacklog_tellsWhoAnswers(t *testing.T) {
	t.Parallel()
	require.Equal(t, delivery.Backlog{Waiting: 1, Last: true}, delivery.BacklogFrom(t.Context()))
	b := delivery.Backlog{Waiting: 31, Collapse: true}
	require.Equal(t, b, delivery.BacklogFrom(delivery.WithBacklog(t.Context(), b)))
	require.True(t, b.Silent())
	require.False(t, delivery.Backlog{Waiting: 1, Collapse: true, Last: true}.Silent(), "the last of a burst answers")
	require.False(t, delivery.Backlog{Waiting: 30}.Silent())
}
