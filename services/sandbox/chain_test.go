package sandbox

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/stretchr/testify/require"
)

func (h *harness) transfer(chain string, change map[string]any) string {
	h.t.Helper()
	body := map[string]any{"to": depositTo, "token": "USDT", "amount": "27.5"}
	for name, value := range change {
		body[name] = value
	}
	return text(h.lever(http.MethodPost, "/world/chains/"+chain+"/transfers", body)["tx"])
}

func (h *harness) mine(chain string, blocks int) {
	h.t.Helper()
	h.lever(http.MethodPost, "/world/chains/"+chain+"/mine", map[string]any{"blocks": blocks})
}

// logsTo returns the transfers into the test address, as a watcher asks for them.
func (h *harness) logsTo(chain string) []map[string]any {
	h.t.Helper()
	padded := common.BytesToHash(common.HexToAddress(depositTo).Bytes()).Hex()
	result, failure := h.rpc(chain, "eth_getLogs", map[string]any{
		"fromBlock": "0x1", "toBlock": "0x32", "topics": []any{transferTopic.Hex(), nil, []string{padded}},
	})
	require.Nil(h.t, failure)
	var out []map[string]any
	for _, log := range result.([]any) {
		out = append(out, log.(map[string]any))
	}
	return out
}

func (h *harness) receiptOf(chain, tx string) map[string]any {
	h.t.Helper()
	result, failure := h.rpc(chain, "eth_getTransactionReceipt", tx)
	require.Nil(h.t, failure)
	receipt, _ := result.(map[string]any)
	return receipt
}

func TestChain_aTransferIsPooledThenMined(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	tx := h.transfer("base", nil)
	require.Nil(t, h.receiptOf("base", tx))
	require.Empty(t, h.logsTo("base"))
	h.mine("base", 3)
	logs := h.logsTo("base")
	require.Len(t, logs, 1)
	require.Equal(t, tx, logs[0]["transactionHash"])
	require.Equal(t, usdtOnEVM, strings.ToLower(text(logs[0]["address"])))
	require.Equal(t, "0x15", logs[0]["blockNumber"])
	require.Equal(t, common.BigToHash(big.NewInt(27_500_000)).Hex(), logs[0]["data"])
	receipt := h.receiptOf("base", tx)
	require.Equal(t, "0x1", receipt["status"])
	require.Equal(t, logs[0]["blockHash"], receipt["blockHash"])
	require.Len(t, receipt["logs"], 1)
	bnb := h.transfer("bnb", nil)
	require.NotEqual(t, tx, bnb)
	h.mine("bnb", 1)
	require.Equal(t, common.BigToHash(new(big.Int).Mul(big.NewInt(275), new(big.Int).Exp(big.NewInt(10), big.NewInt(17), nil))).Hex(), h.logsTo("bnb")[0]["data"], "18 decimals")
	state := h.lever(http.MethodGet, "/world/state", nil)["chains"].(map[string]any)["base"].(map[string]any)
	require.Equal(t, map[string]any{"height": json.Number("23"), "transfers": json.Number("1")}, state)
}

func TestChain_goEthereumsClientReadsIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	client, err := ethclient.DialContext(t.Context(), h.server.URL+"/rpc/base")
	require.NoError(t, err)
	defer client.Close()
	tx := common.HexToHash(h.transfer("base", map[string]any{"count": 2}))
	h.mine("base", 10)
	id, err := client.ChainID(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(8453), id.Int64())
	network, err := client.NetworkID(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(8453), network.Int64())
	height, err := client.BlockNumber(t.Context())
	require.NoError(t, err)
	require.Equal(t, uint64(30), height)
	block, err := client.BlockByNumber(t.Context(), big.NewInt(21))
	require.NoError(t, err)
	require.Len(t, block.Transactions(), 1)
	require.Equal(t, tx, block.Transactions()[0].Hash())
	receipt, err := client.TransactionReceipt(t.Context(), tx)
	require.NoError(t, err)
	require.Equal(t, uint64(1), receipt.Status)
	require.Len(t, receipt.Logs, 2)
	require.Equal(t, block.Hash(), receipt.BlockHash, "the hash of the header is the hash in the receipt")
	require.NotEqual(t, receipt.Logs[0].Index, receipt.Logs[1].Index)
	next, err := client.HeaderByNumber(t.Context(), big.NewInt(22))
	require.NoError(t, err)
	require.Equal(t, block.Hash(), next.ParentHash)
	same, err := client.HeaderByHash(t.Context(), next.Hash())
	require.NoError(t, err)
	require.Equal(t, next.Number, same.Number)
	for tag, want := range map[rpc.BlockNumber]int64{rpc.LatestBlockNumber: 30, rpc.SafeBlockNumber: 26, rpc.FinalizedBlockNumber: 22, rpc.EarliestBlockNumber: 0} {
		header, err := client.HeaderByNumber(t.Context(), big.NewInt(tag.Int64()))
		require.NoError(t, err)
		require.Equal(t, want, header.Number.Int64())
	}
	_, err = client.HeaderByNumber(t.Context(), big.NewInt(31))
	require.ErrorIs(t, err, ethereum.NotFound)
	found, pending, err := client.TransactionByHash(t.Context(), tx)
	require.NoError(t, err)
	require.False(t, pending)
	require.Equal(t, tx, found.Hash())
	logs, err := client.FilterLogs(t.Context(), ethereum.FilterQuery{BlockHash: &receipt.BlockHash, Addresses: []common.Address{common.HexToAddress(usdtOnEVM)}})
	require.NoError(t, err)
	require.Len(t, logs, 2)
	contract := common.HexToAddress(usdtOnEVM)
	balance, err := client.CallContract(t.Context(), ethereum.CallMsg{
		To: &contract, Data: slices.Concat(common.Hex2Bytes("70a08231"), common.LeftPadBytes(common.HexToAddress(depositTo).Bytes(), 32)),
	}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(55_000_000), new(big.Int).SetBytes(balance).Int64())
	decimals, err := client.CallContract(t.Context(), ethereum.CallMsg{To: &contract, Data: common.Hex2Bytes("313ce567")}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(6), new(big.Int).SetBytes(decimals).Int64())
	native, err := client.BalanceAt(t.Context(), contract, nil)
	require.NoError(t, err)
	require.Zero(t, native.Sign())
}

func TestChain_aReorganisationMinesAgainWhatIsNotDropped(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	kept, gone := h.transfer("base", nil), h.transfer("base", map[string]any{"amount": "3"})
	h.mine("base", 4)
	before := h.receiptOf("base", kept)
	oldTip, _ := h.rpc("base", "eth_getBlockByNumber", "latest", false)
	result := h.lever(http.MethodPost, "/world/chains/base/reorg", map[string]any{"depth": 4, "drop": []string{gone}})
	require.Equal(t, []any{gone}, result["dropped"])
	require.Equal(t, []any{kept}, result["mined"])
	require.Equal(t, json.Number("24"), result["height"], "as high as before")
	after := h.receiptOf("base", kept)
	require.Equal(t, before["blockNumber"], after["blockNumber"])
	require.NotEqual(t, before["blockHash"], after["blockHash"])
	require.Nil(t, h.receiptOf("base", gone))
	require.Len(t, h.logsTo("base"), 1)
	orphan, _ := h.rpc("base", "eth_getBlockByHash", oldTip.(map[string]any)["hash"], false)
	require.Nil(t, orphan)

	again := h.transfer("base", map[string]any{"tx": gone, "amount": "3"})
	require.Equal(t, gone, again, "the same transaction")
	h.mine("base", 1)
	require.Equal(t, "0x19", h.receiptOf("base", gone)["blockNumber"], "in another block than before")
	require.Len(t, h.logsTo("base"), 2)
}

func TestChain_aReorganisationCanMoveATransactionToAnotherBlock(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	tx := h.transfer("base", nil)
	h.mine("base", 4)
	h.lever(http.MethodPost, "/world/chains/base/reorg", map[string]any{"depth": 4, "shift": 2})
	require.Equal(t, "0x17", h.receiptOf("base", tx)["blockNumber"])
	require.Len(t, h.logsTo("base"), 1)
}

func TestChain_parentHashesAreContinuousAfterReorganisations(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	seen := make(map[string]bool)
	for depth := 1; depth <= 6; depth++ {
		h.transfer("base", nil)
		h.mine("base", 2)
		h.lever(http.MethodPost, "/world/chains/base/reorg", map[string]any{"depth": depth})
		parent := ""
		for n := range 33 {
			result, _ := h.rpc("base", "eth_getBlockByNumber", fmt.Sprintf("%#x", n), false)
			block, ok := result.(map[string]any)
			if !ok {
				break
			}
			if parent != "" {
				require.Equal(t, parent, block["parentHash"])
			}
			parent = text(block["hash"])
		}
		require.False(t, seen[parent], "a tip never comes back")
		seen[parent] = true
	}
}

func TestChain_transfersOfEveryKind(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	fake := "0x00000000000000000000000000000000000000fa"
	h.transfer("base", map[string]any{"contract": fake})
	failed := h.transfer("base", map[string]any{"failed": true})
	odd := h.transfer("base", map[string]any{"failed": true, "keep_logs": true, "amount": "1"})
	h.transfer("base", map[string]any{"amount": "0"})
	h.transfer("base", map[string]any{"count": 3, "from": fake})
	named := h.transfer("base", map[string]any{"tx": "0x" + strings.Repeat("ab", 32)})
	require.Equal(t, "0x"+strings.Repeat("ab", 32), named)
	h.mine("base", 1)
	logs := h.logsTo("base")
	require.Len(t, logs, 7)
	require.Equal(t, fake, strings.ToLower(text(logs[0]["address"])))
	require.Equal(t, "0x0", h.receiptOf("base", failed)["status"])
	require.Empty(t, h.receiptOf("base", failed)["logs"])
	require.Equal(t, "0x0", h.receiptOf("base", odd)["status"])
	require.Len(t, h.receiptOf("base", odd)["logs"], 1, "logs of a failed receipt are served: the watcher must look at the status")
	for i, log := range logs {
		require.Equal(t, fmt.Sprintf("%#x", i), log["logIndex"])
	}
}

func TestChain_refusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	tx := h.transfer("base", nil)
	h.mine("base", 5)
	for name, tt := range map[string]struct {
		path, want string
		body       map[string]any
	}{
		"an unknown token":          {"base/transfers", "token_unknown", map[string]any{"to": depositTo, "token": "DOGE", "amount": "1"}},
		"a bad address":             {"base/transfers", "address_invalid", map[string]any{"to": "0x12", "token": "USDT", "amount": "1"}},
		"seven decimals":            {"base/transfers", "amount_invalid", map[string]any{"to": depositTo, "token": "USDT", "amount": "1.0000001"}},
		"a negative amount":         {"base/transfers", "amount_invalid", map[string]any{"to": depositTo, "token": "USDT", "amount": "-1"}},
		"a mined transaction":       {"base/transfers", "tx_known", map[string]any{"to": depositTo, "token": "USDT", "amount": "27.5", "tx": tx}},
		"an unknown chain":          {"tron/transfers", "chain_unknown", map[string]any{"to": depositTo, "token": "USDT", "amount": "1"}},
		"no blocks":                 {"base/mine", "blocks_invalid", map[string]any{"blocks": 0}},
		"a reorganisation of all":   {"base/reorg", "depth_invalid", map[string]any{"depth": 1000}},
		"a drop that is unknown":    {"base/reorg", "tx_unknown", map[string]any{"depth": 1, "drop": []string{"0x" + strings.Repeat("00", 32)}}},
		"a drop below the new fork": {"base/reorg", "tx_too_deep", map[string]any{"depth": 1, "drop": []string{tx}}},
	} {
		status, out := h.call(http.MethodPost, "/world/chains/"+tt.path, tt.body)
		require.GreaterOrEqual(t, status, 400, name)
		require.Less(t, status, 500, name)
		require.Equal(t, tt.want, out["error"], name)
	}
	require.Len(t, h.logsTo("base"), 1)
	h.lever(http.MethodPost, "/world/chains/base/reorg", map[string]any{"depth": 5, "drop": []string{tx}})
	status, out := h.call(http.MethodPost, "/world/chains/base/transfers", map[string]any{"to": depositTo, "token": "USDT", "amount": "28", "tx": tx})
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "tx_differs", out["error"], "the same hash is the same content")
}

func TestChain_minesByItselfAndStalls(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.lever(http.MethodPost, "/world/chains/base/auto", map[string]any{"seconds": 2})
	tx := h.transfer("base", nil)
	h.clock.pass(6 * time.Second)
	h.drain()
	height, _ := h.rpc("base", "eth_blockNumber")
	require.Equal(t, "0x17", height)
	require.NotNil(t, h.receiptOf("base", tx))
	h.lever(http.MethodPost, "/world/chains/base/stall", map[string]any{"stalled": true})
	late := h.transfer("base", nil)
	h.clock.pass(6 * time.Second)
	h.drain()
	height, _ = h.rpc("base", "eth_blockNumber")
	require.Equal(t, "0x17", height, "the node shows an old head")
	require.Nil(t, h.receiptOf("base", late))
	h.lever(http.MethodPost, "/world/chains/base/stall", map[string]any{"stalled": false})
	require.NotNil(t, h.receiptOf("base", late))
	h.lever(http.MethodPost, "/world/chains/base/auto", map[string]any{"seconds": 0})
	before, _ := h.rpc("base", "eth_blockNumber")
	h.clock.pass(time.Minute)
	h.drain()
	after, _ := h.rpc("base", "eth_blockNumber")
	require.Equal(t, before, after)
}

func TestRPC_limitsRangesAndAnswersBatches(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	_, failure := h.rpc("base", "eth_getLogs", map[string]any{"fromBlock": "0x0", "toBlock": "0x32"})
	require.Equal(t, json.Number("-32005"), failure["code"])
	require.Contains(t, failure["message"], "range")
	_, failure = h.rpc("base", "eth_getLogs", map[string]any{"fromBlock": "0x5", "toBlock": "0x4"})
	require.Equal(t, json.Number("-32602"), failure["code"])
	_, failure = h.rpc("base", "eth_sendRawTransaction", "0x")
	require.Equal(t, json.Number("-32601"), failure["code"])
	_, failure = h.rpc("base", "eth_getBlockByNumber", "tomorrow", false)
	require.Equal(t, json.Number("-32602"), failure["code"])
	res, err := h.do(http.MethodPost, "/rpc/base", `[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":"b","method":"nope"}]`)
	require.NoError(t, err)
	var answers []map[string]any
	require.NoError(t, json.NewDecoder(res.Body).Decode(&answers))
	require.NoError(t, res.Body.Close())
	require.Equal(t, "0x2105", answers[0]["result"])
	require.Equal(t, "b", answers[1]["id"])
	require.NotNil(t, answers[1]["error"])
}

func TestRPC_anEmptyAnswerIsAnIndexThatLagsBehind(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	tx := h.transfer("base", nil)
	h.mine("base", 1)
	h.fault("base", "eth_getTransactionReceipt", "empty", 0)
	receipt := h.receiptOf("base", tx)
	require.Equal(t, "0x1", receipt["status"])
	require.Empty(t, receipt["logs"])
	require.Len(t, h.receiptOf("base", tx)["logs"], 1, "later it is filled")
	h.fault("base", "eth_getLogs", "empty", 0)
	require.Empty(t, h.logsTo("base"))
	require.Len(t, h.logsTo("base"), 1)
}

func TestRawUnits_isExact(t *testing.T) {
	t.Parallel()
	for amount, want := range map[string]string{"27.5": "27500000", "0": "0", "0.000001": "1", "1.500000000": "1500000", "123456789012": "123456789012000000"} {
		got, err := rawUnits(amount, 6)
		require.NoError(t, err, amount)
		require.Equal(t, want, got.String(), amount)
	}
	for _, amount := range []string{"", ".", "1.", ".5", "1e3", "1,5", "0x1", " 1", "0.0000001", "+1", "٥"} {
		_, err := rawUnits(amount, 6)
		require.Error(t, err, amount)
	}
}
