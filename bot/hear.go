package bot

import (
	"context"
	"strings"
	"time"

	"offrampbot/commands"
	"offrampbot/services/delivery"
	"offrampbot/services/money"
)

// heard is what a message means, with what it names.
type heard struct {
	said       Said
	asset      string
	chain      string
	amount     string // as the form shows it; empty when nothing usable was said
	readings   []reading
	unreadable bool // an amount was meant, but cannot be used
	reference  string
	order      string // of a button
	secret     string // pin or account
	wait       time.Duration
}

// reading is one of two meanings of an amount.
type reading struct{ text, value string }

// moneySteps are what a message may not do when it reached us late (P9).
var moneySteps = map[Said]bool{SaidSell: true, SaidYesCancel: true, SaidRenew: true, SaidChoice: true, SaidCancel: true}

// hear finds out what the message says. It decides on ids of ours, never on shown titles (F4), and a reaction or a thumb
// never confirms anything (P58).
func (t *turn) hear(ctx context.Context) {
	t.heard = t.meaning()
	if delivery.BacklogFrom(ctx).Collapse {
		t.heard = heard{said: SaidNothing}
		if delivery.BacklogFrom(ctx).Last {
			t.heard.said = SaidTooMuch
		}
		return
	}
	if ok, wait := t.d.Limiter.Allow(ctx, "messages", t.user.ID, t.cfg.Messages); !ok {
		t.heard = heard{said: SaidTooFast, wait: wait}
		return
	}
	if moneySteps[t.heard.said] && t.at.Sub(t.msg.SentAt) > t.cfg.Stale {
		t.heard = heard{said: SaidLate}
	}
}

func (t *turn) meaning() heard {
	switch {
	case t.msg.Flow != nil:
		return heard{said: t.flowSaid()}
	case t.msg.Reply != nil:
		return tapped(t.msg.Reply.ID)
	case t.msg.Type == "text":
		return t.typed()
	case t.msg.Type == "request_welcome":
		return heard{said: SaidMenu}
	case t.msg.Reaction != nil, t.msg.Type == "reaction", t.msg.Type == "edit", t.msg.Type == "revoke", t.msg.Type == "system":
		return heard{said: SaidNothing}
	default:
		return heard{said: SaidUnreadable}
	}
}

// flowSaid tells which form was finished: somebody new has signed up by the time the answer arrives.
func (t *turn) flowSaid() Said {
	if raw, ok := t.msg.Flow.Params["type"]; ok && strings.Trim(string(raw), `"`) == "new-account" {
		return SaidSignedUp
	}
	return SaidSold
}

// tapped reads the id of a button or row.
func tapped(id string) heard {
	action, value, _ := strings.Cut(id, ":")
	switch action {
	case "cancel":
		return heard{said: SaidYesCancel, order: value}
	case "renew":
		return heard{said: SaidRenew, order: value}
	case "address":
		return heard{said: SaidDeposit}
	case "choice":
		return heard{said: SaidChoice, amount: value}
	case "keep":
		return heard{said: SaidKeep}
	}
	if said, ok := names[commands.Name(action)]; ok {
		return heard{said: said}
	}
	return heard{said: SaidUnknown}
}

// names are the commands as the table knows them.
var names = map[commands.Name]Said{
	commands.Menu: SaidMenu, commands.Help: SaidHelp, commands.Sell: SaidSell, commands.Balance: SaidBalance,
	commands.Deposit: SaidDeposit, commands.Rate: SaidRate, commands.Status: SaidStatus, commands.History: SaidHistory,
	commands.Cancel: SaidCancel, commands.Support: SaidSupport, commands.Stop: SaidStop, commands.Start: SaidStart,
}

// read parses what was typed, once and before anything else is decided: a text with a secret never stays in the stored
// message, whatever is done about it.
func (t *turn) read() {
	t.command = commands.Parse(t.msg.Text, t.d.Registry)
	t.mask = t.command.Sensitive != commands.Nothing
}

// secretDigits is the fewest digits of a PIN.
const secretDigits = 4

// mayBeSecret reports whether an amount in a text with a secret may be the secret itself. Such a one is not repeated, and
// stored nowhere; the form asks for it.
func mayBeSecret(c commands.Command) bool {
	if c.Sensitive == commands.Nothing || c.Amount == nil {
		return false
	}
	digits := 0
	for _, r := range c.Amount.Text {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	return digits >= secretDigits || len(c.Amount.Candidates) > 0
}

// typed tells what a text means.
func (t *turn) typed() heard {
	c := t.command
	if c.Sensitive != commands.Nothing && c.Name == commands.None {
		return heard{said: SaidSensitive, secret: string(c.Sensitive)}
	}
	said, ok := names[c.Name]
	if !ok {
		return heard{said: SaidUnknown}
	}
	h := heard{said: said, asset: c.Asset, chain: c.Chain, reference: c.Reference}
	if said != SaidSell {
		return h
	}
	if mayBeSecret(c) {
		h.unreadable = true
		return h
	}
	if a := c.Amount; a != nil && len(a.Candidates) == 2 {
		for _, p := range a.Candidates {
			h.readings = append(h.readings, reading{text: amountText(p), value: amountText(p)})
		}
		return h
	} else if a != nil {
		h.amount = amountText(*a)
	}
	h.unreadable = c.Err != nil
	return h
}

// amountText writes an amount so that the form's own parser reads the same.
func amountText(p money.Parsed) string {
	switch p.Kind {
	case money.Half, money.All:
		return string(p.Kind)
	case money.Fiat:
		return p.Text + " " + p.Unit
	case money.Token:
		return strings.TrimSpace(p.Text + " " + p.Unit)
	default:
		return p.Text
	}
}
