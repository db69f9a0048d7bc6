package setting_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

var noon = testkit.Noon().Now()

func catalogue(t testing.TB) *setting.Catalogue {
	t.Helper()
	c, err := setting.NewCatalogue(assets.Default(), []string{"paystack"}, []string{"desk"})
	require.NoError(t, err)
	return c
}

type changes = map[string]string

// change applies changes at a time, as staff:ada.
func change(t testing.TB, engine store.Engine, at time.Time, set changes) (setting.Changed, error) {
	t.Helper()
	c := catalogue(t)
	var out setting.Changed
	err := engine.Update(t.Context(), func(_ context.Context, tx store.Tx) (err error) {
		out, err = c.Change(tx, "staff:ada", "morning", set, at)
		return err
	})
	return out, err
}

func load(t testing.TB, engine store.Engine) *setting.Settings {
	t.Helper()
	var s *setting.Settings
	require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
		s, err = setting.Load(r)
		return err
	}))
	return s
}

func engines(t *testing.T, test func(t *testing.T, engine store.Engine)) {
	t.Helper()
	testkit.Engines(t, audit.Indexes, func(t *testing.T, engine store.Engine) { test(t, storetest.Twice(engine)) })
}

func TestLoad_givesDefaultsBeforeAnythingIsSet(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		s := load(t, engine)
		require.Equal(t, setting.DefaultRateMaxAge, s.RateMaxAge)
		require.False(t, s.Drain)
		require.NoError(t, s.AllowPlacing(true, "base", "USDT", "desk", "NG"))
		_, err := s.Price("USDT", "NGN", noon)
		require.True(t, fault.Is(err, "rate_unavailable"), "there is no rate that nobody set: %v", err)
		fiat, _ := assets.Default().Fiat("NGN")
		require.Equal(t, fiat.Fee, s.Fee(fiat))
	})
}

func TestChange_setsAllOrNothingAndAudits(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		out, err := change(t, engine, noon, changes{"rate.USDT.NGN": "1500.25", "spread_bps": "100"})
		require.NoError(t, err)
		require.Equal(t, "1500.25", out.After[0].Value)
		require.Equal(t, "", out.Before[0].Value)
		require.Equal(t, "staff:ada", out.After[0].SetBy)

		_, err = change(t, engine, noon, changes{"spread_bps": "200", "rate.USDT.NGN": "one"})
		require.True(t, fault.Is(err, "setting_invalid"))
		require.Equal(t, int64(100), load(t, engine).SpreadBps, "a refused change leaves no trace")

		var entries []*audit.Entry
		require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) (err error) {
			entries, err = store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{"settings"}})
			if err != nil {
				return err
			}
			broken, err := audit.Verify(r, setting.Stream)
			require.Empty(t, broken)
			return err
		}))
		require.Len(t, entries, 1)
		require.Equal(t, "rate.USDT.NGN=\nspread_bps=0", entries[0].Before)
		require.Equal(t, "rate.USDT.NGN=1500.25\nspread_bps=100", entries[0].After)
		require.Equal(t, "morning", entries[0].Why)
	})
}

func TestChange_readsWhatAnOperatorTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		set   changes
		check func(t *testing.T, s *setting.Settings)
	}{
		{"maximum age", changes{"rate_max_age": "2h"}, func(t *testing.T, s *setting.Settings) {
			require.Equal(t, 2*time.Hour, s.RateMaxAge)
		}},
		{"drain", changes{"drain": "on"}, func(t *testing.T, s *setting.Settings) {
			require.True(t, fault.Is(s.AllowPlacing(true, "base", "USDT", "desk", "NG"), "switched_off"))
			require.NoError(t, s.AllowPlacing(false, "base", "USDT", "desk", "NG"), "orders that are placed go on")
		}},
		{"a chain off", changes{"switch.chain.base": "off: node is down "}, func(t *testing.T, s *setting.Settings) {
			err := s.AllowPlacing(false, "base", "USDT", "desk", "NG")
			require.True(t, fault.Is(err, "switched_off"))
			require.Equal(t, map[string]string{"what": "chain:base", "reason": "node is down"}, fault.As(err).Args)
			require.NoError(t, s.AllowPlacing(true, "bnb", "USDT", "desk", "NG"))
		}},
		{"a provider off", changes{"switch.provider.paystack": "off:float"}, func(t *testing.T, s *setting.Settings) {
			reason, off := s.Off("venue:desk", setting.Provider("paystack"))
			require.True(t, off)
			require.Equal(t, "float", reason)
		}},
		{"one part of a fee keeps the others", changes{"fee.NGN.bps": "75"}, func(t *testing.T, s *setting.Settings) {
			fiat, _ := assets.Default().Fiat("NGN")
			want := fiat.Fee
			want.BasisPoints = 75
			require.Equal(t, want, s.Fee(fiat))
		}},
		{"one limit keeps the others", changes{"limit.tier0.NGN.day_minor": "12300"}, func(t *testing.T, s *setting.Settings) {
			tier, _ := assets.Default().Tier("tier0")
			got := s.Tier(tier)
			require.Equal(t, money.Minor(12300), got.Limits["NGN"].DayMinor)
			require.Equal(t, tier.Limits["NGN"].SaleMinor, got.Limits["NGN"].SaleMinor)
			require.NotEqual(t, money.Minor(12300), tier.Limits["NGN"].DayMinor, "the registry is untouched")
		}},
		{"a band", changes{"band.NGN.low": "1000", "band.NGN.high": "2500.5"}, func(t *testing.T, s *setting.Settings) {
			band, ok := s.Band("NGN")
			require.True(t, ok)
			require.Equal(t, setting.Band{LowMinor: 100000, HighMinor: 250050}, band)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := testkit.Bolt(t, audit.Indexes)
			_, err := change(t, engine, noon, tt.set)
			require.NoError(t, err)
			tt.check(t, load(t, engine))
		})
	}
}

func TestChange_turnsASwitchOnAgain(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, audit.Indexes)
	_, err := change(t, engine, noon, changes{"switch.placing": "off:night"})
	require.NoError(t, err)
	require.Error(t, load(t, engine).Allowed(setting.Placing))
	_, err = change(t, engine, noon, changes{"switch.placing": "on"})
	require.NoError(t, err)
	require.NoError(t, load(t, engine).Allowed(setting.Placing))
}

func TestChange_refusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		set  changes
		want string // part of the reason
	}{
		{"an unknown name lists what exists", changes{"rate.USDT.EUR": "1"}, "rate.USDT.NGN"},
		{"nothing", changes{}, "1 to 50"},
		{"a rate with a separator", changes{"rate.USDT.NGN": "1,500"}, "positive number"},
		{"a negative rate", changes{"rate.USDT.NGN": "-1500"}, "positive number"},
		{"a zero rate", changes{"rate.USDT.NGN": "0"}, "positive number"},
		{"a rate in scientific notation", changes{"rate.USDT.NGN": "1e3"}, "positive number"},
		{"a long rate", changes{"rate.USDT.NGN": "1500.000000000000000000001"}, "too long"},
		{"a rate whose point slipped", changes{"rate.USDT.NGN": "15002.5"}, "outside its band"},
		{"a band upside down", changes{"band.NGN.low": "2000", "band.NGN.high": "1000"}, "low must be positive"},
		{"a band below the minor unit", changes{"band.NGN.low": "1000.001"}, "at most 2 decimals"},
		{"a spread of a third", changes{"spread_bps": "3333"}, "0 to 2000"},
		{"a spread with a sign", changes{"spread_bps": "+10"}, "whole number"},
		{"an off-switch without a reason", changes{"switch.chain.base": "off"}, "off: and a reason"},
		{"an off-switch with a blank reason", changes{"switch.chain.base": "off:  "}, "off: and a reason"},
		{"a switch of an unknown chain", changes{"switch.chain.tron": "off:x"}, "no setting"},
		{"a rate that lives for a second", changes{"rate_max_age": "1s"}, "1m to 168h"},
		{"half a drain", changes{"drain": "yes"}, "on or off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := testkit.Bolt(t, audit.Indexes)
			_, err := change(t, engine, noon, tt.set)
			require.True(t, fault.Is(err, "setting_invalid"), "%v", err)
			require.Contains(t, fault.As(err).Args["why"], tt.want)
			require.Zero(t, load(t, engine).Revision, "nothing was stored")
		})
	}
}

func TestChange_atOnceLosesNone(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine store.Engine) {
		names := []string{"switch.chain.base", "switch.chain.bnb", "switch.chain.polygon", "switch.placing", "switch.payouts"}
		results := make(chan error, len(names))
		for _, name := range names {
			go func() {
				_, err := change(t, engine, noon, changes{name: "off:test"})
				for i := 0; i < 1000 && (errors.Is(err, store.ErrStale) || store.IsDuplicate(err)); i++ {
					_, err = change(t, engine, noon, changes{name: "off:test"})
				}
				results <- err
			}()
		}
		for range names {
			require.NoError(t, <-results)
		}
		require.Len(t, load(t, engine).Switches, len(names))
	})
}

func TestList_namesEverySettingWithItsValue(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, audit.Indexes)
	_, err := change(t, engine, noon, changes{"rate.USDC.NGN": "1499.5", "switch.asset.USDT": "off:issuer"})
	require.NoError(t, err)
	c := catalogue(t)
	list := c.List(load(t, engine))
	require.Len(t, list, len(c.Names()))
	values := map[string]string{}
	for _, item := range list {
		require.NotEmpty(t, item.Help, item.Name)
		values[item.Name] = item.Value
	}
	require.Equal(t, "1499.5", values["rate.USDC.NGN"])
	require.Equal(t, "off:issuer", values["switch.asset.USDT"])
	require.Equal(t, "on", values["switch.venue.desk"])
	require.Equal(t, "24h0m0s", values["rate_max_age"])
	require.Equal(t, "500", values["band.NGN.low"])
	require.Equal(t, "5000", values["fee.NGN.flat_minor"])
}

func TestList_valuesAreAcceptedAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	engine := testkit.Bolt(t, audit.Indexes)
	_, err := change(t, engine, noon, changes{"rate.USDT.NGN": "1500.125"})
	require.NoError(t, err)
	for _, item := range catalogue(t).List(load(t, engine)) {
		if item.Value == "" {
			continue
		}
		out, err := change(t, engine, noon, changes{item.Name: item.Value})
		require.NoError(t, err, item.Name)
		require.Equal(t, item.Value, out.After[0].Value, item.Name)
	}
}
