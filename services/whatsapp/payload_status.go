package whatsapp

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"offrampbot/services/delivery"
	"offrampbot/services/ids"
)

// The statuses of a message of ours, by rank: they only move up (P4). Accepted is ours, for a reply of 200.
const (
	StatusAccepted  = "accepted"
	StatusSent      = "sent"
	StatusDelivered = "delivered"
	StatusRead      = "read"
	StatusPlayed    = "played"
	StatusFailed    = "failed"
)

// Rank gives the place of a status in the order accepted 0 < sent 1 < delivered 2 < read 3 < played 4. Failed and names
// that nobody knows have no rank. Times are not compared: they have a second's resolution and tie.
func Rank(status string) (rank int, ok bool) {
	switch status {
	case StatusAccepted:
		return 0, true
	case StatusSent:
		return 1, true
	case StatusDelivered:
		return 2, true
	case StatusRead:
		return 3, true
	case StatusPlayed:
		return 4, true
	}
	return -1, false
}

// Status is what became of one message of ours. CallbackData is the id of the operation that sent it, if it came back.
type Status struct {
	Wamid        string     `json:"wamid"`
	Name         string     `json:"name"`
	Rank         int        `json:"rank"` // -1: failed or unknown
	At           time.Time  `json:"at"`
	CallbackData string     `json:"callback_data,omitempty"`
	Recipient    string     `json:"recipient,omitempty"`
	ScopedID     string     `json:"scoped_id,omitempty"`
	IdentityHash string     `json:"identity_hash,omitempty"`
	Errors       []APIError `json:"errors,omitempty"`
}

// LogValue keeps the recipient out of logs (I13).
func (s Status) LogValue() slog.Value {
	return slog.GroupValue(slog.String("wamid", s.Wamid), slog.String("status", s.Name))
}

// APIError is one error as webhooks and replies of the API carry it. Decide on Code: titles change.
type APIError struct {
	Code    int    `json:"code"` // -1 when there was none
	Title   string `json:"title,omitempty"`
	Details string `json:"details,omitempty"`
}

// readErrors decodes a list of errors; what is no error object is left out.
func readErrors(list []json.RawMessage) []APIError {
	var out []APIError
	for _, raw := range list {
		if o, err := asObject(raw); err == nil {
			out = append(out, readError(o))
		}
	}
	return out
}

func readError(o object) APIError {
	e := APIError{Title: o.first("title", "message"), Details: o.object("error_data").text("details")}
	if e.Details == "" {
		e.Details = o.text("details")
	}
	code, err := strconv.Atoi(o.text("code"))
	if err != nil {
		code = -1 // 0 is a code of its own
	}
	e.Code = code
	return e
}

// readStatus decodes one element of statuses. A status has the delivery id "wa:<wamid>:<status>", so that its repeats
// are one receipt, and its own partition per message.
func readStatus(_ scope, o object) (Item, error) {
	s := &Status{
		Wamid: o.text("id"), Name: o.text("status"), At: o.unixTime("timestamp"),
		CallbackData: o.text("biz_opaque_callback_data"), IdentityHash: o.text("recipient_identity_key_hash"),
		Errors: readErrors(o.list("errors")),
	}
	if s.Wamid == "" || len(s.Wamid) > maxID || s.Name == "" || len(s.Name) > 64 {
		return Item{}, errors.New("status without a usable id or name")
	}
	s.Rank, _ = Rank(s.Name)
	s.Recipient, s.ScopedID = splitIDs(o.text("recipient_id"), o.text("recipient_user_id"))
	return Item{
		Delivery: ids.WhatsAppDelivery(s.Wamid) + ":" + s.Name, Source: delivery.Status, Kind: s.Name,
		Partition: "status:" + s.Wamid, SentAt: s.At, Status: s,
	}, nil
}
