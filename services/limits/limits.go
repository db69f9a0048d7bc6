// Package limits holds how much a user may sell (E11, DESIGN §11) and the rule of one unfunded order per user and asset
// (DESIGN §7 rule 6). Both rules span several orders, so their guard is the user's document in `limits`: every
// transaction that places, funds, renews or ends an order reads it through its Tx and replaces it, and two racers
// cannot both win.
//
// Everything but Load and Save is pure. Amounts are the gross fiat of a sale in minor units; windows roll: 24 hours
// and 30 days up to now.
package limits

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"offrampbot/services/money"
	"offrampbot/services/store"
)

// The windows.
const (
	Day   = 24 * time.Hour
	Month = 30 * Day
)

// Entry is one order that counts, from Placed on; cancelled, failed and returned orders are removed.
type Entry struct {
	Order       string      `bson:"order" json:"order"`
	At          time.Time   `bson:"at" json:"at"` // Placed, or the last renewal
	Fiat        string      `bson:"fiat" json:"fiat"`
	Minor       money.Minor `bson:"minor" json:"minor"`
	Beneficiary string      `bson:"beneficiary" json:"beneficiary"`
	Ended       bool        `bson:"ended,omitempty" json:"ended,omitempty"` // success: it counts, and may be pruned
}

// Doc is the document of one user; its id is the user id.
type Doc struct {
	store.Meta `bson:",inline"`
	Entries    []Entry `bson:"entries" json:"entries"`
	// Open is the unfunded order (waiting, deposit or overdue) by asset.
	Open map[string]string `bson:"open" json:"open"`
}

// Load reads a user's document; one that does not exist yet is empty and is inserted by Save.
func Load(r store.Reader, userID string) (*Doc, error) {
	d := Doc{}
	err := r.Get(store.Limits, userID, &d)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read limits of %s: %w", userID, err)
	}
	d.ID, d.Version = userID, 1
	if d.Open == nil {
		d.Open = map[string]string{}
	}
	return &d, nil
}

// Save writes the document that Load returned in the same transaction. It always writes, also when nothing changed: the
// write is the guard.
func Save(tx store.Tx, d *Doc) error {
	write := tx.Replace
	if d.Revision == 0 {
		write = tx.Insert
	}
	if err := write(store.Limits, d); err != nil {
		return fmt.Errorf("save limits of %s: %w", d.ID, err)
	}
	return nil
}

// Touch replaces the document without a change, for a transaction that needs the guard alone, such as a freeze.
func Touch(tx store.Tx, userID string) error {
	d, err := Load(tx, userID)
	if err != nil {
		return err
	}
	return Save(tx, d)
}

// Add counts an order, or counts it anew after a renewal, and drops what no longer matters.
func Add(d *Doc, e Entry, now time.Time) {
	e.At = e.At.UTC().Truncate(time.Millisecond)
	d.Entries = slices.DeleteFunc(d.Entries, func(old Entry) bool { return old.Order == e.Order })
	d.Entries = append(d.Entries, e)
	Prune(d, now)
}

// Remove stops counting an order that was cancelled, failed or returned; an unknown one changes nothing.
func Remove(d *Doc, order string) {
	d.Entries = slices.DeleteFunc(d.Entries, func(e Entry) bool { return e.Order == order })
}

// End marks an order as paid: it goes on counting until it is 30 days old.
func End(d *Doc, order string) {
	for i := range d.Entries {
		if d.Entries[i].Order == order {
			d.Entries[i].Ended = true
		}
	}
}

// Prune drops the entries that ended and left the longest window. One that has not ended stays, however old: its order
// may still be removed, renewed or paid.
func Prune(d *Doc, now time.Time) {
	d.Entries = slices.DeleteFunc(d.Entries, func(e Entry) bool { return e.Ended && now.Sub(e.At) >= Month })
}
