package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// outgoing is a request to POST /{phone number}/messages. Bodies stay raw until their type is known.
type outgoing struct {
	Product       string           `json:"messaging_product"`
	RecipientType string           `json:"recipient_type"`
	To            string           `json:"to"`
	Recipient     string           `json:"recipient"` // business-scoped id
	Type          string           `json:"type"`
	Context       *outgoingContext `json:"context"`
	Opaque        string           `json:"biz_opaque_callback_data"`
	Status        string           `json:"status"` // "read": a mark, not a message
	MessageID     string           `json:"message_id"`
	Typing        json.RawMessage  `json:"typing_indicator"`
	Text          json.RawMessage  `json:"text"`
	Interactive   json.RawMessage  `json:"interactive"`
	Template      json.RawMessage  `json:"template"`
	Image         json.RawMessage  `json:"image"`
	Document      json.RawMessage  `json:"document"`
	Reaction      json.RawMessage  `json:"reaction"`
	Location      json.RawMessage  `json:"location"`
}

type outgoingContext struct {
	MessageID string `json:"message_id"`
}

// refusal is an error that Meta answers a message with.
type refusal struct {
	code    int
	details string
}

// Error implements error.
func (r *refusal) Error() string { return fmt.Sprintf("%d: %s", r.code, r.details) }

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, details: fmt.Sprintf(format, args...)}
}

// postMessage accepts or refuses one message. The faults of "messages" concern every message, those of a type only it.
func (w *World) postMessage(call graphCall) {
	var m outgoing
	if err := json.Unmarshal(call.body, &m); err != nil {
		write(call.c, graphError(100, "Invalid JSON body."))
		return
	}
	operations := []string{operationMessages, operationOf(m)}
	if m.Status != "" {
		operations = []string{"read"}
	}
	p := w.faults.take(targetMeta, operations...)
	// The statuses outlive this request: they are part of the effect, which a caller who has left does not undo.
	ctx := context.WithoutCancel(call.c.Request.Context())
	w.answer(call.c, p, metaVoice(), func() reply {
		r, refused := w.acceptMessage(ctx, m, p)
		if refused != nil {
			return graphError(refused.code, refused.details)
		}
		return r
	})
}

// operationOf names a message as faults do: the interactive type, or the type.
func operationOf(m outgoing) string {
	if m.Type != "interactive" {
		return orString(m.Type, "text")
	}
	var i struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.Interactive, &i) != nil {
		return "interactive"
	}
	return orString(i.Type, "interactive")
}

func orString(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// acceptMessage checks a message as Meta does, puts it into the chat and plans its statuses.
func (w *World) acceptMessage(ctx context.Context, m outgoing, p plan) (reply, *refusal) {
	if m.Product != "whatsapp" {
		return reply{}, refuse(100, "The parameter messaging_product is required.")
	}
	if m.Status != "" {
		return w.markRead(m)
	}
	key, refused := w.recipientOf(m)
	if refused != nil {
		return reply{}, refused
	}
	if utf16Length(m.Opaque) > 512 {
		return reply{}, refuse(131009, "biz_opaque_callback_data is longer than 512 characters.")
	}
	bubble, refused := w.bubbleOf(m)
	if refused != nil {
		return reply{}, refused
	}
	if refused := w.people.admit(key, w.cfg, m.Type == "template"); refused != nil {
		return reply{}, refused
	}
	bubble.Direction, bubble.Wamid, bubble.At, bubble.Status = "out", w.mint.wamid(), w.cfg.Now(), "accepted"
	if m.Context != nil {
		bubble.Context = m.Context.MessageID
	}
	who, _ := w.people.record(key, bubble, false)
	w.hub.tell(event{Kind: "message", Phone: who.key, ID: bubble.Wamid})
	w.sendStatuses(ctx, sentMessage{wamid: bubble.Wamid, to: who, opaque: m.Opaque}, p)
	contact := gin.H{"input": orString(m.To, m.Recipient), "user_id": who.bsuid}
	if who.phone != "" {
		contact["wa_id"] = who.phone
	}
	message := gin.H{"id": bubble.Wamid}
	if m.Type == "template" {
		message["message_status"] = "accepted"
	}
	return reply{status: http.StatusOK, body: gin.H{
		"messaging_product": "whatsapp", "contacts": []any{contact}, "messages": []any{message},
	}}, nil
}

// markRead marks an inbound message as read, with or without showing that the bot is typing.
func (w *World) markRead(m outgoing) (reply, *refusal) {
	if m.Status != "read" {
		return reply{}, refuse(131009, "status must be read.")
	}
	key, found := w.people.amend(m.MessageID, func(in *chatMessage) { in.Status = "read" })
	if !found {
		return reply{}, refuse(131009, "message_id %q is not a message of this number.", m.MessageID)
	}
	text := "read"
	if len(m.Typing) > 0 {
		text = "typing"
	}
	w.hub.tell(event{Kind: "status", Phone: key, ID: m.MessageID, Text: text})
	return reply{status: http.StatusOK, body: gin.H{"success": true}}, nil
}

// recipientOf finds whom a message is for: `to` is a phone number, `recipient` a business-scoped id, `to` wins (1.9).
func (w *World) recipientOf(m outgoing) (string, *refusal) {
	if m.RecipientType != "" && m.RecipientType != "individual" {
		return "", refuse(100, "recipient_type must be individual.")
	}
	switch {
	case m.To == "" && m.Recipient == "":
		return "", refuse(100, "The parameter to is required.")
	case m.To != "" && bsuidPattern.MatchString(m.To):
		return "", refuse(131026, "Message Undeliverable.")
	case m.To == "":
		if !bsuidPattern.MatchString(m.Recipient) {
			return "", refuse(131009, "recipient is not a business-scoped user id.")
		}
		return m.Recipient, nil
	}
	key, err := personKey(m.To)
	if err != nil {
		return "", refuse(131009, "to is not a phone number.")
	}
	if key == DisplayPhoneNumber {
		return "", refuse(131021, "Recipient phone number cannot be the sender phone number.")
	}
	return key, nil
}

// admit enforces the 24-hour window and the pair limit, and counts the message against the limit.
func (p *people) admit(key string, cfg Config, template bool) *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.ensure(key)
	now := cfg.Now()
	if !template && (who.lastIn.IsZero() || now.Sub(who.lastIn) > cfg.Window) {
		return refuse(131047, "Message failed to send because more than 24 hours have passed since the customer last replied to this number.")
	}
	if cfg.PairPerMinute > 0 {
		recent := who.sends[:0]
		for _, at := range who.sends {
			if now.Sub(at) < time.Minute {
				recent = append(recent, at)
			}
		}
		who.sends = recent
		if len(recent) >= cfg.PairPerMinute {
			return refuse(131056, "Too many messages sent from this phone number to the same phone number in a short period of time.")
		}
		who.sends = append(who.sends, now)
	}
	return nil
}

// bubbleOf checks the body of a message by its type and returns what the chat shows.
func (w *World) bubbleOf(m outgoing) (chatMessage, *refusal) {
	switch m.Type {
	case "", "text":
		return textBubble(m.Text)
	case "interactive":
		return w.interactiveBubble(m.Interactive)
	case "image":
		return w.mediaBubble("image", m.Image)
	case "document":
		return w.mediaBubble("document", m.Document)
	case "template":
		return templateBubble(m.Template)
	case "reaction":
		return w.reactionBubble(m.Reaction)
	case "location":
		return chatMessage{Type: "location", Text: "location"}, nil
	}
	return chatMessage{}, refuse(131051, "Message type %q is not supported.", m.Type)
}

func textBubble(raw json.RawMessage) (chatMessage, *refusal) {
	var text struct {
		Body string `json:"body"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &text) != nil {
		return chatMessage{}, refuse(100, "The parameter text is required.")
	}
	if refused := need("text['body']", text.Body, 4096); refused != nil {
		return chatMessage{}, refused
	}
	return chatMessage{Type: "text", Text: text.Body}, nil
}

func (w *World) reactionBubble(raw json.RawMessage) (chatMessage, *refusal) {
	var reaction struct {
		MessageID string `json:"message_id"`
		Emoji     string `json:"emoji"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &reaction) != nil || reaction.MessageID == "" {
		return chatMessage{}, refuse(131008, "reaction['message_id'] is required.")
	}
	return chatMessage{Type: "reaction", Text: reaction.Emoji, Context: reaction.MessageID}, nil
}

func templateBubble(raw json.RawMessage) (chatMessage, *refusal) {
	var template struct {
		Name     string `json:"name"`
		Language struct {
			Code string `json:"code"`
		} `json:"language"`
		Components []struct {
			Type       string `json:"type"`
			SubType    string `json:"sub_type"`
			Parameters []struct {
				Type    string `json:"type"`
				Text    string `json:"text"`
				Payload string `json:"payload"`
			} `json:"parameters"`
		} `json:"components"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &template) != nil || template.Name == "" {
		return chatMessage{}, refuse(131008, "template['name'] is required.")
	}
	if template.Language.Code == "" {
		return chatMessage{}, refuse(131008, "template['language']['code'] is required.")
	}
	text := []string{template.Name}
	bubble := chatMessage{Type: "template"}
	for _, component := range template.Components {
		for _, parameter := range component.Parameters {
			switch {
			case component.Type == "button" && parameter.Payload != "":
				bubble.Buttons = append(bubble.Buttons, button{ID: parameter.Payload, Title: parameter.Payload})
			case parameter.Text != "":
				text = append(text, parameter.Text)
			}
		}
	}
	bubble.Text = strings.Join(text, " · ")
	if utf16Length(bubble.Text) > 32_768 {
		return chatMessage{}, refuse(132005, "The translated text is too long.")
	}
	return bubble, nil
}
