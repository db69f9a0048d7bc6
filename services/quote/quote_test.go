package quote_test

import (
	"context"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/assets"
	"offrampbot/services/money"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestPrice_splitsTheGrossIntoNetAndFee(t *testing.T) {
	t.Parallel()
	flat := assets.Fee{FlatMinor: 5_000, BasisPoints: 50, CapMinor: 200_000}
	tests := []struct {
		name     string
		amount   money.Micro
		rate     money.Rate
		fee      assets.Fee
		wantFee  money.Minor
		wantNet  money.Minor
		wantRest money.Fraction
		wantErr  error
	}{
		{"25 USDT at 1,500", 25_000_000, money.Rate{Num: 150_000, Den: 1_000_000}, flat, 23_750, 3_726_250, money.Fraction{Den: 1}, nil},
		{"a fraction stays on the order", 1_000_001, money.Rate{Num: 1, Den: 3}, assets.Fee{}, 0, 333_333, money.Fraction{Num: 2, Den: 3}, nil},
		{"a capped fee", 1_000_000_000, money.Rate{Num: 150_000, Den: 1_000_000}, flat, 200_000, 149_800_000, money.Fraction{Den: 1}, nil},
		{"a fee as large as the gross", 50_000, money.Rate{Num: 1, Den: 10}, assets.Fee{FlatMinor: 5_000}, 0, 0, money.Fraction{}, quote.ErrTooSmall},
		{"a fee larger than the gross", 10_000, money.Rate{Num: 1, Den: 10}, assets.Fee{FlatMinor: 5_000}, 0, 0, money.Fraction{}, quote.ErrTooSmall},
		{"no rate", 25_000_000, money.Rate{}, flat, 0, 0, money.Fraction{}, money.ErrRate},
		{"more than a payout can be", math.MaxInt64, money.Rate{Num: 10, Den: 1}, flat, 0, 0, money.Fraction{}, money.ErrOverflow},
		{"a fee that cannot be", 25_000_000, money.Rate{Num: 1, Den: 1}, assets.Fee{FlatMinor: math.MaxInt64, BasisPoints: 10_000}, 0, 0, money.Fraction{}, money.ErrOverflow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := &quote.Quote{Amount: tt.amount}
			err := q.Price(tt.rate, tt.fee)
			if tt.wantErr != nil {
				require.ErrorIs(t, err, tt.wantErr)
				require.Zero(t, q.Net, "a quote that has no price pays nothing")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.wantFee, q.Fee)
			require.Equal(t, tt.wantNet, q.Net)
			require.Equal(t, q.Gross, q.Net+q.Fee)
			require.Equal(t, tt.wantRest.Num*q.Remainder.Den, q.Remainder.Num*tt.wantRest.Den)
		})
	}
}

// TestPrice_neverPaysMoreThanAmountTimesRate compares with exact fractions.
func TestPrice_neverPaysMoreThanAmountTimesRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := &quote.Quote{Amount: money.Micro(rapid.Int64Range(1, 1_000_000_000_000).Draw(t, "amount"))}
		rate := money.Rate{Num: rapid.Int64Range(1, 10_000_000).Draw(t, "num"), Den: rapid.Int64Range(1, 10_000_000).Draw(t, "den")}
		fee := assets.Fee{
			FlatMinor: money.Minor(rapid.Int64Range(0, 10_000).Draw(t, "flat")), BasisPoints: rapid.Int64Range(0, 5_000).Draw(t, "points"),
			CapMinor: money.Minor(rapid.Int64Range(0, 100_000).Draw(t, "cap")),
		}
		if q.Price(rate, fee) != nil {
			return
		}
		exact := new(big.Rat).Mul(new(big.Rat).SetInt64(int64(q.Amount)), big.NewRat(rate.Num, rate.Den))
		paid := new(big.Rat).SetInt64(int64(q.Net + q.Fee))
		lost := new(big.Rat).Sub(exact, paid)
		if lost.Sign() < 0 || lost.Cmp(big.NewRat(1, 1)) >= 0 || q.Net <= 0 || q.Fee < 0 {
			t.Fatalf("%d at %v: net %d and fee %d of %v", q.Amount, rate, q.Net, q.Fee, exact)
		}
		if lost.Cmp(big.NewRat(q.Remainder.Num, q.Remainder.Den)) != 0 {
			t.Fatalf("%v is lost, %v is kept", lost, q.Remainder)
		}
	})
}

func TestSame_comparesEverythingThatARenewalMustKeep(t *testing.T) {
	t.Parallel()
	q := &quote.Quote{Asset: "USDT", Chain: "base", Amount: 25, Beneficiary: quote.Beneficiary{Digest: "d"}}
	require.True(t, q.Same("USDT", "base", 25, "d"))
	require.False(t, q.Same("USDC", "base", 25, "d"))
	require.False(t, q.Same("USDT", "bnb", 25, "d"))
	require.False(t, q.Same("USDT", "base", 26, "d"))
	require.False(t, q.Same("USDT", "base", 25, "e"))
	require.Equal(t, "beneficiary:d", q.Beneficiary.Record())
}

func TestQuote_isStoredWhole(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, quote.Indexes, func(t *testing.T, e store.Engine) {
		at := testkit.Noon().Now()
		q := &quote.Quote{
			User: "ada", Asset: "USDT", Chain: "base", Amount: 25_000_000, Fiat: "NGN", Content: "c", Renews: "r", State: quote.Open,
			Beneficiary: quote.Beneficiary{
				BankCode: "058", BankName: "GTBank", Sealed: []byte{1, 2}, Last4: "6789", Name: "ADA OBI", Digest: "d", Since: at,
			},
			CreatedAt: at, ExpiresAt: at.Add(10 * time.Minute),
		}
		q.ID, q.Version = "intent", 1
		require.NoError(t, q.Price(money.Rate{Num: 1, Den: 3}, assets.Fee{FlatMinor: 7}))
		var got quote.Quote
		require.NoError(t, e.Update(t.Context(), func(_ context.Context, tx store.Tx) error { return tx.Insert(store.Quotes, q) }))
		require.NoError(t, e.View(t.Context(), func(_ context.Context, r store.Reader) error {
			return r.Get(store.Quotes, "intent", &got)
		}))
		require.Equal(t, *q, got)
	})
}
