// Package delivery holds the inbox: one receipt per delivery from outside, stored durably before it is acknowledged
// (R86 with W16, D12). A worker handles each receipt in the transaction that marks it done.
package delivery

import (
	"time"

	"offrampbot/services/store"
)

// Source says which edge stored a receipt and which handler takes it.
type Source string

// The sources.
const (
	Message Source = "message" // one WhatsApp message
	Status  Source = "status"  // one WhatsApp status of a message of ours
	Account Source = "account" // account, flow and preference webhooks of WhatsApp, and account-level errors
	Payout  Source = "payout"  // a provider's callback about a payout
	Deposit Source = "deposit" // a trusted confirmation event, DESIGN §7.1
)

// State is where a receipt stands.
type State string

// The states.
const (
	Received  State = "received"  // stored; a worker will handle it
	Done      State = "done"      // handled; Outcome says how
	Parked    State = "parked"    // could not be handled; Reason says why; it can be re-driven
	Unhandled State = "unhandled" // of a kind nobody knows; kept and re-drivable (W20)
)

// Receipt is one inbox record. Its id is the delivery id, see package ids.
type Receipt struct {
	store.Meta  `bson:",inline"`
	Source      Source     `bson:"source" json:"source"`
	Kind        string     `bson:"kind,omitempty" json:"kind,omitempty"` // message type, provider event
	Provider    string     `bson:"provider,omitempty" json:"provider,omitempty"`
	Reference   string     `bson:"reference,omitempty" json:"reference,omitempty"`
	Partition   string     `bson:"partition" json:"partition"` // receipts of one partition are handled in order
	Fingerprint string     `bson:"fingerprint" json:"fingerprint"`
	Body        []byte     `bson:"body,omitempty" json:"-"` // sealed with the id as associated data
	State       State      `bson:"state" json:"state"`
	Outcome     string     `bson:"outcome,omitempty" json:"outcome,omitempty"`
	Reason      string     `bson:"reason,omitempty" json:"reason,omitempty"`
	Order       string     `bson:"order,omitempty" json:"order,omitempty"`
	User        string     `bson:"user,omitempty" json:"user,omitempty"`
	Tries       int        `bson:"tries" json:"tries"`
	Repeats     int        `bson:"repeats,omitempty" json:"repeats,omitempty"`
	Due         *time.Time `bson:"due,omitempty" json:"due,omitempty"` // absent once done
	LeaseOwner  string     `bson:"lease_owner,omitempty" json:"lease_owner,omitempty"`
	LeaseUntil  *time.Time `bson:"lease_until,omitempty" json:"lease_until,omitempty"`
	SentAt      time.Time  `bson:"sent_at" json:"sent_at"`         // the sender's clock
	ReceivedAt  time.Time  `bson:"received_at" json:"received_at"` // ours
	DoneAt      *time.Time `bson:"done_at,omitempty" json:"done_at,omitempty"`
	SweepAt     *time.Time `bson:"sweep_at,omitempty" json:"sweep_at,omitempty"` // when body or receipt is to go; done ones only
}

// Wakes implements store.Waker: a worker may handle it. One that is leased is in somebody's hands, and who has handled
// one looks for the next by himself.
func (r *Receipt) Wakes() string {
	if r.LeaseOwner != "" || r.State != Received {
		return ""
	}
	return string(Received)
}

// Indexes declares what the collection is searched by.
var Indexes = []store.Index{
	{Collection: store.Inbox, Name: "due", Fields: []string{"state", "due"}},
	{Collection: store.Inbox, Name: "partition", Fields: []string{"partition", "state", "sent_at", "received_at"}},
	{Collection: store.Inbox, Name: "order", Fields: []string{"order", "received_at"}},
	{Collection: store.Inbox, Name: "done", Fields: []string{"state", "done_at"}},
	{Collection: store.Inbox, Name: "sweep", Fields: []string{"sweep_at"}},
}
