package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
	"offrampbot/services/operation"
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
