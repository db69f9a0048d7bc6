package commands

import (
	"slices"
	"strings"
	"unicode/utf8"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/money"
)

// Command is what a text means.
type Command struct {
	Name Name
	// Amount, Asset, Chain and Fiat are what the text says about a sale or a price; ids of the registry. A text that is
	// nothing but an amount has them too, under None: it may be an answer. An ambiguous amount has its Candidates.
	Amount *money.Parsed
	Asset  string
	Chain  string
	Fiat   string
	// Reference is a human reference in canonical form; its check character holds, whether the sale exists is open.
	Reference string
	// Answer is "yes" or "no" for a text that says only that. It confirms nothing: only a button does (P58).
	Answer string
	// Sensitive says that the text holds a PIN or an account number.
	Sensitive Sensitive
	// Err is why what follows the command word cannot be used: fault code amount_invalid, amount_ambiguous (arguments
	// first and second), asset_unsupported or order_unknown. The command stands; the person is asked again.
	Err error
}

// parser is what Parse works with.
type parser struct {
	reg   *assets.Registry
	units money.ParseContext
}

// Parse reads a text. It never fails: what it does not understand is None.
func Parse(text string, reg *assets.Registry) Command {
	p := &parser{reg: reg, units: money.ParseContext{Units: reg.Units()}}
	cleaned := clean(text)
	secret := sensitive(cleaned, reg)
	if utf8.RuneCountInString(cleaned) > longest {
		return Command{Sensitive: secret}
	}
	cmd := p.command(words(cleaned))
	if secret != Nothing {
		cmd.Sensitive = secret
	}
	return cmd
}

// command reads the words of a text.
func (p *parser) command(words []string) Command {
	if a := answer(words); a != "" {
		return Command{Answer: a}
	}
	name, rest := p.find(words)
	switch name {
	case None:
		cmd := p.bare(rest)
		if cmd.Name == Sell && isQuestion(words[:len(words)-len(rest)]) {
			if cmd.Amount == nil { // "what is usdt?"
				return Command{}
			}
			cmd.Name = Rate // "what is 50 usdt in naira?"
		}
		return cmd
	case Sell:
		cmd := p.sale(rest)
		if cmd.buys(rest, p) {
			return Command{Sensitive: cmd.Sensitive}
		}
		cmd.Name = Sell
		return cmd
	case Rate, Deposit, Balance:
		cmd := p.sale(slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return isPolite(plain(w)) }))
		cmd.Name = name
		if name != Deposit || !fault.Is(cmd.Err, "asset_unsupported") {
			cmd.Err = nil // nothing starts, so what cannot be read is not needed; but nobody is sent to an unknown chain
		}
		return cmd
	case Status, Cancel:
		cmd := reference(rest)
		cmd.Name = name
		return cmd
	case Menu, Help, History, Support, Stop, Start:
	}
	return Command{Name: name} // what follows the word changes nothing
}

// find looks for the command word behind any politeness. A greeting is the command only when nothing else follows.
func (p *parser) find(words []string) (Name, []string) {
	greeted := None
	for i := 0; i < len(words); {
		alias, n := match(words[i:])
		switch {
		case n > 0 && slices.Contains(greetings(), alias):
			greeted = Menu
			i += n
		case n > 0:
			return aliases[alias], words[i+n:]
		case isPolite(plain(words[i])):
			i++
		default:
			if cmd := p.bare(words[i:]); greeted == None || cmd.Name != None {
				return None, words[i:] // "hello, 50 usdt"
			}
			return greeted, nil
		}
	}
	return greeted, nil
}

// isQuestion reports whether the words before a sale in short ask for something instead.
func isQuestion(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"what", "whats", "is", "are", "how", "do", "tell", "about"}, plain(w))
	})
}

// isPolite reports whether a word before the command says nothing.
func isPolite(w string) bool {
	return slices.Contains([]string{
		"please", "pls", "plz", "kindly", "abeg", "i", "im", "id", "ill", "we", "want", "wanna", "to", "would", "like", "love", "can", "could", "you", "u",
		"me", "my", "the", "a", "an", "let", "lets", "need", "show", "check", "get", "give", "see", "view", "tell", "do", "how", "what", "whats", "is", "are",
		"dear", "sir", "ma", "bro", "boss", "there", "so", "ok", "okay", "and", "now", "again", "just", "open", "go", "make", "with", "about", "bot", "oga",
		"your", "current", "latest", "todays", "today", "some", "new", "for", "wan", "je", "veux", "voudrais", "jveux", "jaimerais", "mon", "mes", "svp", "stp", "nataka", "naomba", "ningependa",
		"tafadhali", "ku",
	}, w)
}

// bare reads a text without a command word: a sale in short ("50 usdt", "usdc base"), a reference, an answer, or a
// number that only the question before it explains.
func (p *parser) bare(words []string) Command {
	if len(words) == 0 {
		return Command{}
	}
	if len(words) == 1 && hasDigit(words[0]) {
		if ref, ok := ids.ParseReference(words[0]); ok && strings.ContainsAny(words[0], "abcdefghijklmnopqrstuvwxyz") {
			return Command{Name: Status, Reference: ref}
		}
	}
	cmd := p.sale(words)
	switch {
	case fault.Is(cmd.Err, "amount_ambiguous"):
	case cmd.Err != nil:
		return Command{Sensitive: cmd.Sensitive}
	}
	for _, w := range words { // "usdt rate", "my usdc address"
		if name := aliases[plain(w)]; name == Rate || name == Deposit || name == Balance {
			cmd.Name = name
			return cmd
		}
	}
	if cmd.Asset == "" && cmd.Chain == "" && (cmd.Amount == nil || cmd.Amount.Kind != money.Token && cmd.Amount.Kind != money.Fiat) {
		return cmd // a number, "half" or "all": an answer to something
	}
	if cmd.Amount == nil && cmd.Asset == "" {
		return cmd // a chain alone is an answer too
	}
	cmd.Name = Sell
	return cmd
}

// answer recognises yes and no.
func answer(words []string) string {
	text := plain(strings.Join(words, " "))
	switch {
	case slices.Contains([]string{"yes", "y", "yeah", "yep", "yup", "ok", "okay", "sure", "confirm", "confirmed", "correct", "proceed", "yes please", "continue", "sí", "oui"}, text):
		return "yes"
	case slices.Contains([]string{"no", "n", "nope", "nah", "no thanks", "no thank you", "wrong", "decline"}, text):
		return "no"
	}
	return ""
}

// reference reads what follows "status" or "cancel": nothing, or a reference among small words. Something that looks
// like a reference and is none is said to be unknown.
func reference(words []string) Command {
	var left []string
	for _, w := range words {
		if !slices.Contains([]string{
			"of", "for", "my", "the", "order", "sale", "ref", "reference", "number", "no", "id", "please", "pls", "is", "it", "a", "this", "that", "last", "#",
		}, plain(w)) {
			left = append(left, strings.TrimPrefix(plain(w), "#"))
		}
	}
	if len(left) == 0 {
		return Command{}
	}
	if ref, ok := ids.ParseReference(strings.Join(left, " ")); ok {
		return Command{Reference: ref}
	}
	for _, w := range left {
		if ref, ok := ids.ParseReference(w); ok && hasDigit(w) {
			return Command{Reference: ref}
		}
	}
	if slices.ContainsFunc(left, hasDigit) {
		return Command{Err: fault.New("order_unknown", nil)}
	}
	return Command{}
}
