// Package screening checks deposit senders and payout names against the operator's list of people and addresses that
// must not be served (D40, DESIGN §11). A hit freezes the user and goes to a person; what cannot be checked is refused
// like a hit, never waved through.
package screening

import (
	"context"
	"fmt"

	"offrampbot/services/fault"
)

// Kind is what is checked.
type Kind string

// The kinds.
const (
	Address Kind = "address" // of a chain
	Name    Kind = "name"    // of a person or company
)

// Hit is the answer of a check. Line is where the list has it, for the person who decides; the entry itself stays in
// the list.
type Hit struct {
	Found bool
	Kind  Kind
	Line  int
}

// Screener checks one value. An error means that it was not checked: the caller refuses. It is safe to repeat.
type Screener interface {
	Check(ctx context.Context, kind Kind, value string) (Hit, error)
}

// Err is the fault of a hit, code screening_hit, and nil without one.
func (h Hit) Err() error {
	if !h.Found {
		return nil
	}
	return fault.New("screening_hit", fmt.Errorf("%s is on line %d of the screening list", h.Kind, h.Line))
}
