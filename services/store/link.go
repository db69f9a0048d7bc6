package store

import "errors"

// Link makes one learnt id (wamid, provider reference, transaction hash, phone digest, human reference …) findable: its
// document id is `<normalised id>|<target>`, so searching is an exact look-up (DESIGN §4).
type Link struct {
	Meta   `bson:",inline"`
	Kind   string `bson:"kind" json:"kind"` // what the target is: order, user, deposit, operation, receipt
	Target string `bson:"target" json:"target"`
}

// Relate stores a link; normal is the id as ids.NormalID makes it. A repeat changes nothing.
func Relate(tx Tx, normal, kind, target string) error {
	l := &Link{Kind: kind, Target: target}
	l.ID, l.Version = normal+"|"+target, 1
	_, err := tx.Ensure(Links, l)
	return err
}

// Related returns what an id is linked to.
func Related(r Reader, normal string) ([]*Link, error) {
	if normal == "" {
		return nil, errors.New("look up links: id is empty")
	}
	return All[Link](r, Query{Collection: Links, Index: "_id", From: normal + "|", Until: normal + "}"})
}
