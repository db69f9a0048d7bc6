package whatsapp

import (
	"errors"

	"offrampbot/services/operation"
	"offrampbot/services/user"
)

// errWindowClosed: only a template may go, and the message has none.
var errWindowClosed = errors.New("the 24-hour window is closed")

// compose renders the message in the person's language. Outside the 24-hour window, or after WhatsApp has refused it as
// outside, it becomes its template. ErrOutgoing: it can never be sent; errWindowClosed: not now.
func (h *handling) compose(person *user.User) (Outgoing, error) {
	m := h.op.Message
	out := Outgoing{
		To: Recipient{Phone: person.WhatsAppID, ScopedID: person.ScopedID}, CallbackData: h.op.ID, ReplyTo: m.ReplyTo,
	}
	body, err := h.text(person.Language, m)
	if err != nil {
		return out, err
	}
	out.Body = body
	if !h.windowOpen(person) {
		if m.Template == "" {
			return out, errWindowClosed
		}
		out.Type, out.ReplyTo, out.Template = TypeTemplate, "", h.template(person.Language, m, body)
		return out, nil
	}
	err = h.composeType(&out, person.Language)
	return out, err
}

// composeType fills what the message's own type needs.
func (h *handling) composeType(out *Outgoing, language string) error {
	switch m := h.op.Message; m.Type {
	case "text":
		out.Type = TypeText
	case "buttons":
		h.composeButtons(out, language)
	case "list":
		return h.composeList(out, language)
	case "flow":
		return h.composeFlow(out, language)
	case "image":
		if m.Image == nil {
			return malformed("image without a picture")
		}
		out.Type = TypeImage
	default:
		return malformed("type %q is not known", m.Type)
	}
	return nil
}

// windowOpen decides by the person's last message, unless WhatsApp has refused this very message since: it does so in
// rare cases inside the window, and then its word counts.
func (h *handling) windowOpen(person *user.User) bool {
	if h.Now().Sub(person.LastInbound) >= window {
		return false
	}
	refused := h.op.Outcome == windowRefused || h.op.Outcome == waitsForWindow
	return !refused || h.op.LastCall == nil || person.LastInbound.After(*h.op.LastCall)
}

func (h *handling) text(language string, m *operation.Message) (string, error) {
	if m.Key == "" {
		return m.Text, nil
	}
	if !h.Texts.Has(m.Key) {
		return "", malformed("text %s does not exist", m.Key)
	}
	return h.Texts.Render(language, m.Key, m.Args), nil
}

// label is what a button, row, section or list says: a text key becomes its words, anything else is literal, like the
// name of a bank.
func (h *handling) label(language, title string) string {
	if h.Texts.Has(title) {
		return h.Texts.Render(language, title, h.op.Message.Args)
	}
	return title
}

func (h *handling) template(language string, m *operation.Message, body string) *OutgoingTemplate {
	t := &OutgoingTemplate{Name: m.Template, Language: language}
	if code, ok := h.cfg.TemplateLanguages[language]; ok {
		t.Language = code
	}
	form, ok := h.cfg.Templates[m.Template]
	if !ok {
		t.Params = []string{body}
		return t
	}
	for _, name := range form.Args {
		t.Params = append(t.Params, m.Args[name])
	}
	return t
}

// composeButtons makes reply buttons, or a list when there are more than three: nothing is dropped.
func (h *handling) composeButtons(out *Outgoing, language string) {
	buttons := h.op.Message.Buttons
	if len(buttons) > maxButtons {
		var rows []OutgoingRow
		for _, b := range buttons[:min(len(buttons), maxListRows)] {
			rows = append(rows, OutgoingRow{ID: b.ID, Title: h.label(language, b.Title)})
		}
		out.Type, out.List = TypeList, &OutgoingList{
			Button: h.Texts.Render(language, "whatsapp.choose", nil), Sections: []OutgoingSection{{Rows: rows}},
		}
		return
	}
	out.Type = TypeButtons
	for _, b := range buttons {
		out.Buttons = append(out.Buttons, OutgoingButton{ID: b.ID, Title: h.label(language, b.Title)})
	}
}

// composeList makes a list of at most ten rows; what stands behind the tenth is left out, and sections that lose all
// their rows with it.
func (h *handling) composeList(out *Outgoing, language string) error {
	list := h.op.Message.List
	if list == nil {
		return malformed("list without a list")
	}
	out.Type, out.List = TypeList, &OutgoingList{Button: h.label(language, list.Button)}
	left := maxListRows
	for _, s := range list.Sections {
		rows := s.Rows[:min(len(s.Rows), left)]
		if len(rows) == 0 {
			continue
		}
		left -= len(rows)
		section := OutgoingSection{Title: h.label(language, s.Title)}
		for _, r := range rows {
			section.Rows = append(section.Rows, OutgoingRow{
				ID: r.ID, Title: h.label(language, r.Title), Description: h.label(language, r.Description),
			})
		}
		out.List.Sections = append(out.List.Sections, section)
	}
	return nil
}

// composeFlow makes a Flow message; its token is made here and is stored nowhere.
func (h *handling) composeFlow(out *Outgoing, language string) error {
	flow := h.op.Message.Flow
	if flow == nil || flow.Name == "" || flow.Session == "" {
		return malformed("flow without name or session")
	}
	target := h.cfg.Flows[flow.Name]
	if target.ID == "" && target.Name == "" {
		target.Name = flow.Name
	}
	out.Type, out.Flow = TypeFlow, &OutgoingFlow{
		ID: target.ID, Name: target.Name, Draft: target.Draft, CTA: h.label(language, flow.CTA),
		Token: h.Tokens.Token(flow.Session),
	}
	return nil
}
