package whatsapp

// payload is the JSON body of a send. Field order is the order of Meta's examples.
type payload struct {
	Product       string           `json:"messaging_product"`
	RecipientType string           `json:"recipient_type"`
	To            string           `json:"to,omitempty"`
	Recipient     string           `json:"recipient,omitempty"`
	Context       *payloadContext  `json:"context,omitempty"`
	Type          string           `json:"type"`
	Text          *payloadText     `json:"text,omitempty"`
	Image         *payloadImage    `json:"image,omitempty"`
	Interactive   *interactive     `json:"interactive,omitempty"`
	Template      *payloadTemplate `json:"template,omitempty"`
	CallbackData  string           `json:"biz_opaque_callback_data,omitempty"`
}

type payloadContext struct {
	MessageID string `json:"message_id"`
}

type payloadText struct {
	Body       string `json:"body"`
	PreviewURL bool   `json:"preview_url"`
}

type payloadImage struct {
	ID      string `json:"id"`
	Caption string `json:"caption,omitempty"`
}

type interactive struct {
	Type   string           `json:"type"`
	Header *interactiveText `json:"header,omitempty"`
	Body   interactiveText  `json:"body"`
	Footer *interactiveText `json:"footer,omitempty"`
	Action action           `json:"action"`
}

type interactiveText struct {
	Type string `json:"type,omitempty"`
	Text string `json:"text"`
}

type action struct {
	Name       string          `json:"name,omitempty"`
	Parameters *flowParameters `json:"parameters,omitempty"`
	Buttons    []actionButton  `json:"buttons,omitempty"`
	Button     string          `json:"button,omitempty"`
	Sections   []actionSection `json:"sections,omitempty"`
}

type flowParameters struct {
	Version string `json:"flow_message_version"`
	ID      string `json:"flow_id,omitempty"`
	Name    string `json:"flow_name,omitempty"`
	CTA     string `json:"flow_cta"`
	Token   string `json:"flow_token"`
	Action  string `json:"flow_action"`
	Mode    string `json:"mode"`
}

type actionButton struct {
	Type  string      `json:"type"`
	Reply actionReply `json:"reply"`
}

type actionReply struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type actionSection struct {
	Title string      `json:"title,omitempty"`
	Rows  []actionRow `json:"rows"`
}

type actionRow struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

type payloadTemplate struct {
	Name       string              `json:"name"`
	Language   templateLanguage    `json:"language"`
	Components []templateComponent `json:"components,omitempty"`
}

type templateLanguage struct {
	Code string `json:"code"`
}

type templateComponent struct {
	Type       string          `json:"type"`
	Parameters []templateParam `json:"parameters"`
}

type templateParam struct {
	Type string `json:"type"`
	Text string `json:"text"`
}
