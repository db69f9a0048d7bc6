// Package fault is the one vocabulary of errors that a user, an operator or a provider sees. Each has a code, and one
// table says what every code means on every edge: kind, HTTP status, text and log level.
package fault

import (
	"errors"
	"log/slog"
	"time"
)

// Kind is a class of errors that callers tell apart with errors.Is(err, fault.Conflict).
type Kind string

// Error makes a Kind usable as a target of errors.Is.
func (k Kind) Error() string { return string(k) }

// The kinds. Unknown is never failure: it may be asked about, never simply repeated, and its hold is never released.
const (
	Invalid     Kind = "invalid"     // the input is wrong; the sender can correct it
	NotFound    Kind = "not_found"   // the thing named does not exist, or not for this caller
	Conflict    Kind = "conflict"    // it exists in another form, or has moved on
	Denied      Kind = "denied"      // this caller may not do it
	Limited     Kind = "limited"     // too much or too often
	Expired     Kind = "expired"     // it was right once
	Unavailable Kind = "unavailable" // a part is down; nothing was sent
	Unknown     Kind = "unknown"     // something was sent and its outcome is not known
	Internal    Kind = "internal"    // our own defect; no detail leaves the process
)

// Error is a classified error. Args fill the placeholders of the text in its row; they are shown to people, so they
// never hold secrets.
type Error struct {
	Kind       Kind
	Code       string
	Op         string
	RetryAfter time.Duration
	Args       map[string]string
	Err        error
}

// New returns the error of a code in the table. A code without a row is a programmer error and becomes internal.
func New(code string, cause error) *Error {
	row := RowOf(code)
	return &Error{Kind: row.Kind, Code: row.Code, Err: cause}
}

// With returns a copy with one more argument for the text.
func (e *Error) With(name, value string) *Error {
	c := *e
	c.Args = make(map[string]string, len(e.Args)+1)
	for k, v := range e.Args {
		c.Args[k] = v
	}
	c.Args[name] = value
	return &c
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Code
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the kind and the cause, so that both match through any wrapping.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// As returns the classified error inside err; an unclassified one is internal.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Code: "internal", Err: err}
}

// Is reports whether err carries this code.
func Is(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// Row says what one code means on every edge.
type Row struct {
	Code    string
	Kind    Kind
	Status  int        // HTTP status of our own API
	Message string     // key in texts
	Level   slog.Level // at which the edge that ends it logs it
}

// RowOf returns the row of a code, and the row of "internal" for a code that has none.
func RowOf(code string) Row {
	for _, r := range table {
		if r.Code == code {
			return r
		}
	}
	return table[len(table)-1]
}

// Rows returns the whole table.
func Rows() []Row { return append([]Row(nil), table...) }
