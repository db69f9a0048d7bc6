package evm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/ethereum/go-ethereum/crypto"

	"offrampbot/services/assets"
)

// accountDepth is the depth of m/44'/60'/0' in the key tree.
const accountDepth = 3

// ErrPrivateKey: WALLET_XPUB holds a private key. The server must never have one, so it is refused and not repeated.
var ErrPrivateKey = errors.New("the key is private: give the account-level xpub")

// AddressBook derives our deposit addresses m/44'/60'/0'/0/n from the account-level xpub (DESIGN §8.1). It holds no
// private key. It is safe for concurrent use.
type AddressBook struct {
	external    *hdkeychain.ExtendedKey // m/44'/60'/0'/0
	fingerprint string
}

// NewAddressBook reads an account-level xpub. ErrPrivateKey for an xprv; an error for a key of another level, because
// its addresses would not be those of the wallet.
func NewAddressBook(xpub string) (*AddressBook, error) {
	account, err := hdkeychain.NewKeyFromString(xpub)
	if err != nil {
		return nil, errors.New("read wallet xpub: not an extended key") // the library's error may quote the key
	}
	if account.IsPrivate() {
		return nil, fmt.Errorf("read wallet xpub: %w", ErrPrivateKey)
	}
	if !account.IsForNet(&chaincfg.MainNetParams) {
		return nil, errors.New("read wallet xpub: the key is not an xpub of the main network")
	}
	if account.Depth() != accountDepth {
		return nil, fmt.Errorf("read wallet xpub: the key is at depth %d of the tree, not at the account level m/44'/60'/0'",
			account.Depth())
	}
	external, err := account.Derive(0)
	if err != nil {
		return nil, fmt.Errorf("derive external chain: %w", err)
	}
	sum := sha256.Sum256([]byte(account.String()))
	return &AddressBook{external: external, fingerprint: hex.EncodeToString(sum[:8])}, nil
}

// Address is the deposit address of an index, in canonical form: lower case, like every address we store. Show it to
// people with assets.ChecksumAddress.
func (b *AddressBook) Address(index int64) (string, error) {
	if index < 0 || index > math.MaxInt32 {
		return "", fmt.Errorf("derive address %d: the index is not between 0 and 2³¹−1", index)
	}
	key, err := b.external.Derive(uint32(index)) // bounded above
	if err != nil {
		return "", fmt.Errorf("derive address %d: %w", index, err)
	}
	public, err := key.ECPubKey()
	if err != nil {
		return "", fmt.Errorf("derive address %d: %w", index, err)
	}
	canonical, err := assets.CanonicalAddress(crypto.PubkeyToAddress(*public.ToECDSA()).Hex())
	if err != nil {
		return "", fmt.Errorf("derive address %d: %w", index, err)
	}
	return canonical, nil
}

// Fingerprint names the xpub without giving it away. It is stored at the first start, and another is refused, because
// every address already shown to people belongs to the first key.
func (b *AddressBook) Fingerprint() string { return b.fingerprint }
