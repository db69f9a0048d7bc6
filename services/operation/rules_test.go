package operation_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/operation"
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

func (b bench) update(fn func(tx store.Tx) error) error {
	return b.engine.Update(b.t.Context(), func(_ context.Context, tx store.Tx) error { return fn(tx) })
}

func (b bench) record(op *operation.Operation) bool {
	b.t.Helper()
	var inserted bool
	require.NoError(b.t, b.update(func(tx store.Tx) error {
		c := *op
		var err error
		inserted, err = operation.Record(tx, &c)
		return err
	}))
	return inserted
}

func (b bench) load(id string) *operation.Operation {
	b.t.Helper()
	var op *operation.Operation
	require.NoError(b.t, b.engine.View(b.t.Context(), func(_ context.Context, r store.Reader) error {
		var err error
		op, err = operation.Load(r, id)
		return err
	}))
	return op
}

// change loads an operation and applies fn to it.
func (b bench) change(id string, fn func(tx store.Tx, op *operation.Operation) error) error {
	return b.update(func(tx store.Tx) error {
		op, err := operation.Load(tx, id)
		if err != nil {
			return err
		}
		return fn(tx, op)
	})
}

func (b bench) claim(kind operation.Kind, owner string, now time.Time) *operation.Operation {
	b.t.Helper()
	op, err := operation.Claim(b.t.Context(), b.engine, kind, owner, lease, now)
	require.NoError(b.t, err)
	return op
}

func (b bench) hold(id string, l operation.Lease, now time.Time) error {
	return b.update(func(tx store.Tx) error {
		_, err := operation.Hold(tx, id, l, now)
		return err
	})
}

func payout(id string, due time.Time) *operation.Operation {
	return operation.New(operation.Payout, id, "order-1", "user-1", "order:order-1", due, noon)
}

func onEngines(t *testing.T, test func(b bench)) {
	t.Helper()
	testkit.Engines(t, operation.Indexes, func(t *testing.T, engine store.Engine) { test(bench{t, engine}) })
	t.Run("bolt, every transaction twice", func(t *testing.T) {
		t.Parallel()
		test(bench{t, storetest.Twice(testkit.Bolt(t, operation.Indexes))})
	})
}

func TestRecord_twiceIsOneOperation(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		require.True(b.t, b.record(payout("payout:order-1", noon)))
		second := payout("payout:order-1", noon.Add(time.Hour))
		second.Rail = "another"
		require.False(b.t, b.record(second))
		got := b.load("payout:order-1")
		require.Empty(b.t, got.Rail)
		require.Equal(b.t, operation.Pending, got.State)
		require.True(b.t, got.Due.Equal(noon))
	})
}

func TestClaim_takesTheOldestDueOfItsKind(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(payout("payout:b", noon.Add(-time.Minute)))
		b.record(payout("payout:a", noon))
		b.record(payout("payout:later", noon.Add(time.Second)))
		b.record(operation.New(operation.Notify, "notify:a:1", "", "user-1", "user:user-1", noon.Add(-time.Hour), noon))
		first := b.claim(operation.Payout, "p#1", noon)
		require.Equal(b.t, "payout:b", first.ID)
		require.Equal(b.t, 1, first.Tries)
		require.Equal(b.t, operation.Lease{Owner: "p#1", Until: noon.Add(lease)}, *first.Lease)
		require.Equal(b.t, "payout:a", b.claim(operation.Payout, "p#2", noon).ID)
		require.Nil(b.t, b.claim(operation.Payout, "p#3", noon))
		_, next, err := operation.Claimer{Kind: operation.Payout, Lease: lease}.Next(b.t.Context(), b.engine, "p#4", noon)
		require.NoError(b.t, err)
		require.True(b.t, next.Equal(noon.Add(time.Second)), "the worker learns when to wake")
	})
}

func TestClaim_of8ClaimantsEachOperationHasOne(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		const all = 48
		require.NoError(b.t, b.update(func(tx store.Tx) error {
			for i := range all {
				if _, err := operation.Record(tx, payout(fmt.Sprintf("payout:%d", i), noon)); err != nil {
					return err
				}
			}
			return nil
		}))
		var mu sync.Mutex
		owners := map[string]string{}
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					op, err := operation.Claim(b.t.Context(), b.engine, operation.Payout, fmt.Sprintf("p%d#%d", w, n), lease, noon)
					if err != nil || op == nil {
						return
					}
					mu.Lock()
					if other, twice := owners[op.ID]; twice {
						owners[op.ID] = other + " and " + op.Lease.Owner
					} else {
						owners[op.ID] = op.Lease.Owner
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.Len(b.t, owners, all)
		for id, owner := range owners {
			require.Equal(b.t, owner, b.load(id).Lease.Owner)
		}
	})
}

func TestClaim_recoversAnExpiredLeaseClocksTolerated(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(payout("payout:a", noon))
		first := b.claim(operation.Payout, "dead#1", noon)
		ends := noon.Add(lease)
		require.Nil(b.t, b.claim(operation.Payout, "p#1", ends.Add(operation.Tolerance-time.Millisecond)))
		second := b.claim(operation.Payout, "p#2", ends.Add(operation.Tolerance))
		require.Equal(b.t, 2, second.Tries)
		require.ErrorIs(b.t, b.hold("payout:a", *first.Lease, noon), operation.ErrLeaseLost, "even by a clock that is behind")
		require.NoError(b.t, b.hold("payout:a", *second.Lease, ends.Add(operation.Tolerance)))
	})
}

func TestHold_onlyByTheLeaseAndInTime(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(payout("payout:a", noon))
		require.ErrorIs(b.t, b.hold("payout:a", operation.Lease{}, noon), operation.ErrLeaseLost, "nobody holds it")
		l := *b.claim(operation.Payout, "p#1", noon).Lease
		require.NoError(b.t, b.hold("payout:a", l, noon.Add(lease-time.Millisecond)))
		require.ErrorIs(b.t, b.hold("payout:a", l, noon.Add(lease)), operation.ErrLeaseLost)
		require.ErrorIs(b.t, b.hold("payout:a", operation.Lease{Owner: "p#2", Until: l.Until}, noon), operation.ErrLeaseLost)
		require.ErrorIs(b.t, b.hold("payout:none", l, noon), store.ErrNotFound)
		require.NoError(b.t, b.change("payout:a", func(tx store.Tx, op *operation.Operation) error {
			return operation.Finish(tx, op, "paid", noon)
		}))
		require.ErrorIs(b.t, b.hold("payout:a", l, noon), operation.ErrLeaseLost)
	})
}

func TestRenew_movesTheEndOfALeaseThatIsHeld(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(payout("payout:a", noon))
		l := *b.claim(operation.Payout, "p#1", noon).Lease
		renew := func(now time.Time) (renewed operation.Lease, err error) {
			err = b.update(func(tx store.Tx) error {
				renewed, err = operation.Renew(tx, "payout:a", l, lease, now)
				return err
			})
			return renewed, err
		}
		renewed, err := renew(noon.Add(20 * time.Second))
		require.NoError(b.t, err)
		require.Equal(b.t, noon.Add(50*time.Second), renewed.Until)
		require.NoError(b.t, b.hold("payout:a", l, noon.Add(49*time.Second)), "the owner counts, not the end it was told first")
		require.Nil(b.t, b.claim(operation.Payout, "p#2", noon.Add(51*time.Second)))
		_, err = renew(noon.Add(50 * time.Second))
		require.ErrorIs(b.t, err, operation.ErrLeaseLost)
	})
}

func TestMarkCalling_countsBeforeTheCall(t *testing.T) {
	t.Parallel()
	onEngines(t, func(b bench) {
		b.record(payout("payout:a", noon))
		call := func(now time.Time) error {
			return b.change("payout:a", func(tx store.Tx, op *operation.Operation) error {
				return operation.MarkCalling(tx, op, now)
			})
		}
		require.ErrorIs(b.t, call(noon), operation.ErrLeaseLost, "no lease, no call")
		b.claim(operation.Payout, "p#1", noon)
		require.NoError(b.t, call(noon.Add(time.Second)))
		require.NoError(b.t, call(noon.Add(2*time.Second)))
		require.ErrorIs(b.t, call(noon.Add(lease)), operation.ErrLeaseLost)
		got := b.load("payout:a")
		require.Equal(b.t, operation.Called, got.State)
		require.Equal(b.t, 2, got.Calls)
		require.True(b.t, got.FirstCall.Equal(noon.Add(time.Second)))
		require.True(b.t, got.LastCall.Equal(noon.Add(2*time.Second)))
		require.ErrorIs(b.t, b.change("payout:a", func(tx store.Tx, op *operation.Operation) error {
			return operation.Supersede(tx, op, noon)
		}), operation.ErrCalled, "what was called is never taken back")
	})
}

// steps are all the rules that change a loaded operation.
var steps = map[string]func(tx store.Tx, op *operation.Operation) error{
	"accept":    func(tx store.Tx, op *operation.Operation) error { return operation.Accept(tx, op, noon) },
	"finish":    func(tx store.Tx, op *operation.Operation) error { return operation.Finish(tx, op, "paid", noon) },
	"retry":     func(tx store.Tx, op *operation.Operation) error { return operation.Retry(tx, op, noon, "why") },
	"postpone":  func(tx store.Tx, op *operation.Operation) error { return operation.Postpone(tx, op, noon, "why") },
	"give back": func(tx store.Tx, op *operation.Operation) error { return operation.GiveBack(tx, op, noon) },
	"park":      func(tx store.Tx, op *operation.Operation) error { return operation.Park(tx, op, "why", noon) },
	"supersede": func(tx store.Tx, op *operation.Operation) error { return operation.Supersede(tx, op, noon) },
	"re-arm":    func(tx store.Tx, op *operation.Operation) error { return operation.Rearm(tx, op, noon, "why") },
}

func TestRules_everyStateTakesOrRefusesEveryStep(t *testing.T) {
	t.Parallel()
	type want struct {
		state operation.State
		err   error
	}
	refused := func(err error) want { return want{err: err} }
	to := func(s operation.State) want { return want{state: s} }
	tests := []struct {
		from  operation.State
		calls int
		want  map[string]want
	}{
		{operation.Pending, 0, map[string]want{
			"accept": to(operation.Accepted), "finish": to(operation.Done), "retry": to(operation.Pending),
			"postpone": to(operation.Pending), "give back": to(operation.Pending), "park": to(operation.Parked),
			"supersede": to(operation.Superseded), "re-arm": to(operation.Pending),
		}},
		{operation.Called, 1, map[string]want{
			"accept": to(operation.Accepted), "finish": to(operation.Done), "retry": to(operation.Called),
			"postpone": to(operation.Called), "give back": to(operation.Called), "park": to(operation.Parked),
			"supersede": refused(operation.ErrCalled), "re-arm": to(operation.Called),
		}},
		{operation.Accepted, 1, map[string]want{
			"accept": to(operation.Accepted), "finish": to(operation.Done), "retry": to(operation.Accepted),
			"postpone": to(operation.Accepted), "give back": to(operation.Accepted), "park": to(operation.Parked),
			"supersede": refused(operation.ErrCalled), "re-arm": to(operation.Accepted),
		}},
		{operation.Done, 1, map[string]want{
			"accept": refused(operation.ErrClosed), "finish": refused(operation.ErrClosed),
			"retry": refused(operation.ErrClosed), "postpone": refused(operation.ErrClosed),
			"give back": refused(operation.ErrClosed), "park": refused(operation.ErrClosed),
			"supersede": refused(operation.ErrCalled), "re-arm": refused(operation.ErrClosed),
		}},
		{operation.Superseded, 0, map[string]want{
			"accept": refused(operation.ErrClosed), "finish": refused(operation.ErrClosed),
			"retry": refused(operation.ErrClosed), "postpone": refused(operation.ErrClosed),
			"give back": refused(operation.ErrClosed), "park": refused(operation.ErrClosed),
			"supersede": to(operation.Superseded), "re-arm": to(operation.Pending),
		}},
		{operation.Parked, 0, map[string]want{
			"accept": refused(operation.ErrClosed), "finish": to(operation.Done),
			"retry": refused(operation.ErrClosed), "postpone": refused(operation.ErrClosed),
			"give back": refused(operation.ErrClosed), "park": refused(operation.ErrClosed),
			"supersede": refused(operation.ErrClosed), "re-arm": to(operation.Pending),
		}},
		{operation.Parked, 2, map[string]want{
			"accept": refused(operation.ErrClosed), "finish": to(operation.Done),
			"retry": refused(operation.ErrClosed), "postpone": refused(operation.ErrClosed),
			"give back": refused(operation.ErrClosed), "park": refused(operation.ErrClosed),
			"supersede": refused(operation.ErrCalled), "re-arm": to(operation.Called),
		}},
	}
	b := bench{t, testkit.Bolt(t, operation.Indexes)}
	for _, tt := range tests {
		for name, step := range steps {
			id := fmt.Sprintf("%s:%d:%s", tt.from, tt.calls, name)
			op := payout(id, noon)
			op.State, op.Calls, op.Tries = tt.from, tt.calls, 3
			if tt.from.Closed() {
				op.Due, op.DoneAt = nil, &noon
			}
			b.record(op)
			err := b.change(id, step)
			require.Contains(t, tt.want, name)
			w := tt.want[name]
			if w.err != nil {
				require.ErrorIs(t, err, w.err, id)
				require.Equal(t, tt.from, b.load(id).State, id)
				continue
			}
			require.NoError(t, err, id)
			got := b.load(id)
			require.Equal(t, w.state, got.State, id)
			if got.State.Closed() {
				require.Nil(t, got.Due, id)
				require.Nil(t, got.Lease, id)
				require.NotNil(t, got.DoneAt, id)
			}
		}
		require.Len(t, tt.want, len(steps))
	}
}

func TestRules_triesCountFailuresOnly(t *testing.T) {
	t.Parallel()
	b := bench{t, testkit.Bolt(t, operation.Indexes)}
	b.record(payout("payout:a", noon))
	for _, tt := range []struct {
		step string
		want int
	}{{"retry", 1}, {"retry", 2}, {"give back", 2}, {"postpone", 0}, {"retry", 1}} {
		require.NotNil(t, b.claim(operation.Payout, "p#"+tt.step, noon))
		require.NoError(t, b.change("payout:a", steps[tt.step]))
		require.Equal(t, tt.want, b.load("payout:a").Tries, tt.step)
	}
}

func TestLeft_isNothingOutsideAWorker(t *testing.T) {
	t.Parallel()
	require.Zero(t, operation.Left(t.Context()))
	ctx := operation.WithLeft(t.Context(), func() time.Duration { return time.Minute })
	require.Equal(t, time.Minute, operation.Left(ctx))
	over := operation.WithLeft(t.Context(), func() time.Duration { return -time.Minute })
	require.Zero(t, operation.Left(over))
}
