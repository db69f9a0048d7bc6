// Package ledger is the double-entry book: append-only postings of integers, one debit and one credit each, and one
// guarded account document per user and asset. System accounts are sums of postings, so no two orders fight over one
// document (DESIGN §6).
//
// Sign convention: a posting moves Amount from Debit to Credit; the balance of an account is its credits less its
// debits. What we hold (chain, float, treasury) is therefore negative, what we owe (users, due) positive, and all
// balances of one asset sum to zero.
package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"offrampbot/services/money"
	"offrampbot/services/store"
)

// Posting is one balanced entry. Its id is `<operation>:<step>` or `<deposit ref>:<epoch>:<step>`, so a repeat of the
// same step collides instead of booking twice.
type Posting struct {
	store.Meta `bson:",inline"`
	Debit      string    `bson:"debit" json:"debit"`
	Credit     string    `bson:"credit" json:"credit"`
	Asset      string    `bson:"asset" json:"asset"` // USDT, NGN …
	Amount     int64     `bson:"amount" json:"amount"`
	Order      string    `bson:"order,omitempty" json:"order,omitempty"`
	User       string    `bson:"user,omitempty" json:"user,omitempty"`
	Chain      string    `bson:"chain" json:"chain"` // what Previous follows: the order's or the deposit's postings
	Seq        int64     `bson:"seq" json:"seq"`
	At         time.Time `bson:"at" json:"at"`
	Previous   string    `bson:"previous" json:"previous"`
	Hash       string    `bson:"hash" json:"hash"`
}

// Tail is the end of a chain of postings; the document that owns the chain (order, deposit) stores it.
type Tail struct {
	Seq  int64  `bson:"seq" json:"seq"`
	Hash string `bson:"hash" json:"hash"`
}

// Account is one user's money of one asset, and the guard of every rule about it. Invariant: Available ≥ 0 and Held is
// the sum of Holds (I4).
type Account struct {
	store.Meta `bson:",inline"`
	User       string                 `bson:"user" json:"user"`
	Asset      string                 `bson:"asset" json:"asset"`
	Available  money.Micro            `bson:"available" json:"available"`
	Held       money.Micro            `bson:"held" json:"held"`
	Holds      map[string]money.Micro `bson:"holds" json:"holds"`         // by order id
	Incoming   money.Micro            `bson:"incoming" json:"incoming"`   // seen on chain, not deep enough
	Owed       money.Micro            `bson:"owed" json:"owed"`           // receivable: the user owes us crypto
	OwedFiat   map[string]money.Minor `bson:"owed_fiat" json:"owed_fiat"` // receivable: the user owes us fiat
	Sequence   int64                  `bson:"sequence" json:"sequence"`   // raised by every change
}

// Indexes declares what the collections are searched by.
var Indexes = []store.Index{
	{Collection: store.Postings, Name: "order", Fields: []string{"order", "at"}},
	{Collection: store.Postings, Name: "chain", Fields: []string{"chain", "seq"}, Unique: true},
	{Collection: store.Postings, Name: "debit", Fields: []string{"debit", "at"}},
	{Collection: store.Postings, Name: "credit", Fields: []string{"credit", "at"}},
	{Collection: store.Postings, Name: "at", Fields: []string{"at"}},
	{Collection: store.Accounts, Name: "user", Fields: []string{"user"}},
}

var (
	// ErrShort: the account's available amount does not cover the step.
	ErrShort = errors.New("available amount too small")
	// ErrHold: the hold does not exist, exists already or is of another amount.
	ErrHold = errors.New("hold does not allow this")
	// ErrAmount: an amount is not positive or overflows.
	ErrAmount = errors.New("amount is not positive")
)

// AccountID is the id of a user's account document.
func AccountID(user, asset string) string { return "user:" + user + ":" + asset }

// The names of accounts in postings.
func available(user, asset string) string { return "user:" + user + ":" + asset + ":available" }
func held(user, asset string) string      { return "user:" + user + ":" + asset + ":held" }

// OnChain is what we hold of an asset on one chain.
func OnChain(chain, asset string) string { return "chain:" + chain + ":" + asset }

// Desk is the operator's own liquidity of an asset or fiat.
func Desk(asset string) string { return "desk:" + asset }

// Due is fiat that is owed to users' banks.
func Due(fiat string) string { return "due:" + fiat }

// Fees is what we earned, and pays what providers charge.
func Fees(fiat string) string { return "fees:" + fiat }

// Float is our balance at a provider.
func Float(provider, fiat string) string { return "float:" + provider + ":" + fiat }

// Suspense is money on our addresses that belongs to nobody we know.
func Suspense(chain, asset string) string { return "suspense:" + chain + ":" + asset }

// Treasury is what was moved out of the deposit addresses.
func Treasury(asset string) string { return "treasury:" + asset }

// Receivable is what a user owes us of an asset or fiat.
func Receivable(user, asset string) string { return "receivable:" + user + ":" + asset }

// Loss is what was written off.
func Loss(asset string) string { return "loss:" + asset }

// World is the operator's own bank and wallets outside the book, for top-ups and withdrawals.
func World(asset string) string { return "world:" + asset }

// Load reads a user's account, or a fresh one that is not stored yet (Revision 0).
func Load(r store.Reader, user, asset string) (*Account, error) {
	var a Account
	err := r.Get(store.Accounts, AccountID(user, asset), &a)
	if errors.Is(err, store.ErrNotFound) {
		a = Account{User: user, Asset: asset}
		a.ID, a.Version = AccountID(user, asset), 1
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read account %s: %w", AccountID(user, asset), err)
	}
	if a.Holds == nil {
		a.Holds = map[string]money.Micro{}
	}
	if a.OwedFiat == nil {
		a.OwedFiat = map[string]money.Minor{}
	}
	return &a, nil
}

// Save stores the account: insert when fresh, else replace at its revision.
func (a *Account) Save(tx store.Tx) error {
	a.Sequence++
	if a.Revision == 0 {
		return tx.Insert(store.Accounts, a)
	}
	return tx.Replace(store.Accounts, a)
}

// Shortfall reports whether the user owes anything: then no new attempt is made (rule 8).
func (a *Account) Shortfall() bool {
	if a.Owed > 0 {
		return true
	}
	for _, n := range a.OwedFiat {
		if n > 0 {
			return true
		}
	}
	return false
}

// Check verifies the account's own invariant (I4).
func (a *Account) Check() error {
	var sum money.Micro
	for _, n := range a.Holds {
		sum += n
	}
	switch {
	case a.Available < 0:
		return fmt.Errorf("available is %d", a.Available)
	case a.Held != sum:
		return fmt.Errorf("held is %d, holds sum to %d", a.Held, sum)
	case a.Owed < 0 || a.Incoming < 0:
		return fmt.Errorf("owed is %d, incoming is %d", a.Owed, a.Incoming)
	case a.Owed > 0 && a.Available > 0:
		return fmt.Errorf("owes %d and has %d available", a.Owed, a.Available)
	}
	return nil
}

// Seal numbers and chains postings behind a tail and returns the new tail.
func Seal(chain string, tail Tail, postings []*Posting) Tail {
	for _, p := range postings {
		tail.Seq++
		p.Version, p.Chain, p.Seq, p.Previous = 1, chain, tail.Seq, tail.Hash
		p.At = p.At.UTC().Truncate(time.Millisecond)
		p.Hash = p.digest()
		tail.Hash = p.Hash
	}
	return tail
}

func (p *Posting) digest() string {
	body, err := json.Marshal([]any{
		p.ID, p.Debit, p.Credit, p.Asset, p.Amount, p.Order, p.User, p.Chain, p.Seq, p.At.UnixMilli(), p.Previous,
	})
	if err != nil { // strings and integers always encode
		panic(err)
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Intact reports whether the posting is as it was sealed behind the given hash.
func (p *Posting) Intact(previous string) bool { return p.Previous == previous && p.Hash == p.digest() }
