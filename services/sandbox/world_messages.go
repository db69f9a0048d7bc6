package sandbox

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"
)

// messageLever is the request of POST /world/messages: exactly one of text, button, list and message.
type messageLever struct {
	From    string          `json:"from"`
	Text    *string         `json:"text"`
	Button  *string         `json:"button"`  // id of a reply button
	List    *string         `json:"list"`    // id of a row
	Message map[string]any  `json:"message"` // WhatsApp's message object without from, id and timestamp
	Context json.RawMessage `json:"context"` // a wamid, or WhatsApp's context object
	Wamid   string          `json:"wamid"`   // to deliver a message once more, or under a chosen id
	Copies  int             `json:"copies"`
}

// messageResult is its answer.
type messageResult struct {
	Wamid      string     `json:"wamid"`
	Deliveries []delivery `json:"deliveries"`
}

func (w *World) postWorldMessage(c *gin.Context, in messageLever) (any, error) {
	key, err := personKey(in.From)
	if err != nil {
		return nil, invalid("from_invalid", "from: %v", err)
	}
	copies, err := copiesOf(in.Copies)
	if err != nil {
		return nil, err
	}
	m, err := w.composeMessage(key, in)
	if err != nil {
		return nil, err
	}
	m.key, m.wamid = key, in.Wamid
	if m.wamid == "" {
		m.wamid = w.mint.wamid()
	}
	deliveries, err := w.sendFromPhone(c.Request.Context(), m, copies)
	return messageResult{Wamid: m.wamid, Deliveries: deliveries}, err
}

// composeMessage makes WhatsApp's message object and the bubble for what the person does.
func (w *World) composeMessage(key string, in messageLever) (personMessage, error) {
	given := 0
	for _, is := range []bool{in.Text != nil, in.Button != nil, in.List != nil, in.Message != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return personMessage{}, invalid("message_invalid", "exactly one of text, button, list and message is needed, not %d", given)
	}
	context, contextID, err := readContext(in.Context)
	if err != nil {
		return personMessage{}, err
	}
	var m personMessage
	switch {
	case in.Text != nil:
		m.body = map[string]any{"type": "text", "text": map[string]any{"body": *in.Text}}
		m.bubble = chatMessage{Type: "text", Text: *in.Text}
	case in.Button != nil:
		m, contextID = w.tapButton(key, *in.Button, contextID)
	case in.List != nil:
		m, contextID = w.tapRow(key, *in.List, contextID)
	default:
		m.body = in.Message
		m.bubble = chatMessage{Type: orString(text(in.Message["type"]), "unknown")}
		if part, ok := in.Message["text"].(map[string]any); ok {
			m.bubble.Text = text(part["body"])
		}
	}
	if context == nil && contextID != "" {
		context = map[string]any{"from": DisplayPhoneNumber, "id": contextID}
	}
	if context != nil {
		m.body["context"] = context
		m.bubble.Context = contextID
	}
	return m, nil
}

func readContext(raw json.RawMessage) (context map[string]any, id string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, "", nil
	}
	if json.Unmarshal(raw, &id) == nil {
		return nil, id, nil
	}
	if json.Unmarshal(raw, &context) != nil {
		return nil, "", invalid("context_invalid", "context must be a wamid or an object")
	}
	return context, text(context["id"]), nil
}

// tapButton taps a reply button, or a template's quick-reply button. Its title is read from the chat; an id that no
// message offers is sent with itself as title, as a forged client would.
func (w *World) tapButton(key, id, contextID string) (personMessage, string) {
	title, _, wamid, kind := w.people.choice(key, id, contextID, false)
	body := map[string]any{
		"type": "interactive",
		"interactive": map[string]any{
			"type": "button_reply", "button_reply": map[string]any{"id": id, "title": title},
		},
	}
	if kind == "template" {
		body = map[string]any{"type": "button", "button": map[string]any{"payload": id, "text": title}}
	}
	return personMessage{body: body, bubble: chatMessage{Type: "button", Text: title}}, wamid
}

// tapRow chooses a row of a list.
func (w *World) tapRow(key, id, contextID string) (personMessage, string) {
	title, description, wamid, _ := w.people.choice(key, id, contextID, true)
	row := map[string]any{"id": id, "title": title}
	if description != "" {
		row["description"] = description
	}
	return personMessage{
		body:   map[string]any{"type": "interactive", "interactive": map[string]any{"type": "list_reply", "list_reply": row}},
		bubble: chatMessage{Type: "list", Text: title},
	}, wamid
}

func (w *World) getChat(c *gin.Context) {
	key, err := personKey(c.Param("phone"))
	if err != nil {
		w.respond(c, nil, invalid("phone_invalid", "phone: %v", err))
		return
	}
	name, account := w.people.about(key)
	c.JSON(http.StatusOK, gin.H{"name": name, "account": account, "messages": w.people.chat(key)})
}

// chatSummary is one phone of the world.
type chatSummary struct {
	Phone    string `json:"phone"`
	Name     string `json:"name"`
	Messages int    `json:"messages"`
}

func (w *World) listChats(c *gin.Context) { c.JSON(http.StatusOK, listOf(w.people.summaries())) }

func (p *people) summaries() []chatSummary {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []chatSummary{}
	for _, key := range sortedNames(p.byKey) {
		who := p.byKey[key]
		out = append(out, chatSummary{Phone: who.key, Name: who.name, Messages: len(who.messages)})
	}
	return out
}

func (w *World) getMedia(c *gin.Context) {
	f, found := w.media.get(c.Param("id"))
	if !found {
		w.respond(c, nil, notFound("media_unknown", "there is no media %q", c.Param("id")))
		return
	}
	c.Header("X-Content-Type-Options", "nosniff") // the page is of the same origin
	c.Data(http.StatusOK, f.mimeType, f.body)
}
