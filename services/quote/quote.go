// Package quote holds the frozen offer: asset, amount, rate, fee, net fiat, beneficiary and expiry. Its id is the intent
// id of the order that takes it (D1); everything later reads the stored quote, never what a client sends back (T1).
package quote

import (
	"errors"
	"time"

	"offrampbot/services/assets"
	"offrampbot/services/money"
	"offrampbot/services/store"
)

// State is where a quote stands.
type State string

// The states. Expiry is decided when it is taken, by the time; Expired is only bookkeeping.
const (
	Open    State = "open"
	Taken   State = "taken"
	Expired State = "expired"
)

// Beneficiary is the snapshot of the bank account that is paid.
type Beneficiary struct {
	ID       string    `bson:"id,omitempty" json:"id,omitempty"` // of the saved beneficiary
	BankCode string    `bson:"bank_code" json:"bank_code"`
	BankName string    `bson:"bank_name" json:"bank_name"`
	Sealed   []byte    `bson:"sealed" json:"-"` // the account number, associated data "beneficiary:" and Digest
	Last4    string    `bson:"last4" json:"last4"`
	Name     string    `bson:"name" json:"name"`     // as the bank resolved it
	Digest   string    `bson:"digest" json:"digest"` // keyed digest of bank and account number
	Since    time.Time `bson:"since" json:"since"`   // when it was saved; zero: new, with the lower first-day limit
}

// Record is the associated data under which the account number is sealed.
func (b Beneficiary) Record() string { return "beneficiary:" + b.Digest }

// Quote is one frozen offer.
type Quote struct {
	store.Meta  `bson:",inline"`
	User        string         `bson:"user" json:"user"`
	Asset       string         `bson:"asset" json:"asset"`
	Chain       string         `bson:"chain" json:"chain"` // where the deposit is expected
	Amount      money.Micro    `bson:"amount" json:"amount"`
	Fiat        string         `bson:"fiat" json:"fiat"`
	Rate        money.Rate     `bson:"rate" json:"rate"`
	Gross       money.Minor    `bson:"gross" json:"gross"`         // Amount × Rate, floored
	Remainder   money.Fraction `bson:"remainder" json:"remainder"` // what flooring left
	Fee         money.Minor    `bson:"fee" json:"fee"`
	Net         money.Minor    `bson:"net" json:"net"` // paid to the beneficiary
	Beneficiary Beneficiary    `bson:"beneficiary" json:"beneficiary"`
	Content     string         `bson:"content" json:"content"` // the guard's digest of the sale's content
	Renews      string         `bson:"renews,omitempty" json:"renews,omitempty"`
	State       State          `bson:"state" json:"state"`
	Order       string         `bson:"order,omitempty" json:"order,omitempty"`
	ExpiresAt   time.Time      `bson:"expires_at" json:"expires_at"`
	CreatedAt   time.Time      `bson:"created_at" json:"created_at"`
}

// ErrTooSmall: the fee is not below the gross, so nothing would be paid.
var ErrTooSmall = errors.New("amount does not exceed the fee")

// Price fills the money fields of a quote from its amount.
func (q *Quote) Price(rate money.Rate, fee assets.Fee) error {
	gross, rest, err := rate.Apply(q.Amount)
	if err != nil {
		return err
	}
	cost, err := fee.On(gross)
	if err != nil {
		return err
	}
	if cost >= gross {
		return ErrTooSmall
	}
	q.Rate, q.Gross, q.Remainder, q.Fee, q.Net = rate, gross, rest, cost, gross-cost
	return nil
}

// Same reports whether a renewing quote sells the same thing to the same account as the order it renews.
func (q *Quote) Same(asset, chain string, amount money.Micro, beneficiary string) bool {
	return q.Asset == asset && q.Chain == chain && q.Amount == amount && q.Beneficiary.Digest == beneficiary
}

// Indexes declares what the collection is searched by.
var Indexes = []store.Index{
	{Collection: store.Quotes, Name: "user", Fields: []string{"user", "created_at"}},
	{Collection: store.Quotes, Name: "state", Fields: []string{"state", "expires_at"}},
}
