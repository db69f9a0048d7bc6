package figures

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"offrampbot/services/store"
)

// Sum is one account or state now: its roll-up and the open tail behind it.
type Sum struct {
	Kind    Kind   `json:"kind"`
	Name    string `json:"name"`
	Asset   string `json:"asset,omitempty"`
	Balance int64  `json:"balance"` // credits less debits, or orders in the state
}

// mostTail is how many records behind the roll-up are added up for a reader. A roll-up that works is never so far behind;
// after a stand-still, or a bulk load, a reader would add for minutes.
const mostTail = 20_000

// ErrBehind comes with sums that lack the newest records: the roll-up is catching up.
var ErrBehind = errors.New("the figures are catching up")

// Read gives every account and state now, accounts first, each sorted by name. Call it in one snapshot: figures and tail
// must be of the same moment. With ErrBehind the sums are those of the roll-up alone.
func Read(r store.Reader) ([]Sum, error) {
	var out []Sum
	var behind error
	for _, k := range []Kind{Account, State} {
		sums, err := sumsOf(r, k)
		if errors.Is(err, ErrBehind) {
			behind = err
		} else if err != nil {
			return nil, fmt.Errorf("read %s figures: %w", k, err)
		}
		out = append(out, sums...)
	}
	return out, behind
}

// sumsOf gives the sums of one kind.
func sumsOf(r store.Reader, k Kind) ([]Sum, error) {
	sums := map[string]*Sum{}
	for name := ""; ; {
		f, err := nextName(r, k, name)
		if err != nil {
			return nil, err
		}
		if f == nil {
			break
		}
		name = f.Name
		newest, err := latest(r, k, name)
		if err != nil {
			return nil, err
		}
		sums[name] = &Sum{Kind: k, Name: name, Asset: newest.Asset, Balance: newest.Balance}
	}
	c, err := loadCursor(r, k)
	if err != nil {
		return nil, err
	}
	tail, err := after(r, k, c, time.Time{}, mostTail+1)
	if err != nil {
		return nil, err
	}
	var behind error
	if len(tail) > mostTail {
		tail, behind = nil, ErrBehind
	}
	for _, one := range tail {
		for _, c := range one.changes {
			s := sums[c.name]
			if s == nil {
				s = &Sum{Kind: k, Name: c.name, Asset: c.asset}
				sums[c.name] = s
			}
			s.Balance += c.in - c.out
		}
	}
	out := make([]Sum, 0, len(sums))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, *sums[name])
	}
	return out, behind
}

// nextName is the first figure of the name behind this one, nil behind the last.
func nextName(r store.Reader, k Kind, name string) (*Figure, error) {
	from := string(k) + "|"
	if name != "" {
		from = id(k, name, last)
	}
	all, err := store.All[Figure](r, store.Query{
		Collection: store.Figures, Index: store.ByID, From: from, Until: string(k) + "|" + last, Limit: 1,
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// Of finds the balance of one name among sums, zero when it has none.
func Of(sums []Sum, k Kind, name string) int64 {
	i, found := slices.BinarySearchFunc(sums, Sum{Kind: k, Name: name}, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if !found {
		return 0
	}
	return sums[i].Balance
}
