package flows

import (
	"maps"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/store"
)

// bothConfirm submits the right PIN on two forms at the same moment.
func bothConfirm(one, other *client) (answers [2]shown) {
	begin := make(chan struct{})
	var both sync.WaitGroup
	for i, c := range []*client{one, other} {
		both.Go(func() {
			<-begin
			answers[i] = c.raw(CryptoReview, pin(rightPIN))
		})
	}
	close(begin)
	both.Wait()
	return answers
}

// copied is another form on the same quote, as if its session had been made of the first one's.
func (p *person) copied(of *client) *client {
	p.t.Helper()
	c := p.receives("offramp_flow", nil)
	p.update(func(tx store.Tx) error {
		from, err := LoadSession(tx, of.token)
		if err != nil {
			return err
		}
		to, err := LoadSession(tx, c.token)
		if err != nil {
			return err
		}
		to.Intent, to.Values, to.Screen, to.Shown = from.Intent, maps.Clone(from.Values), from.Screen, from.Shown
		return SaveSession(tx, to)
	})
	c.screen = of.screen
	return c
}

func TestConfirm_twoFormsOfTheSameSaleAtTheSameMoment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		second  func(p *person, first *client, amount string) *client
		isQuote bool // both forms are of one quote
	}{
		{"two quotes of the same content", func(p *person, _ *client, amount string) *client { return p.atPIN(amount) }, false},
		{"two sessions of one quote", func(p *person, first *client, _ string) *client { return p.copied(first) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			onEngines(t, func(t *testing.T, w *world) {
				p := w.person()
				p.deposits("USDT", 100*oneUSDT)
				for round := range 6 {
					amount := strconv.Itoa(6 + round)
					first := p.atPIN(amount)
					second := tt.second(p, first, amount)
					answers := bothConfirm(first, second)
					require.Len(t, p.placed(), round+1, "one order, whoever was first")
					w.saysTheTruth(answers, p.placed()[0].Reference, tt.isQuote)
				}
				require.Zero(t, p.tries(), "no PIN was wrong")
			})
		})
	}
}

// saysTheTruth checks what the two forms were told: the sale is accepted on one, and the other is refused in the exact
// words. Two forms of one quote may both be given the one sale, under its one reference.
func (w *world) saysTheTruth(answers [2]shown, reference string, isQuote bool) {
	w.t.Helper()
	sold := 0
	for _, a := range answers {
		require.Equal(w.t, 200, a.Status)
		switch a.Screen {
		case Sold:
			sold++
			require.Equal(w.t, reference, a.text("reference"))
		case Refused:
			require.Equal(w.t, inProgress, a.text("error_message"))
		default:
			require.Fail(w.t, "neither sold nor refused", "%s: %v", a.Screen, a.Data)
		}
	}
	require.GreaterOrEqual(w.t, sold, 1)
	if !isQuote {
		require.Equal(w.t, 1, sold)
	}
}
