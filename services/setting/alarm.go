package setting

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/store"
)

// Toggle is when and by whom a switch was turned last, either way.
type Toggle struct {
	At time.Time `bson:"at" json:"at"`
	By string    `bson:"by" json:"by"` // actor: staff:<id>, system:<process>
	// Seen is the time of the event that turned it; zero when a person did.
	Seen time.Time `bson:"seen,omitempty" json:"seen,omitzero"`
	// Alert marks a switch that is off because an alert turned it off: to turn it on again takes a second person.
	Alert bool `bson:"alert,omitempty" json:"alert,omitempty"`
}

// Alarm is a switch that an event from outside turns, without a person.
type Alarm struct {
	Actor  string // "system:<process>"
	Switch string // key of the switch: Messages, Flow(name)
	Why    string // what the event says
	// Seen is when the event happened by its sender's clock, zero when that is not known.
	Seen time.Time
}

// TurnOff turns a switch off in the transaction that records the event, with its audit entry. It reports whether that
// changed anything: a switch that is off stays as it is, and an event older than the last one that turned the switch is
// passed over, because events come in any order.
func TurnOff(tx store.Tx, a Alarm, now time.Time) (changed bool, err error) {
	s, err := a.load(tx)
	if err != nil || s == nil {
		return false, err
	}
	if _, off := s.Switches[a.Switch]; off {
		return false, a.note(tx, s, now)
	}
	s.Switches[a.Switch] = cut(a.Why, maxReason)
	return true, a.save(tx, s, "on", "off:"+s.Switches[a.Switch], now)
}

// TurnOn turns a switch on again that the same actor turned off, and reports whether it did.
//
// Invariant: what a person turned off is turned on by a person only.
func TurnOn(tx store.Tx, a Alarm, now time.Time) (changed bool, err error) {
	s, err := a.load(tx)
	if err != nil || s == nil {
		return false, err
	}
	reason, off := s.Switches[a.Switch]
	switch {
	case !off:
		return false, a.note(tx, s, now)
	case s.Toggled[a.Switch].By != a.Actor:
		return false, nil
	}
	delete(s.Switches, a.Switch)
	return true, a.save(tx, s, "off:"+reason, "on", now)
}

// load reads the settings for a change, or nothing when the event is older than what they know.
func (a Alarm) load(tx store.Tx) (*Settings, error) {
	if a.Actor == "" || a.Switch == "" || a.Why == "" {
		return nil, errors.New("turn switch: actor, switch or reason is missing")
	}
	s, err := Load(tx)
	if err != nil {
		return nil, err
	}
	if last := s.Toggled[a.Switch]; !a.Seen.IsZero() && a.Seen.Before(last.Seen) {
		return nil, nil
	}
	return s.clone(), nil
}

// note keeps the time of an event that changed nothing, so that an older one that comes later changes nothing either.
// A person's turn is left as it is.
func (a Alarm) note(tx store.Tx, s *Settings, now time.Time) error {
	last, known := s.Toggled[a.Switch]
	if a.Seen.IsZero() || known && last.By != a.Actor {
		return nil
	}
	if !known {
		last = Toggle{At: now.UTC().Truncate(time.Millisecond), By: a.Actor}
	}
	last.Seen = a.Seen.UTC().Truncate(time.Millisecond)
	s.Toggled[a.Switch] = last
	return save(tx, s)
}

func (a Alarm) save(tx store.Tx, s *Settings, before, after string, now time.Time) error {
	now = now.UTC().Truncate(time.Millisecond)
	turned := Toggle{At: now, By: a.Actor, Seen: a.Seen.UTC().Truncate(time.Millisecond)}
	if _, off := s.Switches[a.Switch]; off {
		turned.Alert = true
	}
	s.Toggled[a.Switch] = turned
	s.ChangedAt = now
	if err := save(tx, s); err != nil {
		return err
	}
	name := switchName(a.Switch)
	entry := audit.Entry{
		Stream: Stream, At: now, Actor: a.Actor, Action: "settings.change", Why: a.Why,
		Before: name + "=" + before, After: name + "=" + after,
	}
	if err := audit.Append(tx, entry); err != nil {
		return fmt.Errorf("audit switch: %w", err)
	}
	return nil
}

// toggled notes a person's turn of a switch. To turn off what is off makes it the
// person's own; that an alert turned it off first is kept.
func (s *Settings) toggled(key string, at stamp) {
	_, off := s.Switches[key]
	s.Toggled[key] = Toggle{At: at.at, By: at.by, Alert: off && s.Toggled[key].Alert}
}

// switchName is the setting of a switch: "switch.chain.base" of "chain:base".
func switchName(key string) string { return "switch." + strings.Replace(key, ":", ".", 1) }

// cut shortens a text to at most n bytes without breaking a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// cloneToggles is a copy that may be written to.
func cloneToggles(m map[string]Toggle) map[string]Toggle {
	if m == nil {
		return map[string]Toggle{}
	}
	return maps.Clone(m)
}
