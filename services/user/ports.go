package user

import "offrampbot/services/store"

// AddressBook derives deposit addresses from the wallet's public key. It is pure: no call leaves the process.
type AddressBook interface {
	// Address is the address of an index, in canonical form, the same on every EVM chain.
	Address(index int64) (string, error)
}

// Hasher turns PINs into what is stored. *Argon is the implementation. Both methods take tens of milliseconds and are
// never called inside a transaction.
type Hasher interface {
	// Hash returns the encoded hash under the active pepper, and that pepper's id.
	Hash(pin TypedPIN) (encoded, pepper string, err error)
	// Verify compares in constant time. outdated says that a right PIN should be hashed anew: the pepper or the cost has
	// changed. An error means that nothing was learnt: the pepper is unknown or the hash cannot be read.
	Verify(encoded, pepper string, pin TypedPIN) (right, outdated bool, err error)
}

// Sealer seals account numbers at rest; the record's id is bound into the sealed text. *seal.Keyring is the implementation.
type Sealer interface {
	Seal(plain []byte, recordID string) ([]byte, error)
	Open(sealed []byte, recordID string) ([]byte, error)
}

// Guards replaces a user's `accounts` and `limits` documents without a change, in the transaction that freezes or thaws
// the user, so that no order can be funded on what it read before (DESIGN §7 rule 6). It writes nothing else and is safe
// to repeat in one transaction.
type Guards interface {
	TouchUser(tx store.Tx, userID string) error
}
