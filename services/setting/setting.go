// Package setting holds the operator's settings: rates and their spread, age and sanity band, fees, off-switches and
// drain. They are one document, read inside the transaction that decides on them (DESIGN §13, "Running many"), and every
// change is an audit entry in the stream `settings` of the same transaction.
package setting

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"offrampbot/services/exchange"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// ID is the `_id` of the one settings document.
const ID = "current"

// Stream is the audit stream of settings.
const Stream = "settings"

// DefaultRateMaxAge is how old a rate may be unless the operator says otherwise.
const DefaultRateMaxAge = 24 * time.Hour

// Rate is what the operator pays for one token, before the spread.
type Rate struct {
	Rate  money.Rate `bson:"rate" json:"rate"` // minor units of fiat per micro-units of the asset
	SetAt time.Time  `bson:"set_at" json:"set_at"`
	SetBy string     `bson:"set_by" json:"set_by"` // actor: staff:<id>, system:<process>
}

// Band is the range in which a rate is believed: minor units of fiat per whole token, both ends included. A typing slip
// of one digit falls outside it.
type Band struct {
	LowMinor  int64 `bson:"low_minor" json:"low_minor"`
	HighMinor int64 `bson:"high_minor" json:"high_minor"`
}

// Fee replaces the registry's fee of a fiat: a flat part in minor units, hundredths of a percent of the gross, and the
// most that both may come to (0: no cap).
type Fee struct {
	FlatMinor int64 `bson:"flat_minor" json:"flat_minor"`
	Bps       int64 `bson:"bps" json:"bps"`
	CapMinor  int64 `bson:"cap_minor" json:"cap_minor"`
}

// Limit replaces the registry's limit of a tier in a fiat, in minor units.
type Limit struct {
	SaleMinor           int64 `bson:"sale_minor" json:"sale_minor"`
	DayMinor            int64 `bson:"day_minor" json:"day_minor"`
	MonthMinor          int64 `bson:"month_minor" json:"month_minor"`
	NewBeneficiaryMinor int64 `bson:"new_beneficiary_minor" json:"new_beneficiary_minor"`
}

// Settings is the document `settings`/`current`.
type Settings struct {
	store.Meta `bson:",inline"`
	Rates      map[string]Rate `bson:"rates" json:"rates"` // by "USDT/NGN"
	SpreadBps  int64           `bson:"spread_bps" json:"spread_bps"`
	// RateMaxAge is in nanoseconds, as Go keeps durations.
	RateMaxAge time.Duration   `bson:"rate_max_age_ns" json:"rate_max_age_ns"`
	Bands      map[string]Band `bson:"bands" json:"bands"` // by fiat
	// Fees and Limits hold only what the operator set over the registry: by fiat, and by "tier0/NGN".
	Fees   map[string]Fee   `bson:"fees" json:"fees"`
	Limits map[string]Limit `bson:"limits" json:"limits"`
	// Switches are the parts that are off: "chain:base", "asset:USDT", "provider:paystack", "venue:desk", "country:NG",
	// "placing", "payouts", "messages", "flow:offramp_flow" → the operator's reason. An absent key is on.
	Switches map[string]string `bson:"switches" json:"switches"`
	// Toggled is the last turn of each switch that was ever turned.
	Toggled   map[string]Toggle `bson:"toggled,omitempty" json:"toggled,omitempty"`
	Drain     bool              `bson:"drain" json:"drain"` // no new orders; those placed are finished
	ChangedAt time.Time         `bson:"changed_at" json:"changed_at"`
}

// Pair names a rate: "USDT/NGN".
func Pair(asset, fiat string) string { return asset + "/" + fiat }

// Load reads the settings; when the operator has set nothing yet they are the defaults: no rate, no spread, fees
// and limits of the registry, everything on, a rate lives 24 hours. Inside an Update they are what the transaction decides on.
func Load(r store.Reader) (*Settings, error) {
	var s Settings
	err := r.Get(store.Settings, ID, &s)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	s.fill()
	return &s, nil
}

// Book is Load as the exchange desk wants it.
func Book(r store.Reader) (exchange.Book, error) {
	s, err := Load(r)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// fill puts defaults where the document has none, so that a document of an older release reads well.
func (s *Settings) fill() {
	if s.ID == "" {
		s.ID, s.Version = ID, 1
	}
	if s.RateMaxAge == 0 {
		s.RateMaxAge = DefaultRateMaxAge
	}
	if s.Rates == nil {
		s.Rates = map[string]Rate{}
	}
	if s.Bands == nil {
		s.Bands = map[string]Band{}
	}
	if s.Fees == nil {
		s.Fees = map[string]Fee{}
	}
	if s.Limits == nil {
		s.Limits = map[string]Limit{}
	}
	if s.Switches == nil {
		s.Switches = map[string]string{}
	}
	if s.Toggled == nil {
		s.Toggled = map[string]Toggle{}
	}
}

// clone is a copy whose maps are its own, so that a change can be refused half-way without a trace.
func (s *Settings) clone() *Settings {
	c := *s
	c.Rates, c.Bands, c.Fees = maps.Clone(s.Rates), maps.Clone(s.Bands), maps.Clone(s.Fees)
	c.Limits, c.Switches = maps.Clone(s.Limits), maps.Clone(s.Switches)
	c.Toggled = cloneToggles(s.Toggled)
	return &c
}

var _ exchange.Book = (*Settings)(nil)
