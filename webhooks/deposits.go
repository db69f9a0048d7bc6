package webhooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"offrampbot/services/fault"
	"offrampbot/services/obs"
	"offrampbot/services/offramp"
)

const (
	depositSignatureHeader = "X-Signature-256"
	maxEventID             = 256 // bytes of an id in an event
)

// amountUnits is a positive integer of at most 78 digits, the most that a 256-bit number has (R3).
var amountUnits = regexp.MustCompile(`^[1-9][0-9]{0,77}$`)

// confirmDeposit applies a trusted confirmation event. It is synchronous: nothing is acknowledged before it is applied,
// and a refusal stores nothing, so that the same bytes can come again.
func (e *Edge) confirmDeposit(c *gin.Context) error {
	event, err := decodeConfirmation(rawBody(c))
	if err != nil {
		return fault.New("event_invalid", err)
	}
	ctx := obs.With(c.Request.Context(), obs.OrderID, event.Order)
	answer, err := e.deps.Confirm.Confirm(ctx, event)
	if err != nil {
		e.deps.Metrics.Delivery("deposit", "refused")
		return fmt.Errorf("confirm event %s for order %s: %w", event.EventID, event.Order, err)
	}
	e.deps.Metrics.Delivery("deposit", answer.Outcome)
	e.deps.Log.InfoContext(ctx, "confirmation event handled", "event_id", event.EventID, "outcome", answer.Outcome,
		"operation", answer.Operation, "state", string(answer.State))
	writeJSON(c, http.StatusOK, answer)
	return nil
}

// decodeConfirmation reads an event by R3–R6: exact names, exact types, no second meaning of the same bytes. Names that
// it does not know are ignored (R7).
func decodeConfirmation(body []byte) (offramp.Confirmation, error) {
	fields, err := objectOf(body)
	if err != nil {
		return offramp.Confirmation{}, err
	}
	if kind, err := stringOf(fields, "type"); err != nil || kind != offramp.ConfirmedType {
		return offramp.Confirmation{}, errors.New("type is not " + offramp.ConfirmedType)
	}
	var out offramp.Confirmation
	for _, f := range []struct {
		name string
		into *string
	}{{"eventId", &out.EventID}, {"workflowId", &out.Order}, {"depositRef", &out.Ref}} {
		if *f.into, err = idOf(fields, f.name); err != nil {
			return offramp.Confirmation{}, err
		}
	}
	if out.Amount, err = stringOf(fields, "amountUnits"); err != nil {
		return offramp.Confirmation{}, err
	}
	if !amountUnits.MatchString(out.Amount) {
		return offramp.Confirmation{}, errors.New("amountUnits is not a positive integer of at most 78 digits")
	}
	return out, nil
}

// objectOf reads one JSON object and nothing behind it. A name that stands there twice is refused: two readers could
// take different ones.
func objectOf(body []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("body is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("body is not a JSON object")
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.New("body is not a JSON object")
		}
		key, ok := name.(string)
		if !ok {
			return nil, errors.New("body is not a JSON object")
		}
		if _, twice := fields[key]; twice {
			return nil, errors.New("a name stands there twice")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("body is not a JSON object")
		}
		fields[key] = value
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, errors.New("body is not a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the object")
	}
	return fields, nil
}

// stringOf reads a field that must be a JSON string. A replacement character stands for bytes that were no text, and
// two different texts could become the same one.
func stringOf(fields map[string]json.RawMessage, name string) (string, error) {
	raw, ok := fields[name]
	if !ok || len(raw) == 0 || raw[0] != '"' {
		return "", errors.New(name + " is not a string")
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || strings.ContainsRune(s, utf8.RuneError) {
		return "", errors.New(name + " is not a string")
	}
	return s, nil
}

// idOf reads an id: not empty after trimming, and kept trimmed (R5, W26).
func idOf(fields map[string]json.RawMessage, name string) (string, error) {
	s, err := stringOf(fields, name)
	if err != nil {
		return "", err
	}
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxEventID || strings.ContainsFunc(s, unicode.IsControl) {
		return "", errors.New(name + " is empty, too long or has control characters")
	}
	return s, nil
}
