package chaintest_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
)

// in is a transfer to Alice.
func in(contract string, raw *big.Int) chaintest.Log {
	return chaintest.Log{Contract: contract, From: chaintest.Stranger, To: chaintest.Alice, Raw: raw}
}

// one is one whole USDT.
func one() *big.Int { return chaintest.Raw(chaintest.USDT, 1) }

func TestG16_whatIsNoMoneyIsNeverCredited(t *testing.T) {
	t.Parallel()
	t.Run("zero value is counted and not recorded", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(in(chaintest.USDT, big.NewInt(0)), in(chaintest.Fake, big.NewInt(0)))
		r.Mine(5)
		_, found := r.Find(tx, 0)
		require.False(t, found)
		r.Settle()
		require.Equal(t, int64(2), r.Watcher.Health().Ignored[deposit.IgnoredZero], "once each, however often it is read")
	})
	t.Run("a failed receipt is never credited", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.SendFailing(in(chaintest.USDT, one()))
		r.Mine(1)
		block := r.Chain.Height()
		r.Chain.ServeStale(deposit.Transfer{
			Tx: tx, Contract: chaintest.USDT, From: chaintest.Stranger, To: chaintest.Alice, Raw: one(), Block: block, BlockHash: r.Chain.Hash(block),
		})
		r.Mine(5)
		r.WantSteps(tx)
		require.Equal(t, deposit.ReasonFailedReceipt, r.Deposit(tx).Reason)
	})
	t.Run("less than a micro-unit is recorded and not credited", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(in(chaintest.USDC, big.NewInt(999)))
		r.Mine(5)
		require.Equal(t, deposit.ReasonBelowMicro, r.Deposit(tx).Reason)
		r.WantSteps(tx)
	})
	t.Run("an amount beyond 64 bits of micro-units waits for a person", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		huge := new(big.Int).Lsh(big.NewInt(1), 200)
		tx := r.Chain.Send(in(chaintest.USDT, huge))
		r.Mine(5)
		require.Equal(t, deposit.ReasonOverflow, r.Deposit(tx).Reason)
		require.Equal(t, huge.String(), r.Deposit(tx).Raw)
	})
	t.Run("worthless transfers are recorded up to a bound per address", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		for range 15 {
			r.Chain.Send(in(chaintest.Fake, one()), in(chaintest.Fake, one()), in(chaintest.USDC, big.NewInt(1)))
			r.Chain.Mine(1)
		}
		r.Poll()
		r.Chain.Send(in(chaintest.Fake, one()))
		r.Mine(1)
		require.Len(t, r.Books.Facts(), deposit.MaxWorthless)
		require.Equal(t, int64(46-deposit.MaxWorthless), r.Watcher.Health().Ignored[deposit.IgnoredSpam])
	})
}

func TestG16_depositsAreWhatTheLogSays(t *testing.T) {
	t.Parallel()
	t.Run("several transfers of one transaction are several deposits", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(in(chaintest.USDT, one()), in(chaintest.USDT, one()), in(chaintest.USDC, chaintest.Raw(chaintest.USDC, 2)),
			chaintest.Log{Contract: chaintest.USDT, From: chaintest.Stranger, To: chaintest.Bob, Raw: one()})
		r.Mine(3)
		for ordinal := range 4 {
			d, ok := r.Find(tx, ordinal)
			require.True(t, ok)
			require.Equal(t, deposit.Reported, d.State)
		}
		r.WantBalance("alice:USDT", 2)
		r.WantBalance("alice:USDC", 2)
		r.WantBalance("bob:USDT", 1)
	})
	t.Run("a token that takes a fee credits what the log says arrived", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		fee := big.NewInt(30_000)
		arrived := new(big.Int).Sub(one(), fee)
		tx := r.Chain.Send(in(chaintest.USDT, arrived), chaintest.Log{Contract: chaintest.USDT, From: chaintest.Stranger, To: chaintest.Fake, Raw: fee})
		r.Mine(3)
		require.Equal(t, "970000", r.Deposit(tx).Raw)
		require.EqualValues(t, 970_000, r.Deposit(tx).Micro)
	})
	t.Run("dust of a token with 18 decimals is kept beside the amount", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		raw := new(big.Int).Add(chaintest.Raw(chaintest.USDC, 3), big.NewInt(7))
		tx := r.Chain.Send(in(chaintest.USDC, raw))
		r.Mine(2)
		d := r.Deposit(tx)
		require.EqualValues(t, 3_000_000, d.Micro)
		require.Equal(t, "7", d.Dust)
		require.Equal(t, raw.String(), d.Raw)
		r.WantSteps(tx, "credit")
	})
}

func TestG16_whatLeavesOurAddressesIsBookedOrTold(t *testing.T) {
	t.Parallel()
	t.Run("a self transfer credits nobody and is an alarm", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Alice, To: chaintest.Bob, Raw: one()})
		r.Mine(20)
		r.WantSteps(tx)
		d := r.Deposit(tx)
		require.Equal(t, deposit.ReasonSelf, d.Reason)
		require.Empty(t, d.User)
	})
	t.Run("what goes to the treasury is booked once, when it is final", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Alice, To: chaintest.Treasury, Raw: one()})
		r.Mine(10)
		_, found := r.Find(tx, 0)
		require.False(t, found)
		r.Mine(1)
		r.WantSteps(tx, "treasury")
		r.Mine(20)
		r.WantBalance("chain:USDT", -1)
		require.Equal(t, deposit.Settled, r.Deposit(tx).State)
	})
	t.Run("any other outgoing transfer is told at first sight", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Alice, To: chaintest.Stranger, Raw: one()})
		r.Mine(1)
		require.Equal(t, deposit.ReasonUnknown, r.Deposit(tx).Reason)
		r.Mine(20)
		r.WantSteps(tx)
		require.Len(t, r.Books.Facts(), 1)
	})
	t.Run("an unlisted contract cannot raise an alarm about outgoing money", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Chain.Send(chaintest.Log{Contract: chaintest.Fake, From: chaintest.Alice, To: chaintest.Stranger, Raw: one()})
		r.Mine(20)
		_, found := r.Find(tx, 0)
		require.False(t, found)
		require.Equal(t, int64(1), r.Watcher.Health().Ignored[deposit.IgnoredFakeOutgoing])
	})
}

func TestG16_moneyWithoutAnOwnerGoesToSuspense(t *testing.T) {
	t.Parallel()
	t.Run("money without an owner goes to suspense when it is final", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Nobody, 4)
		r.Mine(10)
		_, found := r.Find(tx, 0)
		require.False(t, found)
		r.Mine(1)
		r.WantState(tx, deposit.Parked)
		r.Mine(20)
		r.WantBalance("suspense:USDT", 4)
	})
	t.Run("an address that gets its user in time credits the user", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		tx := r.Pay(chaintest.USDT, chaintest.Nobody, 4)
		r.Mine(2)
		r.Users.Allot(chaintest.Nobody, "dora")
		r.Mine(1)
		r.WantSteps(tx, "credit")
		r.WantBalance("dora:USDT", 4)
	})
	t.Run("the operator's own money goes to suspense", func(t *testing.T) {
		t.Parallel()
		r := chaintest.NewRig(t)
		r.Chain.Send(chaintest.Log{Contract: chaintest.USDT, From: chaintest.Treasury, To: chaintest.Alice, Raw: one()})
		r.Mine(25)
		r.WantBalance("suspense:USDT", 1)
		r.WantBalance("alice:USDT", 0)
	})
}
