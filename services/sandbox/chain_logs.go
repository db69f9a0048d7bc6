package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// logFilter is the parameter of eth_getLogs. Addresses and each topic may be one value, a list or null.
type logFilter struct {
	From      string            `json:"fromBlock"`
	To        string            `json:"toBlock"`
	BlockHash *common.Hash      `json:"blockHash"`
	Address   json.RawMessage   `json:"address"`
	Topics    []json.RawMessage `json:"topics"`
}

// oneOrMany reads a value, a list of values, or null as no restriction.
func oneOrMany[T any](raw json.RawMessage) ([]T, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] == '[' {
		var many []T
		return many, json.Unmarshal(raw, &many)
	}
	var one T
	if err := json.Unmarshal(raw, &one); err != nil {
		return nil, err
	}
	return []T{one}, nil
}

// logs answers eth_getLogs: the range limit first, then every log of the range that fits.
func (c *chain) logs(params []json.RawMessage) (any, *rpcError) {
	var filter logFilter
	if problem := param(params, 0, &filter); problem != nil || len(params) == 0 {
		return nil, firstProblem(problem, badParams("missing value for required argument 0"))
	}
	addresses, err := oneOrMany[common.Address](filter.Address)
	if err != nil {
		return nil, badParams("invalid address in the filter")
	}
	topics := make([][]common.Hash, len(filter.Topics))
	for i, raw := range filter.Topics {
		if topics[i], err = oneOrMany[common.Hash](raw); err != nil {
			return nil, badParams("invalid topic in the filter")
		}
	}
	first, last, problem := c.window(filter)
	if problem != nil {
		return nil, problem
	}
	found := []*types.Log{}
	for n := first; n <= last && n <= c.head(); n++ {
		for _, log := range c.blocks[n].allLogs() {
			if fits(log, addresses, topics) {
				found = append(found, log)
			}
		}
	}
	return found, nil
}

// window is the block range of a filter.
func (c *chain) window(filter logFilter) (first, last uint64, problem *rpcError) {
	if filter.BlockHash != nil {
		if filter.From != "" || filter.To != "" {
			return 0, 0, badParams("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
		}
		b := c.withHash(*filter.BlockHash)
		if b == nil {
			return 0, 0, &rpcError{Code: -32000, Message: "unknown block"}
		}
		number := b.header.Number.Uint64()
		return number, number, nil
	}
	if first, _, problem = c.number(filter.From); problem != nil {
		return 0, 0, problem
	}
	if last, _, problem = c.number(filter.To); problem != nil {
		return 0, 0, problem
	}
	if first > last {
		return 0, 0, badParams("invalid block range params")
	}
	if last-first+1 > c.cfg.RangeLimit {
		return 0, 0, &rpcError{Code: -32005, Message: fmt.Sprintf("block range is too large, at most %d blocks", c.cfg.RangeLimit)}
	}
	return first, last, nil
}

func fits(log *types.Log, addresses []common.Address, topics [][]common.Hash) bool {
	if len(addresses) > 0 && !slices.Contains(addresses, log.Address) {
		return false
	}
	if len(topics) > len(log.Topics) {
		return false
	}
	for i, wanted := range topics {
		if len(wanted) > 0 && !slices.Contains(wanted, log.Topics[i]) {
			return false
		}
	}
	return true
}

// blockReference is the last parameter of eth_call: a number, a tag, or an object with blockHash or blockNumber.
func (c *chain) blockReference(raw json.RawMessage) (uint64, *rpcError) {
	var tag string
	if len(raw) > 0 && json.Unmarshal(raw, &tag) != nil {
		var object struct {
			Hash   *common.Hash `json:"blockHash"`
			Number string       `json:"blockNumber"`
		}
		if json.Unmarshal(raw, &object) != nil {
			return 0, badParams("invalid block reference")
		}
		if object.Hash != nil {
			b := c.withHash(*object.Hash)
			if b == nil {
				return 0, &rpcError{Code: -32000, Message: "header not found"}
			}
			return b.header.Number.Uint64(), nil
		}
		tag = object.Number
	}
	number, found, problem := c.number(tag)
	if problem == nil && !found {
		problem = &rpcError{Code: -32000, Message: "header not found"}
	}
	return number, problem
}

// ethCall answers the read-only part of an ERC-20: balanceOf, decimals, symbol, totalSupply. Anything else returns
// nothing, as a call of an address without code does.
func (c *chain) ethCall(params []json.RawMessage) (any, *rpcError) {
	var call struct {
		To    *common.Address `json:"to"`
		Data  *hexutil.Bytes  `json:"data"`
		Input *hexutil.Bytes  `json:"input"`
	}
	if problem := param(params, 0, &call); problem != nil {
		return nil, problem
	}
	var at json.RawMessage
	if len(params) > 1 {
		at = params[1]
	}
	number, problem := c.blockReference(at)
	if problem != nil {
		return nil, problem
	}
	data := call.Input
	if data == nil {
		data = call.Data
	}
	if call.To == nil || data == nil || len(*data) < 4 {
		return "0x", nil
	}
	input := []byte(*data)
	switch hexutil.Encode(input[:4]) {
	case "0x70a08231": // balanceOf(address)
		if len(input) < 36 {
			return nil, &rpcError{Code: 3, Message: "execution reverted"}
		}
		return word(c.balance(*call.To, common.BytesToAddress(input[4:36]), number)), nil
	case "0x313ce567": // decimals()
		if t, found := c.tokenAt(*call.To); found {
			return word(big.NewInt(int64(t.Decimals))), nil
		}
	case "0x95d89b41": // symbol()
		if t, found := c.tokenAt(*call.To); found {
			return abiText(t.Symbol), nil
		}
	case "0x18160ddd": // totalSupply()
		if _, found := c.tokenAt(*call.To); found {
			return word(new(big.Int).Exp(big.NewInt(10), big.NewInt(30), nil)), nil
		}
	}
	return "0x", nil
}

// abiText encodes a text of at most 32 bytes as a contract returns it.
func abiText(s string) string {
	offset, size := common.LeftPadBytes([]byte{32}, 32), common.LeftPadBytes([]byte{byte(len(s))}, 32)
	return hexutil.Encode(slices.Concat(offset, size, common.RightPadBytes([]byte(s), 32)))
}

func word(n *big.Int) string { return hexutil.Encode(common.LeftPadBytes(n.Bytes(), 32)) }

func (c *chain) tokenAt(contract common.Address) (Token, bool) {
	for _, t := range c.cfg.Tokens {
		if common.HexToAddress(t.Contract) == contract {
			return t, true
		}
	}
	return Token{}, false
}

func (c *chain) code(params []json.RawMessage) (any, *rpcError) {
	var address common.Address
	if problem := param(params, 0, &address); problem != nil {
		return nil, problem
	}
	if _, found := c.tokenAt(address); found {
		return "0x6080604052", nil
	}
	return "0x", nil
}
