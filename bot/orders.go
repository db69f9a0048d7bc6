package bot

import (
	"context"
	"strings"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/phone"
	"offrampbot/services/user"
)

// status tells where the money is: of the reference that was given, else of the latest sale.
func (t *turn) status(ctx context.Context) error {
	o, err := t.named(ctx)
	if err != nil {
		return err
	}
	if o == nil {
		t.ask("bot.status.none", nil, button("sell"), button("menu"))
		return nil
	}
	args := t.orderArgs(o)
	args["path"] = t.path(o)
	var buttons []operation.Button
	switch o.State {
	case offramp.Waiting, offramp.Deposit:
		buttons = []operation.Button{button("deposit"), {ID: "cancel:" + o.ID, Title: "button.cancel"}}
		buttons[0].Title = "button.address"
	case offramp.Overdue:
		buttons = []operation.Button{{ID: "renew:" + o.ID, Title: "button.renew"}, {ID: "cancel:" + o.ID, Title: "button.cancel"}}
	case offramp.Success, offramp.Failed, offramp.Returned, offramp.Cancelled:
		buttons = []operation.Button{button("sell"), button("menu")}
	default:
	}
	if len(buttons) == 0 {
		t.say("bot.status", args)
		return nil
	}
	t.ask("bot.status", args, buttons...)
	return nil
}

// named is the order that the message names, else the latest.
func (t *turn) named(ctx context.Context) (*offramp.Order, error) {
	if t.heard.reference == "" {
		return t.latest(ctx)
	}
	o, err := t.d.Orders.ByReference(ctx, t.user.ID, t.heard.reference)
	if fault.Is(err, "order_unknown") {
		return nil, nil
	}
	return o, err
}

func (t *turn) orderArgs(o *offramp.Order) map[string]string {
	fiat, _ := t.d.Registry.Fiat(o.Fiat)
	return map[string]string{
		"reference": o.Reference, "amount": money.FormatMicro(o.Amount) + " " + o.Asset,
		"net": money.FormatMinor(o.Net, fiat.Exponent, fiat.Symbol), "bank": o.Beneficiary.BankName,
		"last4": o.Beneficiary.Last4, "state": t.stateText(o.State),
		"date": o.CreatedAt.In(phone.Zone(t.user.Country)).Format("2 Jan 15:04"),
	}
}

// path is a sale's steps on one short line.
func (t *turn) path(o *offramp.Order) string {
	reached := map[string]bool{"path.accepted": true}
	for _, f := range o.History {
		switch f.To {
		case offramp.Exchange:
			reached["path.deposit"] = true
		case offramp.Sending:
			reached["path.exchange"] = true
		case offramp.Success:
			reached["path.sending"], reached["path.success"] = true, true
		default:
		}
	}
	if o.AcceptedAt != nil {
		reached["path.sending"] = true
	}
	var steps []string
	for _, key := range []string{"path.accepted", "path.deposit", "path.exchange", "path.sending", "path.success"} {
		mark := "○ "
		if reached[key] {
			mark = "● "
		}
		steps = append(steps, mark+t.text(key, nil))
	}
	return strings.Join(steps, "  ")
}

// history lists the last sales.
func (t *turn) history(ctx context.Context) error {
	all, err := t.d.Orders.History(ctx, t.user.ID, 10)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		t.ask("bot.history.none", nil, button("sell"), button("menu"))
		return nil
	}
	var lines []string
	for _, o := range all {
		lines = append(lines, t.text("bot.history.line", t.orderArgs(o)))
	}
	t.say("bot.history", map[string]string{"lines": strings.Join(lines, "\n")})
	return nil
}

// askCancel asks before an order is cancelled; only one whose money has not moved can be.
func (t *turn) askCancel(ctx context.Context) error {
	o, err := t.cancellable(ctx)
	if err != nil {
		return err
	}
	if o == nil {
		t.say("bot.cancel.none", nil)
		return nil
	}
	t.ask("bot.cancel.ask", t.orderArgs(o),
		operation.Button{ID: "cancel:" + o.ID, Title: "button.yes_cancel"}, operation.Button{ID: "keep", Title: "button.keep"})
	return nil
}

func (t *turn) cancellable(ctx context.Context) (*offramp.Order, error) {
	open, err := t.d.Orders.Open(ctx, t.user.ID)
	if err != nil {
		return nil, err
	}
	for _, o := range open {
		if o.State.Unfunded() && (t.heard.reference == "" || t.heard.reference == o.Reference) {
			return o, nil
		}
	}
	return nil, nil
}

// cancel ends the order that the button names. The order's own notice tells the user.
func (t *turn) cancel(ctx context.Context) error {
	before, err := t.d.Orders.Order(ctx, t.heard.order)
	if fault.Is(err, "order_unknown") || err == nil && before.User != t.user.ID {
		t.say("bot.cancel.none", nil)
		return nil
	}
	if err != nil {
		return err
	}
	if before.State == offramp.Cancelled {
		return nil
	}
	_, err = t.d.Orders.Cancel(ctx, t.user.ID, before.ID, t.receipt.ID)
	if fault.Is(err, "cannot_cancel") {
		t.say("bot.cancel.none", nil)
		return nil
	}
	return err
}

// renew sends the form for a fresh quote of an overdue order.
func (t *turn) renew(ctx context.Context) error {
	o, err := t.d.Orders.Order(ctx, t.heard.order)
	if fault.Is(err, "order_unknown") || err == nil && (o.User != t.user.ID || o.State != offramp.Overdue) {
		return t.status(ctx)
	}
	if err != nil {
		return err
	}
	t.form("offramp_flow", "bot.sell.flow", "button.renew", map[string]string{"what": money.FormatMicro(o.Amount) + " " + o.Asset},
		map[string]string{"renews": o.ID})
	return nil
}

// sell sends the form, filled with what was said.
func (t *turn) sell(ctx context.Context) error {
	if t.user.Frozen != nil && t.user.Frozen.Why != user.IdentityChanged { // a changed identity is proven by the PIN in the form
		t.say("bot.sell.frozen", nil)
		return nil
	}
	h := t.heard
	if len(h.readings) == 2 {
		t.ask("bot.sell.ambiguous", map[string]string{"first": h.readings[0].text, "second": h.readings[1].text},
			operation.Button{ID: "choice:" + h.readings[0].value, Title: h.readings[0].text},
			operation.Button{ID: "choice:" + h.readings[1].value, Title: h.readings[1].text})
		return nil
	}
	if h.unreadable {
		t.say("bot.sell.invalid", nil)
	}
	what := t.text("bot.sell.crypto", nil)
	if h.amount != "" {
		what = h.amount
	}
	t.form("offramp_flow", "bot.sell.flow", "button.start", map[string]string{"what": what},
		map[string]string{"asset": h.asset, "chain": h.chain, "amount": h.amount})
	return nil
}
