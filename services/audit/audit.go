// Package audit appends to the trail: who did what, why, before and after, in streams whose entries are chained by
// hash. An entry is written in the transaction of the effect it records.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/store"
)

// Entry is one line of the trail.
type Entry struct {
	store.Meta `bson:",inline"`
	Stream     string            `bson:"stream" json:"stream"` // order:<id>, user:<id>, staff:<id>, settings, system:<process>
	Seq        int64             `bson:"seq" json:"seq"`
	At         time.Time         `bson:"at" json:"at"`
	Actor      string            `bson:"actor" json:"actor"` // user:<id>, staff:<id>, worker, timer, chain, venue, provider
	Action     string            `bson:"action" json:"action"`
	Why        string            `bson:"why,omitempty" json:"why,omitempty"`
	Before     string            `bson:"before,omitempty" json:"before,omitempty"`
	After      string            `bson:"after,omitempty" json:"after,omitempty"`
	Data       map[string]string `bson:"data,omitempty" json:"data,omitempty"`
	Previous   string            `bson:"previous" json:"previous"`
	Hash       string            `bson:"hash" json:"hash"`
}

// DuplicateBlocked is the action of the entry that every refused duplicate of a sale leaves in its user's stream (DESIGN
// §9, §12). Data names the intent that was sent and the one that stands in its way (blocked_by).
const DuplicateBlocked = "duplicate_blocked"

// Head is the guard document of a stream: the last entry's number and hash.
type Head struct {
	store.Meta `bson:",inline"`
	Seq        int64  `bson:"seq" json:"seq"`
	Hash       string `bson:"hash" json:"hash"`
}

// Indexes declares what the trail is searched by.
var Indexes = []store.Index{
	{Collection: store.Audit, Name: "stream", Fields: []string{"stream", "seq"}, Unique: true},
	{Collection: store.Audit, Name: "at", Fields: []string{"at"}},
	{Collection: store.Audit, Name: "action", Fields: []string{"action", "at"}},
	{Collection: store.Audit, Name: "actor", Fields: []string{"actor", "at"}},
}

// ID is the id of an entry: the stream and its number, padded so that ids sort.
func ID(stream string, seq int64) string { return fmt.Sprintf("%s:%09d", stream, seq) }

// Append adds an entry to its stream. The stream's head is the guard: two writers of one stream cannot both commit.
func Append(tx store.Tx, e Entry) error {
	var head Head
	err := tx.Get(store.Heads, e.Stream, &head)
	fresh := errors.Is(err, store.ErrNotFound)
	if err != nil && !fresh {
		return fmt.Errorf("read audit head %s: %w", e.Stream, err)
	}
	e.Seq, e.Previous = head.Seq+1, head.Hash
	e.ID, e.Version = ID(e.Stream, e.Seq), 1
	e.At = e.At.UTC().Truncate(time.Millisecond)
	e.Hash = e.digest()
	if err := tx.Insert(store.Audit, &e); err != nil {
		return fmt.Errorf("append audit entry %s: %w", e.ID, err)
	}
	head.Seq, head.Hash = e.Seq, e.Hash
	if fresh {
		head.ID, head.Version = e.Stream, 1
		return tx.Insert(store.Heads, &head)
	}
	return tx.Replace(store.Heads, &head)
}

// digest hashes the entry with the hash before it, over an unambiguous encoding.
func (e *Entry) digest() string {
	body, err := json.Marshal([]any{
		e.Stream, e.Seq, e.At.UnixMilli(), e.Actor, e.Action, e.Why, e.Before, e.After, e.Data, e.Previous,
	})
	if err != nil { // strings, integers and a string map always encode
		panic(err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Broken says where a chain does not hold.
type Broken struct {
	ID   string
	Text string
}

// Verify walks one stream and reports every entry that was changed, removed or added behind the chain's back.
func Verify(r store.Reader, stream string) ([]Broken, error) {
	var out []Broken
	var seq int64
	previous := ""
	err := r.Find(store.Query{Collection: store.Audit, Index: "stream", Equal: []any{stream}},
		func(decode store.Decode) (bool, error) {
			var e Entry
			if err := decode(&e); err != nil {
				return false, err
			}
			seq++
			switch {
			case e.Seq != seq:
				out = append(out, Broken{e.ID, fmt.Sprintf("entry %d is missing", seq)})
				seq = e.Seq
			case e.Previous != previous:
				out = append(out, Broken{e.ID, "does not follow the entry before it"})
			case e.Hash != e.digest():
				out = append(out, Broken{e.ID, "was changed"})
			}
			previous = e.Hash
			return true, nil
		})
	if err != nil {
		return nil, fmt.Errorf("read audit stream %s: %w", stream, err)
	}
	var head Head
	if err := r.Get(store.Heads, stream, &head); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if head.Seq != seq || head.Hash != previous {
		out = append(out, Broken{stream, fmt.Sprintf("head says %d entries, the chain has %d", head.Seq, seq)})
	}
	return out, nil
}
