package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/offramp"
)

// raced is one person whose sale waits for the deposit that is on its way.
type raced struct {
	*person
	reference string
	order     string
}

func TestCancel_againstADepositAtTheSameMomentLosesNoMoneyAndIsToldTheTruth(t *testing.T) {
	t.Parallel()
	onBoth(t, map[string]string{"CHAIN_POLL": "50ms"}, func(t *testing.T, w *town) {
		w.call("POST", "/world/chains/base/auto", map[string]any{"seconds": 0})
		var everybody []raced
		for range 7 {
			p := w.newPerson()
			p.signsUp()
			p.knowsAddress()
			reference := p.sells("25 usdt on base", "0123456789")
			p.deposits("base", "USDT", "25")
			everybody = append(everybody, raced{p, reference, w.order(reference).ID})
		}
		w.mine("base", 1)
		for _, r := range everybody {
			w.becomes(r.reference, offramp.Deposit)
		}
		w.race(everybody)

		won := map[offramp.State]int{}
		for _, r := range everybody {
			won[r.ends()]++
		}
		t.Logf("%v", won)
		w.paysRight()
	})
}

// race lets everybody tap "cancel" while the block comes that confirms their deposits, each a little later than the last,
// so that some are before it, some behind it and some in the middle.
func (w *town) race(everybody []raced) {
	w.t.Helper()
	var g errgroup.Group
	for i, r := range everybody {
		g.Go(func() error {
			time.Sleep(time.Duration(i)*20*time.Millisecond + rand.N(20*time.Millisecond)) // the race, not a wait
			one := &robot{world: w.world, phone: r.phone}
			_, err := one.call(w.t.Context(), http.MethodPost, "/world/messages", map[string]any{"from": r.phone, "button": "cancel:" + r.order})
			return err
		})
	}
	w.mine("base", 2)
	require.NoError(w.t, g.Wait())
}

// ends waits for the end of a race and checks that the money is where the person was told.
func (r raced) ends() offramp.State {
	r.t.Helper()
	var o *offramp.Order
	r.eventually("the sale of "+r.reference+" is over", func() bool {
		o = r.town.order(r.reference)
		return o.State == offramp.Success || o.State == offramp.Cancelled
	})
	balance := "USDT: 0\n"
	cancelled := fmt.Sprintf("Sale %s is cancelled. No money moved.", r.reference)
	if o.State == offramp.Cancelled {
		balance = "USDT: 25"
		r.hears(cancelled)
		r.eventually("the deposit is credited all the same", func() bool {
			c, err := r.app.orders.Cover(r.t.Context(), o.User, "USDT")
			return err == nil && c.Available == 25_000_000
		})
		require.Zero(r.t, r.countsOf("There is nothing to cancel"))
	} else {
		r.hears("There is nothing to cancel. A sale that is on its way to the bank cannot be stopped.")
		require.Zero(r.t, r.countsOf(cancelled))
	}
	r.says("balance")
	require.Contains(r.t, r.hears("Your balance").Text, balance, "after %s", o.State)
	return o.State
}
