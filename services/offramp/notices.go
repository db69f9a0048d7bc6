package offramp

import (
	"errors"
	"strconv"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/money"
	"offrampbot/services/operation"
)

// slipMessage is the picture of a paid sale; it is drawn when it is sent.
func slipMessage(o *Order) *operation.Message {
	return &operation.Message{
		Type: "image", Key: "order.slip", Args: map[string]string{"reference": o.Reference},
		Image: &operation.Image{Kind: "slip", Value: o.ID},
	}
}

// notice is what the user is told about a step: what happened, where the money is, what comes next. said is the same
// for notices that tell nothing new.
func notice(before, o *Order, to State, e Occurrence, f Facts) (m *operation.Message, said string) {
	key := noticeKey(o, to, e, f)
	if key == "" {
		return nil, before.Said
	}
	args := noticeArgs(o, e, f)
	m = &operation.Message{Type: "text", Key: key, Args: args, Template: templates[key], Buttons: noticeButtons(key, o)}
	if len(m.Buttons) > 0 {
		m.Type = "buttons"
	}
	return m, key + "|" + args["missing"] + "|" + args["why"]
}

// templates carry a money notice outside the 24-hour window.
var templates = map[string]string{
	"order.paid": "sale_paid", "order.failed": "sale_failed", "order.returned": "sale_returned",
	"order.checking": "sale_checking", "order.overdue": "sale_overdue", "order.started": "sale_started",
}

func noticeButtons(key string, o *Order) []operation.Button {
	switch key {
	case "order.waiting", "order.short":
		return []operation.Button{
			{ID: "address:" + o.ID, Title: "button.address"}, {ID: "cancel:" + o.ID, Title: "button.cancel"},
		}
	case "order.overdue":
		return []operation.Button{{ID: "renew:" + o.ID, Title: "button.renew"}, {ID: "cancel:" + o.ID, Title: "button.cancel"}}
	case "order.failed", "order.returned", "order.cancelled", "order.lapsed":
		return []operation.Button{{ID: "sell", Title: "button.sell"}, {ID: "balance", Title: "button.balance"}}
	default:
		return nil
	}
}

// noticeKey picks the text.
func noticeKey(o *Order, to State, e Occurrence, f Facts) string {
	switch to {
	case Exchange:
		return "order.started"
	case Waiting:
		if e.On == Placed || e.On == QuoteRenewed {
			return "order.waiting"
		}
		if f.Bar != nil && f.Account.Available >= o.Amount {
			return "order.barred"
		}
		return "order.short"
	case Deposit:
		if f.Bar != nil && f.Account.Available >= o.Amount {
			return "order.barred"
		}
		return "order.deposit"
	case Overdue:
		return "order.overdue"
	case Cancelled:
		if e.On == Lapsed {
			return "order.lapsed"
		}
		return "order.cancelled"
	case Unclear:
		return "order.checking"
	case Success:
		return "order.paid"
	case Failed:
		return "order.failed"
	case Returned:
		return "order.returned"
	default:
		return ""
	}
}

func noticeArgs(o *Order, e Occurrence, f Facts) map[string]string {
	args := map[string]string{
		"reference": o.Reference,
		"amount":    money.FormatMicro(o.Amount) + " " + o.Asset,
		"asset":     o.Asset,
		"chain":     f.Chain,
		"net":       money.FormatMinor(o.Net, f.Exponent, f.Symbol),
		"bank":      o.Beneficiary.BankName,
		"last4":     o.Beneficiary.Last4,
		"name":      o.Beneficiary.Name,
		"address":   f.Address,
		"available": money.FormatMicro(f.Account.Available) + " " + o.Asset,
		"incoming":  money.FormatMicro(f.Account.Incoming) + " " + o.Asset,
		"missing":   money.FormatMicro(max(0, o.Amount-f.Account.Available-f.Account.Incoming)) + " " + o.Asset,
	}
	if e.Received > 0 {
		args["received"] = money.FormatMicro(e.Received) + " " + o.Asset
	}
	if f.Bar != nil {
		args["why"] = fault.As(f.Bar).Code
	}
	if !o.WaitingUntil.IsZero() {
		args["minutes"] = minutesUntil(e.At, o.WaitingUntil)
	}
	return args
}

func minutesUntil(from, until time.Time) string {
	return strconv.Itoa(max(0, int(until.Sub(from).Round(time.Minute)/time.Minute)))
}

// alertReason says to the operator what is wrong.
func alertReason(o *Order, e Occurrence) string {
	why := string(e.On) + " in " + label(o)
	if e.Attempt > 0 {
		why += ", attempt " + strconv.Itoa(e.Attempt)
	}
	if e.Reason != "" {
		why += ": " + e.Reason
	}
	return why
}

// errorCode is the fault code of an error, for records that must not hold its text.
func errorCode(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	return "internal"
}
