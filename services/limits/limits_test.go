package limits_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/limits"
	"offrampbot/services/money"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

var noon = testkit.Noon().Now()

// tier sells 100 a sale, 250 a day, 600 a month, 60 to a new beneficiary; a tenth of all in GHS.
var tier = assets.Tier{ID: "tier0", Limits: map[string]assets.Limit{
	"NGN": {SaleMinor: 100, DayMinor: 250, MonthMinor: 600, NewBeneficiaryMinor: 60},
	"GHS": {SaleMinor: 10, DayMinor: 25, MonthMinor: 60, NewBeneficiaryMinor: 6},
}}

// ago is an entry of NGN to a beneficiary of old.
func ago(order string, age time.Duration, minor money.Minor) limits.Entry {
	return limits.Entry{Order: order, At: noon.Add(-age), Fiat: "NGN", Minor: minor, Beneficiary: "b_old"}
}

func sale(minor money.Minor) limits.Sale {
	return limits.Sale{Order: "now", Fiat: "NGN", Minor: minor, Beneficiary: "b_old", BeneficiarySince: noon.Add(-48 * time.Hour)}
}

func TestCheck_countsRollingWindows(t *testing.T) {
	t.Parallel()
	fresh := sale(61)
	fresh.BeneficiarySince = noon.Add(-23 * time.Hour)
	again := sale(100)
	again.Order = "a"
	ghs := sale(10)
	ghs.Fiat = "GHS"
	other := sale(50)
	other.Fiat = "EUR"
	tests := []struct {
		name    string
		entries []limits.Entry
		sale    limits.Sale
		want    string // code, or empty
		left    string
	}{
		{"a first sale at the limit", nil, sale(100), "", ""},
		{"a first sale above the limit", nil, sale(101), "limit_sale", "100"},
		{"nothing", nil, sale(0), "limit_sale", "0"},
		{"a negative amount", nil, sale(-5), "limit_sale", "0"},
		{"what fills the day", []limits.Entry{ago("a", time.Hour, 100), ago("b", 2*time.Hour, 100)}, sale(50), "", ""},
		{"what is over the day", []limits.Entry{ago("a", time.Hour, 100), ago("b", 2*time.Hour, 100)}, sale(51), "limit_day", "50"},
		{"yesterday's sale at the same minute", []limits.Entry{ago("a", 24*time.Hour, 250)}, sale(100), "", ""},
		{"a sale a moment less than a day ago", []limits.Entry{ago("a", 24*time.Hour-time.Millisecond, 250)}, sale(1), "limit_day", "0"},
		{"a month that is full", []limits.Entry{ago("a", 48*time.Hour, 250), ago("b", 72*time.Hour, 250), ago("c", 96*time.Hour, 60)}, sale(41), "limit_month", "40"},
		{"a month ago to the minute", []limits.Entry{ago("a", limits.Month, 600)}, sale(100), "", ""},
		{"more used than allowed", []limits.Entry{ago("a", time.Hour, 900)}, sale(1), "limit_day", "0"},
		{"a new beneficiary", nil, fresh, "limit_new_beneficiary", "60"},
		{"a beneficiary that was never saved", nil, limits.Sale{Fiat: "NGN", Minor: 61, Beneficiary: "b_new"}, "limit_new_beneficiary", "60"},
		{"its own entry does not count twice", []limits.Entry{ago("a", time.Hour, 100), ago("b", time.Hour, 150)}, again, "", ""},
		{"a fiat that the tier does not sell into", nil, other, "limit_sale", "0"},
		{"another fiat uses up the same share", []limits.Entry{ago("a", time.Hour, 201)}, ghs, "limit_day", "4"},
		{"another fiat with room", []limits.Entry{ago("a", time.Hour, 150)}, ghs, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := limits.Check(&limits.Doc{Entries: tt.entries}, tier, tt.sale, noon)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Is(err, tt.want), "%v", err)
			require.Equal(t, tt.left, fault.As(err).Args["left"])
		})
	}
}

func TestCheck_addsUpSalesToANewBeneficiary(t *testing.T) {
	t.Parallel()
	d := &limits.Doc{Entries: []limits.Entry{{Order: "a", At: noon.Add(-time.Hour), Fiat: "NGN", Minor: 40, Beneficiary: "b_new"}}}
	s := limits.Sale{Order: "b", Fiat: "NGN", Minor: 21, Beneficiary: "b_new", BeneficiarySince: noon.Add(-time.Hour)}
	err := limits.Check(d, tier, s, noon)
	require.True(t, fault.Is(err, "limit_new_beneficiary"))
	require.Equal(t, "20", fault.As(err).Args["left"])
	s.Minor = 20
	require.NoError(t, limits.Check(d, tier, s, noon))
}

func TestCheck_treatsAFiatThatLostItsLimitAsUsedUp(t *testing.T) {
	t.Parallel()
	d := &limits.Doc{Entries: []limits.Entry{{Order: "a", At: noon, Fiat: "KES", Minor: 1}}}
	require.True(t, fault.Is(limits.Check(d, tier, sale(1), noon), "limit_day"))
}

func TestRemove_givesRoomBack(t *testing.T) {
	t.Parallel()
	d := &limits.Doc{}
	limits.Add(d, ago("a", 0, 250), noon)
	require.Error(t, limits.Check(d, tier, sale(1), noon))
	limits.Remove(d, "other")
	require.Error(t, limits.Check(d, tier, sale(1), noon))
	limits.Remove(d, "a")
	require.NoError(t, limits.Check(d, tier, sale(100), noon))
}

func TestAdd_countsAnOrderOnceHoweverOftenItIsRenewed(t *testing.T) {
	t.Parallel()
	d := &limits.Doc{}
	limits.Add(d, ago("a", 2*time.Hour, 100), noon)
	limits.Add(d, ago("a", time.Hour, 80), noon)
	require.Len(t, d.Entries, 1)
	require.Equal(t, money.Minor(80), d.Entries[0].Minor)
}

func TestPrune_dropsOnlyWhatEndedAndIsOld(t *testing.T) {
	t.Parallel()
	d := &limits.Doc{Entries: []limits.Entry{ago("open", 40*24*time.Hour, 1), ago("paid", 40*24*time.Hour, 1), ago("young", time.Hour, 1)}}
	limits.End(d, "paid")
	limits.End(d, "young")
	limits.Prune(d, noon)
	require.Len(t, d.Entries, 2)
	require.Equal(t, "open", d.Entries[0].Order)
	require.Equal(t, "young", d.Entries[1].Order)
}

func TestLeft_isWhatCheckAllows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &limits.Doc{}
		for i := range rapid.IntRange(0, 8).Draw(t, "entries") {
			fiat := rapid.SampledFrom([]string{"NGN", "GHS"}).Draw(t, "fiat")
			age := time.Duration(rapid.Int64Range(0, int64(40*24*time.Hour)).Draw(t, "age"))
			minor := money.Minor(rapid.Int64Range(1, 120).Draw(t, "minor"))
			limits.Add(d, limits.Entry{Order: fmt.Sprint(i), At: noon.Add(-age), Fiat: fiat, Minor: minor}, noon)
		}
		room := limits.Left(d, tier, "NGN", noon)
		require.GreaterOrEqual(t, room.Sale, money.Minor(0))
		if room.Sale > 0 {
			require.NoError(t, limits.Check(d, tier, sale(room.Sale), noon))
		}
		require.Error(t, limits.Check(d, tier, sale(room.Sale+1), noon))
	})
}

func TestSetOpen_allowsOneUnfundedOrderAnAsset(t *testing.T) {
	t.Parallel()
	d := &limits.Doc{}
	require.NoError(t, limits.SetOpen(d, "USDT", "a"))
	require.NoError(t, limits.SetOpen(d, "USDT", "a"), "the same order again")
	require.NoError(t, limits.SetOpen(d, "USDC", "b"), "another asset")
	err := limits.SetOpen(d, "USDT", "c")
	require.True(t, fault.Is(err, "unfunded_exists"))
	require.Equal(t, "a", fault.As(err).Args["order"])
	limits.ClearOpen(d, "USDT", "c")
	require.Error(t, limits.SetOpen(d, "USDT", "c"), "only the order itself clears its place")
	limits.ClearOpen(d, "USDT", "a")
	require.NoError(t, limits.SetOpen(d, "USDT", "c"))
}

// Invariant: limits hold over everything from Placed on, however many orders are placed at once (E11, I12).
func TestSave_letsOnlyTheSalesWithinTheLimitWinARace(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, nil, func(t *testing.T, engine store.Engine) {
		const racers = 20
		results := make(chan error, racers)
		for i := range racers {
			go func() { results <- place(t.Context(), storetest.Twice(engine), fmt.Sprint("order-", i)) }()
		}
		placed := 0
		for range racers {
			if err := <-results; err == nil {
				placed++
			} else {
				require.True(t, fault.Is(err, "limit_day"), "%v", err)
			}
		}
		require.Equal(t, 2, placed, "250 a day hold two sales of 100")
		require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			d, err := limits.Load(r, "u_1")
			require.Len(t, d.Entries, 2)
			return err
		}))
	})
}

// place adds a sale of 100 as an order would, until it is not told that the document has moved on.
func place(ctx context.Context, engine store.Engine, order string) error {
	var err error
	for range 1000 {
		err = engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
			d, err := limits.Load(tx, "u_1")
			if err != nil {
				return err
			}
			s := sale(100)
			s.Order = order
			if err := limits.Check(d, tier, s, noon); err != nil {
				return err
			}
			limits.Add(d, limits.Entry{Order: order, At: noon, Fiat: "NGN", Minor: 100}, noon)
			return limits.Save(tx, d)
		})
		if !errors.Is(err, store.ErrStale) && !store.IsDuplicate(err) {
			return err
		}
	}
	return err
}

func TestTouch_raisesTheRevisionOfTheGuard(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, nil, func(t *testing.T, engine store.Engine) {
		touch := func() {
			require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error { return limits.Touch(tx, "u_1") }))
		}
		touch()
		touch()
		require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
			d, err := limits.Load(r, "u_1")
			require.Equal(t, int64(2), d.Revision)
			return err
		}))
	})
}
