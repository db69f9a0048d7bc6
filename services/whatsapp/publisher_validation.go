package whatsapp

import (
	"fmt"
	"strings"
)

// ValidationError is WhatsApp's list of what is wrong with a document. It comes with HTTP 200, so that a caller who only
// looks at the status publishes nothing and believes otherwise (P48).
type ValidationError struct{ Problems []ValidationProblem }

// ValidationProblem is one line of it.
type ValidationProblem struct {
	Error   string
	Type    string
	Message string
	Line    int
	Column  int
}

// Error implements error.
func (e *ValidationError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("line %d column %d: %s: %s", p.Line, p.Column, p.Error, p.Message)
	}
	return "flow document is refused: " + strings.Join(lines, "; ")
}

// validation turns a non-empty validation_errors into a ValidationError, whatever else the answer says.
func validation(o object) error {
	if !o.has("validation_errors") {
		return nil
	}
	list, err := asArray(o["validation_errors"])
	if err != nil {
		return &ValidationError{Problems: []ValidationProblem{{Error: "UNREADABLE", Message: "validation_errors is not a list"}}}
	}
	if len(list) == 0 {
		return nil
	}
	refused := &ValidationError{}
	for _, raw := range list {
		p, err := asObject(raw)
		if err != nil {
			p = object{}
		}
		refused.Problems = append(refused.Problems, ValidationProblem{
			Error: p.text("error"), Type: p.text("error_type"), Message: p.text("message"),
			Line: int(p.number("line_start")), Column: int(p.number("column_start")),
		})
	}
	return refused
}

// succeeded checks an answer of the form {"success": true}.
func succeeded(o object, what string) error {
	if err := validation(o); err != nil {
		return err
	}
	if !o.flag("success") {
		return fmt.Errorf("%s: answer does not say success", what)
	}
	return nil
}
