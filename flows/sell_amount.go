package flows

import (
	"context"
	"errors"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/money"
)

// newIntent makes the id of the next quote of a session: a fresh one for each review.
func newIntent() (string, error) { return ids.NewIntent() }

// amount reads the typed amount: of the token, of what is to arrive in fiat, or a share of what is there (P53–P57).
func (v *visit) amount(ctx context.Context, s *survey, token assets.Token) (money.Micro, *problem, error) {
	bare := money.Unit{ID: token.Asset, Kind: money.Token, Decimals: money.MicroDecimals}
	parsed, err := money.Parse(v.s.Values["amount"], money.ParseContext{Units: v.d.Registry.Units(), Bare: &bare})
	switch {
	case errors.Is(err, money.ErrAmbiguous) && len(parsed.Candidates) == 2:
		first, second := parsed.Candidates[0].Text, parsed.Candidates[1].Text
		return 0, v.say(fault.New("amount_ambiguous", err).With("first", first+" "+token.Asset).With("second", second+" "+token.Asset),
			"sell_amount"), nil
	case errors.Is(err, money.ErrZero):
		return 0, v.tooLittle(token), nil
	case err != nil:
		return 0, v.say(fault.New("amount_invalid", err), "sell_amount"), nil
	}
	isFiat := parsed.Kind == money.Fiat
	if isFiat && parsed.Unit != v.fiat.Code || !isFiat && parsed.Unit != "" && parsed.Unit != token.Asset {
		return 0, v.problem("flow.amount_other_unit", "amount_other_unit", "sell_amount",
			map[string]string{"asset": token.Asset, "fiat": v.fiat.Code}), nil
	}
	switch parsed.Kind {
	case money.Fiat:
		return v.forFiat(ctx, s, token, money.Minor(parsed.Value))
	case money.Half, money.All:
		have := s.available[token.Asset]
		if have <= 0 {
			return 0, v.problem("flow.amount_no_balance", "amount_no_balance", "sell_amount", map[string]string{"asset": token.Asset}), nil
		}
		if parsed.Kind == money.Half {
			have /= 2
		}
		return have, nil, nil
	default:
		return money.Micro(parsed.Value), nil, nil
	}
}

// tooLittle is the refusal of an amount below the smallest sale.
func (v *visit) tooLittle(token assets.Token) *problem {
	least, _ := v.d.Registry.MinimumMicro(token.Asset)
	return v.say(fault.New("amount_below_minimum", nil).With("minimum", money.FormatMicro(least)+" "+token.Asset), "sell_amount")
}

// forFiat is the smallest amount of crypto of which the fiat that was typed arrives, the fee taken off: the field asks
// for what a person wants to get.
func (v *visit) forFiat(ctx context.Context, s *survey, token assets.Token, net money.Minor) (money.Micro, *problem, error) {
	rate, err := v.d.Price.Price(ctx, token.Asset, token.Chain, v.fiat.Code)
	if err != nil && fault.As(err).Kind == fault.Internal {
		return 0, nil, err
	}
	if err != nil {
		return 0, v.say(err, ""), nil
	}
	gross, err := grossFor(net, s.set.Fee(v.fiat))
	if err == nil {
		var amount money.Micro
		if amount, err = rate.Cost(gross); err == nil {
			return amount, nil, nil
		}
	}
	return 0, v.say(fault.New("amount_invalid", err), "sell_amount"), nil
}

// maxFeeSteps bounds the search of grossFor; the distance shrinks by the fee's share each time.
const maxFeeSteps = 256

// grossFor is the smallest gross of which net is left when the fee is taken off. The fee never falls when the gross
// rises, so adding the fee of the last guess climbs to the answer from below. A fee that eats everything has none.
func grossFor(net money.Minor, fee assets.Fee) (money.Minor, error) {
	gross := net
	for range maxFeeSteps {
		off, err := fee.On(gross)
		if err != nil {
			return 0, err
		}
		next, err := net.Add(off)
		if err != nil {
			return 0, err
		}
		if next <= gross {
			return gross, nil
		}
		gross = next
	}
	return 0, money.ErrOverflow
}
