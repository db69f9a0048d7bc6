package chaintest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"offrampbot/services/deposit"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// Posting is one entry of the books: money that came to a user or to suspense, or was taken back.
type Posting struct {
	store.Meta `bson:",inline"`
	Ref        string      `bson:"ref" json:"ref"`
	Step       string      `bson:"step" json:"step"` // credit, reverse, treasury
	Account    string      `bson:"account" json:"account"`
	Micro      money.Micro `bson:"micro" json:"micro"`
}

// Books is an applier that books credits and reversals and nothing else. It refuses what an honest watcher never sends,
// so a test fails where the rule is broken (R109, R110, G8). Each fact is one transaction. A watcher plans from the store,
// so even a repeated credit or reversal is refused here, although a real applier ignores it.
type Books struct {
	engine store.Engine

	mu     sync.Mutex
	facts  []deposit.Fact // applied, in order
	check  func(deposit.Fact)
	before map[deposit.FactKind]int
	after  map[deposit.FactKind]int
}

// NewBooks returns the books of a store.
func NewBooks(engine store.Engine) *Books {
	return &Books{engine: engine, before: make(map[deposit.FactKind]int), after: make(map[deposit.FactKind]int)}
}

// ErrBroken: a fact breaks a rule that the watcher must keep.
var ErrBroken = errors.New("fact breaks a rule")

// FailBefore makes the next n facts of a kind fail without a commit.
func (b *Books) FailBefore(kind deposit.FactKind, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.before[kind] = n
}

// FailAfter makes the next n facts of a kind fail after their commit: the answer is lost.
func (b *Books) FailAfter(kind deposit.FactKind, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after[kind] = n
}

// Facts returns what was applied since the last call, in order.
func (b *Books) Facts() []deposit.Fact {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.facts
	b.facts = nil
	return out
}

// OnFact runs check for every fact before it is booked.
func (b *Books) OnFact(check func(deposit.Fact)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.check = check
}

func (b *Books) spend(m map[deposit.FactKind]int, kind deposit.FactKind) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m[kind] > 0 {
		m[kind]--
		return fmt.Errorf("%s: %w", kind, ErrScripted)
	}
	return nil
}

// ApplyDeposit implements deposit.Applier.
func (b *Books) ApplyDeposit(ctx context.Context, f deposit.Fact) error {
	if err := b.spend(b.before, f.Kind); err != nil {
		return err
	}
	b.mu.Lock()
	check := b.check
	b.mu.Unlock()
	if check != nil {
		check(f)
	}
	err := b.engine.Update(ctx, func(_ context.Context, tx store.Tx) error { return book(tx, f) })
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.facts = append(b.facts, f)
	b.mu.Unlock()
	return b.spend(b.after, f.Kind)
}

// book is the transaction of one fact.
func book(tx store.Tx, f deposit.Fact) error {
	next := f.Deposit
	var stored deposit.Deposit
	err := tx.Get(store.Deposits, next.ID, &stored)
	fresh := errors.Is(err, store.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	if !fresh && stored.Fingerprint != next.Fingerprint {
		return fmt.Errorf("%s of %s changes its contents: %w", f.Kind, next.ID, ErrBroken)
	}
	next.Meta, next.Epoch, next.Credited, next.Suspense = stored.Meta, stored.Epoch, stored.Credited, stored.Suspense
	next.ID, next.Version = f.Deposit.ID, 1
	if err := move(tx, f, &next); err != nil {
		return err
	}
	if fresh {
		return tx.Insert(store.Deposits, &next)
	}
	return tx.Replace(store.Deposits, &next)
}

// move books what the fact moves and checks that it may.
func move(tx store.Tx, f deposit.Fact, d *deposit.Deposit) error {
	broken := func(why string) error { return fmt.Errorf("%s of %s: %s: %w", f.Kind, d.ID, why, ErrBroken) }
	switch f.Kind {
	case deposit.FactConfirmed:
		if d.Credited {
			return broken("credited twice without a reversal")
		}
		if d.Asset == "" || d.User == "" || d.Micro <= 0 {
			return broken("credit without asset, user or amount")
		}
		d.Credited = true
		return post(tx, d, "credit", d.User+":"+d.Asset, d.Micro)
	case deposit.FactReverted:
		if !d.Credited {
			return broken("reversed without a credit")
		}
		if err := post(tx, d, "reverse", d.User+":"+d.Asset, -d.Micro); err != nil {
			return err
		}
		d.Credited = false
		d.Epoch++
	case deposit.FactDropped:
		if d.Credited {
			return broken("a credited deposit is dropped")
		}
	case deposit.FactSettled:
		if !d.Credited {
			return broken("settled without a credit")
		}
	case deposit.FactParked:
		booked := d.Reason == deposit.ReasonNoOwner || d.Reason == deposit.ReasonFromTreasury
		if booked && !d.Credited {
			d.Credited, d.Suspense = true, true
			return post(tx, d, "credit", "suspense:"+d.Asset, d.Micro)
		}
	case deposit.FactOutgoing:
		if d.Reason == deposit.ReasonTreasury {
			return post(tx, d, "treasury", "chain:"+d.Asset, -d.Micro)
		}
	case deposit.FactSeen, deposit.FactMissing:
	}
	return nil
}

// post inserts an entry under an id that can exist once: a second credit of one epoch cannot be booked.
func post(tx store.Tx, d *deposit.Deposit, step, account string, amount money.Micro) error {
	p := Posting{Ref: d.ID, Step: step, Account: account, Micro: amount}
	p.ID, p.Version = fmt.Sprintf("%s:%d:%s", d.ID, d.Epoch, step), 1
	if _, err := tx.Ensure(store.Postings, &p); err != nil {
		return fmt.Errorf("book %s: %w", p.ID, err)
	}
	return nil
}

// Postings lists the entries of a deposit by step.
func (b *Books) Postings(ctx context.Context) (map[string][]Posting, error) {
	out := map[string][]Posting{}
	err := b.engine.View(ctx, func(_ context.Context, r store.Reader) error {
		clear(out)
		rows, err := store.All[Posting](r, store.Query{Collection: store.Postings, Index: "_id"})
		for _, p := range rows {
			out[p.Ref] = append(out[p.Ref], *p)
		}
		return err
	})
	return out, err
}

// Balance is the sum of an account's entries: `<user>:<asset>`, `suspense:<asset>` or `chain:<asset>`.
func (b *Books) Balance(ctx context.Context, account string) (money.Micro, error) {
	all, err := b.Postings(ctx)
	if err != nil {
		return 0, err
	}
	var sum money.Micro
	for _, list := range all {
		for _, p := range list {
			if p.Account == account {
				sum += p.Micro
			}
		}
	}
	return sum, nil
}

var _ deposit.Applier = (*Books)(nil)
