package whatsapp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/ids"
)

// Event is everything in a webhook that is neither a message nor a status: account, template, Flow and quality events,
// people's preferences, errors of the whole number, and fields that nobody knows yet.
type Event struct {
	Field      string      `json:"field"`
	Name       string      `json:"name,omitempty"` // the event, decision or alert
	Account    *Account    `json:"account,omitempty"`
	Flow       *FlowEvent  `json:"flow,omitempty"`
	Preference *Preference `json:"preference,omitempty"`
	Template   *Template   `json:"template,omitempty"`
	Errors     []APIError  `json:"errors,omitempty"` // errors of the number, not of a message
}

// Account is a change of the business account; a violation pages an operator, a ban or a restriction stops the sender too
// (Event.Effect).
type Account struct {
	Violation string `json:"violation,omitempty"`
	BanState  string `json:"ban_state,omitempty"` // SCHEDULE_FOR_DISABLE, DISABLE, REINSTATE
	Limit     string `json:"limit,omitempty"`     // string or number in Meta's own samples
	Decision  string `json:"decision,omitempty"`
}

// FlowEvent is a change or an alert of one Flow. Blocked or throttled: it is not sent, the person is told so in
// the chat.
type FlowEvent struct {
	ID         string `json:"id,omitempty"`
	OldStatus  string `json:"old_status,omitempty"`
	NewStatus  string `json:"new_status,omitempty"`
	AlertState string `json:"alert_state,omitempty"`
	Message    string `json:"message,omitempty"`
}

// Preference is a person's wish about one category of messages; "stop" is an opt-out.
type Preference struct {
	From     string `json:"from,omitempty"`
	ScopedID string `json:"scoped_id,omitempty"`
	Category string `json:"category,omitempty"`
	Value    string `json:"value,omitempty"`
}

// Template is a change of a message template; anything but APPROVED means that it cannot be sent.
type Template struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Language string `json:"language,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// AccountErrorKind is the Kind of an item that carries an error of the whole number.
const AccountErrorKind = "account_error"

// readAccountError decodes one element of errors beside messages and statuses: it is about the number.
func readAccountError(_ scope, o object) (Item, error) {
	return Item{
		Source: delivery.Account, Kind: AccountErrorKind,
		Event: &Event{Field: "messages", Name: AccountErrorKind, Errors: []APIError{readError(o)}},
	}, nil
}

// readPreference decodes one element of user_preferences.
func readPreference(_ scope, o object) (Item, error) {
	p := &Preference{Category: o.text("category"), Value: o.text("value")}
	p.From, p.ScopedID = splitIDs(o.text("wa_id"), o.text("user_id"))
	item := Item{
		Source: delivery.Account, Kind: "user_preferences", SentAt: o.unixTime("timestamp"),
		Event: &Event{Field: "user_preferences", Name: p.Value, Preference: p},
	}
	switch {
	case p.ScopedID != "":
		item.Partition = "person:" + p.ScopedID
	case p.From != "":
		item.Partition = "person:" + p.From
	default:
		return Item{}, errors.New("preference of nobody")
	}
	return item, nil
}

// readEvent decodes the value of any other field.
func readEvent(s scope, o object) (Item, error) {
	if s.field == "" || len(s.field) > 64 {
		return Item{}, errors.New("change without a usable field")
	}
	e := &Event{Field: s.field, Name: o.first("event", "alert_type", "decision", "status")}
	switch s.field {
	case "account_update", "account_alerts", "account_review_update", "business_capability_update":
		e.Account = &Account{
			Violation: o.object("violation_info").text("violation_type"),
			BanState:  o.object("ban_info").text("waba_ban_state"),
			Limit:     o.text("max_daily_conversations_per_business"), Decision: o.text("decision"),
		}
	case "flows":
		e.Flow = &FlowEvent{
			ID: o.text("flow_id"), OldStatus: o.text("old_status"), NewStatus: o.text("new_status"),
			AlertState: o.text("alert_state"), Message: o.first("message", "warning"),
		}
	case "message_template_status_update", "message_template_quality_update", "template_category_update":
		e.Template = &Template{
			ID: o.text("message_template_id"), Name: o.text("message_template_name"),
			Language: o.text("message_template_language"), Reason: o.text("reason"),
		}
	}
	return Item{Source: delivery.Account, Kind: s.field, SentAt: secondsOf(s.time), Event: e}, nil
}

func secondsOf(text string) time.Time {
	return object{"t": json.RawMessage(text)}.unixTime("t")
}

// eventDelivery is the id of an event, which has none of its own: a digest of where it stood and of its bytes. Meta
// repeats a delivery byte for byte, and the entry's time tells the same alert of another day apart.
func eventDelivery(s scope, raw []byte) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(s.account), []byte(s.field), []byte(s.number), []byte(s.time), raw} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return ids.WhatsAppDelivery("event:" + base64.RawURLEncoding.EncodeToString(h.Sum(nil)))
}

// brokenDelivery is the id of something that could not be read.
func brokenDelivery(raw []byte) string {
	sum := sha256.Sum256(raw)
	return ids.WhatsAppDelivery("broken:" + base64.RawURLEncoding.EncodeToString(sum[:]))
}
