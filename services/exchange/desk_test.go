package exchange_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/exchange"
	"offrampbot/services/exchange/exchangetest"
	"offrampbot/services/money"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/store/storetest"
	"offrampbot/services/testkit"
)

// gone is an engine whose answers are lost once it is broken.
type gone struct {
	store.Engine
	cause *error
}

func (g gone) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	if *g.cause != nil {
		return *g.cause
	}
	return g.Engine.Update(ctx, fn)
}

func (g gone) View(ctx context.Context, fn func(ctx context.Context, r store.Reader) error) error {
	if *g.cause != nil {
		return *g.cause
	}
	return g.Engine.View(ctx, fn)
}

func harness(engine store.Engine) func(t *testing.T) exchangetest.Harness {
	return func(t *testing.T) exchangetest.Harness {
		t.Helper()
		clock := testkit.Noon()
		catalogue, err := setting.NewCatalogue(assets.Default(), []string{"paystack"}, []string{"desk"})
		require.NoError(t, err)
		cause := new(error)
		desk, err := exchange.NewDesk(gone{engine, cause}, setting.Book, clock.Now)
		require.NoError(t, err)
		set := func(t *testing.T, name, value string) {
			t.Helper()
			require.NoError(t, engine.Update(t.Context(), func(_ context.Context, tx store.Tx) error {
				_, err := catalogue.Change(tx, "staff:ada", "test", map[string]string{name: value}, clock.Now())
				return err
			}))
		}
		return exchangetest.Harness{
			Venue:     desk,
			SetRate:   func(t *testing.T, _ money.Rate) { set(t, "rate.USDT.NGN", "1500") },
			SwitchOff: func(t *testing.T) { set(t, "switch.venue.desk", "off:no cash") },
			SwitchOn:  func(t *testing.T) { set(t, "switch.venue.desk", "on") },
			Break:     func(*testing.T) { *cause = store.ErrCommitUnknown },
			Trades: func(t *testing.T, reference string) (n int) {
				require.NoError(t, engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
					links, err := store.Related(r, "desk:"+reference)
					n = len(links)
					return err
				}))
				return n
			},
		}
	}
}

func TestDesk_isAVenue(t *testing.T) {
	t.Parallel()
	t.Run("bolt", func(t *testing.T) {
		t.Parallel()
		exchangetest.Run(t, func(t *testing.T) exchangetest.Harness {
			t.Helper()
			return harness(storetest.Twice(testkit.Bolt(t, audit.Indexes)))(t)
		})
	})
	t.Run("mongo", func(t *testing.T) {
		t.Parallel()
		exchangetest.Run(t, func(t *testing.T) exchangetest.Harness {
			t.Helper()
			return harness(storetest.Twice(testkit.OpenMongo(t, audit.Indexes)))(t)
		})
	})
}

func TestDesk_saysNotNowWhenTheStoreWroteNothing(t *testing.T) {
	t.Parallel()
	cause := store.ErrUnavailable
	desk, err := exchange.NewDesk(gone{cause: &cause}, setting.Book, testkit.Noon().Now)
	require.NoError(t, err)
	require.Equal(t, exchange.NotNow, desk.Execute(t.Context(), exchangetest.Order("ofr-x")).Outcome)
	require.True(t, desk.LookUp(t.Context(), "ofr-x").Found, "nothing was learnt")
}

func TestDesk_remembersAcrossALostCommitReply(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, audit.Indexes, func(t *testing.T, engine store.Engine) {
		desk, err := exchange.NewDesk(lossy{engine}, setting.Book, testkit.Noon().Now)
		require.NoError(t, err)
		require.Equal(t, exchange.Unknown, desk.Execute(t.Context(), exchangetest.Order("ofr-lost")).Outcome)
		honest, err := exchange.NewDesk(engine, setting.Book, testkit.Noon().Now)
		require.NoError(t, err)
		require.Equal(t, exchange.Success, honest.LookUp(t.Context(), "ofr-lost").Outcome)
	})
}

// lossy commits and loses the reply.
type lossy struct{ store.Engine }

func (l lossy) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	return errors.Join(l.Engine.Update(ctx, fn), store.ErrCommitUnknown)
}

func TestNewDesk_refusesMissingParts(t *testing.T) {
	t.Parallel()
	cause := error(nil)
	_, err := exchange.NewDesk(nil, setting.Book, testkit.Noon().Now)
	require.ErrorContains(t, err, "engine")
	_, err = exchange.NewDesk(gone{cause: &cause}, nil, testkit.Noon().Now)
	require.ErrorContains(t, err, "book")
	_, err = exchange.NewDesk(gone{cause: &cause}, setting.Book, nil)
	require.ErrorContains(t, err, "now")
}
