package commands

import (
	"errors"
	"slices"
	"strings"

	"offrampbot/services/fault"
	"offrampbot/services/money"
)

// longestName is the most words in the name of a coin, currency or chain.
const longestName = 4

// word is a word of a sale with its place in the text, so that words that did not stand together are never joined.
type word struct {
	text string
	at   int
}

// sale reads amount, coin, chain and currency in any order: "50 usdt on base", "₦20k", "all my usdc", "0.5 usdc to
// naira bep20". Whatever remains is not recognised and refused.
func (p *parser) sale(texts []string) Command {
	list := make([]word, len(texts))
	for i, t := range texts {
		list[i] = word{t, i}
	}
	cmd := Command{}
	list = p.takeTarget(list, &cmd)
	list = p.takeChain(list, &cmd)
	if cmd.Err != nil {
		return cmd
	}
	if halfOfOne(list) {
		cmd.Err = fault.New("amount_invalid", nil)
		return cmd
	}
	list = slices.DeleteFunc(p.fold(list), func(w word) bool { return isSmall(plain(w.text)) })
	if len(list) == 0 {
		return cmd
	}
	if !says(list) {
		return p.namesOnly(list, cmd)
	}
	amount, err := money.Parse(join(list), p.units)
	if errors.Is(err, money.ErrUnit) { // "₦20k of usdt": the coin is not the unit of the amount
		if rest := p.takeAsset(list, &cmd); len(rest) < len(list) {
			list = rest
			amount, err = money.Parse(join(list), p.units)
		}
	}
	return p.withAmount(cmd, list, amount, err)
}

// halfOfOne reports whether words say "half a usdt" or "a half usdt": half a coin, which is not half of the
// balance. It is asked for in figures.
func halfOfOne(list []word) bool {
	for i, w := range list {
		if w.text == "half" && (i+1 < len(list) && (list[i+1].text == "a" || list[i+1].text == "an") || i > 0 && list[i-1].text == "a") {
			return true
		}
	}
	return false
}

// fold makes one word of a coin or currency that has several: "usd coin" becomes "usdc" before "coin" is dropped.
func (p *parser) fold(list []word) []word {
	var out []word
	for i := 0; i < len(list); i++ {
		w := list[i]
		for n := min(longestName, len(list)-i); n > 1 && !hasDigit(w.text); n-- {
			name := join(list[i : i+n])
			if a, err := p.reg.AssetNamed(name); err == nil {
				w = word{strings.ToLower(a.ID), list[i+n-1].at}
			} else if f, err := p.reg.FiatNamed(name); err == nil {
				w = word{strings.ToLower(f.Code), list[i+n-1].at}
			} else {
				continue
			}
			i += n - 1
			break
		}
		out = append(out, w)
	}
	return out
}

// withAmount puts a read amount, or the reason why there is none, into the command.
func (p *parser) withAmount(cmd Command, list []word, amount money.Parsed, err error) Command {
	switch {
	case errors.Is(err, money.ErrAmbiguous):
		first, second := amount.Candidates[0], amount.Candidates[1]
		cmd.Err = fault.New("amount_ambiguous", err).With("first", p.show(first)).With("second", p.show(second))
	case errors.Is(err, money.ErrUnit), errors.Is(err, money.ErrSyntax) && p.strange(list):
		cmd.Err = p.unknown(list)
		return cmd
	case err != nil:
		cmd.Err = fault.New("amount_invalid", err)
		if len(numbers(list)) > 1 && slices.ContainsFunc(list, func(w word) bool { return isPINLike(w.text) }) {
			cmd.Sensitive = PIN // "sell 50 usdt 1234"
		}
		return cmd
	}
	cmd.Amount = &amount
	if amount.Kind == money.Fiat {
		if cmd.Fiat != "" && cmd.Fiat != amount.Unit {
			cmd.Err = fault.New("amount_invalid", money.ErrUnit)
		}
		cmd.Fiat = amount.Unit
	} else {
		if cmd.Asset != "" && amount.Unit != "" && cmd.Asset != amount.Unit {
			cmd.Err = fault.New("amount_invalid", money.ErrUnit)
		}
		if amount.Unit != "" {
			cmd.Asset = amount.Unit
		} else if amount.Kind != money.Plain { // "$20 of usdt"
			amount.Unit = cmd.Asset
		}
	}
	return p.checkPair(cmd)
}

// show writes a reading for a person: "1500 USDT".
func (p *parser) show(a money.Parsed) string { return strings.TrimSpace(a.Text + " " + a.Unit) }

// namesOnly reads a sale that names no amount: "usdt", "usdc base", "naira".
func (p *parser) namesOnly(list []word, cmd Command) Command {
	list = p.takeAsset(list, &cmd)
	for len(list) > 0 {
		rest := p.takeFiat(list, &cmd)
		if len(rest) == len(list) {
			cmd.Err = p.unknown(list)
			return cmd
		}
		list = rest
	}
	return p.checkPair(cmd)
}

// checkPair refuses a coin on a chain where it is not taken.
func (p *parser) checkPair(cmd Command) Command {
	if cmd.Asset != "" && cmd.Chain != "" && cmd.Err == nil {
		if _, ok := p.reg.Token(cmd.Asset, cmd.Chain); !ok {
			_, cmd.Err = p.reg.TokenNamed(cmd.Asset + " " + cmd.Chain)
		}
	}
	return cmd
}

// strange reports whether a word is a name that holds digits or points and is unknown: "trc20", "usdt.e".
func (p *parser) strange(list []word) bool {
	return slices.ContainsFunc(list, func(w word) bool {
		if isDigit(rune(w.text[0])) || !strings.ContainsAny(w.text, "0123456789.") {
			return false
		}
		_, err := money.Parse(w.text, p.units)
		return err != nil && strings.ContainsAny(w.text, "abcdefghijklmnopqrstuvwxyz")
	})
}

// unknown is the refusal of the first word that nothing is known under. A word with four digits or more is not
// repeated: it may be part of a secret.
func (p *parser) unknown(list []word) error {
	for _, w := range list {
		digits := len(w.text) - len(strings.Trim(w.text, "0123456789")) // at either end
		if isDigit(rune(w.text[0])) || digits >= 4 || slices.Contains([]string{"k", "m", "half", "all"}, w.text) {
			continue
		}
		_, errAsset := p.reg.AssetNamed(w.text)
		_, errFiat := p.reg.FiatNamed(w.text)
		if errAsset != nil && errFiat != nil {
			return errAsset
		}
	}
	return fault.New("asset_unsupported", nil).With("supported", p.reg.Supported())
}

// buys reports whether a sale was asked for the wrong way round: naira to USDT is buying, which is not for sale here.
func (c Command) buys(texts []string, p *parser) bool {
	if c.Amount == nil || c.Amount.Kind != money.Fiat {
		return false
	}
	for i, t := range texts[:max(0, len(texts)-1)] {
		if t == "to" || t == "into" {
			if _, err := p.reg.AssetNamed(texts[i+1]); err == nil {
				return true
			}
		}
	}
	return false
}

// says reports whether words hold an amount: a digit, or a share.
func says(list []word) bool {
	return slices.ContainsFunc(list, func(w word) bool {
		return hasDigit(w.text) || slices.Contains([]string{"half", "all", "everything", "max", "maximum"}, w.text)
	})
}

// numbers are the words with digits.
func numbers(list []word) []word {
	return slices.DeleteFunc(slices.Clone(list), func(w word) bool { return !hasDigit(w.text) })
}

// join writes words as a text, with a barrier where words between two numbers were taken out.
func join(list []word) string {
	var b strings.Builder
	for i, w := range list {
		if i > 0 {
			b.WriteByte(' ')
			if w.at != list[i-1].at+1 && hasDigit(w.text) && hasDigit(list[i-1].text) {
				b.WriteString(string(barrier) + " ")
			}
		}
		b.WriteString(w.text)
	}
	return b.String()
}

// isSmall reports whether a word in a sale says nothing.
func isSmall(w string) bool {
	return slices.Contains([]string{
		"of", "my", "the", "worth", "some", "please", "pls", "plz", "abeg", "now", "today", "asap", "crypto", "coin", "coins", "token", "tokens", "stablecoin",
		"stablecoins", "network", "chain", "thanks", "thank", "you", "to", "for", "me", "from", "in", "into", "cash", "money", "want", "i", "is", "are", "at", "it",
		"rate", "rates", "price", "prices", "todays", "address", "wallet", "deposit", "equivalent", "a", "an", "with", "using", "sir", "ma", "bro", "balance", "again", "bank", "account",
		"quickly", "immediately", "sell", "right",
		"svp", "stp", "tafadhali", "haraka", "sharp", "sur", "kwenye", "kwa", "yangu", "langu", "zangu", "ya", "mon", "mes",
	}, w)
}
