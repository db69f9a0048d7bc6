package whatsapp

import (
	"errors"
	"fmt"
	"log/slog"
)

// Recipient is whom a message goes to. A phone id is preferred when both are known, because it keeps phone numbers
// coming in webhooks.
type Recipient struct {
	Phone    string // phone id as received, digits; the plus is added when it is sent
	ScopedID string // business-scoped user id
}

// LogValue keeps the recipient out of logs (I13).
func (Recipient) LogValue() slog.Value { return slog.StringValue("masked") }

// String masks, like LogValue.
func (Recipient) String() string { return "masked" }

// OutgoingType is the kind of an outgoing message.
type OutgoingType string

// The types we send.
const (
	TypeText     OutgoingType = "text"
	TypeButtons  OutgoingType = "buttons"
	TypeList     OutgoingType = "list"
	TypeFlow     OutgoingType = "flow"
	TypeImage    OutgoingType = "image"
	TypeTemplate OutgoingType = "template"
)

// Outgoing is one message, in words of ours; payload turns it into WhatsApp's. Body is the text, the caption of an
// image, or unused for a template.
type Outgoing struct {
	To           Recipient
	Type         OutgoingType
	Body         string
	Header       string // of buttons, list and flow
	Footer       string
	Buttons      []OutgoingButton
	List         *OutgoingList
	Flow         *OutgoingFlow
	MediaID      string
	Template     *OutgoingTemplate
	ReplyTo      string // wamid quoted
	CallbackData string // operation id, comes back in every status
}

// OutgoingButton is a reply button.
type OutgoingButton struct{ ID, Title string }

// OutgoingList is a list message.
type OutgoingList struct {
	Button   string
	Sections []OutgoingSection
}

// OutgoingSection is a part of a list; a title is needed when there is more than one.
type OutgoingSection struct {
	Title string
	Rows  []OutgoingRow
}

// OutgoingRow is a choice.
type OutgoingRow struct{ ID, Title, Description string }

// OutgoingFlow opens a Flow by its id or, without one, by its name. The endpoint makes the first screen.
type OutgoingFlow struct {
	ID, Name string
	CTA      string
	Token    string
	Draft    bool // only for numbers with access to the unpublished Flow
}

// OutgoingTemplate is an approved template with the values of its body, in order.
type OutgoingTemplate struct {
	Name     string
	Language string
	Params   []string
}

// ErrOutgoing: the message cannot be sent in any form; it is a defect of ours and retrying is useless.
var ErrOutgoing = errors.New("outgoing message is malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrOutgoing, fmt.Sprintf(format, args...))
}
