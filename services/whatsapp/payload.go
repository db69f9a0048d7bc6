package whatsapp

import (
	"encoding/json"
	"fmt"
	"time"

	"offrampbot/services/delivery"
)

// Batch is one decoded webhook body.
type Batch struct {
	Items  []Item   `json:"items"`
	Broken []Broken `json:"broken,omitempty"`
	// Repeats counts elements that were the same delivery as one before them in this body.
	Repeats int `json:"repeats,omitempty"`
}

// Item is one element of a webhook: a message, a status, or any other event. Exactly one of Message, Status and Event
// is set.
type Item struct {
	Delivery      string          `json:"delivery"` // delivery id: the same element again has the same one
	Source        delivery.Source `json:"source"`
	Kind          string          `json:"kind"`      // message type, status name, or field and event
	Partition     string          `json:"partition"` // items of one partition are handled in order; holds personal data
	SentAt        time.Time       `json:"sent_at"`   // zero: unknown
	PhoneNumberID string          `json:"phone_number_id,omitempty"`
	AccountID     string          `json:"account_id,omitempty"` // WhatsApp Business Account
	Foreign       bool            `json:"foreign,omitempty"`    // addressed to another number: store, never handle
	Message       *Message        `json:"message,omitempty"`
	Status        *Status         `json:"status,omitempty"`
	Event         *Event          `json:"event,omitempty"`

	field   string
	raw     json.RawMessage
	contact json.RawMessage
	time    string
}

// Broken is an element that could not be decoded, set aside with the reason. It has a delivery id like any other, so
// that it is stored once and can be driven again after a repair.
type Broken struct {
	Delivery string `json:"delivery"`
	Path     string `json:"path"` // where it lies, such as entry[0].changes[1].messages[2]
	Reason   string `json:"reason"`
	raw      json.RawMessage
}

// Raw returns the bytes of the element as received.
func (b Broken) Raw() []byte { return b.raw }

// Raw returns the bytes of the element as received.
func (i Item) Raw() []byte { return i.raw }

// Decode reads a webhook body whose signature was verified. phoneNumberID is ours; items of another number are marked
// foreign. It never fails: what cannot be read is in Broken and does not touch its neighbours (P7, P8, P14, P22), and
// fields, types, statuses and events that nobody knows are items of their own kind.
func Decode(body []byte, phoneNumberID string) Batch {
	d := decoder{ours: phoneNumberID, seen: map[string]bool{}}
	root, err := asObject(body)
	if err != nil {
		d.setAside("", "body is not a JSON object", body)
		return d.batch
	}
	if got := root.text("object"); got != "whatsapp_business_account" {
		d.setAside("object", "object is not whatsapp_business_account", body)
		return d.batch
	}
	entries, err := asArray(root["entry"])
	if err != nil {
		d.setAside("entry", err.Error(), body)
		return d.batch
	}
	for i, raw := range entries {
		d.entry(fmt.Sprintf("entry[%d]", i), raw)
	}
	return d.batch
}

// decoder collects the items of one body.
type decoder struct {
	ours  string
	batch Batch
	seen  map[string]bool
}

// scope is what the elements of one change have in common.
type scope struct {
	path, account, field, number, time string
	contacts                           []json.RawMessage
}

func (d *decoder) setAside(path, reason string, raw []byte) {
	id := brokenDelivery(raw)
	if d.seen[id] {
		d.batch.Repeats++
		return
	}
	d.seen[id] = true
	d.batch.Broken = append(d.batch.Broken, Broken{Delivery: id, Path: path, Reason: reason, raw: raw})
}

func (d *decoder) add(item Item) {
	if d.seen[item.Delivery] {
		d.batch.Repeats++
		return
	}
	d.seen[item.Delivery] = true
	d.batch.Items = append(d.batch.Items, item)
}

func (d *decoder) entry(path string, raw json.RawMessage) {
	entry, err := asObject(raw)
	if err != nil {
		d.setAside(path, "entry is "+err.Error(), raw)
		return
	}
	changes, err := asArray(entry["changes"])
	if err != nil {
		d.setAside(path, "changes is "+err.Error(), raw)
		return
	}
	for i, rawChange := range changes {
		at := fmt.Sprintf("%s.changes[%d]", path, i)
		change, err := asObject(rawChange)
		if err != nil {
			d.setAside(at, "change is "+err.Error(), rawChange)
			continue
		}
		value, err := asObject(change["value"])
		if err != nil {
			d.setAside(at, "value is "+err.Error(), rawChange)
			continue
		}
		d.change(scope{
			path: at, account: entry.text("id"), field: change.text("field"), time: entry.text("time"),
			number: value.object("metadata").text("phone_number_id"), contacts: value.list("contacts"),
		}, value, change["value"], rawChange)
	}
}

func (d *decoder) change(s scope, value object, rawValue, raw json.RawMessage) {
	switch s.field {
	case "messages":
		if s.number == "" {
			d.setAside(s.path, "messages without a phone number id", raw)
			return
		}
		d.each(s, value, "messages", readMessage)
		d.each(s, value, "statuses", readStatus)
		d.each(s, value, "errors", readAccountError)
	case "user_preferences":
		d.each(s, value, "user_preferences", readPreference)
	default:
		// The event is the whole value: account, template and flow fields have one per change.
		item, err := readEvent(s, value)
		if err != nil {
			d.setAside(s.path, err.Error(), raw)
			return
		}
		d.finish(s, item, rawValue)
	}
}

// each decodes the elements of one list, every one on its own.
func (d *decoder) each(s scope, value object, key string, read func(scope, object) (Item, error)) {
	list, err := asArray(value[key])
	if err != nil {
		d.setAside(s.path+"."+key, key+" is "+err.Error(), value[key])
		return
	}
	for i, raw := range list {
		path := fmt.Sprintf("%s.%s[%d]", s.path, key, i)
		element, err := asObject(raw)
		if err != nil {
			d.setAside(path, "element is "+err.Error(), raw)
			continue
		}
		item, err := read(s, element)
		if err != nil {
			d.setAside(path, err.Error(), raw)
			continue
		}
		d.finish(s, item, raw)
	}
}

// finish fills what every item has and keeps it.
func (d *decoder) finish(s scope, item Item, raw json.RawMessage) {
	item.PhoneNumberID, item.AccountID = s.number, s.account
	item.Foreign = s.number != "" && s.number != d.ours
	item.field, item.raw, item.time = s.field, raw, s.time
	if item.Delivery == "" {
		item.Delivery = eventDelivery(s, raw)
	}
	if item.Partition == "" {
		item.Partition = "account:" + s.account
	}
	d.add(item)
}
