package flows

import (
	"context"
	"encoding/json"
	"fmt"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
)

// quoted reads the session's quote; gone says that there is none any more.
func (v *visit) quoted(ctx context.Context) (q *quote.Quote, gone bool, err error) {
	q, err = v.d.Orders.Quote(ctx, v.s.User, v.s.Intent)
	if fault.Is(err, "quote_expired") {
		return nil, true, nil
	}
	return q, false, err
}

// offerValue is the value of a session that holds its offer as it is shown.
const offerValue = "offer"

// note keeps the offer with the session, without the account number.
func (v *visit) note(q *quote.Quote) error {
	raw, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("note offer: %w", err)
	}
	v.s.Intent, v.s.Values[offerValue] = q.ID, string(raw)
	return nil
}

// glimpse is the session's quote for showing: what the session noted when it was made, so that looking at it again costs
// no read. Nothing is decided by it but that it has run out; placing reads the quote itself.
func (v *visit) glimpse(ctx context.Context) (q *quote.Quote, gone bool, err error) {
	q = &quote.Quote{}
	if json.Unmarshal([]byte(v.s.Values[offerValue]), q) == nil && q.ID == v.s.Intent {
		return q, false, nil
	}
	return v.quoted(ctx)
}

// isOver reports whether an offer that nobody took has run out.
func (v *visit) isOver(q *quote.Quote) bool {
	return q.State != quote.Taken && !v.now.Before(q.ExpiresAt)
}

// expiry is the text about the end of an offer.
func (v *visit) expiry(q *quote.Quote) string {
	if v.isOver(q) {
		return "flow.expired"
	}
	return "flow.expires"
}

// numbers are those of a quote as people read them.
func (v *visit) numbers(q *quote.Quote) map[string]string {
	chain := q.Chain
	if c, ok := v.d.Registry.Chain(q.Chain); ok {
		chain = c.Name
	}
	return map[string]string{
		"amount": money.FormatMicro(q.Amount) + " " + q.Asset, "asset": q.Asset, "chain": chain, "net": v.cash(q.Net),
		"fee": v.cash(q.Fee), "gross": v.cash(q.Gross), "rate": "1 " + q.Asset + " = " + q.Rate.Price(v.fiat.Exponent, v.fiat.Symbol),
		"name": foreign(q.Beneficiary.Name, maxName), "bank": foreign(q.Beneficiary.BankName, maxName),
		"account": "•••• " + q.Beneficiary.Last4, "until": v.clock(q.ExpiresAt),
	}
}

// offer shows the frozen offer: what is sold, who is paid, and at what price. One that has run out is replaced by a fresh
// one at today's price, which is said.
func (v *visit) offer(ctx context.Context, p *problem) (Answer, error) {
	q, gone, err := v.glimpse(ctx)
	if err == nil && !gone && v.isOver(q) {
		q, gone, err = v.quoted(ctx)
	}
	if err != nil {
		return Answer{}, err
	}
	if gone {
		return v.refusal(v.say(fault.New("quote_expired", nil), "").text), nil
	}
	if v.isOver(q) {
		if q, p, err = v.renewed(ctx, q); err != nil {
			return Answer{}, err
		}
	}
	args := v.numbers(q)
	fee := "flow.fee"
	if q.Fee == 0 {
		fee = "flow.fee.none"
	}
	data := map[string]any{
		"amount_to_receive": args["net"], "recipient_name": args["name"], "bank_name": args["bank"], "account_masked": args["account"],
		"sell_amount": args["amount"], "network": args["chain"], "rate": args["rate"], "fee_info": v.text(fee, args),
		"expires_text": v.text(v.expiry(q), args),
	}
	return Answer{Screen: FiatReview, Data: errorsOf(data, p), passing: p != nil}, nil
}

// renewed freezes an offer of the same sale again. When that is not possible the old one is shown, with the reason.
func (v *visit) renewed(ctx context.Context, old *quote.Quote) (*quote.Quote, *problem, error) {
	q, p, err := v.freeze(ctx, &offramp.Ask{
		User: old.User, Asset: old.Asset, Chain: old.Chain, Amount: old.Amount, Fiat: old.Fiat, Beneficiary: old.Beneficiary,
		Content: old.Content, Renews: old.Renews,
	})
	if err != nil || p != nil {
		return old, p, err
	}
	return q, v.problem("flow.offer_fresh", "quote_expired", "", nil), nil
}

// acceptOffer goes on to the PIN, unless the offer has run out meanwhile: then a fresh one is to be accepted first.
func (v *visit) acceptOffer(ctx context.Context) (Answer, error) {
	q, gone, err := v.glimpse(ctx)
	if err != nil {
		return Answer{}, err
	}
	if gone || v.isOver(q) {
		return v.offer(ctx, nil)
	}
	return v.pinScreen(ctx, q, nil)
}

// askPIN shows the PIN screen of the session's quote again.
func (v *visit) askPIN(ctx context.Context, p *problem) (Answer, error) {
	q, gone, err := v.glimpse(ctx)
	if err != nil {
		return Answer{}, err
	}
	if gone {
		return v.refusal(v.say(fault.New("quote_expired", nil), "").text), nil
	}
	return v.pinScreen(ctx, q, p)
}

// pinScreen shows what has to be sent, with the PIN. The PIN itself is never sent back.
func (v *visit) pinScreen(ctx context.Context, q *quote.Quote, p *problem) (Answer, error) {
	args := v.numbers(q)
	cover, err := v.cover(ctx, q.Asset, q.Amount, args)
	if err != nil {
		return Answer{}, err
	}
	data := map[string]any{
		"sell_amount": args["amount"], "amount_to_receive": args["net"], "funding_text": v.text("flow.cover."+cover, args),
		"expires_text": v.text(v.expiry(q), args), "ask_second_payment": v.s.Values["ask_second"] == "yes",
	}
	return Answer{Screen: CryptoReview, Data: errorsOf(data, p, "pin"), passing: p != nil}, nil
}

// cover says how an amount is funded now: from the balance, by what is on its way in, or by what is still to be sent. It
// adds the amounts to args.
func (v *visit) cover(ctx context.Context, asset string, amount money.Micro, args map[string]string) (how string, err error) {
	c, err := v.d.Orders.Cover(ctx, v.s.User, asset)
	if err != nil {
		return "", err
	}
	args["available"], args["incoming"] = money.FormatMicro(c.Available)+" "+asset, money.FormatMicro(c.Incoming)+" "+asset
	args["missing"] = money.FormatMicro(max(0, amount-c.Available-c.Incoming)) + " " + asset
	switch {
	case c.Available >= amount:
		return "balance", nil
	case c.Available+c.Incoming >= amount:
		return "incoming", nil
	default:
		return "send", nil
	}
}
