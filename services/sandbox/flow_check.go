package sandbox

import (
	"encoding/json"
	"fmt"
	"sort"
)

// The client's own error names (Meta: Flow endpoint).
const (
	errPayloadSchema      = "payload-schema-error"
	errScreenTransition   = "invalid-screen-transition"
	errResponseDecryption = "response-decryption-error"
)

// clientError is what the Flow client complains about.
type clientError struct {
	code    string
	message string
}

// Error implements error.
func (e *clientError) Error() string { return e.code + ": " + e.message }

// checkScreenData compares data for a screen with what the screen declares: a missing, null, undeclared or wrongly
// typed field is a payload-schema-error, as the client reports it. error_message may always come: it is the snackbar.
func checkScreenData(s *flowScreen, data map[string]any) *clientError {
	names := make([]string, 0, len(s.Data))
	for name := range s.Data {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		value, found := data[name]
		if !found {
			return schemaError("screen %s: the declared field %q is missing", s.ID, name)
		}
		if problem := s.Data[name].mismatch(value); problem != "" {
			return schemaError("screen %s: field %q %s", s.ID, name, problem)
		}
	}
	for name, value := range data {
		if _, declared := s.Data[name]; declared {
			continue
		}
		if _, isText := value.(string); name == "error_message" && isText {
			continue
		}
		return schemaError("screen %s: the field %q is not declared", s.ID, name)
	}
	return nil
}

func schemaError(format string, args ...any) *clientError {
	return &clientError{code: errPayloadSchema, message: fmt.Sprintf(format, args...)}
}

// mismatch says how a value differs from its declaration, "" for not at all.
func (f fieldSchema) mismatch(value any) string {
	if value == nil {
		return "is null"
	}
	switch f.Type {
	case "string":
		if _, ok := value.(string); !ok {
			return "is not a string"
		}
	case "number", "integer":
		if _, ok := value.(json.Number); !ok {
			return "is not a number"
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return "is not a boolean"
		}
	case "array":
		return f.mismatchItems(value)
	case "object":
		return f.mismatchProperties(value)
	}
	return ""
}

func (f fieldSchema) mismatchItems(value any) string {
	items, ok := value.([]any)
	if !ok {
		return "is not an array"
	}
	if f.Items == nil {
		return ""
	}
	for i, item := range items {
		if problem := f.Items.mismatch(item); problem != "" {
			return fmt.Sprintf("[%d] %s", i, problem)
		}
	}
	return ""
}

func (f fieldSchema) mismatchProperties(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return "is not an object"
	}
	for name, part := range object {
		declared, found := f.Properties[name]
		if !found {
			continue // the client drops what it does not know inside an object
		}
		if problem := declared.mismatch(part); problem != "" {
			return fmt.Sprintf(".%s %s", name, problem)
		}
	}
	return ""
}
