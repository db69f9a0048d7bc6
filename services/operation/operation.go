// Package operation holds the outbox: one document per outside action, recorded in the transaction that decided it and
// carried out afterwards, at least once, under a stable id (R22, R38). Workers lease operations, call, and commit the
// outcome together with the event it raises.
package operation

import (
	"time"

	"offrampbot/services/store"
)

// Kind is what an operation does. Each has one handler and one lane.
type Kind string

// The kinds.
const (
	StartExchange Kind = "start-exchange" // sell the order's crypto at the venue
	Payout        Kind = "payout"         // send one payout attempt
	LookUp        Kind = "look-up"        // ask venue or provider what became of another operation
	Notify        Kind = "notify"         // one WhatsApp message to a user
	Read          Kind = "read"           // the ticks under a user's message, and "typing": a courtesy, tried once
	Alert         Kind = "alert"          // tell the operator
)

// State is where an operation stands.
type State string

// The states.
const (
	Pending    State = "pending"    // due at Due; a worker will lease it
	Called     State = "called"     // "about to call" is stored: a call may be, or may have been, out
	Accepted   State = "accepted"   // the provider has it and has not said how it ended
	Done       State = "done"       // the outcome is committed
	Superseded State = "superseded" // never called, and no longer wanted
	Parked     State = "parked"     // a person must look; Reason says why
)

// Closed reports whether no worker will touch the operation again by itself.
func (s State) Closed() bool { return s == Done || s == Superseded || s == Parked }

// Lease is the exclusive right of one worker to an operation until a time of the store's clock.
type Lease struct {
	Owner string    `bson:"owner" json:"owner"`
	Until time.Time `bson:"until" json:"until"`
}

// Operation is one outbox record.
type Operation struct {
	store.Meta `bson:",inline"`
	Kind       Kind       `bson:"kind" json:"kind"`
	Lane       string     `bson:"lane" json:"lane"` // whose order matters: "user:<id>" for messages, "order:<id>" for money
	Order      string     `bson:"order,omitempty" json:"order,omitempty"`
	User       string     `bson:"user,omitempty" json:"user,omitempty"`
	Attempt    int        `bson:"attempt,omitempty" json:"attempt,omitempty"` // exchange or payout attempt
	Rail       string     `bson:"rail,omitempty" json:"rail,omitempty"`       // payout provider, or venue
	Reference  string     `bson:"reference,omitempty" json:"reference,omitempty"`
	Target     string     `bson:"target,omitempty" json:"target,omitempty"` // a look-up's operation
	State      State      `bson:"state" json:"state"`
	Due        *time.Time `bson:"due,omitempty" json:"due,omitempty"` // absent once closed
	Lease      *Lease     `bson:"lease,omitempty" json:"lease,omitempty"`
	Tries      int        `bson:"tries" json:"tries"` // leases taken since the last progress
	Calls      int        `bson:"calls" json:"calls"` // money calls made with this reference
	Approved   bool       `bson:"approved,omitempty" json:"approved,omitempty"`
	Outcome    string     `bson:"outcome,omitempty" json:"outcome,omitempty"`
	Reason     string     `bson:"reason,omitempty" json:"reason,omitempty"`
	Message    *Message   `bson:"message,omitempty" json:"message,omitempty"`
	CreatedAt  time.Time  `bson:"created_at" json:"created_at"`
	FirstCall  *time.Time `bson:"first_call,omitempty" json:"first_call,omitempty"`
	LastCall   *time.Time `bson:"last_call,omitempty" json:"last_call,omitempty"`
	DoneAt     *time.Time `bson:"done_at,omitempty" json:"done_at,omitempty"`
	// Delivery of a message: the wamid learnt from the reply or a status, and the highest status seen.
	Wamid  string `bson:"wamid,omitempty" json:"wamid,omitempty"`
	Status string `bson:"status,omitempty" json:"status,omitempty"`
}

// Wakes implements store.Waker: a worker of this kind may have something to do. One that is leased is in somebody's
// hands, and who has done one looks for the next by himself.
func (o *Operation) Wakes() string {
	if o.Lease != nil || o.State == Done {
		return ""
	}
	return string(o.Kind)
}

// Message is what Notify sends. Either Key with Args is rendered in the user's language when it is sent, or Text is
// sent as it is. It never holds a PIN, a token or an account number.
type Message struct {
	Type    string            `bson:"type" json:"type"` // text, buttons, list, flow, image
	Key     string            `bson:"key,omitempty" json:"key,omitempty"`
	Args    map[string]string `bson:"args,omitempty" json:"args,omitempty"`
	Text    string            `bson:"text,omitempty" json:"text,omitempty"`
	Buttons []Button          `bson:"buttons,omitempty" json:"buttons,omitempty"`
	List    *List             `bson:"list,omitempty" json:"list,omitempty"`
	Flow    *Flow             `bson:"flow,omitempty" json:"flow,omitempty"`
	Image   *Image            `bson:"image,omitempty" json:"image,omitempty"`
	ReplyTo string            `bson:"reply_to,omitempty" json:"reply_to,omitempty"` // wamid quoted
	// Template carries Key and Args outside the 24-hour window; empty: the message waits for the next one.
	Template string `bson:"template,omitempty" json:"template,omitempty"`
}

// Button is a reply button. Its Title, like every label of a list and a Flow's CTA, is a text key, or literal words when the
// catalogue has no such key.
type Button struct {
	ID    string `bson:"id" json:"id"`
	Title string `bson:"title" json:"title"`
}

// List is a list message of one section or more, at most ten rows in total.
type List struct {
	Button   string    `bson:"button" json:"button"`
	Sections []Section `bson:"sections" json:"sections"`
}

// Section is a titled group of rows.
type Section struct {
	Title string `bson:"title,omitempty" json:"title,omitempty"`
	Rows  []Row  `bson:"rows" json:"rows"`
}

// Row is one choice of a list.
type Row struct {
	ID          string `bson:"id" json:"id"`
	Title       string `bson:"title" json:"title"`
	Description string `bson:"description,omitempty" json:"description,omitempty"`
}

// Flow opens a WhatsApp Flow. The token is not stored: it is derived from Session when the message is sent.
type Flow struct {
	Name    string `bson:"name" json:"name"`       // sign_up, offramp_flow
	Session string `bson:"session" json:"session"` // seed of the token, see flows.Tokens
	CTA     string `bson:"cta" json:"cta"`
}

// Image is a picture made when it is sent: Kind "slip" for an order, "qr" for an address.
type Image struct {
	Kind  string `bson:"kind" json:"kind"`
	Value string `bson:"value" json:"value"`
}

// Indexes declares what the collection is searched by.
var Indexes = []store.Index{
	{Collection: store.Outbox, Name: "due", Fields: []string{"kind", "due"}},
	{Collection: store.Outbox, Name: "lane", Fields: []string{"lane", "created_at"}},
	{Collection: store.Outbox, Name: "open", Fields: []string{"lane", "due"}}, // only open operations have a due time
	{Collection: store.Outbox, Name: "order", Fields: []string{"order", "created_at"}},
	{Collection: store.Outbox, Name: "reference", Fields: []string{"reference"}},
	{Collection: store.Outbox, Name: "state", Fields: []string{"state", "created_at"}},
}
