package offramp_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/deposit"
	"offrampbot/services/invariant"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

// scenario runs a story on a fresh world on each engine; at its end the whole store is verified.
func scenario(t *testing.T, name string, story func(t *testing.T, w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		testkit.Engines(t, indexes(), func(t *testing.T, engine store.Engine) {
			w := newWorld(t, engine)
			story(t, w)
			w.verify()
		})
	})
}

// verify checks every invariant of the stored records.
func (w *world) verify() {
	w.t.Helper()
	check, err := invariant.New(w.engine, assets.Sandbox())
	require.NoError(w.t, err)
	report, err := check.Verify(w.t.Context())
	require.NoError(w.t, err)
	require.Empty(w.t, report.Differences)
	w.balances()
}

// stored reads a deposit.
func (w *world) stored(tx string) *deposit.Deposit {
	w.t.Helper()
	var d deposit.Deposit
	require.NoError(w.t, w.engine.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
		return r.Get(store.Deposits, deposit.Ref("base", tx, 0), &d)
	}))
	return &d
}

func TestApplyDeposit(t *testing.T) {
	t.Parallel()
	scenario(t, "a seen deposit that is parked no longer carries an order", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		require.Equal(t, offramp.Deposit, w.order(o.ID).State)
		require.NoError(t, w.fact(deposit.FactParked, "0x1", 25*oneUSDT))
		require.Equal(t, offramp.Waiting, w.order(o.ID).State)
		require.Zero(t, w.account().Incoming)
	})
	scenario(t, "a ref that shows another transfer is parked and no longer carries an order", func(t *testing.T, w *world) {
		o := w.place(w.offer(25))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 26*oneUSDT))
		require.Equal(t, offramp.Waiting, w.order(o.ID).State)
		require.Equal(t, deposit.Parked, w.stored("0x1").State)
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 27*oneUSDT), "and again changes nothing")
	})
	scenario(t, "a transfer that comes and goes is committed every time", func(t *testing.T, w *world) {
		for n := range 3 {
			require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT), n)
			require.Equal(t, 25*oneUSDT, w.account().Incoming)
			require.NoError(t, w.fact(deposit.FactDropped, "0x1", 25*oneUSDT), n)
			require.Zero(t, w.account().Incoming)
		}
		require.Equal(t, deposit.Reverted, w.stored("0x1").State)
	})
	scenario(t, "a deposit that is final and was never credited is credited", func(t *testing.T, w *world) {
		require.NoError(t, w.fact(deposit.FactSettled, "0x1", 25*oneUSDT))
		require.Equal(t, 25*oneUSDT, w.account().Available)
		require.Equal(t, deposit.Settled, w.stored("0x1").State)
		require.NoError(t, w.fact(deposit.FactSettled, "0x1", 25*oneUSDT))
		require.Equal(t, 25*oneUSDT, w.account().Available)
	})
	scenario(t, "a parked deposit stays parked whatever the chain shows", func(t *testing.T, w *world) {
		require.NoError(t, w.fact(deposit.FactSeen, "0x1", 25*oneUSDT))
		require.NoError(t, w.fact(deposit.FactParked, "0x1", 25*oneUSDT))
		for _, kind := range []deposit.FactKind{
			deposit.FactSeen, deposit.FactParked, deposit.FactMissing, deposit.FactDropped, deposit.FactSettled, deposit.FactConfirmed,
		} {
			require.NoError(t, w.fact(kind, "0x1", 25*oneUSDT), kind)
			require.Equal(t, deposit.Parked, w.stored("0x1").State, kind)
			require.Zero(t, w.account().Available+w.account().Incoming, kind)
		}
	})
	scenario(t, "facts repeated, missing and found again change nothing twice", func(t *testing.T, w *world) {
		steps := []struct {
			kind      deposit.FactKind
			state     deposit.State
			available int64
			incoming  int64
		}{
			{deposit.FactSeen, deposit.Pending, 0, 25},
			{deposit.FactMissing, deposit.Missing, 0, 25},
			{deposit.FactSeen, deposit.Pending, 0, 25},
			{deposit.FactConfirmed, deposit.Reported, 25, 0},
			{deposit.FactMissing, deposit.Missing, 25, 0},
			{deposit.FactSeen, deposit.Reported, 25, 0},
			{deposit.FactMissing, deposit.Missing, 25, 0},
			{deposit.FactReverted, deposit.Reverted, 0, 0},
			{deposit.FactSeen, deposit.Pending, 0, 25},
			{deposit.FactConfirmed, deposit.Reported, 25, 0},
			{deposit.FactSettled, deposit.Settled, 25, 0},
		}
		for i, s := range steps {
			for range 2 {
				require.NoError(t, w.fact(s.kind, "0x1", 25*oneUSDT), "%d %s", i, s.kind)
				require.Equal(t, s.state, w.stored("0x1").State, "%d %s", i, s.kind)
				require.Equal(t, s.available, int64(w.account().Available/oneUSDT), "%d %s", i, s.kind)
				require.Equal(t, s.incoming, int64(w.account().Incoming/oneUSDT), "%d %s", i, s.kind)
			}
		}
		require.Equal(t, 2, w.stored("0x1").Epoch)
	})
}

func TestApplyDeposit_ofNobody(t *testing.T) {
	t.Parallel()
	unowned := func(w *world, kind deposit.FactKind, user, fingerprint string) error {
		height := w.height.Add(1)
		d := deposit.Deposit{
			Chain: "base", Tx: "0xn", Asset: "USDT", From: "0xsender", To: "0xada", User: user, Raw: "25000000", Micro: 25 * oneUSDT,
			Block: height, BlockHash: fmt.Sprint("h", height), Fingerprint: fingerprint, SeenAt: w.clock.Now(), Reason: "no_owner",
		}
		d.ID = deposit.Ref("base", "0xn", 0)
		return w.svc.ApplyDeposit(w.t.Context(), deposit.Fact{Kind: kind, Deposit: d})
	}
	scenario(t, "money in suspense is not booked again when the address gets its user", func(t *testing.T, w *world) {
		require.NoError(t, unowned(w, deposit.FactParked, "", "f"))
		require.Equal(t, int64(25*oneUSDT), w.balances()["suspense:base:USDT"])
		for _, kind := range []deposit.FactKind{
			deposit.FactSeen, deposit.FactConfirmed, deposit.FactMissing, deposit.FactReverted, deposit.FactDropped, deposit.FactParked,
			deposit.FactSettled,
		} {
			require.NoError(t, unowned(w, kind, "ada", "f"), kind)
			require.Equal(t, deposit.Parked, w.stored("0xn").State, kind)
			require.Equal(t, int64(25*oneUSDT), w.balances()["suspense:base:USDT"], kind)
			require.Zero(t, w.account().Available+w.account().Owed+w.account().Incoming, kind)
		}
	})
	scenario(t, "a ref of nobody that shows another transfer alarms and does not stop the chain", func(t *testing.T, w *world) {
		require.NoError(t, unowned(w, deposit.FactParked, "", "f"))
		require.NoError(t, unowned(w, deposit.FactParked, "", "g"))
		require.NoError(t, unowned(w, deposit.FactParked, "", "g"))
		require.Equal(t, int64(25*oneUSDT), w.balances()["suspense:base:USDT"])
		require.Contains(t, w.alerts(), "the chain shows another transfer under this ref: 25000000 of ")
	})
	scenario(t, "a transfer to the treasury is booked once, one to a stranger is an alarm", func(t *testing.T, w *world) {
		out := func(tx, to string) error {
			height := w.height.Add(1)
			d := deposit.Deposit{
				Chain: "base", Tx: tx, Asset: "USDT", From: "0xada", To: to, Raw: "25000000", Micro: 25 * oneUSDT, Block: height,
				Fingerprint: tx, SeenAt: w.clock.Now(),
			}
			d.ID = deposit.Ref("base", tx, 0)
			return w.svc.ApplyDeposit(w.t.Context(), deposit.Fact{Kind: deposit.FactOutgoing, Deposit: d})
		}
		for range 2 {
			require.NoError(t, out("0xt", "0xtreasury"))
			require.NoError(t, out("0xs", "0xthief"))
		}
		require.Equal(t, -int64(25*oneUSDT), w.balances()["treasury:USDT"])
		require.Equal(t, deposit.Settled, w.stored("0xt").State)
		require.Equal(t, deposit.Parked, w.stored("0xs").State)
		require.Equal(t, []string{"a transfer left one of our addresses for an unknown one"}, w.alerts())
	})
}
