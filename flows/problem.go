package flows

import (
	"slices"

	"offrampbot/services/fault"
	"offrampbot/services/texts"
)

// Texts renders what people read.
type Texts interface {
	Render(lang, key string, args map[string]string) string
}

// Option is one choice of a list.
type Option struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

// problem is what is wrong with a screen's input: a sentence for the top of the screen and, when the cause is one field,
// a few words for its own error slot.
type problem struct {
	field string
	text  string
	slot  string
}

// sayer renders what goes wrong, in one person's language.
type sayer struct {
	texts Texts
	lang  string
}

// text renders a text for a screen.
func (s sayer) text(key string, args map[string]string) string {
	return plain(s.texts.Render(s.lang, key, args))
}

// fault is a classified error at a field, or at the top when field is empty.
func (s sayer) fault(f *fault.Error, field string, args map[string]string) *problem {
	return s.problem(fault.RowOf(f.Code).Message, f.Code, field, args)
}

// problem is a sentence at a field; the words of the slot are the text "field.<code>". A code without such words points to
// the sentence.
func (s sayer) problem(key, code, field string, args map[string]string) *problem {
	p := &problem{field: field, text: s.text(key, args)}
	if field == "" {
		return p
	}
	if p.slot = s.text("field."+code, args); p.slot == "" || p.slot == texts.Missing("field."+code) {
		p.slot = s.text("field.other", nil)
	}
	p.slot = short(p.slot, maxFieldError)
	return p
}

// errorsOf fills the error convention of a screen: has_error and error_message at the top, and each field's own slot.
func errorsOf(data map[string]any, p *problem, fields ...string) map[string]any {
	data["has_error"], data["error_message"] = false, ""
	for _, f := range fields {
		data[f+"_error"] = ""
	}
	if p == nil {
		return data
	}
	if slices.Contains(fields, p.field) {
		data[p.field+"_error"] = p.slot
	}
	data["has_error"], data["error_message"] = true, p.text
	return data
}
