package flowsjson

import "unicode/utf16"

// supported versions of what we publish.
const (
	newestVersion = "7.3"
	dataVersion   = "4.0"
	maxDocument   = 10 << 20
	maxComponents = 50
	maxBranches   = 10
	maxNesting    = 3
)

// publishable lists the Flow JSON versions that Meta still takes for publishing.
var publishable = []string{"5.1", "6.0", "6.1", "6.2", "6.3", "7.0", "7.1", "7.2", "7.3"}

// spec is what a component may and must have.
type spec struct {
	since    string         // Flow JSON version
	required []string       // properties
	optional []string       // properties besides type and required
	limits   map[string]int // longest text of a property
	most     int            // per screen; 0: no limit of its own
	input    bool           // has a value that payloads can name
	options  [2]int         // least and most options of a static data-source
	title    int            // longest title of an option
}

var textStyle = []string{"font-weight", "strikethrough", "visible"}

// components is what Meta's page on Flow components allows.
var components = map[string]spec{
	"TextHeading":    {required: []string{"text"}, optional: []string{"visible"}, limits: map[string]int{"text": 80}},
	"TextSubheading": {required: []string{"text"}, optional: []string{"visible"}, limits: map[string]int{"text": 80}},
	"TextBody":       {required: []string{"text"}, optional: append([]string{"markdown"}, textStyle...), limits: map[string]int{"text": 4096}},
	"TextCaption":    {required: []string{"text"}, optional: append([]string{"markdown"}, textStyle...), limits: map[string]int{"text": 409}},
	"RichText":       {since: "5.1", required: []string{"text"}, optional: []string{"visible"}},
	"TextInput": {
		required: []string{"name", "label"}, input: true,
		optional: []string{
			"label-variant", "input-type", "pattern", "required", "min-chars", "max-chars", "helper-text", "visible",
			"enabled", "init-value", "error-message",
		},
		limits: map[string]int{"label": 20, "helper-text": 80, "error-message": 30},
	},
	"TextArea": {
		required: []string{"name", "label"}, input: true,
		optional: []string{
			"label-variant", "required", "max-length", "helper-text", "enabled", "visible", "init-value", "error-message",
		},
		limits: map[string]int{"label": 20, "helper-text": 80},
	},
	"Dropdown": {
		required: []string{"name", "label", "data-source"}, input: true, options: [2]int{1, 200}, title: 30,
		optional: []string{
			"required", "enabled", "visible", "on-select-action", "on-unselect-action", "init-value", "error-message",
		},
		limits: map[string]int{"label": 20, "error-message": 30},
	},
	"RadioButtonsGroup": {
		required: []string{"name", "label", "data-source"}, input: true, options: [2]int{1, 20}, title: 30,
		optional: []string{
			"description", "required", "enabled", "visible", "on-select-action", "on-unselect-action", "init-value",
			"error-message", "media-size",
		},
		limits: map[string]int{"label": 30},
	},
	"CheckboxGroup": {
		required: []string{"name", "label", "data-source"}, input: true, options: [2]int{1, 20}, title: 30,
		optional: []string{
			"description", "min-selected-items", "max-selected-items", "required", "enabled", "visible",
			"on-select-action", "on-unselect-action", "init-value", "error-message", "media-size",
		},
		limits: map[string]int{"label": 30},
	},
	"ChipsSelector": {
		since: "6.3", required: []string{"name", "label", "data-source"}, input: true, options: [2]int{2, 20}, title: 30,
		optional: []string{
			"description", "min-selected-items", "max-selected-items", "required", "enabled", "visible",
			"on-select-action", "on-unselect-action", "init-value", "error-message",
		},
		limits: map[string]int{"label": 80},
	},
	"DatePicker": {
		required: []string{"name", "label"}, input: true,
		optional: []string{
			"min-date", "max-date", "unavailable-dates", "visible", "required", "enabled", "helper-text",
			"on-select-action", "init-value", "error-message",
		},
		limits: map[string]int{"label": 40, "helper-text": 80},
	},
	"CalendarPicker": {
		since: "6.1", required: []string{"name", "label"}, input: true,
		optional: []string{
			"title", "description", "mode", "min-date", "max-date", "unavailable-dates", "include-days", "min-days",
			"max-days", "visible", "required", "enabled", "helper-text", "on-select-action", "init-value",
			"error-message",
		},
	},
	"OptIn": {
		required: []string{"name", "label"}, input: true, most: 5,
		optional: []string{"required", "visible", "on-click-action", "on-select-action", "on-unselect-action", "init-value"},
		limits:   map[string]int{"label": 120},
	},
	"EmbeddedLink": {
		required: []string{"text", "on-click-action"}, optional: []string{"visible"}, most: 2,
		limits: map[string]int{"text": 25},
	},
	"Footer": {
		required: []string{"label", "on-click-action"},
		optional: []string{"left-caption", "center-caption", "right-caption", "enabled"},
		limits:   map[string]int{"label": 35, "left-caption": 15, "center-caption": 15, "right-caption": 15},
	},
	"Image": {
		required: []string{"src"}, most: 3,
		optional: []string{"width", "height", "scale-type", "aspect-ratio", "alt-text", "visible"},
	},
	"ImageCarousel": {
		since: "7.1", required: []string{"images"}, optional: []string{"aspect-ratio", "scale-type", "visible"}, most: 2,
	},
	"NavigationList": {
		since: "6.2", required: []string{"name", "list-items"}, most: 2,
		optional: []string{"label", "description", "media-size", "visible", "on-click-action"},
		limits:   map[string]int{"label": 80},
	},
	"PhotoPicker": {
		required: []string{"name", "label"}, input: true,
		optional: []string{
			"description", "photo-source", "max-file-size-kb", "min-uploaded-photos", "max-uploaded-photos", "visible",
			"enabled", "error-message",
		},
		limits: map[string]int{"label": 80, "description": 300},
	},
	"DocumentPicker": {
		required: []string{"name", "label"}, input: true,
		optional: []string{
			"description", "max-file-size-kb", "min-uploaded-documents", "max-uploaded-documents", "allowed-mime-types",
			"visible", "enabled", "error-message",
		},
		limits: map[string]int{"label": 80, "description": 300},
	},
	"If":     {required: []string{"condition", "then"}, optional: []string{"else"}},
	"Switch": {required: []string{"value", "cases"}},
	"Form":   {required: []string{"name", "children"}, optional: []string{"init-values", "error-messages"}},
}

// inputTypes are the values of TextInput's input-type.
var inputTypes = []string{"text", "number", "email", "password", "passcode", "phone"}

// wanted is the data type that a property takes when it is bound.
var wanted = map[string]kind{
	"text": kindString, "label": kindString, "helper-text": kindString, "error-message": kindString, "src": kindString,
	"left-caption": kindString, "center-caption": kindString, "right-caption": kindString, "url": kindString,
	"visible": kindBool, "required": kindBool, "enabled": kindBool, "data-source": kindArray, "list-items": kindArray,
	"init-values": kindObject, "error-messages": kindObject,
}

// length counts a label as a client does at most: in UTF-16 units.
func length(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// older reports whether version a is before b; both are like 7.3.
func older(a, b string) bool {
	majorA, minorA, okA := split(a)
	majorB, minorB, okB := split(b)
	return okA && okB && (majorA < majorB || majorA == majorB && minorA < minorB)
}
