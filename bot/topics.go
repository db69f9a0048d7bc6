package bot

import (
	"context"
	"strconv"
	"strings"
	"time"

	"offrampbot/commands"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/ratelimit"
	"offrampbot/services/setting"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// do carries out a topic.
func (t *turn) do(ctx context.Context, topic Topic) error {
	switch topic {
	case DoNothing:
	case DoSignUp:
		t.form("sign_up", "bot.welcome.stranger", "button.sign_up", nil, nil)
	case DoWelcome:
		t.ask("bot.signed_up", map[string]string{"name": firstName(t.user.Name)},
			button("sell"), button("balance"), button("menu"))
	case DoMenu:
		t.menu("bot.menu")
	case DoUnknown:
		t.unknown()
	case DoHelp:
		t.say("bot.help", map[string]string{"commands": t.commandList()})
	case DoSell, DoChoose:
		return t.sell(ctx)
	case DoRenew:
		return t.renew(ctx)
	case DoBalance:
		return t.balance(ctx)
	case DoDeposit:
		t.deposit()
	case DoRate:
		return t.rate(ctx)
	case DoStatus:
		return t.status(ctx)
	case DoHistory:
		return t.history(ctx)
	case DoAskCancel:
		return t.askCancel(ctx)
	case DoCancel:
		return t.cancel(ctx)
	case DoKeep:
		t.say("bot.cancel.done", nil)
	case DoSupport:
		return t.support(ctx)
	case DoStop, DoStart:
		t.consent(topic == DoStop)
	case DoSensitive:
		t.say("bot.sensitive."+t.heard.secret, nil)
	case DoUnreadable:
		t.once("bot.unreadable")
	case DoLate:
		t.ask("bot.stale", nil, button("sell"), button("menu"))
	case DoTooMuch:
		t.say("bot.busy", nil)
	case DoSlowDown:
		t.slowDown(ctx)
	}
	return nil
}

// commandList is the help of every command, a line each.
func (t *turn) commandList() string {
	var lines []string
	for _, e := range commands.Catalogue() {
		lines = append(lines, "• *"+e.Example+"* — "+t.text(e.Help, nil))
	}
	return strings.Join(lines, "\n")
}

func button(id string) operation.Button { return operation.Button{ID: id, Title: "button." + id} }

// menu is the list of everything that can be done.
func (t *turn) menu(key string) {
	row := func(id string) operation.Row {
		return operation.Row{ID: id, Title: "row." + id, Description: "row." + id + ".about"}
	}
	t.replies = append(t.replies, operation.Message{
		Type: "list", Key: key, Args: map[string]string{"name": firstName(t.user.Name)},
		List: &operation.List{Button: "bot.menu.button", Sections: []operation.Section{{Rows: []operation.Row{
			row("sell"), row("balance"), row("deposit"), row("rate"), row("status"), row("history"), row("help"), row("support"),
		}}}},
	})
}

// unknown answers with the menu, and within a minute not again.
func (t *turn) unknown() {
	if t.draft.Misses > 0 && t.at.Sub(t.draft.UpdatedAt) < time.Minute {
		t.draft.Misses++
		return
	}
	t.draft.Misses = 1
	t.menu("bot.menu.again")
}

// once says something at most once a minute.
func (t *turn) once(key string) {
	if t.draft.Misses > 0 && t.at.Sub(t.draft.UpdatedAt) < time.Minute {
		return
	}
	t.draft.Misses = 1
	t.say(key, nil)
}

// slowDown asks once a minute; the messages between are read and not answered.
func (t *turn) slowDown(ctx context.Context) {
	if ok, _ := t.d.Limiter.Allow(ctx, "slow-down", t.user.ID, ratelimit.Limit{Rate: 1, Burst: 1, Period: time.Minute}); ok {
		t.say("bot.limited", map[string]string{"seconds": strconv.Itoa(max(1, int(t.heard.wait/time.Second)))})
	}
}

func firstName(name string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(name), " ")
	return first
}

// balance lists what the user has of each asset.
func (t *turn) balance(ctx context.Context) error {
	var lines []string
	for _, a := range t.d.Registry.Assets() {
		c, err := t.d.Orders.Cover(ctx, t.user.ID, a.ID)
		if err != nil {
			return err
		}
		args := map[string]string{"asset": a.ID, "available": money.FormatMicro(c.Available)}
		for name, n := range map[string]money.Micro{"incoming": c.Incoming, "held": c.Held, "owed": c.Owed} {
			if n > 0 {
				args[name] = money.FormatMicro(n)
			}
		}
		lines = append(lines, t.text("bot.balance.line", args))
	}
	t.ask("bot.balance", map[string]string{"lines": strings.Join(lines, "\n")}, button("sell"), button("menu"))
	return nil
}

// deposit shows the address as text to copy and as a QR picture.
func (t *turn) deposit() {
	var chains, names []string
	for _, c := range t.d.Registry.Chains() {
		chains = append(chains, c.Name)
	}
	for _, a := range t.d.Registry.Assets() {
		names = append(names, a.ID)
	}
	args := map[string]string{
		"address": t.user.Address, "chains": strings.Join(chains, ", "), "assets": strings.Join(names, " or "),
	}
	t.say("bot.deposit", args)
	t.replies = append(t.replies,
		operation.Message{Type: "image", Key: "bot.deposit.qr", Args: args, Image: &operation.Image{Kind: "qr", Value: t.user.Address}},
		operation.Message{Type: "text", Text: t.user.Address})
}

// rate shows what a token brings now, and the fee.
func (t *turn) rate(ctx context.Context) error {
	fiat, ok := t.d.Registry.FiatOf(t.user.Country)
	if !ok {
		fiat = t.d.Registry.Fiats()[0]
	}
	var lines []string
	var fee string
	err := t.d.Engine.View(ctx, func(_ context.Context, r store.Reader) error {
		lines = nil
		s, err := setting.Load(r)
		if err != nil {
			return err
		}
		for _, a := range t.d.Registry.Assets() {
			p, err := s.Price(a.ID, fiat.Code, t.at)
			if err != nil {
				continue
			}
			lines = append(lines, t.text("bot.rate.line", map[string]string{
				"asset": a.ID, "price": p.Rate.Price(fiat.Exponent, fiat.Symbol),
			}))
		}
		f := s.Fee(fiat)
		fee = money.FormatMinor(f.FlatMinor, fiat.Exponent, fiat.Symbol)
		if f.BasisPoints > 0 {
			fee += " + " + strconv.FormatInt(f.BasisPoints/100, 10) + "." + padded(f.BasisPoints%100) + " %"
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		t.say("bot.rate.none", nil)
		return nil
	}
	t.ask("bot.rate", map[string]string{"lines": strings.Join(lines, "\n"), "fee": fee}, button("sell"), button("menu"))
	return nil
}

func padded(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// consent opts out of, or into, messages that are not about the user's own money.
func (t *turn) consent(stop bool) {
	t.commit = append(t.commit, func(tx store.Tx) error {
		u, err := user.Load(tx, t.user.ID)
		if err != nil {
			return err
		}
		u.StoppedAt = nil
		if stop {
			u.StoppedAt = &t.at
		}
		return tx.Replace(store.Users, u)
	})
	if stop {
		t.say("bot.stopped", nil)
		return
	}
	t.say("bot.resumed", map[string]string{"name": firstName(t.user.Name)})
	t.menu("bot.menu")
}

// support names the last sale, so that a person can help at once.
func (t *turn) support(ctx context.Context) error {
	last, err := t.latest(ctx)
	if err != nil {
		return err
	}
	if last == nil {
		t.say("bot.support", nil)
		return nil
	}
	t.say("bot.support.order", map[string]string{"reference": last.Reference, "state": t.stateText(last.State)})
	return nil
}

func (t *turn) latest(ctx context.Context) (*offramp.Order, error) {
	all, err := t.d.Orders.History(ctx, t.user.ID, 1)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

func (t *turn) stateText(s offramp.State) string { return t.text("state."+string(s), nil) }
