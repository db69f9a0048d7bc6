package evm_test

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"testing"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
	"offrampbot/services/chains/evm"
)

// account derives m/44'/60'/0' of the well-known test mnemonic.
func account(t *testing.T, net *chaincfg.Params) *hdkeychain.ExtendedKey {
	t.Helper()
	const mnemonic = "test test test test test test test test test test test junk"
	seed, err := pbkdf2.Key(sha512.New, mnemonic, []byte("mnemonic"), 2048, 64)
	require.NoError(t, err)
	key, err := hdkeychain.NewMaster(seed, net)
	require.NoError(t, err)
	for _, child := range []uint32{44, 60, 0} {
		key, err = key.Derive(hdkeychain.HardenedKeyStart + child)
		require.NoError(t, err)
	}
	return key
}

func public(t *testing.T, key *hdkeychain.ExtendedKey) string {
	t.Helper()
	neutered, err := key.Neuter()
	require.NoError(t, err)
	return neutered.String()
}

func TestAddressBook_derivesTheKnownAddresses(t *testing.T) {
	t.Parallel()
	book, err := evm.NewAddressBook(public(t, account(t, &chaincfg.MainNetParams)))
	require.NoError(t, err)
	for index, want := range []string{
		"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
	} {
		got, err := book.Address(int64(index))
		require.NoError(t, err)
		require.Equal(t, want, assets.ChecksumAddress(got))
		canonical, err := assets.CanonicalAddress(want)
		require.NoError(t, err)
		require.Equal(t, canonical, got, "canonical is lower case")
	}
	require.Len(t, book.Fingerprint(), 16)
	again, err := evm.NewAddressBook(public(t, account(t, &chaincfg.MainNetParams)))
	require.NoError(t, err)
	require.Equal(t, book.Fingerprint(), again.Fingerprint())
}

func TestAddressBook_refusesIndexesOutOfRange(t *testing.T) {
	t.Parallel()
	book, err := evm.NewAddressBook(public(t, account(t, &chaincfg.MainNetParams)))
	require.NoError(t, err)
	for _, index := range []int64{-1, 1 << 31, 1 << 40} {
		_, err := book.Address(index)
		require.Error(t, err)
	}
	_, err = book.Address(1<<31 - 1)
	require.NoError(t, err)
}

func TestNewAddressBook_refusesEveryOtherKey(t *testing.T) {
	t.Parallel()
	key := account(t, &chaincfg.MainNetParams)
	_, err := evm.NewAddressBook(key.String())
	require.ErrorIs(t, err, evm.ErrPrivateKey)
	require.NotContains(t, err.Error(), key.String()[4:20])

	external, err := key.Derive(0)
	require.NoError(t, err)
	_, err = evm.NewAddressBook(public(t, external))
	require.ErrorContains(t, err, "depth 4")
	_, err = evm.NewAddressBook(public(t, account(t, &chaincfg.TestNet3Params)))
	require.ErrorContains(t, err, "main network")
	for _, rubbish := range []string{"", "xpub", "xprv9s21ZrQH143K", "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"} {
		_, err = evm.NewAddressBook(rubbish)
		require.Error(t, err)
		if rubbish != "" {
			require.NotContains(t, err.Error()[len("read wallet xpub"):], rubbish)
		}
	}
}
