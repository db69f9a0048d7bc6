package offramp_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

func TestOffer(t *testing.T) {
	t.Parallel()
	scenario(t, "a repeat of the same intent is the quote that was frozen, whatever the rate is now", func(t *testing.T, w *world) {
		ask := w.ask("intent-1", 25)
		q, err := w.svc.Offer(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, money.Minor(3_750_000), q.Gross)
		w.venue.rate = money.Rate{Num: 140_000, Den: 1_000_000}
		w.clock.Advance(time.Minute)
		again, err := w.svc.Offer(t.Context(), ask)
		require.NoError(t, err)
		require.Equal(t, q, again)
		ask.User = "bob"
		_, err = w.svc.Offer(t.Context(), ask)
		require.True(t, fault.Is(err, "quote_expired"), "another's intent is unknown")
	})
	refused := map[string]struct {
		change func(a *offramp.Ask)
		code   string
	}{
		"a fiat that nobody pays":     {func(a *offramp.Ask) { a.Fiat = "XYZ" }, "asset_unsupported"},
		"an asset that nobody buys":   {func(a *offramp.Ask) { a.Asset = "DOGE" }, "asset_unsupported"},
		"a chain that nobody watches": {func(a *offramp.Ask) { a.Chain = "tron" }, "asset_unsupported"},
		"too little":                  {func(a *offramp.Ask) { a.Amount = 5*oneUSDT - 1 }, "amount_below_minimum"},
		"an order of nobody":          {func(a *offramp.Ask) { a.Renews = "nobody" }, "order_unknown"},
	}
	for name, tt := range refused {
		scenario(t, name+" is refused", func(t *testing.T, w *world) {
			ask := w.ask("intent-1", 25)
			tt.change(&ask)
			_, err := w.svc.Offer(t.Context(), ask)
			require.True(t, fault.Is(err, tt.code), err)
		})
	}
	scenario(t, "switches and the venue refuse", func(t *testing.T, w *world) {
		w.switchOff("chain:base")
		_, err := w.svc.Offer(t.Context(), w.ask("intent-1", 25))
		require.True(t, fault.Is(err, "switched_off"), err)
		w.switchOff()
		w.venue.err = fault.New("rate_unavailable", nil)
		_, err = w.svc.Offer(t.Context(), w.ask("intent-1", 25))
		require.True(t, fault.Is(err, "rate_unavailable"), err)
		w.venue.err, w.venue.rate = nil, money.Rate{Num: 1, Den: 1_000_000}
		_, err = w.svc.Offer(t.Context(), w.ask("intent-1", 25))
		require.True(t, fault.Is(err, "amount_below_minimum"), "the fee eats it")
	})
	scenario(t, "a quote is read by its user only", func(t *testing.T, w *world) {
		q := w.offer(25)
		got, err := w.svc.Quote(t.Context(), "ada", q.ID)
		require.NoError(t, err)
		require.Equal(t, q.Net, got.Net)
		for _, who := range [][2]string{{"bob", q.ID}, {"ada", "nobody"}} {
			_, err = w.svc.Quote(t.Context(), who[0], who[1])
			require.True(t, fault.Is(err, "quote_expired"), err)
		}
	})
}

// refusedPlacing confirms a quote and wants this refusal; nothing may be stored.
func (w *world) refusedPlacing(q *quote.Quote, code string) {
	w.t.Helper()
	before := w.dump()
	_, err := w.svc.Place(w.t.Context(), offramp.Placing{Intent: q.ID, User: "ada", Delivery: "wa:test"})
	require.True(w.t, fault.Is(err, code), "%v", err)
	require.Equal(w.t, before, w.dump())
}

func TestPlace(t *testing.T) {
	t.Parallel()
	scenario(t, "a quote is taken once: a repeat is the order that is there", func(t *testing.T, w *world) {
		w.deposited("0x1", 60*oneUSDT)
		q := w.offer(25)
		o := w.place(q)
		before := w.dump()
		require.Equal(t, o.ID, w.place(q).ID)
		w.clock.Advance(time.Hour)
		require.Equal(t, o.ID, w.place(q).ID, "also when the quote is long expired")
		require.Equal(t, before, w.dump())
		require.Equal(t, 35*oneUSDT, w.account().Available)
	})
	scenario(t, "25 confirmations of one quote at once make one order and one hold", func(t *testing.T, w *world) {
		w.deposited("0x1", 60*oneUSDT)
		q := w.offer(25)
		var wg sync.WaitGroup
		for range 25 {
			wg.Go(func() {
				o, err := w.svc.Place(t.Context(), offramp.Placing{Intent: q.ID, User: "ada", Delivery: "wa:test"})
				if err != nil || o.ID != q.ID {
					t.Errorf("place: %v, %v", o, err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, 25*oneUSDT, w.account().Held)
		require.Len(t, w.only().History, 1)
	})
	scenario(t, "an expired, unknown or another's quote starts nothing", func(t *testing.T, w *world) {
		w.deposited("0x1", 60*oneUSDT)
		q := w.offer(25)
		_, err := w.svc.Place(t.Context(), offramp.Placing{Intent: "nobody", User: "ada"})
		require.True(t, fault.Is(err, "quote_expired"), err)
		w.person("bob")
		_, err = w.svc.Place(t.Context(), offramp.Placing{Intent: q.ID, User: "bob"})
		require.True(t, fault.Is(err, "quote_expired"), err)
		_, err = w.svc.Place(t.Context(), offramp.Placing{Intent: q.ID, User: "carl"})
		require.True(t, fault.Is(err, "user_unknown"), err)
		w.clock.Advance(10*time.Minute - time.Millisecond)
		w.clock.Advance(time.Millisecond)
		w.refusedPlacing(q, "quote_expired")
	})
	scenario(t, "a human reference that is taken makes the next one", func(t *testing.T, w *world) {
		q := w.offer(25)
		first := ids.Reference([]byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"), q.ID, 1)
		w.update(func(tx store.Tx) error {
			o := &offramp.Order{Reference: first, User: "bob", State: offramp.Cancelled, Phase: offramp.NoPhase}
			o.ID, o.Version = "other", 1
			return tx.Insert(store.Orders, o)
		})
		require.Equal(t, ids.Reference([]byte("kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"), q.ID, 2), w.place(q).Reference)
		w.update(func(tx store.Tx) error { return tx.Delete(store.Orders, "other", 1) })
	})
	checks := map[string]struct {
		code string
		set  func(w *world)
	}{
		"user frozen":                   {"user_frozen", func(w *world) { require.NoError(w.t, w.svc.FreezeUser(w.t.Context(), "ada", "x", "staff:one")) }},
		"user not active":               {"user_not_active", func(w *world) { w.change(func(u *user.User) { u.Status = user.Closed }) }},
		"tier unknown":                  {"limit_sale", func(w *world) { w.change(func(u *user.User) { u.Tier = "none" }) }},
		"placing switched off":          {"switched_off", func(w *world) { w.switchOff("placing") }},
		"asset switched off":            {"switched_off", func(w *world) { w.switchOff("asset:USDT") }},
		"chain switched off":            {"switched_off", func(w *world) { w.switchOff("chain:base") }},
		"venue switched off":            {"switched_off", func(w *world) { w.switchOff("venue:desk") }},
		"country switched off":          {"switched_off", func(w *world) { w.switchOff("country:NG") }},
		"beneficiary's name on a list":  {"screening_hit", func(w *world) { w.screen.names = []string{"ADA OBI"} }},
		"user's name on a list":         {"screening_hit", func(w *world) { w.screen.names = []string{"Ada Obi"} }},
		"an unfunded order of the same": {"unfunded_exists", func(w *world) { w.place(w.offer(90)) }},
	}
	for name, check := range checks {
		for _, covered := range []bool{true, false} {
			scenario(t, name+" refuses placing", func(t *testing.T, w *world) {
				if covered && check.code != "unfunded_exists" {
					w.deposited("0x1", 60*oneUSDT)
				}
				q := w.offer(25)
				check.set(w)
				w.refusedPlacing(q, check.code)
			})
		}
	}
	scenario(t, "a sale that the balance covers is placed beside an unfunded one", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		require.Equal(t, offramp.Waiting, w.place(w.offer(90)).State)
		require.Equal(t, offramp.Exchange, w.place(w.offer(25)).State)
	})
	scenario(t, "limits count from placing on, and what is given back no longer", func(t *testing.T, w *world) {
		w.deposited("0x1", 900*oneUSDT)
		big := w.place(w.offer(300)) // ₦450,000, a sale's limit and half a day's
		q := w.offer(299)
		w.place(q)
		w.refusedPlacing(w.offer(5), "limit_day")
		w.refusedPlacing(w.offer(301), "limit_sale")
		w.venue.execute = refuses
		w.work()
		require.Equal(t, offramp.Failed, w.order(big.ID).State)
		w.place(w.offer(5))
	})
}

// Rule 6: guards against skew.
func TestRule6_racers(t *testing.T) {
	t.Parallel()
	scenario(t, "of eight short sales at once one waits", func(t *testing.T, w *world) {
		codes := w.race(8, 25)
		require.Equal(t, map[string]int{"": 1, "unfunded_exists": 7}, codes)
	})
	scenario(t, "of eight sales at once only those go that the balance covers, one waits", func(t *testing.T, w *world) {
		w.deposited("0x1", 60*oneUSDT)
		codes := w.race(8, 25)
		require.Equal(t, map[string]int{"": 3, "unfunded_exists": 5}, codes)
		require.Equal(t, 50*oneUSDT, w.account().Held)
	})
	scenario(t, "of eight sales at once only those go that the day's limit allows", func(t *testing.T, w *world) {
		w.deposited("0x1", 5000*oneUSDT)
		codes := w.race(8, 250) // ₦375,000 each, ₦900,000 a day
		require.Equal(t, map[string]int{"": 2, "limit_day": 6}, codes)
	})
	scenario(t, "a freeze and a placing at once: either it was placed before, or not at all", func(t *testing.T, w *world) {
		w.deposited("0x1", 60*oneUSDT)
		q := w.offer(25)
		var wg sync.WaitGroup
		var placed error
		wg.Go(func() { _, placed = w.svc.Place(t.Context(), offramp.Placing{Intent: q.ID, User: "ada"}) })
		wg.Go(func() { _ = w.svc.FreezeUser(t.Context(), "ada", "x", "staff:one") })
		wg.Wait()
		require.NotNil(t, w.user().Frozen)
		if placed != nil {
			require.True(t, fault.Is(placed, "user_frozen"), placed)
			require.Zero(t, w.account().Held)
		}
	})
	scenario(t, "a cancellation and the last deposit at once end in one of two ways", func(t *testing.T, w *world) {
		o, _ := w.awaited()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = w.svc.Cancel(t.Context(), "ada", o.ID, "wa:cancel") })
		wg.Go(func() { _ = w.fact(deposit.FactConfirmed, "0x1", 25*oneUSDT) })
		wg.Wait()
		o = w.order(o.ID)
		a := w.account()
		switch o.State {
		case offramp.Cancelled:
			require.Equal(t, 25*oneUSDT, a.Available)
			require.Equal(t, offramp.NotHeld, o.Hold)
		case offramp.Exchange:
			require.Equal(t, 25*oneUSDT, a.Held)
		default:
			require.Fail(t, "order is "+string(o.State))
		}
	})
	scenario(t, "two reversals and a placing at once never hold what is gone", func(t *testing.T, w *world) {
		w.deposited("0x1", 30*oneUSDT)
		q := w.offer(25)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = w.svc.Place(t.Context(), offramp.Placing{Intent: q.ID, User: "ada"}) })
		for range 2 {
			wg.Go(func() { _ = w.fact(deposit.FactReverted, "0x1", 30*oneUSDT) })
		}
		wg.Wait()
		require.NoError(t, w.account().Check())
	})
}

// race places n sales of so many USDT at once and counts the fault codes.
func (w *world) race(n int, usdt int64) map[string]int {
	w.t.Helper()
	quotes := make([]*quote.Quote, n)
	for i := range quotes {
		quotes[i] = w.offer(usdt)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	codes := map[string]int{}
	for _, q := range quotes {
		wg.Go(func() {
			_, err := w.svc.Place(w.t.Context(), offramp.Placing{Intent: q.ID, User: "ada", Delivery: "wa:" + q.ID})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				codes[""]++
				return
			}
			codes[fault.As(err).Code]++
		})
	}
	wg.Wait()
	return codes
}

// change changes the user.
func (w *world) change(fn func(u *user.User)) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		u, err := user.Load(tx, "ada")
		if err != nil {
			return err
		}
		fn(u)
		return tx.Replace(store.Users, u)
	})
}

// person makes another active user.
func (w *world) person(id string) {
	w.t.Helper()
	w.update(func(tx store.Tx) error {
		u := *w.user()
		u.ID, u.Revision, u.Address = id, 0, "0x"+id
		return tx.Insert(store.Users, &u)
	})
}
