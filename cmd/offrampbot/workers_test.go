package main

import (
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/testkit"
)

func TestLanes_whatConcernsAnOrderIsParkedByTheOrderService(t *testing.T) {
	t.Parallel()
	a := &app{orders: &offramp.Service{}}
	parked := map[operation.Kind]bool{}
	for _, lane := range a.lanes() {
		require.NotContains(t, parked, lane.kind, "one worker each")
		parked[lane.kind] = lane.parker != nil
	}
	for _, kind := range []operation.Kind{operation.StartExchange, operation.Payout, operation.LookUp} {
		require.True(t, parked[kind], kind)
	}
}

func TestHealth_saysNoBeforeConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	h := newHealth(&app{})
	_, err := h.Ready(t.Context())
	require.NoError(t, err)
	h.stop()
	_, err = h.Ready(t.Context())
	require.ErrorContains(t, err, "stopping")
	require.NoError(t, h.Live(), "it is not to be killed for that")
}

func TestMetrics_ofASale(t *testing.T) {
	t.Parallel()
	w := newTown(t, testkit.Bolt(t, indexes()), "redis://"+miniredis.RunT(t).Addr(), nil)
	p := w.newPerson()
	p.signsUp()
	p.deposits("base", "USDT", "25")
	w.becomes(p.sells("25 usdt on base", "0123456789"), offramp.Success)
	_, err := w.app.gauges(t.Context())
	require.NoError(t, err)
	for _, want := range []string{
		`offramp_store_seconds_count{operation="update",outcome="ok"} [1-9]`, `offramp_redis_seconds_count{operation="set",outcome="ok"} [1-9]`,
		`offramp_provider_seconds_count{operation="payout",outcome="[a-z_]+",provider="paystack"} 1`,
		`offramp_provider_seconds_sum{operation="payout",outcome="[a-z_]+",provider="paystack"} [0-9.e-]*[1-9]`,
		`offramp_worker_steps_total{result="idle",worker="watch"} [1-9]`,
		`offramp_worker_steps_total{result="idle",worker="watchman"} [1-9]`, `offramp_worker_steps_total{result="idle",worker="statements"} [1-9]`, `offramp_chain_height{chain="base"} [1-9]`,
		`offramp_orders{state="success"} 1`, `offramp_inbox_receipts{state="received"} 0`,
		`offramp_outbox_operations{kind="payout",state="pending"} 0`,
	} {
		w.eventually("the metrics match "+want, func() bool { return regexp.MustCompile(want).MatchString(w.metrics()) })
	}
}

// metrics is what a scrape sees.
func (w *town) metrics() string {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.bot+"/metrics", nil)
	require.NoError(w.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	return string(body)
}
