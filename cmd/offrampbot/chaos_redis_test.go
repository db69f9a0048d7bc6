package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/offramp"
)

// trouble is a bad time for Redis and its end.
type trouble struct {
	name       string
	begin, end func(r *troubledRedis)
}

func troubles() []trouble {
	return []trouble{
		{"stopped", func(r *troubledRedis) { r.cut() }, func(r *troubledRedis) { r.mend() }},
		{"accepting and never answering", func(r *troubledRedis) { r.hush() }, func(r *troubledRedis) {
			r.speak()
			r.server.FastForward(20 * time.Second) // locks that could not be given back run out
		}},
		{"flushed", func(r *troubledRedis) { r.server.FlushAll() }, func(*troubledRedis) {}},
	}
}

func TestRedis_goneInTheMiddleOfASaleChangesNoMoney(t *testing.T) {
	t.Parallel()
	for _, tt := range troubles() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			onBothWired(t, nil, func(t *testing.T, w *town, r *troubledRedis) {
				p := w.newPerson()
				p.signsUp()
				p.deposits("base", "USDT", "20")
				p.hears("20 USDT arrived")
				placed := p.sells("25 usdt on base", "0123456789") // it waits for its deposit
				s := p.review("20 usdt on base", "0123456789")     // its PIN is about to be sent

				tt.begin(r)
				accepted := 0
				for _, answer := range p.copies(s, map[string]any{"pin": goodPIN}, 6) {
					if answer.Screen == "OFFRAMP_SUCCESS" {
						accepted++
						continue
					}
					require.Equal(t, "OFFRAMP_REFUSED", answer.Screen, "%v", answer)
				}
				require.Equal(t, 1, accepted)
				p.deposits("base", "USDT", "27")
				w.becomes(placed, offramp.Success)
				require.Len(t, w.orders(), 2)
				for _, o := range w.orders() {
					w.becomes(o.Reference, offramp.Success)
				}
				p.says("balance")
				require.Contains(t, p.hears("Your balance").Text, "USDT: 2\n", "the chat still answers")
				tt.end(r)

				p.says("rate")
				p.hears("Rate now")
				w.paysRight()
			})
		})
	}
}
