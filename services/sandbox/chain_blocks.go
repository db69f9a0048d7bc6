package sandbox

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

func quantity(n uint64) string  { return hexutil.EncodeUint64(n) }
func decimalOf(n uint64) string { return strconv.FormatUint(n, 10) }

func badParams(message string) *rpcError { return &rpcError{Code: -32602, Message: message} }

// param decodes the n-th parameter, which may be left out.
func param(params []json.RawMessage, n int, into any) *rpcError {
	if n >= len(params) {
		return nil
	}
	if err := json.Unmarshal(params[n], into); err != nil {
		return badParams("invalid argument " + strconv.Itoa(n))
	}
	return nil
}

// number reads a block number or tag. found is false for a block that the node does not have.
func (c *chain) number(tag string) (number uint64, found bool, problem *rpcError) {
	head := c.head()
	switch tag {
	case "", "latest", "pending":
		return head, true, nil
	case "earliest":
		return 0, true, nil
	case "safe":
		return below(head, c.cfg.SafeDepth), true, nil
	case "finalized":
		return below(head, c.cfg.FinalizedDepth), true, nil
	}
	number, err := hexutil.DecodeUint64(tag)
	if err != nil {
		return 0, false, badParams("invalid block number " + tag)
	}
	return number, number <= head, nil
}

func (c *chain) blockByNumber(params []json.RawMessage) (any, *rpcError) {
	var tag string
	var full bool
	if problem := firstProblem(param(params, 0, &tag), param(params, 1, &full)); problem != nil {
		return nil, problem
	}
	number, found, problem := c.number(tag)
	if problem != nil || !found {
		return nil, problem
	}
	return c.blockBody(c.blocks[number], full)
}

func (c *chain) blockByHash(params []json.RawMessage) (any, *rpcError) {
	var hash common.Hash
	var full bool
	if problem := firstProblem(param(params, 0, &hash), param(params, 1, &full)); problem != nil {
		return nil, problem
	}
	b := c.withHash(hash)
	if b == nil {
		return nil, nil
	}
	return c.blockBody(b, full)
}

func firstProblem(problems ...*rpcError) *rpcError {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

// asObject turns a go-ethereum document into an object that more fields can be added to.
func asObject(document any) (map[string]any, *rpcError) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, &rpcError{Code: -32603, Message: err.Error()}
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, &rpcError{Code: -32603, Message: err.Error()}
	}
	return object, nil
}

func (c *chain) blockBody(b *block, full bool) (any, *rpcError) {
	body, problem := asObject(b.header)
	if problem != nil {
		return nil, problem
	}
	transactions := []any{}
	for i, m := range b.moves {
		if !full {
			transactions = append(transactions, m.hash.Hex())
			continue
		}
		transaction, problem := c.transactionBody(m, b, i)
		if problem != nil {
			return nil, problem
		}
		transactions = append(transactions, transaction)
	}
	body["transactions"], body["uncles"], body["size"], body["totalDifficulty"] = transactions, []any{}, "0x220", "0x0"
	return body, nil
}

func (c *chain) transactionBody(m *movement, b *block, index int) (map[string]any, *rpcError) {
	body, problem := asObject(m.tx)
	if problem != nil {
		return nil, problem
	}
	body["hash"], body["from"] = m.hash.Hex(), strings.ToLower(m.from.Hex())
	body["blockHash"], body["blockNumber"], body["transactionIndex"] = nil, nil, nil
	if b != nil {
		body["blockHash"], body["blockNumber"] = b.hash.Hex(), quantity(b.header.Number.Uint64())
		body["transactionIndex"] = quantity(uint64(index))
	}
	return body, nil
}

func (c *chain) transactionByHash(params []json.RawMessage) (any, *rpcError) {
	var hash common.Hash
	if problem := param(params, 0, &hash); problem != nil {
		return nil, problem
	}
	if b, index, found := c.mined(hash); found {
		return c.transactionBody(b.moves[index], b, index)
	}
	for _, m := range c.pool {
		if m.hash == hash {
			return c.transactionBody(m, nil, 0)
		}
	}
	return nil, nil
}

func (c *chain) receipt(params []json.RawMessage) (any, *rpcError) {
	var hash common.Hash
	if problem := param(params, 0, &hash); problem != nil {
		return nil, problem
	}
	b, index, found := c.mined(hash)
	if !found {
		return nil, nil
	}
	return c.receiptBody(b, index)
}

func (c *chain) blockReceipts(params []json.RawMessage) (any, *rpcError) {
	var tag string
	if problem := param(params, 0, &tag); problem != nil {
		return nil, problem
	}
	b := c.withHash(common.HexToHash(tag))
	if !hashPattern.MatchString(tag) {
		number, found, problem := c.number(tag)
		if problem != nil {
			return nil, problem
		}
		if found {
			b = c.blocks[number]
		}
	}
	if b == nil {
		return nil, nil
	}
	receipts := []any{}
	for i := range b.moves {
		receipt, problem := c.receiptBody(b, i)
		if problem != nil {
			return nil, problem
		}
		receipts = append(receipts, receipt)
	}
	return receipts, nil
}

func (c *chain) receiptBody(b *block, index int) (any, *rpcError) {
	m := b.moves[index]
	receipt := &types.Receipt{
		Status: types.ReceiptStatusSuccessful, CumulativeGasUsed: gasPerMove * uint64(index+1), TxHash: m.hash, GasUsed: gasPerMove,
		BlockHash: b.hash, BlockNumber: b.header.Number, TransactionIndex: uint(index), EffectiveGasPrice: m.tx.GasPrice(), Logs: []*types.Log{},
	}
	if m.failed {
		receipt.Status = types.ReceiptStatusFailed
	}
	for _, log := range b.allLogs() {
		if log.TxHash == m.hash {
			receipt.Logs = append(receipt.Logs, log)
		}
	}
	receipt.Bloom = types.CreateBloom(receipt)
	body, problem := asObject(receipt)
	if problem != nil {
		return nil, problem
	}
	body["from"], body["to"], body["contractAddress"] = strings.ToLower(m.from.Hex()), strings.ToLower(m.contract.Hex()), nil
	body["type"] = "0x0"
	return body, nil
}
