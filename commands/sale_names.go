package commands

import (
	"slices"
	"strings"
)

// takeTarget takes "to naira", "for ngn" or "into my gtbank account" off the end: where the money goes. The bank is
// asked for later, so words that name one are dropped, but never a number.
func (p *parser) takeTarget(list []word, cmd *Command) []word {
	for i := len(list) - 2; i >= 0; i-- {
		if !slices.Contains([]string{"to", "for", "into", "in"}, list[i].text) {
			continue
		}
		rest := p.takeFiat(list[i+1:], cmd)
		if len(rest) < len(list)-i-1 {
			return append(slices.Clone(list[:i]), rest...)
		}
		if list[i].text == "to" || list[i].text == "into" {
			if p.isBank(list[i+1:]) {
				return list[:i]
			}
		}
	}
	return list
}

// isBank reports whether words say no more than "my bank account".
func (p *parser) isBank(list []word) bool {
	bank := false
	for _, w := range list {
		if hasDigit(w.text) {
			return false
		}
		bank = bank || strings.Contains(w.text, "bank") || w.text == "account" || w.text == "cash"
	}
	return bank
}

// takeFiat takes the name of a currency off the front.
func (p *parser) takeFiat(list []word, cmd *Command) []word {
	for n := min(longestName, len(list)); n > 0; n-- {
		if hasDigit(list[0].text) {
			break
		}
		if f, err := p.reg.FiatNamed(join(list[:n])); err == nil {
			cmd.Fiat = f.Code
			return list[n:]
		}
	}
	return list
}

// takeChain takes the names of chains out, wherever they stand. Two different chains, or an unknown one behind "on", are
// refused.
func (p *parser) takeChain(list []word, cmd *Command) []word {
	var out []word
	for i := 0; i < len(list); {
		on := 0
		if (list[i].text == "on" || list[i].text == "via") && i+1 < len(list) {
			on = 1
		}
		id, n := p.chainAt(list[i+on:])
		switch {
		case n == 0 && on == 1:
			cmd.Err = p.unknown(list[i+1 : i+2])
			return nil
		case n == 0:
			out = append(out, list[i])
			i++
			continue
		case cmd.Chain != "" && cmd.Chain != id:
			cmd.Err = p.unknown(list[i+on : i+on+n])
			return nil
		}
		cmd.Chain = id
		i += on + n
	}
	return out
}

// chainAt is the chain that words begin with, the longest name first.
func (p *parser) chainAt(list []word) (id string, n int) {
	for n = min(longestName, len(list)); n > 0; n-- {
		if c, err := p.reg.ChainNamed(join(list[:n])); err == nil {
			return c.ID, n
		}
	}
	return "", 0
}

// takeAsset takes the name of one coin out, wherever it stands.
func (p *parser) takeAsset(list []word, cmd *Command) []word {
	for i := range list {
		for n := min(longestName, len(list)-i); n > 0; n-- {
			if a, err := p.reg.AssetNamed(join(list[i : i+n])); err == nil {
				cmd.Asset = a.ID
				return append(slices.Clone(list[:i]), list[i+n:]...)
			}
		}
	}
	return list
}
