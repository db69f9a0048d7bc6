package setting

import (
	"fmt"

	"offrampbot/services/fault"
)

// The switches without a subject.
const (
	Placing = "placing" // no new orders
	Payouts = "payouts" // no payout is sent, orders wait
	// Messages off: nothing is sent over WhatsApp, messages wait; sales and payouts go on.
	Messages = "messages"
)

// Chain is the switch of a chain.
func Chain(name string) string { return "chain:" + name }

// Asset is the switch of an asset.
func Asset(name string) string { return "asset:" + name }

// Provider is the switch of a payout provider.
func Provider(name string) string { return "provider:" + name }

// Venue is the switch of a venue.
func Venue(name string) string { return "venue:" + name }

// Country is the switch of a country, by its two letters.
func Country(code string) string { return "country:" + code }

// Flow is the switch of a form, by the name of its document.
func Flow(name string) string { return "flow:" + name }

// Off reports the first of these switches that is off and the operator's reason.
func (s *Settings) Off(switches ...string) (reason string, off bool) {
	for _, name := range switches {
		if reason, off := s.Switches[name]; off {
			return reason, true
		}
	}
	return "", false
}

// Allowed fails with fault code switched_off (args what, reason) when one of the switches is off.
func (s *Settings) Allowed(switches ...string) error {
	for _, name := range switches {
		if reason, off := s.Switches[name]; off {
			cause := fmt.Errorf("%s is off: %s", name, reason)
			return fault.New("switched_off", cause).With("what", name).With("reason", reason)
		}
	}
	return nil
}

// AllowPlacing is the switch check of placing, funding and renewal (DESIGN §7 rule 5): drain, placing, and every part
// that the sale needs. Drain refuses new orders only, so funding and renewal pass fresh = false.
func (s *Settings) AllowPlacing(fresh bool, chain, asset, venue, country string) error {
	if fresh && s.Drain {
		return fault.New("switched_off", nil).With("what", "drain").With("reason", "the service is being drained")
	}
	return s.Allowed(Placing, Chain(chain), Asset(asset), Venue(venue), Country(country))
}
