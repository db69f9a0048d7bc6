package whatsapp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Body returns what to store, sealed, for an item: its own bytes as received, with the little of the envelope that
// decoding needs. DecodeBody reads it back to the same item.
func (i Item) Body() []byte {
	var b bytes.Buffer
	b.WriteString(`{"field":`)
	writeString(&b, i.field)
	b.WriteString(`,"phone_number_id":`)
	writeString(&b, i.PhoneNumberID)
	b.WriteString(`,"account":`)
	writeString(&b, i.AccountID)
	b.WriteString(`,"time":`)
	writeString(&b, i.time)
	b.WriteString(`,"shape":`)
	writeString(&b, i.shape())
	if len(i.contact) > 0 {
		b.WriteString(`,"contact":`)
		b.Write(i.contact)
	}
	b.WriteString(`,"item":`)
	b.Write(i.raw)
	b.WriteByte('}')
	return b.Bytes()
}

func writeString(b *bytes.Buffer, s string) {
	encoded, err := json.Marshal(s)
	if err != nil { // a string always encodes
		panic(err)
	}
	b.Write(encoded)
}

// DecodeBody reads what Body wrote. phoneNumberID is ours, as in Decode. An error means that the stored bytes are not
// such a body.
func DecodeBody(body []byte, phoneNumberID string) (Item, error) {
	o, err := asObject(body)
	if err != nil {
		return Item{}, fmt.Errorf("read stored item: %w", err)
	}
	s := scope{
		path: "stored", field: o.text("field"), number: o.text("phone_number_id"), account: o.text("account"),
		time: o.text("time"),
	}
	if o.has("contact") {
		s.contacts = []json.RawMessage{o["contact"]}
	}
	element, err := asObject(o["item"])
	if err != nil {
		return Item{}, fmt.Errorf("read stored item: %w", err)
	}
	item, err := s.read(o.text("shape"), element)
	if err != nil {
		return Item{}, fmt.Errorf("read stored item: %w", err)
	}
	d := decoder{ours: phoneNumberID, seen: map[string]bool{}}
	d.finish(s, item, o["item"])
	if len(d.batch.Items) != 1 {
		return Item{}, errors.New("read stored item: not one item")
	}
	return d.batch.Items[0], nil
}

// shape says which reader the element of an item needs.
func (i Item) shape() string {
	switch {
	case i.Message != nil:
		return "message"
	case i.Status != nil:
		return "status"
	case i.Event.Preference != nil:
		return "preference"
	case i.Kind == AccountErrorKind:
		return "error"
	}
	return "event"
}

// read decodes an element by the shape that it had when it came.
func (s scope) read(shape string, element object) (Item, error) {
	switch shape {
	case "message":
		return readMessage(s, element)
	case "status":
		return readStatus(s, element)
	case "preference":
		return readPreference(s, element)
	case "error":
		return readAccountError(s, element)
	case "event":
		return readEvent(s, element)
	}
	return Item{}, fmt.Errorf("shape %q is not known", shape)
}
