package flows

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
)

func TestConfirm_endingsSayWhereTheMoneyIs(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		a := p.sells("25")
		require.Contains(t, a.text("message"), "Now send 25 USDT on the Base network")
		require.Contains(t, a.text("message"), p.load().Address)
		require.Contains(t, a.text("message"), "only on Base")
		require.Contains(t, a.text("next_step"), "until 13:30 WAT")

		q := w.person()
		q.deposits("USDT", 10*oneUSDT)
		q.deposits("USDT", 5*oneUSDT, deposit.FactSeen)
		require.Contains(t, q.sells("25").text("message"), "Now send 10 USDT on the Base network")

		r := w.person()
		r.deposits("USDT", 25*oneUSDT, deposit.FactSeen)
		require.Contains(t, r.sells("25").text("message"), "on its way in")
		require.Equal(t, offramp.Deposit, r.placed()[0].State)

		s := w.person()
		s.deposits("USDT", 25*oneUSDT)
		a = s.sells("25")
		require.Contains(t, a.text("message"), "₦37,262.50 is on its way to ADA OBI, GTBank •••• 6789")
		require.NotContains(t, strings.ToLower(a.Raw), "paid")
		require.Equal(t, offramp.Exchange, s.placed()[0].State)
	})
}

func TestConfirm_requestThatWasCutOffIsFinishedByItsRepeat(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
		w := newWorld(t, engine, realGuard(t, engine))
		p := w.person()
		c := p.atPIN("25")
		s, err := w.endpoint.load(t.Context(), c.token)
		require.NoError(t, err)
		var q quote.Quote
		w.view(func(r store.Reader) error { return r.Get(store.Quotes, s.Intent, &q) })

		// The process died with the session marked and the guard claimed: nothing was placed.
		_, err = w.deps.Guard.Claim(t.Context(), q.Content, guard.Flow, q.ID, w.clock.Now())
		require.NoError(t, err)
		s.Begin("its digest", ourNumber, w.clock.Now(), workTime)
		require.NoError(t, w.endpoint.save(t.Context(), s))
		w.clock.Advance(workTime)
		require.Equal(t, CryptoReview, c.submit(pin(wrongPIN)).Screen)
		a := c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 1)
	})
}

func TestConfirm_orderThatNobodyWasToldOfIsTold(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, allIndexes(), func(t *testing.T, engine store.Engine) {
		for state, want := range map[offramp.State]string{
			offramp.Waiting: Sold, offramp.Unclear: Checking, offramp.Review: Checking, offramp.Cancelled: Refused,
		} {
			w := newWorld(t, engine)
			p := w.person()
			c := p.atPIN("25")
			s, err := w.endpoint.load(t.Context(), c.token)
			require.NoError(t, err)
			// The process died after the commit of the order and before that of its answer.
			o, err := w.orders.Place(t.Context(), offramp.Placing{Intent: s.Intent, User: p.id, Delivery: "flow:" + s.ID})
			require.NoError(t, err)
			w.becomes(o.ID, func(o *offramp.Order) { o.State = state })
			a := c.submit(pin(rightPIN))
			require.Equal(t, want, a.Screen, "%s: %v", state, a.Data)
			require.Equal(t, o.Reference, a.text("reference"))
			require.Len(t, p.placed(), 1)
			require.Zero(t, w.hasher.compared.Load())
			return // one person a database: the next would be the same number
		}
	})
}

// forgetful places, and says that it does not know.
type forgetful struct {
	*offramp.Service
	err error
}

func (f forgetful) Place(ctx context.Context, p offramp.Placing) (*offramp.Order, error) {
	if f.err == nil {
		return f.Service.Place(ctx, p)
	}
	if errors.Is(f.err, store.ErrCommitUnknown) {
		_, _ = f.Service.Place(ctx, p)
	}
	return nil, f.err
}

func TestConfirm_outcomeOfPlacingUnknown(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		w.sell.d.Orders = forgetful{w.orders, store.ErrCommitUnknown}
		a := c.submit(pin(rightPIN))
		require.Equal(t, CryptoReview, a.Screen)
		require.Contains(t, a.text("error_message"), "it counts once")
		w.sell.d.Orders = w.orders
		a = c.submit(pin(rightPIN))
		require.Equal(t, Sold, a.Screen, "%v", a.Data)
		require.Len(t, p.placed(), 1)
	})
}

func TestConfirm_nothingWasPlacedForSure(t *testing.T) {
	t.Parallel()
	onEmbedded(t, func(t *testing.T, w *world) {
		p := w.person()
		c := p.atPIN("25")
		for _, err := range []error{store.ErrUnavailable, fault.New("rate_unavailable", nil), errBroken} {
			w.sell.d.Orders = forgetful{w.orders, err}
			a := c.submit(pin(rightPIN))
			require.Equal(t, CryptoReview, a.Screen)
			require.Equal(t, true, a.Data["has_error"])
		}
		w.sell.d.Orders = w.orders
		require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
		require.Len(t, p.placed(), 1)
	})
}

func TestConfirm_guardThatCannotSayPlacesNothing(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	c := p.atPIN("25")
	g := w.sell.d.Guard.(*memoryGuard)
	g.err = errBroken
	a := c.submit(pin(rightPIN))
	require.Equal(t, CryptoReview, a.Screen)
	require.Contains(t, a.text("error_message"), "nothing was started")
	require.Zero(t, w.hasher.compared.Load())
	require.Empty(t, p.placed())
	g.err = nil
	require.Equal(t, Sold, c.submit(pin(rightPIN)).Screen)
}

func TestConfirm_sessionReplacedByAnother(t *testing.T) {
	t.Parallel()
	w := onBolt(t)
	p := w.person()
	old := p.atPIN("25")
	w.update(func(tx store.Tx) error {
		s, err := LoadSession(tx, old.token)
		if err != nil {
			return err
		}
		s.Close()
		return SaveSession(tx, s)
	})
	require.Equal(t, StatusTokenGone, old.submit(pin(rightPIN)).Status)
	require.Empty(t, p.placed())
	p.sells("25")
}
