// Package bot turns one inbound WhatsApp message into replies. What a message leads to stands in one table; the chat's
// state only remembers what the user is typing, and losing it never changes what happens to money.
package bot

import (
	"fmt"
	"slices"
	"strings"
)

// Step is where a conversation stands.
type Step string

// The steps.
const (
	Stranger Step = "stranger" // has not signed up
	Idle     Step = "idle"     // nothing is asked
	Selling  Step = "selling"  // the sell form was sent
	Stopping Step = "stopping" // a cancellation was asked to be confirmed
)

// Steps lists every step.
func Steps() []Step { return []Step{Stranger, Idle, Selling, Stopping} }

// Said is what a message means to the conversation.
type Said string

// What can be said.
const (
	SaidMenu       Said = "menu"
	SaidHelp       Said = "help"
	SaidSell       Said = "sell"
	SaidBalance    Said = "balance"
	SaidDeposit    Said = "deposit"
	SaidRate       Said = "rate"
	SaidStatus     Said = "status"
	SaidHistory    Said = "history"
	SaidCancel     Said = "cancel"
	SaidYesCancel  Said = "yes, cancel" // the button of one order
	SaidKeep       Said = "keep"
	SaidRenew      Said = "renew"
	SaidSupport    Said = "support"
	SaidStop       Said = "stop"
	SaidStart      Said = "start"
	SaidChoice     Said = "choice"     // one reading of an ambiguous amount
	SaidSignedUp   Said = "signed up"  // the sign-up form was finished
	SaidSold       Said = "sold"       // the sell form was finished
	SaidSensitive  Said = "sensitive"  // a PIN or an account number in plain text
	SaidUnreadable Said = "unreadable" // a voice note, a sticker …
	SaidNothing    Said = "nothing"    // a reaction, a system message
	SaidUnknown    Said = "unknown"    // text that nobody understands
	SaidLate       Said = "late"       // a message about money that reached us too late
	SaidTooMuch    Said = "too much"   // one of very many waiting messages
	SaidTooFast    Said = "too fast"   // more messages a minute than anybody types
)

// Sayings lists everything that can be said.
func Sayings() []Said {
	return []Said{
		SaidMenu, SaidHelp, SaidSell, SaidBalance, SaidDeposit, SaidRate, SaidStatus, SaidHistory, SaidCancel, SaidYesCancel,
		SaidKeep, SaidRenew, SaidSupport, SaidStop, SaidStart, SaidChoice, SaidSignedUp, SaidSold, SaidSensitive, SaidUnreadable,
		SaidNothing, SaidUnknown, SaidLate, SaidTooMuch, SaidTooFast,
	}
}

// Topic is what the bot does about it.
type Topic string

// The topics; each has one function.
const (
	DoSignUp     Topic = "send the sign-up form"
	DoWelcome    Topic = "welcome"
	DoMenu       Topic = "menu"
	DoHelp       Topic = "help"
	DoSell       Topic = "send the sell form"
	DoChoose     Topic = "send the sell form with the chosen amount"
	DoBalance    Topic = "balance"
	DoDeposit    Topic = "deposit address"
	DoRate       Topic = "rate"
	DoStatus     Topic = "status"
	DoHistory    Topic = "history"
	DoAskCancel  Topic = "ask to cancel"
	DoCancel     Topic = "cancel the order"
	DoKeep       Topic = "keep the order"
	DoRenew      Topic = "send the renewal form"
	DoSupport    Topic = "support"
	DoStop       Topic = "opt out"
	DoStart      Topic = "opt in"
	DoSensitive  Topic = "warn about secrets"
	DoUnreadable Topic = "say what can be read"
	DoNothing    Topic = "nothing"
	DoUnknown    Topic = "menu, once"
	DoLate       Topic = "offer to start again"
	DoTooMuch    Topic = "one reply for many"
	DoSlowDown   Topic = "ask to slow down, once"
)

// Rule is one row of the conversation table. Stay keeps the step.
type Rule struct {
	At   Step
	Said Said
	Do   Topic
	To   Step
}

// Stay: the step does not change.
const Stay Step = "same"

// everywhere are the rules that hold at every step of somebody who has signed up.
var everywhere = []Rule{
	{"", SaidMenu, DoMenu, Idle},
	{"", SaidHelp, DoHelp, Stay},
	{"", SaidSell, DoSell, Selling},
	{"", SaidBalance, DoBalance, Stay},
	{"", SaidDeposit, DoDeposit, Stay},
	{"", SaidRate, DoRate, Stay},
	{"", SaidStatus, DoStatus, Stay},
	{"", SaidHistory, DoHistory, Stay},
	{"", SaidCancel, DoAskCancel, Stopping},
	{"", SaidYesCancel, DoCancel, Idle},
	{"", SaidKeep, DoKeep, Idle},
	{"", SaidRenew, DoRenew, Selling},
	{"", SaidSupport, DoSupport, Stay},
	{"", SaidStop, DoStop, Idle},
	{"", SaidStart, DoStart, Idle},
	{"", SaidChoice, DoChoose, Selling},
	{"", SaidSignedUp, DoWelcome, Idle},
	{"", SaidSold, DoNothing, Idle},
	{"", SaidSensitive, DoSensitive, Stay},
	{"", SaidUnreadable, DoUnreadable, Stay},
	{"", SaidNothing, DoNothing, Stay},
	{"", SaidUnknown, DoUnknown, Idle},
	{"", SaidLate, DoLate, Idle},
	{"", SaidTooMuch, DoTooMuch, Stay},
	{"", SaidTooFast, DoSlowDown, Stay},
}

// strangers are the rules for somebody who has not signed up: everything but help leads to the form.
var strangers = []Rule{
	{Stranger, SaidHelp, DoHelp, Stay},
	{Stranger, SaidRate, DoRate, Stay},
	{Stranger, SaidSupport, DoSupport, Stay},
	{Stranger, SaidStop, DoStop, Stay},
	{Stranger, SaidSignedUp, DoWelcome, Idle},
	{Stranger, SaidSensitive, DoSensitive, Stay},
	{Stranger, SaidNothing, DoNothing, Stay},
	{Stranger, SaidTooMuch, DoTooMuch, Stay},
	{Stranger, SaidTooFast, DoSlowDown, Stay},
	{Stranger, SaidSold, DoNothing, Stay},
}

// conversation is the whole table, every step × everything that can be said.
var conversation = table()

func table() []Rule {
	var out []Rule
	for _, said := range Sayings() {
		rule := Rule{Stranger, said, DoSignUp, Stay}
		if i := slices.IndexFunc(strangers, func(r Rule) bool { return r.Said == said }); i >= 0 {
			rule = strangers[i]
		}
		out = append(out, rule)
	}
	for _, step := range Steps()[1:] {
		for _, r := range everywhere {
			r.At = step
			out = append(out, r)
		}
	}
	return out
}

// Next returns the rule for a step and what was said. Every pair has one.
func Next(at Step, said Said) Rule {
	for _, r := range conversation {
		if r.At == at && r.Said == said {
			if r.To == Stay {
				r.To = at
			}
			return r
		}
	}
	return Rule{at, said, DoUnknown, Idle}
}

// Document is docs/conversation.md.
func Document() string {
	var b strings.Builder
	b.WriteString("# Conversation\n\nGenerated from the table in `bot/conversation.go`; `go test ./bot -update` writes it again. A chat's step lives for thirty minutes and may be lost:\n" +
		"it only remembers what the user is typing. Money is decided by orders, see [order-states.md](order-states.md).\n\n| at | said | the bot | then |\n|---|---|---|---|\n")
	for _, r := range conversation {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.At, r.Said, r.Do, r.To)
	}
	return b.String()
}
