package flows

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// onlyPIN knows one PIN and counts nothing, so that a fuzz target stays in the state it begins with.
type onlyPIN struct{}

func (onlyPIN) CheckPIN(_ context.Context, _ string, pin user.TypedPIN, _ string) error {
	if pin != rightPIN {
		return fault.New("pin_wrong", nil).With("left", "4")
	}
	return nil
}

func (onlyPIN) Reauthenticated(context.Context, string) (time.Duration, error) { return 0, nil }

// FuzzScreenInput sends anything as what a person typed, on each screen of a form that is at its PIN: nothing panics,
// every answer can be shown, and only the right PIN on the PIN screen sells.
func FuzzScreenInput(f *testing.F) {
	w := newWorld(f, testkit.Bolt(f, allIndexes()), func(d *SellDeps) { d.PINs = onlyPIN{} })
	p := w.person()
	p.deposits("USDT", 200*oneUSDT)
	for screen, data := range map[byte]map[string]any{
		0: toNew("25", account), 1: {}, 2: {"pin": wrongPIN, "second_payment": true}, 3: {"pin": rightPIN}, 4: {"full_name": "Ada Obi"},
		5: {"error": "x"}, 6: {"sell_amount": map[string]any{"$gt": ""}, "asset": []any{1}}, 7: {"sell_amount": "half", "beneficiary": "b_x"},
	} {
		raw, err := json.Marshal(data)
		require.NoError(f, err)
		f.Add(screen, screen, raw)
	}
	f.Add(byte(2), byte(1), []byte(`{"pin":"`+rightPIN+`"}`)) // sells
	screens := []string{Details, FiatReview, CryptoReview, Sold, Refused, ""}
	actions := []string{ActionExchange, ActionExchange, ActionBack, ActionInit, ActionNavigate}
	f.Fuzz(func(t *testing.T, screen, action byte, data []byte) {
		here := *w
		here.t = t
		w.sessions++ // a session that sold is over, so each input has its own
		me := &person{world: &here, id: p.id}
		c := me.atPINScreen()
		plain := []byte(`{"version":"4.0","flow_token":"` + c.token + `","action":"` + actions[int(action)%len(actions)] +
			`","screen":"` + screens[int(screen)%len(screens)] + `","data":` + string(data) + `}`)
		r, err := DecodeRequest(plain)
		if err != nil || r.Token != c.token {
			return
		}
		before := len(me.placed())
		status, out := w.endpoint.handle(t.Context(), r)
		require.Equal(t, 200, status, "%s", out)
		var a shown
		require.NoError(t, json.Unmarshal(out, &a))
		typed, _ := r.Field("pin")
		if a.Screen != "" {
			if a.Screen == Details {
				a.Data["sell_amount"] = "" // what was typed may be anything
			}
			require.Empty(t, complaints("offramp_flow", "", a), "%s", out)
		}
		if len(me.placed()) > before {
			require.Equal(t, []string{rightPIN, CryptoReview, ActionExchange}, []string{typed, r.Screen, r.Action})
		}
	})
}

// atPINScreen is a session at its PIN screen, with an offer that nobody took.
func (p *person) atPINScreen() *client {
	p.t.Helper()
	c := p.receives("offramp_flow", nil)
	q := &quote.Quote{}
	id, err := newIntent()
	require.NoError(p.t, err)
	p.update(func(tx store.Tx) error {
		*q = quote.Quote{
			Meta: store.Meta{ID: id, Version: 1}, User: p.id, Asset: "USDT", Chain: "base", Amount: 25 * oneUSDT, Fiat: "NGN", Gross: 3_750_000,
			Net: 3_726_250, Fee: 23_750, Content: "content " + id, State: quote.Open, ExpiresAt: p.clock.Now().Add(time.Minute), CreatedAt: p.clock.Now(),
			Beneficiary: quote.Beneficiary{BankCode: "058", BankName: "GTBank", Last4: "6789", Name: "ADA OBI", Digest: "d"},
		}
		q.Rate.Num, q.Rate.Den = 150_000, 1_000_000
		if err := tx.Insert(store.Quotes, q); err != nil {
			return err
		}
		s, err := LoadSession(tx, c.token)
		if err != nil {
			return err
		}
		s.Intent, s.Screen, s.Shown = id, CryptoReview, []string{FiatReview, CryptoReview}
		return SaveSession(tx, s)
	})
	return c
}
