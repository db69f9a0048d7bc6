package flows

import (
	"context"
	"errors"
	"strconv"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/fault"
	"offrampbot/services/guard"
	"offrampbot/services/offramp"
	"offrampbot/services/quote"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// placed is the ending of an accepted sale: on its way, never "paid". One that is not funded says what to send, on which
// network and until when.
func (v *visit) placed(ctx context.Context, q *quote.Quote, o *offramp.Order) (Answer, error) {
	args := v.numbers(q)
	args["reference"], args["address"] = o.Reference, v.user.Address
	how := "started"
	switch o.State {
	case offramp.Waiting, offramp.Deposit:
		if _, err := v.cover(ctx, o.Asset, o.Amount, args); err != nil { // the order stands; its numbers are in the chat too
			args["missing"], args["incoming"] = args["amount"], args["amount"]
		}
		how = "send"
		if o.State == offramp.Deposit {
			how = "incoming"
		}
		args["until"] = v.clock(o.WaitingUntil)
	case offramp.Unclear, offramp.Review:
		return v.checking(o), nil
	default:
	}
	return v.ending(Sold, o.Reference, "flow.success", v.text("flow.success."+how, args), v.text("flow.success."+how+".next", args), ""), nil
}

// resumed answers a confirmation whose order is there although nobody was told: an earlier request of this session placed
// it and ended before it could say so.
func (v *visit) resumed(ctx context.Context, q *quote.Quote) (Answer, error) {
	o, err := v.d.Orders.Order(ctx, q.Order)
	if err != nil {
		return Answer{}, err
	}
	if o.State.Final() || o.State == offramp.Overdue {
		return v.duplicate(ctx)
	}
	return v.placed(ctx, q, o)
}

// checking is the ending of a sale whose payout is being looked up.
func (v *visit) checking(o *offramp.Order) Answer {
	return v.ending(Checking, o.Reference, "flow.checking", v.text("status.payout_checking", nil), v.text("flow.checking.next", nil), "")
}

// ending is a terminal screen: what is so, where the money is and what comes next, and why not, if so.
func (v *visit) ending(screen, reference, heading, message, next, refusal string) Answer {
	data := map[string]any{
		"heading": v.text(heading, nil), "message": message, "next_step": next, "reference": reference,
		"reference_text": v.text("flow.reference", map[string]string{"reference": reference}),
		"has_error":      refusal != "", "error_message": refusal,
	}
	if screen != Sold {
		data["has_reference"] = reference != ""
	}
	return Answer{Screen: screen, Submitted: true, Data: data}
}

// refusal ends the form and says why and what now.
func (v *visit) refusal(text string) Answer { return v.refused(text, "", "nothing") }

// refused ends the form: nothing was sold, or this sale was sent before. text is the reason, in its exact words.
func (v *visit) refused(text, reference, what string) Answer {
	key := "flow.refused." + what
	args := map[string]string{}
	if reference != "" {
		args["reference"] = reference
	}
	return v.ending(Refused, reference, key, v.text(key+".money", args), v.text(key+".next", args), text)
}

// duplicate is the refusal of a copy of the same confirmation.
func (v *visit) duplicate(ctx context.Context) (Answer, error) {
	q, err := v.d.Orders.Quote(ctx, v.s.User, v.s.Intent)
	if err != nil {
		return Answer{}, err
	}
	v.d.Log.WarnContext(ctx, "[OFFRAMP] Duplicate transaction attempt detected", "user", v.s.User, "order_id", q.ID, "channel", string(guard.Flow))
	v.d.Blocks.DuplicateBlocked(string(guard.Flow))
	v.trail(ctx, q.ID, q.ID, string(q.State))
	if q.State != quote.Taken {
		return v.unplaced(ctx)
	}
	o, err := v.d.Orders.Order(ctx, q.Order)
	if err != nil {
		return Answer{}, err
	}
	switch {
	case o.State == offramp.Success && o.EndedAt != nil:
		minutes := strconv.Itoa(max(0, int(v.now.Sub(*o.EndedAt)/time.Minute)))
		text := v.text("guard.flow.completed", map[string]string{"minutes": minutes, "reference": o.Reference})
		return v.refused(text, o.Reference, "completed"), nil
	case o.State == offramp.Unclear, o.State == offramp.Review:
		return v.checking(o), nil
	case isOver(o.State):
		what := "ended"
		if o.State == offramp.Overdue {
			what = "overdue"
		}
		return v.refused(v.text("flow.ended."+string(o.State), nil), o.Reference, what), nil
	}
	return v.inProgress(o.Reference), nil
}

// isPlaced reports whether the confirmation has made an order.
func (v *visit) isPlaced(ctx context.Context) (bool, error) {
	q, err := v.d.Orders.Quote(ctx, v.s.User, v.s.Intent)
	return err == nil && q.State == quote.Taken, err
}

// isOver reports whether nothing goes on any more: the sale has ended without a payment that stands, or waits for its
// person to renew or cancel it.
func isOver(s offramp.State) bool {
	return s == offramp.Failed || s == offramp.Returned || s == offramp.Cancelled || s == offramp.Overdue
}

func (v *visit) inProgress(reference string) Answer {
	return v.refused(v.text("guard.flow.in_progress", nil), reference, "duplicate")
}

// blockedBy is the value of a session that names the quote in whose favour its own was refused.
const blockedBy = "blocked_by"

// unplaced answers the copy of a confirmation that has no order. It is in progress while the session is open, because
// another copy works then, and while the sale that holds its claim goes on; else it was refused, and nothing goes on.
func (v *visit) unplaced(ctx context.Context) (Answer, error) {
	if v.s.State == SessionOpen {
		return v.inProgress(""), nil
	}
	if other := v.s.Values[blockedBy]; other != "" {
		goesOn, err := v.goesOn(ctx, other)
		if err != nil || goesOn {
			return v.inProgress(""), err
		}
	}
	return v.refused(v.text("flow.ended.refused", nil), "", "unplaced"), nil
}

// goesOn reports whether the sale of a quote is being placed, or placed and not over.
func (v *visit) goesOn(ctx context.Context, intent string) (bool, error) {
	q, err := v.d.Orders.Quote(ctx, v.s.User, intent)
	if err != nil {
		return false, err
	}
	if q.State != quote.Taken {
		return q.State == quote.Open && !v.isOver(q), nil
	}
	o, err := v.d.Orders.Order(ctx, q.Order)
	if err != nil {
		return false, err
	}
	return !o.State.Final() && !isOver(o.State), nil
}

// trailTries is how often a refusal is written while other copies write theirs to the same stream.
const trailTries = 40

// trail writes a refused duplicate to the audit trail: which quote was sent, and what stands in its way. A refusal that
// cannot be written is a refusal all the same.
func (v *visit) trail(ctx context.Context, intent, other, state string) {
	var err error
	for try := range trailTries {
		if try > 0 && wait(ctx) != nil {
			break
		}
		err = v.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
			return audit.Append(tx, audit.Entry{
				Stream: user.Stream(v.s.User), At: v.now, Actor: user.Stream(v.s.User), Action: audit.DuplicateBlocked, Why: "the same sale again",
				Data: map[string]string{"intent": intent, "blocked_by": other, "state": state, "channel": string(guard.Flow)},
			})
		})
		if !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrUnavailable) && !store.IsDuplicate(err) {
			break
		}
	}
	if err != nil {
		v.d.Log.ErrorContext(ctx, "refused duplicate not in the audit trail", "order_id", intent, "code", fault.As(err).Code, "error", err.Error())
	}
}
