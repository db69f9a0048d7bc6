package flows

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/deposit"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/offramp"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/user"
)

// scene brings a person to a screen in a state.
type scene struct {
	name string // of the golden file: screen and state
	play func(p *person) shown
}

// details submits the first screen with one thing changed.
func details(change ...any) func(p *person) shown {
	return func(p *person) shown {
		data := toNew("25", account)
		for i := 0; i < len(change); i += 2 {
			data[change[i].(string)] = change[i+1]
		}
		return p.opens("offramp_flow", nil).submit(data)
	}
}

// after does something in the world before a scene.
func after(do func(p *person), then func(p *person) shown) func(p *person) shown {
	return func(p *person) shown {
		do(p)
		return then(p)
	}
}

func opened(values map[string]string) func(p *person) shown {
	return func(p *person) shown { return p.receives("offramp_flow", values).init() }
}

func rich(p *person) { p.deposits("USDT", 100*oneUSDT) }

func off(name string) func(p *person) {
	return func(p *person) { p.set(func(s *setting.Settings) { s.Switches[name] = "maintenance" }) }
}

// paid is a person whose sale of 25 USDT is complete.
func paid(p *person) {
	rich(p)
	p.sells("25")
	at := p.clock.Now()
	o := p.placed()[0]
	p.becomes(o.ID, func(o *offramp.Order) { o.State, o.EndedAt = offramp.Success, &at })
	if g, ok := p.deps.Guard.(*guard.Guard); ok { // told by the order service in production
		g.Completed(p.t.Context(), o.Content, o.ID)
	}
	p.clock.Advance(2 * time.Minute)
}

var detailScenes = []scene{
	{"details/first", opened(nil)},
	{"details/said-in-the-chat", opened(map[string]string{"asset": "USDC", "chain": "bnb", "amount": "₦20,000"})},
	{"details/balance-and-saved-account", after(func(p *person) { rich(p); p.sells("25") }, opened(nil))},
	{"details/renewal", func(p *person) shown {
		p.sells("25")
		id := p.placed()[0].ID
		p.becomes(id, func(o *offramp.Order) { o.State = offramp.Overdue })
		return opened(map[string]string{"renews": id})(p)
	}},
	{"details/frozen", after(func(p *person) {
		p.change(func(u *user.User) { user.Frozen(u, "screening", p.clock.Now()) })
	}, opened(nil))},
	{"details/paused", after(func(p *person) { p.set(func(s *setting.Settings) { s.Drain = true }) }, opened(nil))},
	{"details/coin-off", after(off("asset:USDC"), opened(map[string]string{"asset": "USDC"}))},
	{"details/limit-used-up", after(func(p *person) {
		p.set(func(s *setting.Settings) {
			s.Limits["tier0/NGN"] = setting.Limit{SaleMinor: 40_000_00, DayMinor: 40_000_00, MonthMinor: 40_000_00, NewBeneficiaryMinor: 40_000_00}
		})
		p.sells("26.666666")
		p.set(func(s *setting.Settings) {
			s.Limits["tier0/NGN"] = setting.Limit{SaleMinor: 39_999_99, DayMinor: 39_999_99, MonthMinor: 39_999_99, NewBeneficiaryMinor: 1}
		})
	}, opened(nil))},
	{"details/banks-down", after(func(p *person) {
		p.banks.change(func(b *banks) { b.listErr = fault.New("account_check_unavailable", nil) })
	}, details())},
	{"details/no-banks", after(func(p *person) { p.banks.change(func(b *banks) { b.list = nil }) }, details())},
	{"details/amount-invalid", details("sell_amount", "plenty")},
	{"details/amount-ambiguous", details("sell_amount", "1,000")},
	{"details/amount-too-small", details("sell_amount", "4.99")},
	{"details/amount-above-the-sale", details("sell_amount", "301")},
	{"details/amount-above-a-new-account", details("sell_amount", "201")},
	{"details/amount-of-another-coin", details("sell_amount", "25 usdc")},
	{"details/all-of-nothing", details("sell_amount", "all")},
	{"details/asset-unknown", details("asset", "DOGE:base")},
	{"details/asset-off", after(off("chain:base"), details())},
	{"details/no-rate", after(func(p *person) { p.set(func(s *setting.Settings) { clear(s.Rates) }) }, details())},
	{"details/bank-unknown", details("bank_code", "999")},
	{"details/account-number-short", details("account_number", "12345")},
	{"details/account-not-found", details("account_number", "1111111111")},
	{"details/account-check-unavailable", after(func(p *person) {
		p.banks.change(func(b *banks) { b.nameErr = fault.New("account_check_unavailable", nil) })
	}, details())},
	{"details/saved-account-gone", details("beneficiary", "b_gone")},
	{"details/unfunded-sale", after(func(p *person) { p.sells("25") }, details("sell_amount", "30"))},
}

var reviewScenes = []scene{
	{"offer/first", details()},
	{"offer/fiat", details("sell_amount", "₦20,000")},
	{"offer/no-fee", after(func(p *person) { p.set(func(s *setting.Settings) { s.Fees["NGN"] = setting.Fee{} }) }, details())},
	{"offer/fresh", func(p *person) shown {
		c := p.atOffer("25")
		p.clock.Advance(11 * time.Minute)
		return c.submit(nil)
	}},
	{"pin/send", func(p *person) shown { return p.atOffer("25").submit(nil) }},
	{"pin/balance", after(rich, func(p *person) shown { return p.atOffer("25").submit(nil) })},
	{"pin/incoming", after(func(p *person) { p.deposits("USDT", 25*oneUSDT, deposit.FactSeen) },
		func(p *person) shown { return p.atOffer("25").submit(nil) })},
	{"pin/wrong", func(p *person) shown { return p.atPIN("25").submit(pin(wrongPIN)) }},
	{"pin/no-pin", func(p *person) shown { return p.atPIN("25").submit(pin("48291")) }},
	{"pin/busy", func(p *person) shown {
		c := p.atPIN("25")
		p.hasher.meanwhile(nil, fault.New("pin_busy", nil))
		return c.submit(pin(rightPIN))
	}},
	{"pin/offer-over", func(p *person) shown {
		c := p.atPIN("25")
		p.clock.Advance(11 * time.Minute)
		return c.submit(pin(rightPIN))
	}},
	{"pin/switched-off", func(p *person) shown {
		c := p.atPIN("25")
		off("chain:base")(p)
		return c.submit(pin(rightPIN))
	}},
	{"pin/second-payment", after(paid, func(p *person) shown { return p.atPIN("25").submit(pin(rightPIN)) })},
}

var endingScenes = []scene{
	{"success/send", func(p *person) shown { return p.sells("25") }},
	{"success/started", after(rich, func(p *person) shown { return p.sells("25") })},
	{"success/incoming", after(func(p *person) { p.deposits("USDT", 25*oneUSDT, deposit.FactSeen) },
		func(p *person) shown { return p.sells("25") })},
	{"checking/copy-of-an-unclear-sale", func(p *person) shown {
		c := p.atPIN("25")
		c.submit(pin(rightPIN))
		p.becomes(p.placed()[0].ID, func(o *offramp.Order) { o.State = offramp.Unclear })
		return c.post(ActionExchange, CryptoReview, pin(rightPIN))
	}},
	{"refused/copy", func(p *person) shown {
		c := p.atPIN("25")
		c.submit(pin(rightPIN))
		return c.post(ActionExchange, CryptoReview, pin(rightPIN))
	}},
	{"refused/copy-of-a-complete-sale", func(p *person) shown {
		c := p.atPIN("25")
		c.submit(pin(rightPIN))
		at := p.clock.Now()
		p.becomes(p.placed()[0].ID, func(o *offramp.Order) { o.State, o.EndedAt = offramp.Success, &at })
		p.clock.Advance(3 * time.Minute)
		return c.post(ActionExchange, CryptoReview, pin(rightPIN))
	}},
	{"refused/another-of-the-same", func(p *person) shown {
		p.deposits("USDT", 100*oneUSDT)
		p.sells("25")
		return p.atPIN("25").submit(pin(rightPIN))
	}},
	{"refused/locked", func(p *person) shown {
		c := p.atPIN("25")
		for i := range 4 {
			c.submit(pin("11223" + string(rune('0'+i))))
		}
		return c.submit(pin(wrongPIN))
	}},
	{"refused/frozen-at-the-form", after(func(p *person) {
		p.change(func(u *user.User) { user.Frozen(u, "screening", p.clock.Now()) })
	}, details())},
	{"refused/frozen-at-the-pin", func(p *person) shown {
		c := p.atPIN("25")
		p.change(func(u *user.User) { user.Frozen(u, "screening", p.clock.Now()) })
		return c.submit(pin(rightPIN))
	}},
	{"refused/cool-down", func(p *person) shown {
		p.change(func(u *user.User) { user.Frozen(u, user.IdentityChanged, p.clock.Now()) })
		return p.atPIN("25").submit(pin(rightPIN))
	}},
	{"refused/unfunded-sale", func(p *person) shown {
		c := p.atPIN("25")
		p.sells("30")
		return c.submit(pin(rightPIN))
	}},
	{"refused/screening", func(p *person) shown {
		c := p.atPIN("25")
		p.screener.name.Store("ADA OBI")
		return c.submit(pin(rightPIN))
	}},
}

func TestSell_screensAreGolden(t *testing.T) {
	t.Parallel()
	for _, scenes := range [][]scene{detailScenes, reviewScenes, endingScenes} {
		for _, s := range scenes {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				p := onBolt(t).person()
				p.matches("sell/"+s.name, s.play(p))
				p.wantsQuiet()
			})
		}
	}
}

func TestSignUp_screensAreGolden(t *testing.T) {
	t.Parallel()
	security := func(c *client, pins ...string) shown {
		c.submit(map[string]any{"full_name": "Ada Obi", "language": "en"})
		return c.submit(map[string]any{"pin": pins[0], "confirm_pin": pins[1]})
	}
	for _, s := range []struct {
		name string
		play func(c *client) shown
	}{
		{"personal/first", func(c *client) shown { return c.init() }},
		{"personal/no-name", func(c *client) shown { return c.submit(map[string]any{"full_name": "*", "language": "en"}) }},
		{"security/first", func(c *client) shown { return c.submit(map[string]any{"full_name": "Ada Obi", "language": "en"}) }},
		{"security/differ", func(c *client) shown { return security(c, rightPIN, wrongPIN) }},
		{"security/weak", func(c *client) shown { return security(c, "123456", "123456") }},
		{"security/no-pin", func(c *client) shown { return security(c, "12", "12") }},
		{"successful/done", func(c *client) shown { return security(c, rightPIN, rightPIN) }},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := onBolt(t).stranger()
			p.matches("sign_up/"+s.name, s.play(p.opens("sign_up", nil)))
			p.wantsQuiet()
		})
	}
}

// matches compares an answer with its golden file; what differs in each run has a name instead.
func (p *person) matches(name string, a shown) {
	p.t.Helper()
	require.Equal(p.t, 200, a.Status)
	var out bytes.Buffer
	raw, err := json.Marshal(map[string]any{"screen": a.Screen, "data": a.Data})
	require.NoError(p.t, err)
	require.NoError(p.t, json.Indent(&out, raw, "", "  "))
	text := out.String()
	for _, o := range p.placed() {
		text = strings.ReplaceAll(text, o.Reference, "REFERENCE")
	}
	p.view(func(r store.Reader) error {
		all, err := store.All[user.Beneficiary](r, store.Query{Collection: store.Beneficiaries, Index: "_id"})
		for _, b := range all {
			text = strings.ReplaceAll(text, b.ID, "BENEFICIARY")
		}
		return err
	})
	for from, to := range map[string]string{`\u0026`: "&", `\u003c`: "<", `\u003e`: ">"} {
		text = strings.ReplaceAll(text, from, to)
	}
	testkit.Golden(p.t, name+".json", []byte(text+"\n"))
}
