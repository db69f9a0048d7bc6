// Package user holds people: who they are on WhatsApp, their PIN, tier, freeze and deposit address.
package user

import (
	"time"

	"offrampbot/services/store"
)

// Status is how far an account is.
type Status string

// The statuses.
const (
	New    Status = "new"    // wrote to us, has not signed up
	Active Status = "active" // signed up
	Closed Status = "closed"
)

// Freeze says since when and why a user's money may not start to move; the field names are contract.
type Freeze struct {
	Since time.Time `bson:"since" json:"since"`
	Why   string    `bson:"why" json:"why"`
	// Also are further reasons that came while the user was frozen; every one must go.
	Also []string `bson:"also,omitempty" json:"also,omitempty"`
	// ProvenAt is when the user gave the PIN after an identity change; the cool-down must be over too.
	ProvenAt *time.Time `bson:"proven_at,omitempty" json:"proven_at,omitempty"`
}

// User is one person. Its id never changes; WhatsApp ids may (P31, P36).
type User struct {
	store.Meta   `bson:",inline"`
	WhatsAppID   string     `bson:"whatsapp_id,omitempty" json:"whatsapp_id,omitempty"` // digits as received, never rewritten
	ScopedID     string     `bson:"scoped_id,omitempty" json:"scoped_id,omitempty"`     // business-scoped user id
	Name         string     `bson:"name,omitempty" json:"name,omitempty"`
	Country      string     `bson:"country,omitempty" json:"country,omitempty"`
	Language     string     `bson:"language" json:"language"`
	Status       Status     `bson:"status" json:"status"`
	Tier         string     `bson:"tier" json:"tier"`
	Frozen       *Freeze    `bson:"frozen,omitempty" json:"frozen,omitempty"`
	PIN          *PIN       `bson:"pin,omitempty" json:"-"`
	AddressIndex *int64     `bson:"address_index,omitempty" json:"address_index,omitempty"`
	Address      string     `bson:"address,omitempty" json:"address,omitempty"`       // deposit address, the same on every EVM chain
	StoppedAt    *time.Time `bson:"stopped_at,omitempty" json:"stopped_at,omitempty"` // opted out of notices that are not about money
	LastInbound  time.Time  `bson:"last_inbound" json:"last_inbound"`                 // opens the 24-hour window
	CreatedAt    time.Time  `bson:"created_at" json:"created_at"`
	SignedUpAt   *time.Time `bson:"signed_up_at,omitempty" json:"signed_up_at,omitempty"`
}

// PIN is the sealed PIN and its one durable counter over all channels (S1).
type PIN struct {
	Hash        string     `bson:"hash"`   // argon2id, encoded with its parameters
	Pepper      string     `bson:"pepper"` // id of the pepper key
	Failures    int        `bson:"failures"`
	DayFailures int        `bson:"day_failures"`
	DayStart    time.Time  `bson:"day_start"`
	Locks       int        `bson:"locks"` // locks in a row; each is longer
	LockedUntil *time.Time `bson:"locked_until,omitempty"`
	Blocked     bool       `bson:"blocked"` // ten in a day: support unlocks
	ChangedAt   time.Time  `bson:"changed_at"`
}

// Indexes declares what the collection is searched by.
var Indexes = []store.Index{
	{Collection: store.Users, Name: "whatsapp_id", Fields: []string{"whatsapp_id"}, Unique: true},
	{Collection: store.Users, Name: "scoped_id", Fields: []string{"scoped_id"}, Unique: true},
	{Collection: store.Users, Name: "address", Fields: []string{"address"}, Unique: true},
	{Collection: store.Users, Name: "created", Fields: []string{"created_at"}},
	{Collection: store.Beneficiaries, Name: "account", Fields: []string{"user", "digest"}, Unique: true},
	{Collection: store.Beneficiaries, Name: "user", Fields: []string{"user", "used_at"}},
}
