package user

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"offrampbot/services/fault"
	"offrampbot/services/ids"
	"offrampbot/services/payout"
	"offrampbot/services/store"
)

// Beneficiary is a bank account that a user may be paid into. The number is sealed; its digest finds it.
type Beneficiary struct {
	store.Meta `bson:",inline"`
	User       string    `bson:"user" json:"user"`
	Fiat       string    `bson:"fiat" json:"fiat"`
	BankCode   string    `bson:"bank_code" json:"bank_code"`
	BankName   string    `bson:"bank_name" json:"bank_name"`
	Digest     string    `bson:"digest" json:"digest"` // keyed, over bank and account
	Sealed     []byte    `bson:"sealed" json:"-"`      // account number, bound to this document's id
	Last4      string    `bson:"last4" json:"last4"`
	Name       string    `bson:"name" json:"name"` // as the bank resolved it
	Nickname   string    `bson:"nickname,omitempty" json:"nickname,omitempty"`
	CreatedAt  time.Time `bson:"created_at" json:"created_at"` // starts the first day with its lower limit
	UsedAt     time.Time `bson:"used_at" json:"used_at"`       // orders the list
}

// Account is what a user typed and the bank resolved.
type Account struct {
	Fiat     string
	BankCode string
	BankName string
	Number   payout.AccountNumber
	Name     string // as the bank resolved it; required, a payout never goes to an unknown name
	Nickname string // the user's word for it; kept from before when empty
}

// Beneficiaries saves and finds bank accounts. Its methods run inside the caller's transaction or snapshot.
type Beneficiaries struct {
	sealer Sealer
	key    []byte
	now    func() time.Time
}

// maxNickname is the most bytes of a nickname.
const maxNickname = 80

// NewBeneficiaries makes the book; lookupKey is the key of digests, at least 32 bytes.
func NewBeneficiaries(sealer Sealer, lookupKey []byte, now func() time.Time) (*Beneficiaries, error) {
	switch {
	case sealer == nil:
		return nil, errors.New("make beneficiaries: sealer is missing")
	case len(lookupKey) < 32:
		return nil, errors.New("make beneficiaries: lookup key is shorter than 32 bytes")
	case now == nil:
		return nil, errors.New("make beneficiaries: now is missing")
	}
	return &Beneficiaries{sealer: sealer, key: lookupKey, now: now}, nil
}

// Digest is the keyed digest of a bank account, the same for every user: two people with one account share it.
func (b *Beneficiaries) Digest(bankCode string, number payout.AccountNumber) string {
	return ids.Digest(b.key, "account", bankCode, string(number))
}

// ID is the id of a user's beneficiary, before it is saved too.
func (b *Beneficiaries) ID(userID, bankCode string, number payout.AccountNumber) string {
	return "b_" + ids.Digest(b.key, "beneficiary", userID, bankCode, string(number))[:22]
}

// Save stores a bank account, or refreshes the one of the same bank and number: resolved name, nickname and last use
// change, CreatedAt does not, so that saving again neither lengthens nor shortens the first day. Fault codes
// account_number_invalid, bank_unknown and name_invalid when a part is missing.
func (b *Beneficiaries) Save(tx store.Tx, userID string, a Account) (*Beneficiary, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	now := b.now().UTC().Truncate(time.Millisecond)
	id := b.ID(userID, a.BankCode, a.Number)
	var known Beneficiary
	err := tx.Get(store.Beneficiaries, id, &known)
	if err == nil {
		known.BankName, known.Name, known.UsedAt = a.BankName, a.Name, now
		if a.Nickname != "" {
			known.Nickname = a.Nickname
		}
		return &known, tx.Replace(store.Beneficiaries, &known)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read beneficiary: %w", err)
	}
	sealed, err := b.sealer.Seal([]byte(a.Number), id)
	if err != nil {
		return nil, fmt.Errorf("seal account number: %w", err)
	}
	fresh := &Beneficiary{
		Meta: store.Meta{ID: id, Version: 1}, User: userID, Fiat: a.Fiat, BankCode: a.BankCode, BankName: a.BankName,
		Digest: b.Digest(a.BankCode, a.Number), Sealed: sealed, Last4: a.Number.Last4(), Name: a.Name,
		Nickname: a.Nickname, CreatedAt: now, UsedAt: now,
	}
	if err := tx.Insert(store.Beneficiaries, fresh); err != nil {
		return nil, fmt.Errorf("save beneficiary: %w", err)
	}
	return fresh, nil
}

// check says what is wrong with an account.
func (a *Account) check() error {
	number := string(a.Number)
	a.Nickname = strings.TrimSpace(a.Nickname)
	switch {
	case len(number) < 6 || len(number) > 34 || !isDigits(number):
		return fault.New("account_number_invalid", nil)
	case a.BankCode == "" || a.Fiat == "":
		return fault.New("bank_unknown", nil)
	case a.Name == "" || len(a.Nickname) > maxNickname:
		return fault.New("name_invalid", nil)
	}
	return nil
}

// Get loads a beneficiary of this user; fault code beneficiary_unknown, also for another user's.
func (b *Beneficiaries) Get(r store.Reader, userID, id string) (*Beneficiary, error) {
	var known Beneficiary
	err := r.Get(store.Beneficiaries, id, &known)
	if errors.Is(err, store.ErrNotFound) || err == nil && known.User != userID {
		return nil, fault.New("beneficiary_unknown", nil)
	}
	if err != nil {
		return nil, fmt.Errorf("read beneficiary %s: %w", id, err)
	}
	return &known, nil
}

// List is a user's beneficiaries, the last used first, at most limit.
func (b *Beneficiaries) List(r store.Reader, userID string, limit int) ([]*Beneficiary, error) {
	list, err := store.All[Beneficiary](r, store.Query{
		Collection: store.Beneficiaries, Index: "user", Equal: []any{userID}, Descending: true, Limit: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list beneficiaries of %s: %w", userID, err)
	}
	return list, nil
}

// Remove forgets a beneficiary of this user; orders keep their own copy. Saving it again makes it a new one.
func (b *Beneficiaries) Remove(tx store.Tx, userID, id string) error {
	known, err := b.Get(tx, userID, id)
	if err != nil {
		return err
	}
	return tx.Delete(store.Beneficiaries, id, known.Revision)
}

// Number opens the account number. It is for the payout request and nothing else.
func (b *Beneficiaries) Number(known *Beneficiary) (payout.AccountNumber, error) {
	plain, err := b.sealer.Open(known.Sealed, known.ID)
	if err != nil {
		return "", fmt.Errorf("open account number of %s: %w", known.ID, err)
	}
	return payout.AccountNumber(plain), nil
}
