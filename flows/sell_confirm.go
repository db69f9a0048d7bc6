package flows

import (
	"context"
	"errors"
	"strconv"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/offramp"
	"offrampbot/services/payout"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// confirm places the sale: the guard is claimed before the PIN is counted, so that copies of one submission count once;
// the PIN is counted before it is compared; the quote is taken once.
//
// Invariant: no order without a right PIN of this session, on the quote that its PIN screen showed.
func (v *visit) confirm(ctx context.Context, r Request) (Answer, error) {
	q, gone, err := v.quoted(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case gone:
		return v.refusal(v.say(fault.New("quote_expired", nil), "").text), nil
	case q.State == quote.Taken:
		return v.resumed(ctx, q)
	case v.isOver(q):
		return v.pinScreen(ctx, q, v.offerOver())
	}
	if a, refused, err := v.claim(ctx, q, r); refused || err != nil {
		return a, err
	}
	pin, _ := r.Field("pin")
	if err := v.d.PINs.CheckPIN(ctx, v.s.User, user.TypedPIN(pin), "flow"); err != nil {
		v.d.Guard.Free(ctx, q.Content, q.ID)
		return v.pinRefused(ctx, q, err)
	}
	if v.user.Frozen != nil {
		if a, refused, err := v.coolDown(ctx, q); refused || err != nil {
			return a, err
		}
	}
	o, err := v.d.Orders.Place(ctx, offramp.Placing{Intent: q.ID, User: v.s.User, Delivery: "flow:" + v.s.ID})
	if err != nil {
		return v.notPlaced(ctx, q, err)
	}
	if err := v.remember(ctx, q); err != nil {
		v.d.Log.WarnContext(ctx, "beneficiary not saved", "error", r.Scrub(err.Error()))
	}
	return v.placed(ctx, q, o)
}

// claim claims the sale's content. A claim of this very quote that has no order is left from a request of this session
// that ended early, because the session lets one request work at a time: it goes on.
func (v *visit) claim(ctx context.Context, q *quote.Quote, r Request) (a Answer, refused bool, err error) {
	claim := v.d.Guard.Claim
	if r.Ticked("second_payment") || q.Renews != "" { // a renewal continues the sale that holds the claim
		claim = v.d.Guard.ClaimSecond
	}
	d, err := claim(ctx, q.Content, guard.Flow, q.ID, v.now)
	if err != nil { // neither Redis nor the store could say; nothing was claimed
		a, err = v.pinScreen(ctx, q, v.say(fault.New("store_unavailable", err), ""))
		return a, true, err
	}
	if d.Allowed() || d.Verdict == guard.Own && !d.Ordered {
		return Answer{}, false, nil
	}
	a, err = v.blocked(ctx, q, d)
	return a, true, err
}

// blocked is the refusal of a duplicate. A second payment of a sale that is complete may be meant: then the person ticks
// it.
func (v *visit) blocked(ctx context.Context, q *quote.Quote, d guard.Decision) (Answer, error) {
	text := v.text(d.Flow.Key, d.Flow.Args)
	v.trail(ctx, q.ID, d.Intent, string(d.State))
	if d.Intent != q.ID && d.State == guard.Completed {
		v.s.Values["ask_second"] = "yes"
		return v.pinScreen(ctx, q, &problem{text: text})
	}
	if d.Intent != q.ID {
		v.s.Values[blockedBy] = d.Intent // a copy of this confirmation asks it how things stand
	}
	return v.refused(text, d.Reference, "duplicate"), nil
}

// offerOver is what the PIN screen says of an offer that has run out: the screen before makes a fresh one. It is not made
// here, because a PIN that was typed under one price must never confirm another.
func (v *visit) offerOver() *problem { return v.problem("flow.offer_over", "quote_expired", "", nil) }

// pinRefused keeps a person with tries left on the PIN screen, and ends the form for one who has none.
func (v *visit) pinRefused(ctx context.Context, q *quote.Quote, err error) (Answer, error) {
	f := fault.As(err)
	switch {
	case f.Code == "pin_wrong", f.Code == "pin_format":
		a, err := v.pinScreen(ctx, q, v.say(f, "pin"))
		a.passing = f.Code != "pin_wrong" // a wrong PIN was counted: its copy is not counted again
		return a, err
	case f.Kind == fault.Unavailable, f.Kind == fault.Internal:
		return v.pinScreen(ctx, q, v.say(err, "pin"))
	default: // locked, blocked, or nobody who may have a PIN
		return v.refusal(v.say(f, "").text), nil
	}
}

// coolDown lets a person whose number or identity changed sell again, once the PIN is given and the wait is over.
func (v *visit) coolDown(ctx context.Context, q *quote.Quote) (a Answer, refused bool, err error) {
	wait, err := v.d.PINs.Reauthenticated(ctx, v.s.User)
	if err == nil && wait <= 0 {
		return Answer{}, false, nil
	}
	v.d.Guard.Free(ctx, q.Content, q.ID)
	if err != nil {
		a, err = v.pinScreen(ctx, q, v.say(err, ""))
		return a, true, err
	}
	hours := strconv.Itoa(int((wait + time.Hour - 1) / time.Hour))
	return v.refusal(v.text("flow.cool_down", map[string]string{"hours": hours})), true, nil
}

// notPlaced says why a sale was not accepted. What may be corrected or may pass keeps the screen; the rest ends the form.
func (v *visit) notPlaced(ctx context.Context, q *quote.Quote, err error) (Answer, error) {
	f := fault.As(err)
	isUnsure := errors.Is(err, store.ErrCommitUnknown) || f.Kind == fault.Unknown ||
		f.Kind == fault.Internal && !errors.Is(err, store.ErrUnavailable)
	if isUnsure {
		// It may have been placed: the claim stays, and the same submission again finds out.
		v.d.Log.ErrorContext(ctx, "placing a sale did not end", "order_id", q.ID, "error", v.typed.Scrub(err.Error()))
		return v.pinScreen(ctx, q, v.problem("flow.unsure", f.Code, "", nil))
	}
	v.d.Guard.Free(ctx, q.Content, q.ID)
	switch {
	case f.Code == "quote_expired":
		return v.pinScreen(ctx, q, v.offerOver())
	case f.Code == "unfunded_exists":
		p, err := v.named(ctx, f, "")
		if err != nil {
			return Answer{}, err
		}
		return v.refusal(p.text), nil
	case errors.Is(err, store.ErrUnavailable):
		return v.pinScreen(ctx, q, v.say(fault.New("store_unavailable", err), ""))
	case f.Kind == fault.Unavailable, f.Kind == fault.Limited, f.Code == "amount_below_minimum":
		return v.pinScreen(ctx, q, v.say(f, ""))
	default:
		return v.refusal(v.say(f, "").text), nil
	}
}

// remember saves the bank account of an accepted sale.
func (v *visit) remember(ctx context.Context, q *quote.Quote) error {
	number, err := v.d.Box.Open(q.Beneficiary.Sealed, q.Beneficiary.Record())
	if err != nil {
		return err
	}
	return v.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
		_, err := v.d.Beneficiaries.Save(tx, v.s.User, user.Account{
			Fiat: q.Fiat, BankCode: q.Beneficiary.BankCode, BankName: q.Beneficiary.BankName,
			Number: payout.AccountNumber(number), Name: q.Beneficiary.Name,
		})
		return err
	})
}
