package setting

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/fault"
)

// Catalogue is every setting that exists: its name as an operator types it, what it means, how to read and set it.
type Catalogue struct {
	fields map[string]field
	names  []string // sorted
}

// field is one setting.
type field struct {
	help string
	get  func(s *Settings) string
	set  func(s *Settings, value string, at stamp) error
	meta func(s *Settings) (setAt time.Time, setBy string) // nil: not kept
}

// stamp is when and by whom a change is made.
type stamp struct {
	at time.Time
	by string
}

// maxReason bounds the reason of a switch, in bytes.
const maxReason = 200

// NewCatalogue builds the catalogue for what the registry knows and for the payout providers, venues and forms that are
// wired.
func NewCatalogue(registry *assets.Registry, providers, venues []string, forms ...string) (*Catalogue, error) {
	if registry == nil {
		return nil, errors.New("make settings catalogue: registry is missing")
	}
	c := &Catalogue{fields: map[string]field{}}
	c.general()
	for _, fiat := range registry.Fiats() {
		c.fees(fiat)
		c.bands(fiat)
		c.toggle(Country(fiat.Country))
		for _, asset := range registry.Assets() {
			c.rate(asset.ID, fiat)
		}
		for _, tier := range registry.Tiers() {
			c.limits(tier, fiat)
		}
	}
	for _, asset := range registry.Assets() {
		c.toggle(Asset(asset.ID))
	}
	for _, chain := range registry.Chains() {
		c.toggle(Chain(chain.ID))
	}
	for _, name := range providers {
		c.toggle(Provider(name))
	}
	for _, name := range venues {
		c.toggle(Venue(name))
	}
	for _, name := range forms {
		c.toggle(Flow(name))
	}
	c.toggle(Messages)
	c.toggle(Placing)
	c.toggle(Payouts)
	c.names = slices.Sorted(maps.Keys(c.fields))
	return c, nil
}

// Names are all settings, sorted.
func (c *Catalogue) Names() []string { return append([]string(nil), c.names...) }

// general adds the settings without a subject.
func (c *Catalogue) general() {
	c.fields["spread_bps"] = field{
		help: "what we keep of the rate, in hundredths of a percent, 0 to 2000",
		get:  func(s *Settings) string { return strconv.FormatInt(s.SpreadBps, 10) },
		set: func(s *Settings, value string, _ stamp) (err error) {
			s.SpreadBps, err = whole(value, 0, 2000)
			return err
		},
	}
	c.fields["rate_max_age"] = field{
		help: "how old a rate may be, a duration from 1m to 168h",
		get:  func(s *Settings) string { return s.RateMaxAge.String() },
		set: func(s *Settings, value string, _ stamp) error {
			age, err := time.ParseDuration(value)
			if err != nil || age < time.Minute || age > 7*24*time.Hour {
				return errors.New("must be a duration from 1m to 168h")
			}
			s.RateMaxAge = age
			return nil
		},
	}
	c.fields["drain"] = field{
		help: "on: no new orders, those placed are finished",
		get:  func(s *Settings) string { return onOff(s.Drain) },
		set: func(s *Settings, value string, _ stamp) error {
			if value != "on" && value != "off" {
				return errors.New("must be on or off")
			}
			s.Drain = value == "on"
			return nil
		},
	}
}

// toggle adds an off-switch: the setting "switch.chain.base" is the key "chain:base".
func (c *Catalogue) toggle(key string) {
	c.fields[switchName(key)] = field{
		help: "on, or off:<reason>",
		get: func(s *Settings) string {
			if reason, off := s.Switches[key]; off {
				return "off:" + reason
			}
			return "on"
		},
		set: func(s *Settings, value string, at stamp) error {
			reason, isOff := strings.CutPrefix(value, "off:")
			reason = strings.TrimSpace(reason)
			switch {
			case value == "on":
				delete(s.Switches, key)
			case isOff && reason != "" && len(reason) <= maxReason:
				s.Switches[key] = reason
			default:
				return errors.New("must be on, or off: and a reason of at most 200 characters")
			}
			s.toggled(key, at)
			return nil
		},
	}
}

// find returns the setting of a name, or a refusal that lists what exists.
func (c *Catalogue) find(name string) (field, error) {
	f, ok := c.fields[name]
	if !ok {
		cause := fmt.Errorf("no setting %q; there are: %s", name, strings.Join(c.names, ", "))
		return field{}, refused(name, cause)
	}
	return f, nil
}

// refused is the fault of a name or value; its text tells the operator what would be right.
func refused(name string, cause error) error {
	return fault.New("setting_invalid", cause).With("name", name).With("why", cause.Error())
}

// onOff is a truth value as operators type it.
func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// whole reads an integer within bounds.
func whole(value string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < low || n > high || strconv.FormatInt(n, 10) != value {
		return 0, fmt.Errorf("must be a whole number from %d to %d", low, high)
	}
	return n, nil
}
