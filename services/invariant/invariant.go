// Package invariant checks what must always hold of the stored records (DESIGN §15). Each order, account and deposit is
// checked in one snapshot, so that the check is true while others write; nothing is changed.
package invariant

import (
	"context"
	"errors"
	"fmt"

	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/deposit"
	"offrampbot/services/figures"
	"offrampbot/services/ledger"
	"offrampbot/services/offramp"
	"offrampbot/services/store"
)

// Difference is one thing that does not hold.
type Difference struct {
	ID   string `json:"id"`   // the document's _id
	Rule string `json:"rule"` // I1 … I14, chain or figures
	Text string `json:"text"`
}

// Report is the result of a check, as `offrampbot verify --json` prints it.
type Report struct {
	OK          bool           `json:"ok"`
	Checked     map[string]int `json:"checked"` // documents by collection
	Differences []Difference   `json:"differences"`
}

// Checker verifies a store.
type Checker struct {
	engine   store.Engine
	registry *assets.Registry
}

// New returns a Checker.
func New(engine store.Engine, registry *assets.Registry) (*Checker, error) {
	if engine == nil || registry == nil {
		return nil, errors.New("invariant checker: engine and registry are required")
	}
	return &Checker{engine: engine, registry: registry}, nil
}

// page is how many documents one snapshot looks through when only their ids are wanted.
const page = 500

// Verify checks everything.
func (c *Checker) Verify(ctx context.Context) (Report, error) {
	r := Report{Checked: map[string]int{}, Differences: []Difference{}}
	for _, part := range []struct {
		collection store.Collection
		check      func(store.Reader, string) ([]Difference, error)
	}{
		{store.Orders, c.order},
		{store.Accounts, c.account},
		{store.Deposits, c.deposit},
		{store.Heads, c.stream},
	} {
		n, err := c.walk(ctx, part.collection, func(id string) error {
			found, err := c.one(ctx, id, part.check)
			r.Differences = append(r.Differences, found...)
			return err
		})
		if err != nil {
			return r, fmt.Errorf("verify %s: %w", part.collection, err)
		}
		r.Checked[string(part.collection)] = n
	}
	gone, err := audit.VerifyCheckpoints(ctx, c.engine)
	if err != nil {
		return r, fmt.Errorf("verify checkpoints: %w", err)
	}
	for _, b := range gone {
		r.Differences = append(r.Differences, Difference{b.ID, "I11", b.Text})
	}
	n, wrong, err := figures.Check(ctx, c.engine)
	if err != nil {
		return r, fmt.Errorf("verify figures: %w", err)
	}
	r.Checked[string(store.Figures)] = n
	for _, d := range wrong {
		r.Differences = append(r.Differences, Difference{d.ID, "figures", d.Text})
	}
	r.OK = len(r.Differences) == 0
	return r, nil
}

// One checks one order, for the watchman and for tests.
func (c *Checker) One(ctx context.Context, orderID string) ([]Difference, error) {
	return c.one(ctx, orderID, c.order)
}

func (c *Checker) one(ctx context.Context, id string, check func(store.Reader, string) ([]Difference, error)) (d []Difference, err error) {
	err = c.engine.View(ctx, func(_ context.Context, r store.Reader) (err error) {
		d, err = check(r, id)
		return err
	})
	return d, err
}

// anyDocument reads only the head of a document.
type anyDocument struct {
	store.Meta `bson:",inline"`
}

// walk visits every id of a collection in order, a snapshot per page.
func (c *Checker) walk(ctx context.Context, collection store.Collection, visit func(id string) error) (n int, err error) {
	after := store.Cursor(nil)
	for {
		var ids []string
		err := c.engine.View(ctx, func(_ context.Context, r store.Reader) error {
			ids = nil
			all, err := store.All[anyDocument](r, store.Query{Collection: collection, Index: store.ByID, Limit: page, After: after})
			for _, d := range all {
				ids = append(ids, d.ID)
			}
			return err
		})
		if err != nil {
			return n, err
		}
		for _, id := range ids {
			if err := visit(id); err != nil {
				return n, err
			}
			n++
		}
		if len(ids) < page {
			return n, nil
		}
		after = store.Cursor{ids[len(ids)-1]}
	}
}

// account compares a user's account with the postings (I4).
func (c *Checker) account(r store.Reader, id string) ([]Difference, error) {
	var a ledger.Account
	if err := r.Get(store.Accounts, id, &a); err != nil {
		return nil, ignoreMissing(err)
	}
	var out []Difference
	if err := a.Check(); err != nil {
		out = append(out, Difference{id, "I4", err.Error()})
	}
	for _, s := range []struct {
		account string
		want    int64
	}{
		{"user:" + a.User + ":" + a.Asset + ":available", int64(a.Available)},
		{"user:" + a.User + ":" + a.Asset + ":held", int64(a.Held)},
		{ledger.Receivable(a.User, a.Asset), -int64(a.Owed)},
	} {
		got, err := Balance(r, s.account)
		if err != nil {
			return nil, err
		}
		if got != s.want {
			out = append(out, Difference{id, "I4", fmt.Sprintf("%s: document says %d, postings say %d", s.account, s.want, got)})
		}
	}
	return out, nil
}

// Balance sums the postings of one account: credits less debits.
func Balance(r store.Reader, account string) (int64, error) {
	var sum int64
	for index, sign := range map[string]int64{"credit": 1, "debit": -1} {
		all, err := store.All[ledger.Posting](r, store.Query{Collection: store.Postings, Index: index, Equal: []any{account}})
		if err != nil {
			return 0, err
		}
		for _, p := range all {
			sum += sign * p.Amount
		}
	}
	return sum, nil
}

// chain checks a chain of postings and returns them.
func chain(r store.Reader, owner, name string, tail ledger.Tail) ([]*ledger.Posting, []Difference, error) {
	all, err := store.All[ledger.Posting](r, store.Query{Collection: store.Postings, Index: "chain", Equal: []any{name}})
	if err != nil {
		return nil, nil, err
	}
	var out []Difference
	previous := ""
	for i, p := range all {
		switch {
		case p.Seq != int64(i+1):
			out = append(out, Difference{p.ID, "chain", fmt.Sprintf("posting %d of %s is missing", i+1, name)})
		case !p.Intact(previous):
			out = append(out, Difference{p.ID, "chain", "posting was changed, or does not follow the one before it"})
		}
		if p.Amount <= 0 || p.Debit == p.Credit {
			out = append(out, Difference{p.ID, "I3", "posting is not a movement between two accounts"})
		}
		previous = p.Hash
	}
	if int64(len(all)) != tail.Seq || previous != tail.Hash {
		out = append(out, Difference{owner, "chain", fmt.Sprintf("document says %d postings, the chain has %d", tail.Seq, len(all))})
	}
	return all, out, nil
}

// deposit checks that credits and reversals alternate (I5).
func (c *Checker) deposit(r store.Reader, id string) ([]Difference, error) {
	var d deposit.Deposit
	if err := r.Get(store.Deposits, id, &d); err != nil {
		return nil, ignoreMissing(err)
	}
	postings, out, err := chain(r, id, "deposit:"+id, d.Tail)
	if err != nil {
		return nil, err
	}
	var net int64
	for _, p := range postings {
		switch ledger.OnChain(d.Chain, d.Asset) {
		case p.Debit:
			net += p.Amount
		case p.Credit:
			net -= p.Amount
		}
	}
	want := int64(0)
	if d.Credited && d.State != deposit.Settled || d.Credited && net > 0 {
		want = int64(d.Micro)
	}
	if d.Credited && net < 0 { // an outgoing transfer to the treasury
		want = -int64(d.Micro)
	}
	if net != want {
		out = append(out, Difference{id, "I5", fmt.Sprintf("credited is %v, the postings sum to %d of %d", d.Credited, net, d.Micro)})
	}
	return out, nil
}

// stream checks one audit stream (I11).
func (c *Checker) stream(r store.Reader, id string) ([]Difference, error) {
	broken, err := audit.Verify(r, id)
	if err != nil {
		return nil, err
	}
	out := make([]Difference, 0, len(broken))
	for _, b := range broken {
		out = append(out, Difference{b.ID, "I11", b.Text})
	}
	return out, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// order checks one order in one snapshot.
func (c *Checker) order(r store.Reader, id string) ([]Difference, error) {
	var o offramp.Order
	if err := r.Get(store.Orders, id, &o); err != nil {
		return nil, ignoreMissing(err)
	}
	postings, out, err := chain(r, id, "order:"+id, o.Tail)
	if err != nil {
		return nil, err
	}
	out = append(out, money(&o, postings)...)
	out = append(out, history(&o)...)
	more, err := operations(r, &o)
	if err != nil {
		return nil, err
	}
	out = append(out, more...)
	more, err = trail(r, &o)
	return append(out, more...), err
}
