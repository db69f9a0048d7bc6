// Package exchangetest is the suite that every venue passes: one execution per reference, whatever is repeated, and no
// answer that claims to know what it does not. Only tests import it.
package exchangetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/exchange"
	"offrampbot/services/fault"
	"offrampbot/services/money"
)

// Harness is one venue with its surroundings, fresh for each sub-test.
type Harness struct {
	Venue exchange.Venue
	// SetRate makes the venue pay this for the pair of Order, fresh now.
	SetRate func(t *testing.T, rate money.Rate)
	// SwitchOff makes the venue refuse for now; SwitchOn ends that.
	SwitchOff func(t *testing.T)
	SwitchOn  func(t *testing.T)
	// Break makes the venue's answers unknowable from here on: its store or its network is gone.
	Break func(t *testing.T)
	// Trades counts what the venue really did under a reference.
	Trades func(t *testing.T, reference string) int
}

// Rate is the quoted rate of every order here: ₦1,500 for one token.
var Rate = money.Rate{Num: 150_000, Den: 1_000_000}

// Order is an order of ten tokens under a reference.
func Order(reference string) exchange.Order {
	return exchange.Order{
		Reference: reference, Asset: "USDT", Chain: "base", Fiat: "NGN", Amount: 10_000_000, Rate: Rate, Gross: 1_500_000,
	}
}

// Run runs the suite; newHarness makes a venue that has executed nothing and has no rate.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"a price without a rate is refused, not guessed", priceIsRefused},
		{"a price never exceeds the rate that was set", priceIsBounded},
		{"a reference never executed is unknown to the venue", lookUpBefore},
		{"an execution fills the quoted gross and is found", executes},
		{"a repeat of a reference executes once", repeats},
		{"25 executions at once of one reference are one", races},
		{"another order under a used reference is not taken for the first", otherOrder},
		{"while switched off nothing happens, and the same reference works later", switchedOff},
		{"a switch does not undo what was executed", switchedOffLater},
		{"an order that contradicts itself is refused", contradictions},
		{"when nothing can be learnt the answer is never conclusive", broken},
		{"a call that was given up is never conclusive", cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, newHarness(t))
		})
	}
}

func priceIsRefused(t *testing.T, h Harness) {
	_, err := h.Venue.Price(t.Context(), "USDT", "base", "NGN")
	require.True(t, fault.Is(err, "rate_unavailable"), "%v", err)
}

func priceIsBounded(t *testing.T, h Harness) {
	h.SetRate(t, Rate)
	price, err := h.Venue.Price(t.Context(), "USDT", "base", "NGN")
	require.NoError(t, err)
	require.True(t, price.Rate.Valid())
	got, _, err := price.Rate.Apply(10_000_000)
	require.NoError(t, err)
	require.LessOrEqual(t, got, money.Minor(1_500_000))
	require.False(t, price.At.IsZero())
}

func lookUpBefore(t *testing.T, h Harness) {
	got := h.Venue.LookUp(t.Context(), "ofr-never")
	require.False(t, got.Found, "a venue knows what it does not know")
	require.Equal(t, exchange.Unknown, got.Outcome)
}

func executes(t *testing.T, h Harness) {
	h.SetRate(t, Rate)
	got := h.Venue.Execute(t.Context(), Order("ofr-one"))
	require.Equal(t, exchange.Success, got.Outcome, got.Reason)
	require.Equal(t, money.Minor(1_500_000), got.Filled)
	found := h.Venue.LookUp(t.Context(), "ofr-one")
	require.True(t, found.Found)
	require.Equal(t, exchange.Success, found.Outcome)
	require.Equal(t, got.Filled, found.Filled)
	require.Equal(t, got.VenueID, found.VenueID)
	require.Equal(t, 1, h.Trades(t, "ofr-one"))
}

func repeats(t *testing.T, h Harness) {
	if !h.Venue.SameReferenceSafe() {
		t.Skip("this venue does not promise it")
	}
	for range 3 {
		require.Equal(t, exchange.Success, h.Venue.Execute(t.Context(), Order("ofr-again")).Outcome)
	}
	require.Equal(t, 1, h.Trades(t, "ofr-again"))
}

func races(t *testing.T, h Harness) {
	if !h.Venue.SameReferenceSafe() {
		t.Skip("this venue does not promise it")
	}
	const callers = 25
	results := make(chan exchange.Result, callers)
	for range callers {
		go func() { results <- h.Venue.Execute(t.Context(), Order("ofr-race")) }()
	}
	for range callers {
		got := <-results
		require.Contains(t, []exchange.Outcome{exchange.Success, exchange.Unknown}, got.Outcome, "a racer learns nothing false")
		require.True(t, got.Found, "only a look-up may say that a reference is unknown to the venue")
	}
	require.Equal(t, exchange.Success, h.Venue.LookUp(t.Context(), "ofr-race").Outcome)
	require.Equal(t, 1, h.Trades(t, "ofr-race"))
}

func otherOrder(t *testing.T, h Harness) {
	require.Equal(t, exchange.Success, h.Venue.Execute(t.Context(), Order("ofr-used")).Outcome)
	other := Order("ofr-used")
	other.Amount, other.Gross = 20_000_000, 3_000_000
	got := h.Venue.Execute(t.Context(), other)
	require.Equal(t, exchange.Unknown, got.Outcome)
	require.Equal(t, money.Minor(1_500_000), h.Venue.LookUp(t.Context(), "ofr-used").Filled)
}

func switchedOff(t *testing.T, h Harness) {
	h.SwitchOff(t)
	refused := h.Venue.Execute(t.Context(), Order("ofr-later"))
	require.Equal(t, exchange.NotNow, refused.Outcome)
	require.True(t, refused.Found, "only a look-up may say that a reference is unknown to the venue")
	require.False(t, h.Venue.LookUp(t.Context(), "ofr-later").Found)
	require.Zero(t, h.Trades(t, "ofr-later"))
	h.SwitchOn(t)
	require.Equal(t, exchange.Success, h.Venue.Execute(t.Context(), Order("ofr-later")).Outcome)
}

func switchedOffLater(t *testing.T, h Harness) {
	require.Equal(t, exchange.Success, h.Venue.Execute(t.Context(), Order("ofr-done")).Outcome)
	h.SwitchOff(t)
	require.Equal(t, exchange.Success, h.Venue.Execute(t.Context(), Order("ofr-done")).Outcome, "it was done before")
	require.Equal(t, exchange.Success, h.Venue.LookUp(t.Context(), "ofr-done").Outcome)
}

func contradictions(t *testing.T, h Harness) {
	bad := map[string]func(*exchange.Order){
		"more than amount times rate": func(o *exchange.Order) { o.Gross++ },
		"nothing to sell":             func(o *exchange.Order) { o.Amount = 0 },
		"nothing to pay":              func(o *exchange.Order) { o.Gross = 0 },
		"no rate":                     func(o *exchange.Order) { o.Rate = money.Rate{} },
		"no reference":                func(o *exchange.Order) { o.Reference = "" },
	}
	for name, spoil := range bad {
		o := Order("ofr-bad")
		spoil(&o)
		require.Equal(t, exchange.Failed, h.Venue.Execute(t.Context(), o).Outcome, name)
	}
	require.Zero(t, h.Trades(t, "ofr-bad"))
}

func broken(t *testing.T, h Harness) {
	h.Break(t)
	got := h.Venue.Execute(t.Context(), Order("ofr-dark"))
	require.Contains(t, []exchange.Outcome{exchange.Unknown, exchange.NotNow}, got.Outcome)
	require.True(t, got.Found)
	found := h.Venue.LookUp(t.Context(), "ofr-dark")
	require.True(t, found.Found, "not having learnt anything is not knowing that there is nothing")
	require.Equal(t, exchange.Unknown, found.Outcome)
}

func cancelled(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := h.Venue.Execute(ctx, Order("ofr-cancelled"))
	require.NotEqual(t, exchange.Failed, got.Outcome)
	found := h.Venue.LookUp(ctx, "ofr-cancelled")
	if found.Outcome == exchange.Unknown {
		require.True(t, found.Found)
	}
}
