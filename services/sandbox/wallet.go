package sandbox

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"fmt"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/ethereum/go-ethereum/crypto"
)

// sandboxWallet derives the sandbox's account-level extended public key (m/44'/60'/0') from a mnemonic that everybody
// knows, and a treasury address from the account beside it. The bot gets the public key only: it holds no key.
func sandboxWallet() (xpub, treasury string, err error) {
	seed, err := pbkdf2.Key(sha512.New, walletMnemonic, []byte("mnemonic"), 2048, 64)
	if err != nil {
		return "", "", fmt.Errorf("stretch the mnemonic: %w", err)
	}
	master, err := hdkeychain.NewMaster(seed, &chaincfg.MainNetParams)
	if err != nil {
		return "", "", fmt.Errorf("make the master key: %w", err)
	}
	hard := func(n uint32) uint32 { return hdkeychain.HardenedKeyStart + n }
	account, err := derive(master, hard(44), hard(60), hard(0))
	if err != nil {
		return "", "", err
	}
	public, err := account.Neuter()
	if err != nil {
		return "", "", fmt.Errorf("drop the private half: %w", err)
	}
	other, err := derive(master, hard(44), hard(60), hard(1), 0, 0)
	if err != nil {
		return "", "", err
	}
	key, err := other.ECPubKey()
	if err != nil {
		return "", "", fmt.Errorf("read the treasury key: %w", err)
	}
	return public.String(), crypto.PubkeyToAddress(*key.ToECDSA()).Hex(), nil
}

func derive(key *hdkeychain.ExtendedKey, path ...uint32) (*hdkeychain.ExtendedKey, error) {
	for _, n := range path {
		next, err := key.Derive(n)
		if err != nil {
			return nil, fmt.Errorf("derive child %d: %w", n, err)
		}
		key = next
	}
	return key, nil
}
