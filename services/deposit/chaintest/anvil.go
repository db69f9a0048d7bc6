package chaintest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"offrampbot/services/chains/evm"
	"offrampbot/services/deposit"
	"offrampbot/services/money"
)

// The token of the tests, compiled from token/Token.sol with solc 0.8.37: optimizer, 1 run, evmVersion paris, no metadata.
//
//go:embed token/Token.abi.json
var tokenABI string

//go:embed token/Token.bin
var tokenBytecode string

// anvilChainID is the chain id of anvil.
const anvilChainID = 31337

const (
	anvilAccounts = 24
	gasLimit      = 2_000_000
	gasPrice      = 100_000_000_000
)

// anvil is a real EVM node and the accounts that a sub-test pays from. Every transaction comes from an account of its
// own, so that one that is dropped in a reorganisation takes no other with it.
type anvil struct {
	t        *testing.T
	url      string
	abi      abi.ABI
	accounts []*ecdsa.PrivateKey
	tokens   map[string]common.Address // by asset; "" is the token of no registry
	decimals map[string]int
	sent     []sentTx
}

type sentTx struct {
	id  string
	raw string
}

// NewAnvil returns a world on a real EVM node: its own tokens and accounts, mining by hand until the test ends. It starts
// the node's chain anew, because a node with a long past answers ever more slowly, so nobody else may use the node
// meanwhile.
func NewAnvil(t *testing.T, url string) *World {
	t.Helper()
	parsed, err := abi.JSON(strings.NewReader(tokenABI))
	require.NoError(t, err)
	a := &anvil{t: t, url: url, abi: parsed, tokens: map[string]common.Address{}, decimals: map[string]int{"USDT": 6, "USDC": 18, "": 6}}
	call(t, url, "anvil_reset", []any{}, nil)
	call(t, url, "evm_setAutomine", []any{false}, nil)
	t.Cleanup(func() { call(t, url, "evm_setAutomine", []any{true}, nil) }) // as the node was found
	a.fund()
	a.deploy()
	node := NewProxy(t, url)
	source, err := evm.New(evm.Options{Chain: "anvil", ChainID: anvilChainID, URLs: []string{node.URL}, Timeout: 10 * time.Second})
	require.NoError(t, err)
	require.NoError(t, source.Check(t.Context()))
	return &World{
		Source: source, Policy: a.policy(), Node: node, Address: a.address, Mine: a.mine, Reorg: a.reorg,
		Pay: func(to, asset string, whole int64) string {
			return a.send(a.next(), a.token(asset), a.pack("mint", common.HexToAddress(to), a.raw(asset, whole)))
		},
		PayMany: a.payMany,
		PayFake: func(to string) string {
			return a.send(a.next(), a.token(""), a.pack("mint", common.HexToAddress(to), a.raw("", 1000)))
		},
	}
}

// fund makes accounts with money for gas; it lies below every block that the test may reorganise.
func (a *anvil) fund() {
	for range anvilAccounts {
		key, err := crypto.GenerateKey()
		require.NoError(a.t, err)
		a.accounts = append(a.accounts, key)
		call(a.t, a.url, "anvil_setBalance", []any{crypto.PubkeyToAddress(key.PublicKey).Hex(), "0x8ac7230489e80000"}, nil)
	}
}

func (a *anvil) next() *ecdsa.PrivateKey {
	require.NotEmpty(a.t, a.accounts, "more transactions than accounts")
	key := a.accounts[0]
	a.accounts = a.accounts[1:]
	return key
}

func (a *anvil) deploy() {
	code, err := hex.DecodeString(strings.TrimSpace(tokenBytecode))
	require.NoError(a.t, err)
	for asset, decimals := range a.decimals {
		arguments, err := a.abi.Pack("", uint8(decimals))
		require.NoError(a.t, err)
		key := a.next()
		a.send(key, nil, append(bytes.Clone(code), arguments...))
		a.tokens[asset] = crypto.CreateAddress(crypto.PubkeyToAddress(key.PublicKey), 0)
	}
	a.mine(1)
	for _, s := range a.sent {
		require.NotNil(a.t, a.receipt(s.id), "the token was deployed")
	}
}

func (a *anvil) token(asset string) *common.Address {
	token, ok := a.tokens[asset]
	require.True(a.t, ok, asset)
	return &token
}

func (a *anvil) pack(method string, arguments ...any) []byte {
	data, err := a.abi.Pack(method, arguments...)
	require.NoError(a.t, err)
	return data
}

func (a *anvil) raw(asset string, whole int64) *big.Int {
	raw, err := money.MicroToRaw(money.Micro(whole)*Whole, a.decimals[asset])
	require.NoError(a.t, err)
	return raw
}

func (a *anvil) policy() deposit.Policy {
	token := func(asset string, depth int64) deposit.Token {
		return deposit.Token{Contract: strings.ToLower(a.tokens[asset].Hex()), Asset: asset, Decimals: a.decimals[asset], Depth: depth}
	}
	return deposit.Policy{Chain: "anvil", Window: 10, Tokens: []deposit.Token{token("USDT", 3), token("USDC", 2)}}
}

func (a *anvil) address() string {
	b := make([]byte, common.AddressLength)
	_, err := rand.Read(b)
	require.NoError(a.t, err)
	return strings.ToLower(common.BytesToAddress(b).Hex())
}

// send signs and sends a transaction; it is mined with the next block.
func (a *anvil) send(key *ecdsa.PrivateKey, to *common.Address, data []byte) (tx string) {
	return a.sendNonce(key, 0, to, data)
}

func (a *anvil) sendNonce(key *ecdsa.PrivateKey, nonce uint64, to *common.Address, data []byte) (tx string) {
	signed, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(anvilChainID)), &types.LegacyTx{
		Nonce: nonce, To: to, Data: data, Gas: gasLimit, GasPrice: big.NewInt(gasPrice), Value: new(big.Int),
	})
	require.NoError(a.t, err)
	raw, err := signed.MarshalBinary()
	require.NoError(a.t, err)
	call(a.t, a.url, "eth_sendRawTransaction", []any{hexutil.Encode(raw)}, &tx)
	a.sent = append(a.sent, sentTx{id: tx, raw: hexutil.Encode(raw)})
	return tx
}

// payMany mints to the payer in a block of its own, and then pays everybody in one transaction.
func (a *anvil) payMany(to []string, asset string, whole int64) (tx string) {
	key := a.next()
	a.send(key, a.token(asset), a.pack("mint", crypto.PubkeyToAddress(key.PublicKey), a.raw(asset, whole*int64(len(to)))))
	a.mine(1)
	people := make([]common.Address, len(to))
	for i, p := range to {
		people[i] = common.HexToAddress(p)
	}
	return a.sendNonce(key, 1, a.token(asset), a.pack("spread", people, a.raw(asset, whole)))
}

func (a *anvil) mine(blocks int) {
	call(a.t, a.url, "anvil_mine", []any{hexutil.EncodeUint64(uint64(blocks))}, nil)
}

type anvilReceipt struct {
	BlockNumber string `json:"blockNumber"`
	Status      string `json:"status"`
}

func (a *anvil) receipt(tx string) *anvilReceipt {
	var r *anvilReceipt
	call(a.t, a.url, "eth_getTransactionReceipt", []any{tx}, &r)
	return r
}

func (a *anvil) height() int64 {
	var text string
	call(a.t, a.url, "eth_blockNumber", nil, &text)
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "0x"), 16, 64)
	require.NoError(a.t, err)
	return n
}

// reorg replaces the newest blocks. What is not dropped is mined again one block later, the last ones in the new tip.
func (a *anvil) reorg(depth int, drop ...string) {
	base := a.height() - int64(depth)
	pairs := []any{}
	for _, s := range a.sent {
		r := a.receipt(s.id)
		if r == nil || slices.Contains(drop, s.id) {
			continue
		}
		block, err := strconv.ParseInt(strings.TrimPrefix(r.BlockNumber, "0x"), 16, 64)
		require.NoError(a.t, err)
		if block > base {
			pairs = append(pairs, []any{s.raw, min(block-base, int64(depth)-1)})
		}
	}
	call(a.t, a.url, "anvil_reorg", []any{depth, pairs}, nil)
}
