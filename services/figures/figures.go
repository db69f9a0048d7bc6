// Package figures keeps roll-ups, so that what staff see first does not add up every posting ever made: the sum of each
// system account a day, and how many orders went into and out of each state a day (DESIGN §5). A Step folds what is older
// than two minutes, strictly in the order of time and id; whoever reads adds the open tail behind it. Nothing decides on
// a figure: they can be thrown away and made again, and verify computes them anew and compares.
package figures

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"offrampbot/services/audit"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

// Kind is what a figure sums.
type Kind string

// The kinds, each with the stream of records it is made from.
const (
	Account Kind = "account" // postings, in the asset's units
	State   Kind = "state"   // moves of orders, in orders
)

// Figure is one account or state on one day, in UTC. Its id is "<kind>|<name>|<day>", so a name's days sort by time.
type Figure struct {
	store.Meta `bson:",inline"`
	Kind       Kind   `bson:"kind" json:"kind"`
	Name       string `bson:"name" json:"name"` // an account, see NameOf, or a state
	Asset      string `bson:"asset,omitempty" json:"asset,omitempty"`
	Day        string `bson:"day" json:"day"`         // 2026-06-03
	In         int64  `bson:"in" json:"in"`           // credits of the day, or orders that came into the state
	Out        int64  `bson:"out" json:"out"`         // debits of the day, or orders that left it
	Records    int64  `bson:"records" json:"records"` // folded into this figure
	Balance    int64  `bson:"balance" json:"balance"` // In less Out of this and all earlier days
}

// Cursor is the guard of one stream: the place of the last record that was folded. A transaction that folds replaces it,
// so two that fold the same records cannot both commit.
type Cursor struct {
	store.Meta `bson:",inline"`
	At         time.Time `bson:"at" json:"at"`
	Last       string    `bson:"last" json:"last"`       // the record's `_id`
	Records    int64     `bson:"records" json:"records"` // folded so far, those without a figure too
}

const version = 1

func id(k Kind, name, day string) string { return string(k) + "|" + name + "|" + day }

func cursorID(k Kind) string { return "cursor|" + string(k) }

// last is behind every day of a name, and every name of a kind.
const last = "~"

// change is what one record adds to one figure.
type change struct {
	name, asset string
	in, out     int64
}

// record is one row of a stream.
type record struct {
	id      string
	at      time.Time
	changes []change
}

// NameOf is the figure that an account's postings are summed in. System accounts have their own; the accounts of all
// users are one figure a kind and asset, because each user's own is a guarded document: "user:*:USDT:available",
// "user:*:USDT:held", "receivable:*:USDT".
func NameOf(account string) string {
	parts := strings.Split(account, ":")
	if len(parts) > 2 && (parts[0] == "user" || parts[0] == "receivable") {
		parts[1] = "*"
	}
	return strings.Join(parts, ":")
}

// stream is how the records of a kind are read: over an index of their time.
func stream(k Kind) store.Collection {
	if k == Account {
		return store.Postings
	}
	return store.Audit
}

// readRecord decodes one row of a kind's stream.
func readRecord(k Kind, decode store.Decode) (record, error) {
	if k == Account {
		var p ledger.Posting
		err := decode(&p)
		return record{id: p.ID, at: p.At, changes: []change{
			{name: NameOf(p.Debit), asset: p.Asset, out: p.Amount}, {name: NameOf(p.Credit), asset: p.Asset, in: p.Amount},
		}}, err
	}
	var e audit.Entry
	err := decode(&e)
	return record{id: e.ID, at: e.At, changes: moves(&e)}, err
}

// moves is what a trail entry says about states: an order's transition has its event as the action, and before and after
// as "state (phase)". Refused events have no after; entries of other streams have no such form.
func moves(e *audit.Entry) []change {
	if !strings.HasPrefix(e.Stream, "order:") || e.After == "" || !slices.Contains(offramp.Events(), offramp.Event(e.Action)) {
		return nil
	}
	from, _, _ := strings.Cut(e.Before, " (")
	to, _, _ := strings.Cut(e.After, " (")
	if from == to {
		return nil
	}
	out := []change{{name: to, in: 1}}
	if from != "" {
		out = append(out, change{name: from, out: 1})
	}
	return out
}

// apply adds a change.
func (f *Figure) apply(c change) error {
	f.In, f.Out, f.Records, f.Balance = f.In+c.in, f.Out+c.out, f.Records+1, f.Balance+c.in-c.out
	if f.In < 0 || f.Out < 0 {
		return fmt.Errorf("figure %s overflows", f.ID)
	}
	return nil
}

func newFigure(k Kind, c change, day string, opening int64) *Figure {
	f := &Figure{Kind: k, Name: c.name, Asset: c.asset, Day: day, Balance: opening}
	f.ID, f.Version = id(k, c.name, day), version
	return f
}

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }
