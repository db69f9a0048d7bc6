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
	args["reference"] = o.Reference
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
	q, err := v.d.Orders.Quote(ctx, v.user.ID, v.s.Intent)
	if err != nil {
		return Answer{}, err
	}
	v.d.Log.WarnContext(ctx, "[OFFRAMP] Duplicate transaction attempt detected", "user", v.user.ID, "order_id", q.ID, "channel", string(guard.Flow))
	v.d.Blocks.DuplicateBlocked(string(guard.Flow))
	v.trail(ctx, q.ID, q.ID, string(q.State))
	text := v.text("guard.flow.in_progress", nil)
	if q.State != quote.Taken {
		return v.refused(text, "", "duplicate"), nil
	}
	o, err := v.d.Orders.Order(ctx, q.Order)
	if err != nil {
		return Answer{}, err
	}
	switch {
	case o.State == offramp.Success && o.EndedAt != nil:
		minutes := strconv.Itoa(max(0, int(v.now.Sub(*o.EndedAt)/time.Minute)))
		text = v.text("guard.flow.completed", map[string]string{"minutes": minutes, "reference": o.Reference})
		return v.refused(text, o.Reference, "completed"), nil
	case o.State == offramp.Unclear, o.State == offramp.Review:
		return v.checking(o), nil
	}
	return v.refused(text, o.Reference, "duplicate"), nil
}

// trailTries is how often a refusal is written when other copies write theirs.
const trailTries = 6

// trail writes a refused duplicate to the audit trail: which quote was sent, and what stands in its way. A refusal that
// cannot be written is a refusal all the same.
func (v *visit) trail(ctx context.Context, intent, other, state string) {
	var err error
	for range trailTries {
		err = v.d.Engine.Update(ctx, func(_ context.Context, tx store.Tx) error {
			return audit.Append(tx, audit.Entry{
				Stream: user.Stream(v.user.ID), At: v.now, Actor: user.Stream(v.user.ID), Action: audit.DuplicateBlocked, Why: "the same sale again",
				Data: map[string]string{"intent": intent, "blocked_by": other, "state": state, "channel": string(guard.Flow)},
			})
		})
		if !errors.Is(err, store.ErrStale) && !store.IsDuplicate(err) {
			break
		}
	}
	if err != nil {
		v.d.Log.ErrorContext(ctx, "refused duplicate not in the audit trail", "order_id", intent, "code", fault.As(err).Code, "error", err.Error())
	}
}
