package whatsapp

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"offrampbot/services/delivery"
	"offrampbot/services/ids"
)

// maxID bounds ids that become document ids.
const maxID = 512

// readMessage decodes one element of messages.
func readMessage(s scope, o object) (Item, error) {
	m := &Message{Wamid: o.text("id"), SentAt: o.unixTime("timestamp"), Group: o.text("group_id")}
	if m.Wamid == "" || len(m.Wamid) > maxID {
		return Item{}, errors.New("message without a usable id")
	}
	m.From, m.ScopedID = splitIDs(o.text("from"), o.text("from_user_id"))
	m.ParentID = o.text("from_parent_user_id")
	m.Type = messageType(o)
	context := o.object("context")
	m.ContextID = context.text("id")
	m.Forwarded = context.flag("forwarded") || context.flag("frequently_forwarded")
	m.Errors = readErrors(o.list("errors"))
	if err := m.readBody(o); err != nil {
		return Item{}, err
	}
	if m.From == "" && m.ScopedID == "" && m.System == nil {
		return Item{}, errors.New("message without a sender")
	}
	contact := m.join(s.contacts)
	return Item{
		Delivery: ids.WhatsAppDelivery(m.Wamid), Source: delivery.Message, Kind: m.Type, Partition: m.partition(),
		SentAt: m.SentAt, Message: m, contact: contact,
	}, nil
}

// splitIDs sorts a sender into phone id and scoped id: a scoped id is one wherever it appears, and what is neither is
// nobody (P31).
func splitIDs(from, scoped string) (phone, scopedID string) {
	if isScopedID(from) {
		if scoped == "" {
			scoped = from
		}
		from = ""
	}
	if !isPhoneID(from) {
		from = ""
	}
	if len(scoped) > maxID {
		scoped = ""
	}
	return from, scoped
}

// partition keeps one person's messages in one order. The scoped id comes first, because it is there with and without a
// phone id; a change is handled behind the messages under the old id.
func (m *Message) partition() string {
	if m.System != nil && m.System.OldScopedID != "" {
		return "person:" + m.System.OldScopedID
	}
	if m.ScopedID != "" {
		return "person:" + m.ScopedID
	}
	if m.From != "" {
		return "person:" + m.From
	}
	return "message:" + m.Wamid
}

// join takes name and identity from the contact of this sender, found by id and never by position: the list may be
// missing or shorter (P28). It returns the contact's bytes.
func (m *Message) join(contacts []json.RawMessage) json.RawMessage {
	for _, raw := range contacts {
		c, err := asObject(raw)
		if err != nil {
			continue
		}
		phone, scoped := splitIDs(c.text("wa_id"), c.text("user_id"))
		if (phone == "" || phone != m.From) && (scoped == "" || scoped != m.ScopedID) {
			continue
		}
		if m.ScopedID == "" {
			m.ScopedID = scoped
		}
		m.Name = c.object("profile").text("name")
		m.Username = c.object("profile").text("username")
		m.IdentityHash = c.text("identity_key_hash")
		return raw
	}
	return nil
}

// bodyKeys are the keys a message body may lie under, for the one case of a message without a type.
var bodyKeys = []string{
	"text", "interactive", "button", "location", "image", "video", "audio", "document", "sticker", "contacts",
	"reaction", "order", "system", "edit", "revoke", "unsupported",
}

func messageType(o object) string {
	if t := o.text("type"); t != "" {
		return t
	}
	for _, key := range bodyKeys {
		if o.has(key) {
			return key
		}
	}
	return "unknown"
}

// readBody decodes the body by the discriminator, never by which field is there (P25).
func (m *Message) readBody(o object) error {
	switch m.Type {
	case "text":
		body, err := asObject(o["text"])
		if err != nil {
			return errors.New("text is " + err.Error())
		}
		m.Text = body.text("body")
	case "button":
		m.Reply = &Reply{Kind: "template", ID: o.object("button").text("payload"), Title: o.object("button").text("text")}
	case "interactive":
		return m.readInteractive(o)
	case "image", "video", "audio", "document", "sticker":
		return m.readMedia(o.object(m.Type))
	case "location":
		l := o.object("location")
		m.Location = &Location{Latitude: l.text("latitude"), Longitude: l.text("longitude"), Name: l.text("name")}
	case "contacts":
		m.readContacts(o.list("contacts"))
	case "reaction":
		r := o.object("reaction")
		m.Reaction = &Reaction{MessageID: r.text("message_id"), Emoji: r.text("emoji")}
	case "system":
		return m.readSystem(o.object("system"))
	case "edit", "revoke":
		m.Original = o.object(m.Type).text("original_message_id")
	case "unsupported":
		m.Unsupported = o.object("unsupported").text("type")
	}
	return nil
}

func (m *Message) readInteractive(o object) error {
	body, err := asObject(o["interactive"])
	if err != nil {
		return errors.New("interactive is " + err.Error())
	}
	switch kind := body.text("type"); kind {
	case "button_reply", "list_reply":
		reply, err := asObject(body[kind])
		if err != nil {
			return errors.New(kind + " is " + err.Error())
		}
		m.Reply = &Reply{Kind: strings.TrimSuffix(kind, "_reply"), ID: reply.text("id"), Title: reply.text("title")}
		if m.Reply.ID == "" {
			return errors.New(kind + " without an id")
		}
	case "nfm_reply":
		m.Flow = readFlowAnswer(body.object(kind).text("response_json"))
	}
	return nil
}

// readFlowAnswer decodes the JSON inside the JSON; whatever it is, it is kept and never an error (P24).
func readFlowAnswer(raw string) *FlowAnswer {
	answer := &FlowAnswer{Raw: raw}
	params, err := asObject([]byte(raw))
	if err != nil {
		return answer
	}
	answer.Object, answer.Params, answer.Token = true, params, params.text("flow_token")
	return answer
}

func (m *Message) readMedia(o object) error {
	if o.text("id") == "" {
		return errors.New(m.Type + " without an id")
	}
	m.Text = o.text("caption")
	m.Media = &Media{
		ID: o.text("id"), MIME: o.text("mime_type"), SHA256: o.text("sha256"), URL: o.text("url"),
		FileName: cleanFileName(o.text("filename")), Voice: o.flag("voice"),
	}
	return nil
}

// cleanFileName keeps the last element of a name and drops control characters: the sender chose it.
func cleanFileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ReplaceAll(name, `\`, "/"))
	if name == "" {
		return ""
	}
	name = path.Base(path.Clean("/" + name))
	if name == "/" || name == "." {
		return ""
	}
	return name
}

func (m *Message) readContacts(list []json.RawMessage) {
	for _, raw := range list {
		card, err := asObject(raw)
		if err != nil {
			continue
		}
		c := Contact{
			Name: card.object("name").text("formatted_name"), Requested: card.text("origin") == "contact_request",
		}
		for _, rawPhone := range card.list("phones") {
			if p, err := asObject(rawPhone); err == nil && p.first("wa_id", "phone") != "" {
				c.Phones = append(c.Phones, p.first("wa_id", "phone"))
			}
		}
		m.Contacts = append(m.Contacts, c)
	}
}

// readSystem decodes a change of number, scoped id or identity, in the spellings of all editions.
func (m *Message) readSystem(o object) error {
	change := &SystemChange{Type: o.text("type"), OldParentID: o.text("previous_parent_user_id")}
	change.NewFrom, change.NewScopedID = splitIDs(o.first("wa_id", "new_wa_id"), o.text("user_id"))
	change.OldScopedID = o.text("previous_user_id")
	change.OldFrom = m.From
	switch change.Type {
	case "customer_changed_number":
		change.Type = "user_changed_number"
	case "customer_identity_changed":
		change.IdentityChange = true
	}
	if change.Type == "user_changed_number" && change.NewFrom == change.OldFrom {
		change.OldFrom = ""
	}
	m.System = change
	if m.From == "" && m.ScopedID == "" && change.OldScopedID == "" {
		return errors.New("system message about nobody")
	}
	return nil
}
