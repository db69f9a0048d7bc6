package flows

import (
	"context"
	"strconv"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/money"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

func itoa(n int) string { return strconv.Itoa(n) }

// offerArgs are the numbers of a quote as people read them.
func (v *visit) offerArgs(q *quote.Quote) map[string]string {
	chain := q.Chain
	if c, ok := v.d.Registry.Chain(q.Chain); ok {
		chain = c.Name
	}
	fiat := func(n money.Minor) string { return money.FormatMinor(n, v.fiat.Exponent, v.fiat.Symbol) }
	return map[string]string{
		"amount": money.FormatMicro(q.Amount) + " " + q.Asset, "asset": q.Asset, "chain": chain, "net": fiat(q.Net), "fee": fiat(q.Fee),
		"gross": fiat(q.Gross), "rate": "1 " + q.Asset + " = " + q.Rate.Price(v.fiat.Exponent, v.fiat.Symbol),
		"name": q.Beneficiary.Name, "bank": q.Beneficiary.BankName, "last4": q.Beneficiary.Last4, "address": v.user.Address,
		"minutes": itoa(max(0, int(q.ExpiresAt.Sub(v.now)/time.Minute))),
	}
}

// review shows the frozen offer: what is sold and who is paid, then what has to be sent, with the PIN.
func (v *visit) review(ctx context.Context, screen string, p *problem) (Answer, error) {
	q, err := v.d.Orders.Quote(ctx, v.user.ID, v.s.Intent)
	if err != nil {
		return v.details(ctx, v.say(err, ""))
	}
	if q.State == quote.Open && !v.now.Before(q.ExpiresAt) && p == nil {
		return v.details(ctx, v.say(fault.New("quote_expired", nil), ""))
	}
	args := v.offerArgs(q)
	text := func(key string) string { return v.d.Texts.Render(v.user.Language, key, args) }
	if screen == FiatReview {
		data := map[string]any{
			"amount_to_receive": args["net"], "recipient_name": short(args["name"], 60), "bank_name": args["bank"],
			"account_masked": "•••• " + args["last4"], "sell_amount": args["amount"], "network": args["chain"], "rate": args["rate"],
			"fee_info": text("flow.fee"), "expires_text": text("flow.expires"),
		}
		return Answer{Screen: screen, Data: errorsOf(data, p)}, nil
	}
	c, err := v.d.Orders.Cover(ctx, v.user.ID, q.Asset)
	if err != nil {
		return Answer{}, err
	}
	cover := "flow.cover.balance"
	if c.Available < q.Amount {
		cover = "flow.cover.send"
		args["missing"] = money.FormatMicro(max(0, q.Amount-c.Available-c.Incoming)) + " " + q.Asset
		if c.Available+c.Incoming >= q.Amount {
			cover = "flow.cover.incoming"
		}
	}
	data := map[string]any{
		"sell_amount": args["amount"], "amount_to_receive": args["net"], "funding_text": text(cover),
		"expires_text": text("flow.expires"), "ask_second_payment": v.s.Values["ask_second"] == "yes",
	}
	return Answer{Screen: screen, Data: errorsOf(data, p, "pin")}, nil
}

// confirm places the sale: the guard is claimed before the PIN is counted, so that copies of one submission count once;
// the PIN is counted before it is compared; the quote is taken once.
func (v *visit) confirm(ctx context.Context, r Request) (Answer, error) {
	q, err := v.d.Orders.Quote(ctx, v.user.ID, v.s.Intent)
	if err != nil {
		return v.details(ctx, v.say(err, ""))
	}
	if q.State == quote.Taken {
		return v.duplicate(ctx)
	}
	claim := v.d.Guard.Claim
	if r.Ticked("second_payment") || q.Renews != "" { // a renewal continues the sale that holds the claim
		claim = v.d.Guard.ClaimSecond
	}
	decision, err := claim(ctx, q.Content, guard.Flow, q.ID, v.now)
	if err != nil {
		return v.review(ctx, CryptoReview, v.say(err, ""))
	}
	if !decision.Allowed() {
		return v.blocked(ctx, q, decision)
	}
	pin, _ := r.Field("pin")
	if err := v.d.PINs.CheckPIN(ctx, v.user.ID, user.TypedPIN(pin), "flow"); err != nil {
		v.d.Guard.Free(ctx, q.Content, q.ID)
		return v.pinRefused(ctx, err)
	}
	if v.user.Frozen != nil {
		wait, err := v.d.PINs.Reauthenticated(ctx, v.user.ID)
		if err != nil || wait > 0 {
			v.d.Guard.Free(ctx, q.Content, q.ID)
			if err != nil {
				return Answer{}, err
			}
			hours := itoa(int(wait/time.Hour) + 1)
			return v.refusal(v.text("flow.cool_down", map[string]string{"hours": hours})), nil
		}
	}
	o, err := v.d.Orders.Place(ctx, offramp.Placing{Intent: q.ID, User: v.user.ID, Delivery: "flow:" + v.s.ID})
	if err != nil {
		return v.notPlaced(ctx, q, err)
	}
	if err := v.remember(ctx, q); err != nil {
		v.d.Log.WarnContext(ctx, "beneficiary not saved", "error", err.Error())
	}
	return v.placed(ctx, q, o), nil
}

// pinRefused keeps a person with tries left on the PIN screen, and ends the form for one who has none.
func (v *visit) pinRefused(ctx context.Context, err error) (Answer, error) {
	if f := fault.As(err); f.Code == "pin_wrong" || f.Code == "pin_busy" || f.Code == "pin_format" {
		return v.review(ctx, CryptoReview, v.say(err, "pin"))
	}
	return v.refusal(v.say(err, "").text), nil
}

// notPlaced says why a sale was not accepted. What may be corrected leads back; the rest ends the form.
func (v *visit) notPlaced(ctx context.Context, q *quote.Quote, err error) (Answer, error) {
	f := fault.As(err)
	if f.Kind == fault.Unavailable || f.Kind == fault.Internal || f.Kind == fault.Unknown {
		// It may have been placed: the claim stays, and a repeat finds out.
		return v.review(ctx, CryptoReview, v.say(err, ""))
	}
	v.d.Guard.Free(ctx, q.Content, q.ID)
	switch f.Code {
	case "quote_expired", "limit_sale", "limit_day", "limit_month", "limit_new_beneficiary", "amount_below_minimum":
		return v.details(ctx, v.say(err, ""))
	default:
		return v.refusal(v.say(err, "").text), nil
	}
}

// remember saves the bank account of an accepted sale.
func (v *visit) remember(ctx context.Context, q *quote.Quote) error {
	number, err := v.d.Box.Open(q.Beneficiary.Sealed, q.Beneficiary.Record())
	if err != nil {
		return err
	}
	return v.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		_, err := v.d.Beneficiaries.Save(tx, v.user.ID, user.Account{
			Fiat: q.Fiat, BankCode: q.Beneficiary.BankCode, BankName: q.Beneficiary.BankName,
			Number: payout.AccountNumber(number), Name: q.Beneficiary.Name,
		})
		return err
	})
}

// placed is the ending of an accepted sale: on its way, never "paid".
func (v *visit) placed(ctx context.Context, q *quote.Quote, o *offramp.Order) Answer {
	args := v.offerArgs(q)
	key := "flow.success.started"
	switch o.State {
	case offramp.Waiting:
		key = "flow.success.send"
		if c, err := v.d.Orders.Cover(ctx, v.user.ID, o.Asset); err == nil {
			args["missing"] = money.FormatMicro(max(0, o.Amount-c.Available-c.Incoming)) + " " + o.Asset
		}
	case offramp.Deposit:
		key = "flow.success.incoming"
	default:
	}
	return v.ending(Sold, o.Reference, "flow.success", v.text(key, args), "flow.success.next", "")
}

// ending is a terminal screen: what is so, what comes next, and why not, if so.
func (v *visit) ending(screen, reference, heading, message, next, refusal string) Answer {
	data := map[string]any{
		"heading": v.text(heading, nil), "message": message, "next_step": v.text(next, nil), "reference": reference,
		"reference_text": v.text("flow.reference", map[string]string{"reference": reference}),
		"has_error":      refusal != "", "error_message": refusal,
	}
	if screen != Sold {
		data["has_reference"] = reference != ""
	}
	return Answer{Screen: screen, Submitted: true, Data: data}
}

func (v *visit) text(key string, args map[string]string) string {
	return v.d.Texts.Render(v.user.Language, key, args)
}

// blocked is the refusal of a duplicate. Another sale of the same content may be meant: then the person ticks it.
func (v *visit) blocked(ctx context.Context, q *quote.Quote, d guard.Decision) (Answer, error) {
	text := v.d.Texts.Render(v.user.Language, d.Flow.Key, d.Flow.Args)
	if err := v.trail(ctx, q.ID, d.Intent, string(d.State)); err != nil {
		return Answer{}, err
	}
	if d.Intent != q.ID && d.State == guard.Completed && v.s.Values["ask_second"] != "yes" {
		v.s.Values["ask_second"] = "yes"
		return v.review(ctx, CryptoReview, &problem{text: text})
	}
	return v.refusal(text), nil
}

// trail writes a refused duplicate to the audit trail: which quote was sent, and what stands in its way.
func (v *visit) trail(ctx context.Context, intent, other, state string) error {
	return v.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		return audit.Append(tx, audit.Entry{
			Stream: user.Stream(v.user.ID), At: v.now, Actor: user.Stream(v.user.ID), Action: DuplicateBlocked, Why: "the same sale again",
			Data: map[string]string{"intent": intent, "blocked_by": other, "state": state, "channel": string(guard.Flow)},
		})
	})
}

// DuplicateBlocked is the audit action of a refused duplicate.
const DuplicateBlocked = "duplicate_blocked"

// duplicate is the refusal of a copy of the same confirmation.
func (v *visit) duplicate(ctx context.Context) (Answer, error) {
	q, err := v.d.Orders.Quote(ctx, v.user.ID, v.s.Intent)
	if err != nil {
		return Answer{}, err
	}
	v.d.Log.WarnContext(ctx, "[OFFRAMP] Duplicate transaction attempt detected", "user", v.user.ID, "order_id", q.ID, "channel", string(guard.Flow))
	v.d.Blocks.DuplicateBlocked(string(guard.Flow))
	if err := v.trail(ctx, q.ID, q.ID, string(q.State)); err != nil {
		return Answer{}, err
	}
	text := v.d.Texts.Render(v.user.Language, "guard.flow.in_progress", nil)
	if q.State != quote.Taken {
		return v.refused(text, "", "flow.refused.duplicate"), nil
	}
	o, err := v.d.Orders.Order(ctx, q.Order)
	if err != nil {
		return Answer{}, err
	}
	switch {
	case o.State == offramp.Success:
		minutes := itoa(max(0, int(v.now.Sub(*o.EndedAt)/time.Minute)))
		text = v.d.Texts.Render(v.user.Language, "guard.flow.completed", map[string]string{"minutes": minutes, "reference": o.Reference})
	case o.State == offramp.Unclear:
		return v.ending(Checking, o.Reference, "flow.checking", v.text("status.payout_checking", nil), "flow.checking.next", ""), nil
	}
	return v.refused(text, o.Reference, "flow.refused.duplicate"), nil
}

// refusal ends the form and says why and what now.
func (v *visit) refusal(text string) Answer { return v.refused(text, "", "flow.refused") }

func (v *visit) refused(text, reference, heading string) Answer {
	return v.ending(Refused, reference, heading, text, "flow.refused.next", text)
}
