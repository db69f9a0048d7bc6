package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"offrampbot/services/admin"
	"offrampbot/services/fault"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
)

var idempotencyKey = regexp.MustCompile(`^[!-~]{1,128}$`)

// putSettings changes settings, all or none: {"reason": "…", "settings": {"name": "value"}}.
func (e *Edge) putSettings(c *gin.Context) error {
	settings, reason, err := decodeSettings(rawBody(c))
	if err != nil {
		return err
	}
	return e.change(c, reason, func(change admin.Change) (admin.Changed, error) {
		return e.deps.Changes.PutSettings(c.Request.Context(), change, settings)
	})
}

// askApproval asks for a second person: {"action": "settle", "order": "…", "reason": "…"} → {"id": "…"}.
func (e *Edge) askApproval(c *gin.Context) error {
	in, err := decodeStrings(rawBody(c), "action", "order", "reason")
	if err != nil {
		return err
	}
	return e.change(c, in["reason"], func(change admin.Change) (admin.Changed, error) {
		return e.deps.Changes.AskApproval(c.Request.Context(), change, admin.Action(in["action"]), in["order"])
	})
}

// decide approves or rejects what another person asked for: {"reason": "…"}.
func (e *Edge) decide(approve bool) handler {
	return func(c *gin.Context) error {
		in, err := decodeStrings(rawBody(c), "reason")
		if err != nil {
			return err
		}
		return e.change(c, in["reason"], func(change admin.Change) (admin.Changed, error) {
			return e.deps.Changes.Decide(c.Request.Context(), change, c.Param("id"), approve)
		})
	}
}

// withReason changes the record that the path names: {"reason": "…"}.
func (e *Edge) withReason(change func(ctx context.Context, c admin.Change, id string) (admin.Changed, error)) handler {
	return func(c *gin.Context) error {
		in, err := decodeStrings(rawBody(c), "reason")
		if err != nil {
			return err
		}
		return e.change(c, in["reason"], func(asked admin.Change) (admin.Changed, error) {
			return change(c.Request.Context(), asked, c.Param("id"))
		})
	}
}

// change runs one mutation under its idempotency key and writes the answer. Without a key the request is one of its
// own: each change is guarded by its record's revision as well.
func (e *Edge) change(c *gin.Context, reason string, run func(admin.Change) (admin.Changed, error)) error {
	keys := c.Request.Header.Values(idempotencyHeader)
	key := uuid.NewString()
	if len(keys) > 0 {
		if key = keys[0]; len(keys) > 1 || !idempotencyKey.MatchString(key) {
			return fault.New("idempotency_key", nil)
		}
	}
	who := identity(c)
	changed, err := run(admin.Change{Who: who, Reason: reason, Request: admin.Request{
		Scope: admin.Scope{Admin: who.ID, Method: c.Request.Method, Route: c.FullPath(), Key: key},
		Hash:  admin.RequestHash(c.Request.URL.Path, rawBody(c)),
	}})
	if err != nil {
		return err
	}
	if changed.Repeated {
		c.Header(replayedHeader, "true")
	}
	c.Data(changed.Status, "application/json; charset=utf-8", changed.Body)
	return nil
}

// decodeStrings reads one JSON object of texts; a name that is not among these, stands there twice or has another case,
// and a value of another type are refused (T2, T3, B96). A name that is left out is an empty text.
func decodeStrings(body []byte, names ...string) (map[string]string, error) {
	invalid := func(why string) error { return fault.New("body_invalid", nil).With("why", why) }
	fields, err := objectOf(body)
	if err != nil {
		return nil, invalid("It is not one JSON object with each name once")
	}
	out := map[string]string{}
	for name := range fields {
		if !slices.Contains(names, name) {
			return nil, invalid("It may have only the names " + strings.Join(names, ", "))
		}
		if out[name], err = stringOf(fields, name); err != nil {
			return nil, invalid("A value is not a text")
		}
	}
	return out, nil
}

// decodeSettings reads names and values. A value is a text, a whole number or a truth value, as an operator would type
// it; the list may stand under "settings" or be the object itself.
func decodeSettings(body []byte) (settings map[string]string, reason string, err error) {
	invalid := func(why string) error { return fault.New("body_invalid", nil).With("why", why) }
	fields, err := objectOf(body)
	if err != nil {
		return nil, "", invalid("It is not one JSON object with each name once")
	}
	if _, ok := fields["reason"]; ok {
		if reason, err = stringOf(fields, "reason"); err != nil {
			return nil, "", invalid("The reason is not a text")
		}
		delete(fields, "reason")
	}
	if nested, ok := fields["settings"]; ok && len(fields) == 1 {
		if fields, err = objectOf(nested); err != nil {
			return nil, "", invalid("The name settings is not one JSON object with each name once")
		}
	}
	settings = map[string]string{}
	for name, raw := range fields {
		if settings[name], err = settingText(raw); err != nil {
			return nil, "", invalid("A value is not a text, a whole number or a truth value")
		}
	}
	return settings, reason, nil
}

// plainNumber is a number that is its own text; one with an exponent could be read in two ways.
var plainNumber = regexp.MustCompile(`^-?[0-9]{1,18}(\.[0-9]{1,18})?$`)

func settingText(raw json.RawMessage) (string, error) {
	switch text := string(raw); {
	case text == "true":
		return "on", nil
	case text == "false":
		return "off", nil
	case plainNumber.MatchString(text):
		return text, nil
	default:
		return stringOf(map[string]json.RawMessage{"value": raw}, "value")
	}
}

// newBody gives a page the bytes that were read for it.
func newBody(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
