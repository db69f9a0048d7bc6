package setting

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/store"
)

// maxChanges bounds one call, so that an audit entry stays readable.
const maxChanges = 50

// Item is one setting as an operator sees it.
type Item struct {
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Help  string    `json:"help"`
	SetAt time.Time `json:"set_at,omitzero"`
	SetBy string    `json:"set_by,omitempty"`
}

// Changed is what one call changed: the settings named in it, before and after, by name.
type Changed struct {
	Before []Item `json:"before"`
	After  []Item `json:"after"`
}

// List is every setting with its value, sorted by name.
func (c *Catalogue) List(s *Settings) []Item { return c.items(s, c.names) }

// Change applies settings as an operator types them, name → value, all or none, and appends one audit entry to the
// stream `settings` in the same transaction. actor is "staff:<id>" or "system:<process>"; why is the operator's reason.
// An unknown name or a value that does not fit is fault code setting_invalid, whose args `name` and `why` say what
// exists. The settings document is replaced, so two changes at the same moment cannot lose one.
func (c *Catalogue) Change(
	tx store.Tx, actor, why string, changes map[string]string, now time.Time,
) (Changed, error) {
	if actor == "" {
		return Changed{}, errors.New("change settings: actor is missing")
	}
	if len(changes) == 0 || len(changes) > maxChanges {
		return Changed{}, refused("", fmt.Errorf("give 1 to %d settings", maxChanges))
	}
	before, err := Load(tx)
	if err != nil {
		return Changed{}, err
	}
	now = now.UTC().Truncate(time.Millisecond)
	after := before.clone()
	names, err := c.apply(after, changes, stamp{at: now, by: actor})
	if err != nil {
		return Changed{}, err
	}
	if err := after.validate(changes); err != nil {
		return Changed{}, err
	}
	after.ChangedAt = now
	changed := Changed{Before: c.items(before, names), After: c.items(after, names)}
	if err := save(tx, after); err != nil {
		return Changed{}, err
	}
	entry := audit.Entry{
		Stream: Stream, At: now, Actor: actor, Action: "settings.change", Why: why,
		Before: lines(changed.Before), After: lines(changed.After),
	}
	if err := audit.Append(tx, entry); err != nil {
		return Changed{}, fmt.Errorf("audit settings: %w", err)
	}
	return changed, nil
}

// apply sets each named value in s and returns the names, sorted, so that the first refusal is always the same one.
func (c *Catalogue) apply(s *Settings, changes map[string]string, at stamp) ([]string, error) {
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		f, err := c.find(name)
		if err != nil {
			return nil, err
		}
		if err := f.set(s, strings.TrimSpace(changes[name]), at); err != nil {
			return nil, refused(name, fmt.Errorf("%s=%s: %w", name, changes[name], err))
		}
	}
	return names, nil
}

// validate checks what concerns several settings: a band is a range, and a rate that is set now is believed.
func (s *Settings) validate(changes map[string]string) error {
	for fiat, band := range s.Bands {
		if band.LowMinor <= 0 || band.HighMinor < band.LowMinor {
			return refused("band."+fiat, fmt.Errorf("band of %s: low must be positive and not above high", fiat))
		}
	}
	for pair, rate := range s.Rates {
		asset, fiat, _ := strings.Cut(pair, "/")
		name := "rate." + asset + "." + fiat
		if _, isSet := changes[name]; !isSet {
			continue // an old rate that left its band is refused when a price is asked
		}
		if err := s.inBand(fiat, rate.Rate); err != nil {
			return refused(name, fmt.Errorf("%s=%s: %w", name, changes[name], err))
		}
	}
	return nil
}

// save inserts the first settings or replaces the ones that were read.
func save(tx store.Tx, s *Settings) error {
	write := tx.Replace
	if s.Revision == 0 {
		write = tx.Insert
	}
	if err := write(store.Settings, s); err != nil {
		return fmt.Errorf("save settings: %w", err)
	}
	return nil
}

// items are some settings with their values.
func (c *Catalogue) items(s *Settings, names []string) []Item {
	out := make([]Item, 0, len(names))
	for _, name := range names {
		f := c.fields[name]
		item := Item{Name: name, Value: f.get(s), Help: f.help}
		if f.meta != nil {
			item.SetAt, item.SetBy = f.meta(s)
		}
		out = append(out, item)
	}
	return out
}

// lines is "name=value" for the audit trail.
func lines(items []Item) string {
	out := make([]string, 0, len(items))
	for _, i := range items {
		out = append(out, i.Name+"="+i.Value)
	}
	return strings.Join(out, "\n")
}
