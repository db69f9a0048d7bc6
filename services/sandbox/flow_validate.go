package sandbox

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// validationError is one of Meta's findings about a Flow document.
type validationError struct {
	Error       string `json:"error"`
	ErrorType   string `json:"error_type"`
	Message     string `json:"message"`
	LineStart   int    `json:"line_start"`
	LineEnd     int    `json:"line_end"`
	ColumnStart int    `json:"column_start"`
	ColumnEnd   int    `json:"column_end"`
}

// finder collects findings.
type finder struct{ found []validationError }

func (f *finder) add(kind, format string, args ...any) {
	f.found = append(f.found, validationError{
		Error: kind, ErrorType: "FLOW_JSON_ERROR", Message: fmt.Sprintf(format, args...), LineStart: 1, LineEnd: 1, ColumnStart: 1, ColumnEnd: 1,
	})
}

var (
	screenIDPattern = regexp.MustCompile(`^[A-Za-z_]+$`)
	bindingPattern  = regexp.MustCompile(`\$\{data\.([A-Za-z0-9_]+)`)
)

func publishable(version string) bool {
	switch version {
	case "5.1", "6.0", "6.1", "6.2", "6.3", "7.0", "7.1", "7.2", "7.3":
		return true
	}
	return false
}

// validateFlow checks a document by those of Meta's rules for Flow JSON that a publish fails on.
func validateFlow(raw []byte) []validationError {
	var f finder
	if len(raw) > 10<<20 {
		f.add("INVALID_SIZE", "The document is larger than 10 MB.")
		return f.found
	}
	d, err := parseFlow(raw)
	if err != nil {
		f.add("INVALID_JSON", "The document is not Flow JSON: %v.", err)
		return f.found
	}
	if !publishable(d.Version) {
		f.add("INVALID_PROPERTY_VALUE", "Version %q cannot be published.", d.Version)
	}
	if d.DataAPI != "" && d.DataAPI != "3.0" && d.DataAPI != "4.0" {
		f.add("INVALID_PROPERTY_VALUE", "data_api_version %q is not known.", d.DataAPI)
	}
	if len(d.Screens) == 0 {
		f.add("MISSING_REQUIRED_PROPERTY", "The document has no screens.")
		return f.found
	}
	seen := make(map[string]bool)
	successes := 0
	for _, s := range d.Screens {
		if !screenIDPattern.MatchString(s.ID) || s.ID == "SUCCESS" || seen[s.ID] {
			f.add("INVALID_SCREEN_ID", "Screen id %q is reserved, repeated or has other characters than letters and _.", s.ID)
		}
		seen[s.ID] = true
		if s.Terminal && (s.Success == nil || *s.Success) {
			successes++
		}
		f.checkScreen(s)
	}
	if successes == 0 {
		f.add("MISSING_TERMINAL_SCREEN", "No terminal screen ends the Flow with success.")
	}
	if d.DataAPI != "" {
		f.checkRouting(d, seen)
	}
	return f.found
}

func (f *finder) checkScreen(s *flowScreen) {
	if text(s.Layout["type"]) != "SingleColumnLayout" {
		f.add("INVALID_PROPERTY_VALUE", "Screen %s: the layout must be a SingleColumnLayout.", s.ID)
	}
	for _, name := range sortedNames(s.Data) {
		if s.Data[name].Example == nil {
			f.add("MISSING_REQUIRED_PROPERTY", "Screen %s: data field %s has no __example__.", s.ID, name)
		}
	}
	footers, components := 0, 0
	s.components(bindings{}, func(c map[string]any) {
		components++
		if c["type"] == "Footer" {
			footers++
		}
		f.checkLengths(s.ID, c)
	})
	if components > 50 {
		f.add("INVALID_PROPERTY_VALUE", "Screen %s has %d components, at most 50 are allowed.", s.ID, components)
	}
	if s.Terminal && footers == 0 {
		f.add("MISSING_REQUIRED_PROPERTY", "Terminal screen %s has no Footer.", s.ID)
	}
	layout, err := json.Marshal(s.Layout)
	if err != nil {
		return
	}
	for _, match := range bindingPattern.FindAllStringSubmatch(string(layout), -1) {
		if _, declared := s.Data[match[1]]; !declared {
			f.add("INVALID_PROPERTY_VALUE", "Screen %s binds ${data.%s}, which it does not declare.", s.ID, match[1])
		}
	}
}

// checkLengths compares fixed labels with their limits; what is bound is only known later.
func (f *finder) checkLengths(screen string, c map[string]any) {
	kind := text(c["type"])
	limits := map[string]map[string]int{
		"TextHeading": {"text": 80}, "TextSubheading": {"text": 80}, "TextBody": {"text": 4096}, "TextCaption": {"text": 409},
		"TextInput": {"label": 20, "helper-text": 80}, "TextArea": {"label": 20, "helper-text": 80}, "Dropdown": {"label": 20},
		"RadioButtonsGroup": {"label": 30}, "CheckboxGroup": {"label": 30}, "DatePicker": {"label": 40}, "OptIn": {"label": 120},
		"EmbeddedLink": {"text": 25}, "Footer": {"label": 35},
	}[kind]
	for _, property := range sortedNames(limits) {
		value := text(c[property])
		if limit := limits[property]; !strings.HasPrefix(value, "${") && !strings.HasPrefix(value, "`") && utf16Length(value) > limit {
			f.add("INVALID_PROPERTY_VALUE", "Screen %s: %s.%s has more than %d characters.", screen, kind, property, limit)
		}
	}
}

func (f *finder) checkRouting(d *flowDocument, known map[string]bool) {
	if len(d.Routing) == 0 {
		f.add("MISSING_REQUIRED_PROPERTY", "The document has no routing_model.")
		return
	}
	for id := range known {
		if _, listed := d.Routing[id]; !listed {
			f.add("INVALID_ROUTING_MODEL", "Screen %s is not in the routing model.", id)
		}
	}
	for _, from := range sortedNames(d.Routing) {
		if len(d.Routing[from]) > 10 {
			f.add("INVALID_ROUTING_MODEL", "Screen %s has more than 10 branches.", from)
		}
		for _, to := range d.Routing[from] {
			if !known[to] || !known[from] || to == from {
				f.add("INVALID_ROUTING_MODEL", "The edge %s to %s is not between two screens.", from, to)
			}
		}
		if s := d.screen(from); s != nil && len(d.Routing[from]) == 0 && !s.Terminal {
			f.add("INVALID_ROUTING_MODEL", "Screen %s leads nowhere and is not terminal.", from)
		}
	}
	if d.entry() == "" {
		f.add("INVALID_ROUTING_MODEL", "There is no entry screen.")
	}
	if d.cyclic() {
		f.add("INVALID_ROUTING_MODEL", "The routing model has a cycle.")
	}
}

func (d *flowDocument) cyclic() bool {
	const open, closed = 1, 2
	state := make(map[string]int)
	var visit func(id string) bool
	visit = func(id string) bool {
		if state[id] != 0 {
			return state[id] == open
		}
		state[id] = open
		for _, next := range d.Routing[id] {
			if visit(next) {
				return true
			}
		}
		state[id] = closed
		return false
	}
	for id := range d.Routing {
		if visit(id) {
			return true
		}
	}
	return false
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
