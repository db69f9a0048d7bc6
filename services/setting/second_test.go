package setting_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

func TestSecond_asksForWhatMovesMoney(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		_, err := change(t, engine, noon, changes{"rate.USDT.NGN": "1500", "spread_bps": "100", "switch.chain.base": "off:lags"})
		require.NoError(t, err)
		turn(t, engine, noon, setting.TurnOff)
		tests := []struct {
			name, setting, value string
			want                 bool
		}{
			{"a rate five percent up", "rate.USDT.NGN", "1575", false},
			{"a rate a little more up", "rate.USDT.NGN", "1575.01", true},
			{"a rate five percent down", "rate.USDT.NGN", "1425", false},
			{"a rate a little more down", "rate.USDT.NGN", "1424.99", true},
			{"the same rate again", "rate.USDT.NGN", "1500", false},
			{"the first rate", "rate.USDC.NGN", "1500", false},
			{"a fee", "fee.NGN.bps", "77", true},
			{"a limit", "limit.tier0.NGN.sale_minor", "1", true},
			{"a band", "band.NGN.high", "9000", true},
			{"a spread as far as a rate", "spread_bps", "600", false},
			{"a spread beyond", "spread_bps", "601", true},
			{"off", "switch.payouts", "off:stop", false},
			{"on again what a person turned off", "switch.chain.base", "on", false},
			{"on again what an alert turned off", "switch.messages", "on", true},
			{"off by a person what an alert turned off", "switch.messages", "off:mine", false},
			{"drain", "drain", "on", false},
		}
		for _, tt := range tests {
			wanted, needed, err := second(t, engine, changes{tt.setting: tt.value})
			if tt.setting == "band.NGN.high" && err != nil {
				require.True(t, fault.Is(err, "setting_invalid"))
				continue
			}
			require.NoError(t, err, tt.name)
			require.Equal(t, tt.want, needed, tt.name)
			require.Len(t, wanted, 1)
		}
		_, needed, err := second(t, engine, changes{"spread_bps": "101", "fee.NGN.bps": "77"})
		require.NoError(t, err)
		require.True(t, needed, "all or none")
		_, _, err = second(t, engine, changes{"spread_bps": "many"})
		require.True(t, fault.Is(err, "setting_invalid"))

		_, err = change(t, engine, noon, changes{"switch.messages": "off:mine"})
		require.NoError(t, err)
		_, needed, err = second(t, engine, changes{"switch.messages": "on"})
		require.NoError(t, err)
		require.True(t, needed, "to take it over is no way around the second person")
	})
}

func second(t *testing.T, engine store.Engine, set changes) (wanted []setting.Wanted, needed bool, err error) {
	t.Helper()
	c := catalogue(t)
	err = engine.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
		wanted, needed, err = c.Second(r, set)
		return err
	})
	return wanted, needed, err
}
