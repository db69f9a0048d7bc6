package session

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"offrampbot/services/money"
)

// ErrPersonal: a field of a draft looks like something that a draft must never hold.
var ErrPersonal = errors.New("draft holds something that may be personal")

// Draft is what a user is typing. It is decoration: from the confirmation on the order exists in the store, and losing
// a draft never changes what happens to money (DESIGN §9).
//
// A PIN, an account number, a phone number or a name cannot be put into it: there is no field of free text, and Word
// and ID refuse to be written when they look like one (I13).
type Draft struct {
	Topic       Word        `json:"topic"`                 // what the conversation is about: "sell", "sign_up"
	Step        Word        `json:"step"`                  // the state of the conversation table
	Asset       Word        `json:"asset,omitempty"`       // symbol of the registry
	Chain       Word        `json:"chain,omitempty"`       // id of the registry
	Fiat        Word        `json:"fiat,omitempty"`        // currency code
	Amount      money.Micro `json:"amount,omitempty"`      // crypto, micro-units
	Beneficiary ID          `json:"beneficiary,omitempty"` // a saved beneficiary
	Intent      ID          `json:"intent,omitempty"`      // a quote or an order
	Offered     []ID        `json:"offered,omitempty"`     // ids of the choices last shown, in order
	Misses      int         `json:"misses,omitempty"`      // answers in a row that were not understood
	UpdatedAt   time.Time   `json:"updated_at"`
}

// Word is a name of ours or of the registry: a letter, then up to 31 letters, digits, dots, dashes and underscores, with
// at most three digits. A PIN has at least four.
type Word string

// ID is an identity of ours: a UUID, or 16 to 64 letters, digits, colons, dashes and underscores with at least four
// letters and no ten digits in a row. An account or phone number is neither.
type ID string

var (
	wordForm  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,31}$`)
	uuidForm  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	idForm    = regexp.MustCompile(`^[A-Za-z0-9:_-]{16,64}$`)
	letters   = regexp.MustCompile(`[A-Za-z]`)
	digits    = regexp.MustCompile(`[0-9]`)
	tenDigits = regexp.MustCompile(`[0-9]{10}`)
)

// MarshalText writes the word, or refuses with ErrPersonal without quoting it. An empty one is absent.
func (w Word) MarshalText() ([]byte, error) {
	s := string(w)
	if s == "" || wordForm.MatchString(s) && len(digits.FindAllString(s, -1)) <= 3 {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("write word: %w", ErrPersonal)
}

// MarshalText writes the id, or refuses with ErrPersonal without quoting it. An empty one is absent.
func (i ID) MarshalText() ([]byte, error) {
	s := string(i)
	if s == "" || uuidForm.MatchString(s) {
		return []byte(s), nil
	}
	if idForm.MatchString(s) && len(letters.FindAllString(s, 4)) == 4 && !tenDigits.MatchString(s) {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("write id: %w", ErrPersonal)
}
