package config

import "strings"

// Problems is every problem of a configuration, each a sentence that begins with the variable's name and never holds
// its value.
type Problems []string

// Error lists the problems, one a line.
func (p Problems) Error() string { return "configuration refused:\n  " + strings.Join(p, "\n  ") }

// add notes one problem.
func (p *Problems) add(name, sentence string) { *p = append(*p, name+" "+sentence) }

// shapeError is a parse error of our own, whose text is known not to hold the value.
type shapeError string

// Error implements error.
func (e shapeError) Error() string { return string(e) }
