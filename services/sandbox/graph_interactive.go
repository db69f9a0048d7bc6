package sandbox

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
)

// interactive is the body of a message with buttons, a list, a link or a Flow (Meta: interactive messages).
type interactive struct {
	Type   string `json:"type"`
	Header *struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Image json.RawMessage `json:"image"`
	} `json:"header"`
	Body   *textPart `json:"body"`
	Footer *textPart `json:"footer"`
	Action *struct {
		Name       string          `json:"name"`
		Button     string          `json:"button"`
		Buttons    []replyButton   `json:"buttons"`
		Sections   []listSection   `json:"sections"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"action"`
}

type textPart struct {
	Text string `json:"text"`
}

type replyButton struct {
	Type  string `json:"type"`
	Reply button `json:"reply"`
}

type listSection struct {
	Title string `json:"title"`
	Rows  []row  `json:"rows"`
}

// utf16Length counts as the client does: UTF-16 units.
func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

// need refuses a text that is missing or too long.
func need(name, value string, limit int) *refusal {
	if strings.TrimSpace(value) == "" {
		return refuse(131008, "%s is required.", name)
	}
	return atMost(name, value, limit)
}

func atMost(name, value string, limit int) *refusal {
	if n := utf16Length(value); n > limit {
		return refuse(131009, "%s is too long: %d characters, at most %d.", name, n, limit)
	}
	return nil
}

// first returns the first refusal.
func first(refusals ...*refusal) *refusal {
	for _, r := range refusals {
		if r != nil {
			return r
		}
	}
	return nil
}

func (w *World) interactiveBubble(raw json.RawMessage) (chatMessage, *refusal) {
	var i interactive
	if len(raw) == 0 || json.Unmarshal(raw, &i) != nil {
		return chatMessage{}, refuse(100, "The parameter interactive is required.")
	}
	if i.Body == nil || i.Action == nil {
		return chatMessage{}, refuse(131008, "interactive['body'] and interactive['action'] are required.")
	}
	bubble := chatMessage{Type: i.Type, Text: i.Body.Text}
	refused := need("interactive['body']['text']", i.Body.Text, 1024)
	if i.Header != nil {
		bubble.Header = i.Header.Text
		if i.Header.Type == "text" {
			refused = first(refused, need("interactive['header']['text']", i.Header.Text, 60))
		} else if i.Type == "list" {
			refused = first(refused, refuse(131009, "A list takes a text header only."))
		}
	}
	if i.Footer != nil {
		bubble.Footer = i.Footer.Text
		refused = first(refused, need("interactive['footer']['text']", i.Footer.Text, 60))
	}
	if refused != nil {
		return chatMessage{}, refused
	}
	switch i.Type {
	case "button":
		bubble.Buttons, refused = checkButtons(i.Action.Buttons)
	case "list":
		bubble.RowsLabel = i.Action.Button
		bubble.Rows, refused = checkSections(i.Action.Button, i.Action.Sections)
	case "cta_url":
		bubble.Link, refused = checkLink(i.Action.Name, i.Action.Parameters)
	case "flow":
		bubble.Flow, refused = w.checkFlowButton(i.Action.Name, i.Action.Parameters)
	case "location_request_message":
		refused = named(i.Action.Name, "send_location")
	case "contact_request":
		refused = named(i.Action.Name, "request_contact_info")
	default:
		refused = refuse(131009, "interactive['type'] %q is not known.", i.Type)
	}
	return bubble, refused
}

func named(got, want string) *refusal {
	if got != want {
		return refuse(131009, "interactive['action']['name'] must be %s.", want)
	}
	return nil
}

func checkButtons(buttons []replyButton) ([]button, *refusal) {
	if len(buttons) == 0 || len(buttons) > 3 {
		return nil, refuse(131009, "interactive['action']['buttons'] must hold 1 to 3 buttons, not %d.", len(buttons))
	}
	titles, ids := make(map[string]bool), make(map[string]bool)
	out := make([]button, len(buttons))
	for n, b := range buttons {
		if b.Type != "reply" {
			return nil, refuse(131009, "A button's type must be reply.")
		}
		refused := first(need("A button's title", b.Reply.Title, 20), need("A button's id", b.Reply.ID, 256))
		if refused != nil {
			return nil, refused
		}
		if titles[b.Reply.Title] || ids[b.Reply.ID] {
			return nil, refuse(131009, "Buttons must differ in title and id.")
		}
		titles[b.Reply.Title], ids[b.Reply.ID] = true, true
		out[n] = b.Reply
	}
	return out, nil
}

func checkSections(label string, sections []listSection) ([]row, *refusal) {
	if refused := need("interactive['action']['button']", label, 20); refused != nil {
		return nil, refused
	}
	if len(sections) == 0 || len(sections) > 10 {
		return nil, refuse(131009, "interactive['action']['sections'] must hold 1 to 10 sections, not %d.", len(sections))
	}
	var out []row
	ids := make(map[string]bool)
	for _, section := range sections {
		if len(sections) > 1 || section.Title != "" {
			if refused := need("A section's title", section.Title, 24); refused != nil {
				return nil, refused
			}
		}
		for _, r := range section.Rows {
			refused := first(need("A row's id", r.ID, 200), need("A row's title", r.Title, 24), atMost("A row's description", r.Description, 72))
			if refused != nil {
				return nil, refused
			}
			if ids[r.ID] {
				return nil, refuse(131009, "Row ids must differ.")
			}
			ids[r.ID] = true
			r.Section = section.Title
			out = append(out, r)
		}
	}
	if len(out) == 0 || len(out) > 10 {
		return nil, refuse(131009, "A list must hold 1 to 10 rows in all, not %d.", len(out))
	}
	return out, nil
}

func checkLink(name string, raw json.RawMessage) (*link, *refusal) {
	if refused := named(name, "cta_url"); refused != nil {
		return nil, refused
	}
	var parameters struct {
		Text string `json:"display_text"`
		URL  string `json:"url"`
	}
	if json.Unmarshal(raw, &parameters) != nil {
		return nil, refuse(131008, "interactive['action']['parameters'] is required.")
	}
	if refused := need("display_text", parameters.Text, 20); refused != nil {
		return nil, refused
	}
	if !isHTTP(parameters.URL) {
		return nil, refuse(131009, "url is not an http address.")
	}
	return &link{Title: parameters.Text, URL: parameters.URL}, nil
}

// checkFlowButton checks a Flow message (Meta: sending a Flow) against the Flows that are published here.
func (w *World) checkFlowButton(name string, raw json.RawMessage) (*flowButton, *refusal) {
	if refused := named(name, "flow"); refused != nil {
		return nil, refused
	}
	var p struct {
		Version string `json:"flow_message_version"`
		ID      string `json:"flow_id"`
		Name    string `json:"flow_name"`
		CTA     string `json:"flow_cta"`
		Token   string `json:"flow_token"`
		Action  string `json:"flow_action"`
		Mode    string `json:"mode"`
		Payload *struct {
			Screen string         `json:"screen"`
			Data   map[string]any `json:"data"`
		} `json:"flow_action_payload"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return nil, refuse(131008, "interactive['action']['parameters'] is required.")
	}
	if p.Version != "3" {
		return nil, refuse(131009, "flow_message_version must be 3.")
	}
	if (p.ID == "") == (p.Name == "") {
		return nil, refuse(131009, "Exactly one of flow_id and flow_name is required.")
	}
	if refused := need("flow_cta", p.CTA, 30); refused != nil {
		return nil, refused
	}
	flow, found := w.flows.published(p.ID, p.Name, p.Mode == "draft")
	if !found {
		return nil, refuse(131009, "The Flow %q is not published.", orString(p.ID, p.Name))
	}
	b := &flowButton{ID: flow.id, Name: flow.name, Token: orString(p.Token, "unused"), CTA: p.CTA, Action: orString(p.Action, "navigate")}
	switch b.Action {
	case "data_exchange":
		if p.Payload != nil {
			return nil, refuse(131009, "flow_action_payload must be left out for data_exchange.")
		}
	case "navigate":
		b.Screen = flow.document.entry()
		if p.Payload != nil {
			b.Screen, b.Data = orString(p.Payload.Screen, b.Screen), p.Payload.Data
			if p.Payload.Data != nil && len(p.Payload.Data) == 0 {
				return nil, refuse(131009, "flow_action_payload['data'] cannot be empty.")
			}
		}
		if flow.document.screen(b.Screen) == nil {
			return nil, refuse(131009, "The Flow has no screen %q.", b.Screen)
		}
	default:
		return nil, refuse(131009, "flow_action must be navigate or data_exchange.")
	}
	return b, nil
}
