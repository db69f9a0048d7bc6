package sandbox

import (
	"context"
	"encoding/json"
	"strconv"
)

// personMessage is a message on its way from a person to the bot: WhatsApp's message object without from, id and
// timestamp, and what the chat shows of it.
type personMessage struct {
	key    string
	wamid  string
	body   map[string]any
	bubble chatMessage
}

// sendFromPhone records a message in its chat and delivers copies of the signed webhook at the same time.
func (w *World) sendFromPhone(ctx context.Context, m personMessage, copies int) ([]delivery, error) {
	at := w.cfg.Now()
	m.bubble.Direction, m.bubble.Wamid, m.bubble.At = "in", m.wamid, at
	who, isNew := w.people.record(m.key, m.bubble, opensWindow(m.bubble.Type))
	message := make(map[string]any, len(m.body)+4)
	for name, value := range m.body {
		message[name] = value
	}
	message["id"] = m.wamid
	message["timestamp"] = strconv.FormatInt(at.Unix(), 10)
	message["from_user_id"] = who.bsuid
	if who.phone != "" {
		message["from"] = who.phone
	}
	value := w.envelope()
	if m.bubble.Type != "system" { // system messages come without contacts (Meta: webhooks, system messages)
		value["contacts"] = []any{who.contact()}
	}
	value["messages"] = []any{message}
	p, err := w.metaParcel(whatsAppPath, webhook(value))
	if err != nil {
		return nil, err
	}
	if isNew {
		w.hub.tell(event{Kind: "message", Phone: m.key, ID: m.wamid})
	}
	return w.deliver(ctx, p, copies), nil
}

// opensWindow reports whether a message of a type opens the 24-hour window; reactions and notices do not (2.4).
func opensWindow(kind string) bool {
	switch kind {
	case "reaction", "system", "unsupported", "revoke", "edit":
		return false
	}
	return true
}

func (p profile) contact() map[string]any {
	contact := map[string]any{"profile": map[string]any{"name": p.name}, "user_id": p.bsuid}
	if p.phone != "" {
		contact["wa_id"] = p.phone
	}
	return contact
}

// envelope is the value of a webhook about our number.
func (w *World) envelope() map[string]any {
	return map[string]any{
		"messaging_product": "whatsapp",
		"metadata": map[string]any{
			"display_phone_number": DisplayPhoneNumber, "phone_number_id": PhoneNumberID,
		},
	}
}

// webhook wraps a value of the field messages.
func webhook(value map[string]any) map[string]any {
	return map[string]any{
		"object": "whatsapp_business_account",
		"entry": []any{map[string]any{
			"id":      BusinessAccountID,
			"changes": []any{map[string]any{"value": value, "field": "messages"}},
		}},
	}
}

// flowReply is the chat message that the client sends when a Flow ends: response_json is JSON inside a JSON string.
func (w *World) flowReply(key, wamid, context string, params map[string]any) (personMessage, error) {
	response, err := json.Marshal(params)
	if err != nil {
		return personMessage{}, err
	}
	return personMessage{
		key: key, wamid: wamid,
		body: map[string]any{
			"type":    "interactive",
			"context": map[string]any{"from": DisplayPhoneNumber, "id": context},
			"interactive": map[string]any{
				"type":      "nfm_reply",
				"nfm_reply": map[string]any{"name": "flow", "body": "Sent", "response_json": string(response)},
			},
		},
		bubble: chatMessage{Type: "nfm_reply", Text: "Response sent", Context: context},
	}, nil
}
