package flows

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/setting"
)

func TestSell_readsAmountsAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	// The rate is ₦1,500; the fee ₦50 and half a percent.
	tests := []struct {
		name, typed, asset   string
		balance              money.Micro
		wantAmount, wantSlot string
	}{
		{name: "a bare number is of the coin that was chosen", typed: "25", wantAmount: "25 USDT"},
		{name: "decimals", typed: "25.5 usdt", wantAmount: "25.5 USDT"},
		{name: "the coin in front", typed: "USDT 25.000001", wantAmount: "25.000001 USDT"},
		{name: "a decimal comma", typed: "25,5", wantAmount: "25.5 USDT"},
		{name: "a dollar sign is no coin of its own", typed: "$20", wantAmount: "20 USDT"},
		{name: "thousandths of a thousand", typed: "0.1k usdt", wantAmount: "100 USDT"},
		{name: "Arabic digits", typed: "٢٥", wantAmount: "25 USDT"},
		{name: "full-width digits", typed: "２５", wantAmount: "25 USDT"},
		{name: "spaces that cannot be seen", typed: "\u200f25\u00a0usdt\u200b", wantAmount: "25 USDT"},
		{name: "another coin that was chosen", typed: "25", asset: "USDC:bnb", wantAmount: "25 USDC"},
		{name: "naira that shall arrive", typed: "₦20,000", wantAmount: "13.433834 USDT"},
		{name: "naira in short", typed: "20k naira", wantAmount: "13.433834 USDT"},
		{name: "naira with a letter", typed: "N20000", wantAmount: "13.433834 USDT"},
		{name: "naira by code", typed: "20000 ngn", wantAmount: "13.433834 USDT"},
		{name: "naira with kobo", typed: "₦20,000.01", wantAmount: "13.43384 USDT"},
		{name: "half of what is there", typed: "half", balance: 31_000_001, wantAmount: "15.5 USDT"},
		{name: "all of what is there", typed: "all my usdt", balance: 31_000_001, wantAmount: "31.000001 USDT"},
		{name: "half of too little", typed: "half", balance: 9_999_999, wantSlot: "At least 5 USDT"},
		{name: "all of nothing", typed: "all", wantSlot: "No USDT in your balance"},
		{name: "half of nothing", typed: "half", wantSlot: "No USDT in your balance"},
		{name: "all of another coin", typed: "all my usdc", balance: 30_000_000, wantSlot: "Not in USDT or NGN"},
		{name: "another coin", typed: "25 usdc", wantSlot: "Not in USDT or NGN"},
		{name: "two readings", typed: "1,000", wantSlot: "Two readings: see the top"},
		{name: "nothing", typed: "", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "zero", typed: "0", wantSlot: "At least 5 USDT"},
		{name: "words", typed: "some", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "negative", typed: "-25", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "an exponent", typed: "1e2", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "hexadecimal", typed: "0x19", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "seven decimals", typed: "25.0000001", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "forty digits", typed: "1111111111111111111111111111111111111111", wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "a book", typed: string(make([]byte, 5000)), wantSlot: "Like 25 usdt or ₦20,000"},
		{name: "the smallest sale", typed: "5", wantAmount: "5 USDT"},
		{name: "below the smallest sale", typed: "4.999999", wantSlot: "At least 5 USDT"},
		{name: "naira below the smallest sale", typed: "₦5,000", wantSlot: "At least 5 USDT"},
		{name: "the most that a new account gets", typed: "200", wantAmount: "200 USDT"},
		{name: "more than a new account gets", typed: "200.000007", wantSlot: "New account: ₦300,000.00 left"},
		{name: "more than one sale may be", typed: "300.000007", wantSlot: "At most ₦450,000.00 a sale"},
		{name: "more money than there is", typed: "9000000000", wantSlot: "At most ₦450,000.00 a sale"},
		{name: "more naira than there is", typed: "₦9000000000000000", wantSlot: "At most ₦450,000.00 a sale"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := onBolt(t).person()
			if tt.balance > 0 {
				p.deposits("USDT", tt.balance)
			}
			data := toNew(tt.typed, account)
			if tt.asset != "" {
				data["asset"] = tt.asset
			}
			a := p.opens("offramp_flow", nil).submit(data)
			if tt.wantAmount == "" {
				require.Equal(t, Details, a.Screen)
				require.Equal(t, tt.wantSlot, a.text("sell_amount_error"), a.text("error_message"))
				require.Equal(t, true, a.Data["has_error"])
				return
			}
			require.Equal(t, FiatReview, a.Screen, a.text("error_message"))
			require.Equal(t, tt.wantAmount, a.text("sell_amount"))
		})
	}
}

func TestSell_limitsCountWhatWasSold(t *testing.T) {
	t.Parallel()
	p := onBolt(t).person()
	p.deposits("USDT", 1000*oneUSDT)
	p.set(func(s *setting.Settings) {
		s.Limits["tier0/NGN"] = setting.Limit{SaleMinor: 60_000_00, DayMinor: 90_000_00, MonthMinor: 100_000_00, NewBeneficiaryMinor: 80_000_00}
	})
	p.sells("40") // ₦60,000
	submit := func(amount string) shown { return p.opens("offramp_flow", nil).submit(toNew(amount, account)) }
	a := submit("14")
	require.Equal(t, "New account: ₦20,000.00 left", a.text("sell_amount_error"))
	require.Contains(t, a.text("error_message"), "You have ₦20,000.00 left for it.")
	p.clock.Advance(24*3600*1e9 - 1e6)
	a = submit("21")
	require.Equal(t, "₦30,000.00 left for 24 hours", a.text("sell_amount_error"))
	require.Contains(t, a.text("error_message"), "You have ₦30,000.00 left.")
	require.Contains(t, a.text("limits_text"), "up to ₦30,000.00")
}

func TestGrossFor_leavesTheNetAndIsTheSmallest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fee := assets.Fee{
			FlatMinor:   money.Minor(rapid.Int64Range(0, 100_000).Draw(t, "flat")),
			BasisPoints: rapid.Int64Range(0, 5_000).Draw(t, "points"),
			CapMinor:    money.Minor(rapid.SampledFrom([]int64{0, 0, 200_000}).Draw(t, "cap")),
		}
		net := money.Minor(rapid.Int64Range(1, 1_000_000_000).Draw(t, "net"))
		gross, err := grossFor(net, fee)
		require.NoError(t, err)
		off, err := fee.On(gross)
		require.NoError(t, err)
		require.GreaterOrEqual(t, gross-off, net)
		less, err := fee.On(gross - 1)
		require.NoError(t, err)
		require.Less(t, gross-1-less, net, "one minor unit less would do")
	})
}

func TestGrossFor_aFeeThatEatsEverythingHasNoAnswer(t *testing.T) {
	t.Parallel()
	_, err := grossFor(1000, assets.Fee{BasisPoints: 10_000})
	require.ErrorIs(t, err, money.ErrOverflow)
	_, err = grossFor(1<<62, assets.Fee{BasisPoints: 9_999})
	require.Error(t, err)
}

func TestSell_noPriceNoOffer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(p *person)
		typed  string
	}{
		{"missing", func(p *person) { p.set(func(s *setting.Settings) { clear(s.Rates) }) }, "25"},
		{"missing, for an amount in naira", func(p *person) { p.set(func(s *setting.Settings) { clear(s.Rates) }) }, "₦20,000"},
		{"too old", func(p *person) { p.clock.Advance(setting.DefaultRateMaxAge + 1e6) }, "25"},
		{"out of its band", func(p *person) {
			p.set(func(s *setting.Settings) { s.Bands["NGN"] = setting.Band{LowMinor: 1, HighMinor: 2} })
		}, "25"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := onBolt(t).person()
			tt.change(p)
			a := p.opens("offramp_flow", nil).submit(toNew(tt.typed, account))
			require.Equal(t, Details, a.Screen)
			require.Contains(t, a.text("error_message"), "no fresh price")
		})
	}
}

func TestSell_brokenPriceIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	w.sell.d.Price = brokenPrices{}
	c := w.person().opens("offramp_flow", nil)
	require.Equal(t, 500, c.post(ActionExchange, Details, toNew("₦20,000", account)).Status)
	require.False(t, fault.Is(errBroken, "rate_unavailable"))
}
