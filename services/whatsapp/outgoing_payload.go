package whatsapp

import "strings"

// address fills the one pair of fields that says whom a message is for. It is the only place that does (P35): a phone
// goes to `to` with a plus, without which the country of our own number may be put before it; a scoped id goes to
// `recipient`, because in `to` it is answered with 200 and dropped (P32, P33).
func (r Recipient) address(p *payload) error {
	p.RecipientType = "individual"
	switch {
	case isPhoneID(r.Phone):
		p.To = "+" + r.Phone
	case isScopedID(r.ScopedID):
		p.Recipient = r.ScopedID
	case isScopedID(r.Phone):
		p.Recipient = r.Phone
	default:
		return malformed("no recipient")
	}
	return nil
}

// payload checks the message against the limits and builds WhatsApp's form of it. Labels and bodies that are too long
// are shortened, never dropped (P37); ids that are too long, and parts that are missing, are ErrOutgoing.
func (o Outgoing) payload() (*payload, error) {
	if units(o.CallbackData) > maxCallbackData {
		return nil, malformed("callback data is longer than %d", maxCallbackData)
	}
	p := &payload{Product: "whatsapp", CallbackData: o.CallbackData}
	if err := o.To.address(p); err != nil {
		return nil, err
	}
	if o.ReplyTo != "" {
		p.Context = &payloadContext{MessageID: o.ReplyTo}
	}
	return p, o.fill(p)
}

func (o Outgoing) fill(p *payload) error {
	switch o.Type {
	case TypeText:
		if strings.TrimSpace(o.Body) == "" {
			return malformed("text without a body")
		}
		p.Type, p.Text = "text", &payloadText{Body: fit(o.Body, maxTextBody)}
		return nil
	case TypeImage:
		if o.MediaID == "" {
			return malformed("image without a media id")
		}
		p.Type, p.Image = "image", &payloadImage{ID: o.MediaID, Caption: fit(o.Body, maxCaption)}
		return nil
	case TypeTemplate:
		return o.fillTemplate(p)
	case TypeButtons, TypeList, TypeFlow:
		return o.fillInteractive(p)
	}
	return malformed("type %q is not known", o.Type)
}

func (o Outgoing) fillTemplate(p *payload) error {
	if o.Template == nil || o.Template.Name == "" || o.Template.Language == "" {
		return malformed("template without name or language")
	}
	t := &payloadTemplate{Name: o.Template.Name, Language: templateLanguage{Code: o.Template.Language}}
	if len(o.Template.Params) > 0 {
		body := templateComponent{Type: "body"}
		for _, value := range o.Template.Params {
			value = fit(oneLine(value), maxTemplateParam)
			if value == "" {
				value = "-" // an empty parameter is refused
			}
			body.Parameters = append(body.Parameters, templateParam{Type: "text", Text: value})
		}
		t.Components = []templateComponent{body}
	}
	p.Type, p.Template = "template", t
	return nil
}

func (o Outgoing) fillInteractive(p *payload) error {
	if strings.TrimSpace(o.Body) == "" {
		return malformed("%s without a body", o.Type)
	}
	i := &interactive{Body: interactiveText{Text: fit(o.Body, maxInteractive)}}
	if oneLine(o.Header) != "" {
		i.Header = &interactiveText{Type: "text", Text: fit(oneLine(o.Header), maxHeader)}
	}
	if oneLine(o.Footer) != "" {
		i.Footer = &interactiveText{Text: fit(oneLine(o.Footer), maxFooter)}
	}
	p.Type, p.Interactive = "interactive", i
	if o.Type == TypeButtons {
		return o.fillButtons(i)
	}
	if o.Type == TypeList {
		return o.fillList(i)
	}
	return o.fillFlow(i)
}

func (o Outgoing) fillButtons(i *interactive) error {
	if len(o.Buttons) == 0 || len(o.Buttons) > maxButtons {
		return malformed("%d buttons", len(o.Buttons))
	}
	titles, seen := make([]string, len(o.Buttons)), map[string]bool{}
	for n, b := range o.Buttons {
		if b.ID == "" || units(b.ID) > maxButtonID || seen[b.ID] {
			return malformed("button %d has no id of its own within %d", n, maxButtonID)
		}
		if titles[n] = fit(oneLine(b.Title), maxButtonTitle); titles[n] == "" {
			return malformed("button %d has no title", n)
		}
		seen[b.ID] = true
	}
	i.Type = "button"
	for n, title := range distinct(titles, maxButtonTitle) {
		i.Action.Buttons = append(i.Action.Buttons,
			actionButton{Type: "reply", Reply: actionReply{ID: o.Buttons[n].ID, Title: title}})
	}
	return nil
}

func (o Outgoing) fillList(i *interactive) error {
	if o.List == nil || oneLine(o.List.Button) == "" {
		return malformed("list without a button")
	}
	if len(o.List.Sections) == 0 || len(o.List.Sections) > maxListSections {
		return malformed("list of %d sections", len(o.List.Sections))
	}
	i.Type, i.Action.Button = "list", fit(oneLine(o.List.Button), maxListButton)
	rows, seen := 0, map[string]bool{}
	for n, s := range o.List.Sections {
		section := actionSection{Title: fit(oneLine(s.Title), maxSectionTitle)}
		if section.Title == "" && len(o.List.Sections) > 1 {
			return malformed("section %d of several has no title", n)
		}
		if len(s.Rows) == 0 {
			return malformed("section %d has no rows", n)
		}
		for _, r := range s.Rows {
			if r.ID == "" || units(r.ID) > maxRowID || seen[r.ID] {
				return malformed("row %d has no id of its own within %d", rows, maxRowID)
			}
			title := fit(oneLine(r.Title), maxRowTitle)
			if title == "" {
				return malformed("row %d has no title", rows)
			}
			seen[r.ID] = true
			rows++
			section.Rows = append(section.Rows,
				actionRow{ID: r.ID, Title: title, Description: fit(oneLine(r.Description), maxRowDescription)})
		}
		i.Action.Sections = append(i.Action.Sections, section)
	}
	if rows > maxListRows {
		return malformed("list of %d rows", rows)
	}
	return nil
}

// flowMessageVersion is the only version of flow messages.
const flowMessageVersion = "3"

func (o Outgoing) fillFlow(i *interactive) error {
	f := o.Flow
	if f == nil || (f.ID == "" && f.Name == "") {
		return malformed("flow without id or name")
	}
	// Without a token WhatsApp sends the word "unused" to the endpoint.
	if f.Token == "" || len(f.Token) > maxFlowToken {
		return malformed("flow without a token within %d", maxFlowToken)
	}
	cta := fit(oneLine(f.CTA), maxFlowCTA)
	if cta == "" {
		return malformed("flow without a call to action")
	}
	parameters := &flowParameters{
		Version: flowMessageVersion, ID: f.ID, CTA: cta, Token: f.Token, Action: "data_exchange", Mode: "published",
	}
	if f.ID == "" {
		parameters.Name = f.Name
	}
	if f.Draft {
		parameters.Mode = "draft"
	}
	i.Type, i.Action = "flow", action{Name: "flow", Parameters: parameters}
	return nil
}
