package whatsapp

import (
	"encoding/json"
	"log/slog"
	"time"
)

// Message is one inbound message. It holds personal data and whatever a person typed: log nothing but its wamid and
// type, which is what LogValue gives.
type Message struct {
	Wamid        string        `json:"wamid"`
	From         string        `json:"from,omitempty"`      // phone id as received, digits, never rewritten (P36)
	ScopedID     string        `json:"scoped_id,omitempty"` // business-scoped user id; at least one of the two is set (P31)
	ParentID     string        `json:"parent_id,omitempty"`
	Group        string        `json:"group,omitempty"` // group chat: never run money steps there
	Name         string        `json:"name,omitempty"`  // what the person calls himself; never proof of anything
	Username     string        `json:"username,omitempty"`
	IdentityHash string        `json:"identity_hash,omitempty"` // changes when the person's device identity changes
	SentAt       time.Time     `json:"sent_at"`                 // zero: unknown, treat as old (P9)
	Type         string        `json:"type"`
	Text         string        `json:"text,omitempty"`  // body of a text, caption of a picture
	Reply        *Reply        `json:"reply,omitempty"` // a button or a list row
	Flow         *FlowAnswer   `json:"flow,omitempty"`
	ContextID    string        `json:"context_id,omitempty"` // wamid of our message that is answered
	Forwarded    bool          `json:"forwarded,omitempty"`
	Media        *Media        `json:"media,omitempty"`
	Contacts     []Contact     `json:"contacts,omitempty"`
	Location     *Location     `json:"location,omitempty"`
	Reaction     *Reaction     `json:"reaction,omitempty"`
	System       *SystemChange `json:"system,omitempty"`
	Original     string        `json:"original,omitempty"`    // wamid that an edit or revoke is about
	Unsupported  string        `json:"unsupported,omitempty"` // subtype, if told, of what WhatsApp cannot hand over
	Errors       []APIError    `json:"errors,omitempty"`
}

// LogValue keeps people and what they typed out of logs (I13).
func (m Message) LogValue() slog.Value {
	return slog.GroupValue(slog.String("wamid", m.Wamid), slog.String("type", m.Type))
}

// String is what LogValue tells, for the same reason.
func (m Message) String() string { return "message " + m.Wamid + " of type " + m.Type }

// Reply is a tapped button or list row. Decide on ID, which is ours; Title is shown text and never decides (F4).
type Reply struct {
	Kind  string `json:"kind"` // button, list, template
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
}

// FlowAnswer is the message that a finished Flow sends. It is a trigger only: what was agreed is what the endpoint
// stored. Token is empty when the answer is no object or has none; then the message is matched by its ContextID (P26).
type FlowAnswer struct {
	Raw    string                     `json:"raw"`
	Object bool                       `json:"object"`
	Token  string                     `json:"token,omitempty"`
	Params map[string]json.RawMessage `json:"params,omitempty"` // from the user's device: display at most (P50, T1)
}

// Media is a file; the picture of a bank slip proves nothing.
type Media struct {
	ID       string `json:"id"`
	MIME     string `json:"mime,omitempty"`
	SHA256   string `json:"sha256,omitempty"` // base64
	URL      string `json:"url,omitempty"`    // lives five minutes
	FileName string `json:"file_name,omitempty"`
	Voice    bool   `json:"voice,omitempty"`
}

// Contact is a shared card. Requested is true for the answer to our own phone request; any other card may name anybody
// and links nothing.
type Contact struct {
	Name      string   `json:"name,omitempty"`
	Phones    []string `json:"phones,omitempty"` // WhatsApp ids, else the numbers as written
	Requested bool     `json:"requested,omitempty"`
}

// Location is a place; coordinates stay text, nothing calculates with them.
type Location struct {
	Latitude  string `json:"latitude"`
	Longitude string `json:"longitude"`
	Name      string `json:"name,omitempty"`
}

// Reaction is an emoji on a message; empty means taken away. It never confirms anything (P58).
type Reaction struct {
	MessageID string `json:"message_id"`
	Emoji     string `json:"emoji,omitempty"`
}

// SystemChange says that a person has another number or scoped id. Money is frozen until the person is known again; the
// change itself moves a link, never authority.
type SystemChange struct {
	Type           string `json:"type"`
	NewFrom        string `json:"new_from,omitempty"`
	NewScopedID    string `json:"new_scoped_id,omitempty"`
	OldFrom        string `json:"old_from,omitempty"`
	OldScopedID    string `json:"old_scoped_id,omitempty"`
	OldParentID    string `json:"old_parent_id,omitempty"`
	IdentityChange bool   `json:"identity_change,omitempty"` // same ids, new device identity
}
