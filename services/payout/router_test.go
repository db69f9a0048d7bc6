package payout_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/payout"
)

// named is a rail of which only name and currencies matter.
type named struct {
	payout.Rail
	name       string
	currencies map[string]int
}

func (n named) Name() string               { return n.name }
func (n named) Currencies() map[string]int { return n.currencies }

func router(t require.TestingT) *payout.Router {
	r, err := payout.NewRouter(
		named{name: "paystack", currencies: map[string]int{"NGN": 2}},
		named{name: "second", currencies: map[string]int{"NGN": 2, "GHS": 2}},
	)
	require.NoError(t, err)
	return r
}

func offs(names ...string) func(string) bool {
	return func(rail string) bool {
		for _, n := range names {
			if n == rail {
				return true
			}
		}
		return false
	}
}

func TestNext_staysWithinItsBounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		tried    []string
		currency string
		off      []string
		want     string // empty: none is left
	}{
		{"the preferred rail first", nil, "NGN", nil, "paystack"},
		{"then the one that was not tried", []string{"paystack"}, "NGN", nil, "second"},
		{"then the preferred one again", []string{"paystack", "second"}, "NGN", nil, "paystack"},
		{"three in total", []string{"paystack", "second", "paystack"}, "NGN", nil, ""},
		{"two on one rail", []string{"second", "second"}, "GHS", nil, ""},
		{"twice where there is one rail", []string{"second"}, "GHS", nil, "second"},
		{"a currency that nobody pays", nil, "KES", nil, ""},
		{"past a rail that is off", nil, "NGN", []string{"paystack"}, "second"},
		{"a first attempt waits for the switch", nil, "NGN", []string{"paystack", "second"}, "paystack"},
		{"a further attempt does not", []string{"paystack"}, "NGN", []string{"paystack", "second"}, ""},
		{"a rail that is gone counts in total", []string{"old", "old"}, "NGN", nil, "paystack"},
		{"and fills the total", []string{"old", "old", "old"}, "NGN", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := router(t).Next(tt.tried, tt.currency, offs(tt.off...))
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want != "", ok)
		})
	}
}

// Invariant: at most two attempts on a rail and three in total, whatever is switched on and off in between (rule 10).
func TestNext_endsWhateverIsSwitched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := router(t)
		var tried []string
		for range 10 {
			off := rapid.SampledFrom([][]string{nil, {"paystack"}, {"second"}, {"paystack", "second"}}).Draw(t, "off")
			rail, ok := r.Next(tried, "NGN", offs(off...))
			if ok {
				tried = append(tried, rail)
			}
		}
		require.LessOrEqual(t, len(tried), payout.AttemptsInTotal)
		n := map[string]int{}
		for _, rail := range tried {
			n[rail]++
			require.LessOrEqual(t, n[rail], payout.AttemptsPerRail)
		}
	})
}

func TestNewRouter_refusesRailsThatCannotBeToldApart(t *testing.T) {
	t.Parallel()
	for name, rails := range map[string][]payout.Rail{
		"none": nil, "a nil one": {nil}, "a nameless one": {named{}}, "two of one name": {named{name: "a"}, named{name: "a"}},
	} {
		_, err := payout.NewRouter(rails...)
		require.Error(t, err, name)
	}
}

func TestAccountNumber_printsItsLastFourOnly(t *testing.T) {
	t.Parallel()
	n := payout.AccountNumber("0123456789")
	require.Equal(t, "****6789", n.String())
	require.Equal(t, "****6789", n.LogValue().String())
	body, err := n.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `"****6789"`, string(body))
}
