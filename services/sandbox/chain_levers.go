package sandbox

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Bounds of the levers: what one call may do at most.
const (
	maxMine = 10_000
	maxLogs = 50
)

// transferLever is the request of POST /world/chains/:chain/transfers.
type transferLever struct {
	To       string `json:"to"`
	Token    string `json:"token"`
	Amount   string `json:"amount"`    // whole tokens, "27.5"
	Contract string `json:"contract"`  // another contract than the token's: a fake token
	Tx       string `json:"tx"`        // mines this transaction again, or names the new one
	From     string `json:"from"`      // default: an outsider
	Count    int    `json:"count"`     // logs in the transaction, default 1
	Failed   bool   `json:"failed"`    // the receipt says that it failed
	KeepLogs bool   `json:"keep_logs"` // a failed one whose logs are served all the same
}

// transferResult is its answer.
type transferResult struct {
	Tx   string `json:"tx"`
	From string `json:"from"`
}

var (
	hashPattern   = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
	amountPattern = regexp.MustCompile(`^[0-9]{1,40}(\.[0-9]{1,40})?$`)
)

// transfer puts a movement into the pool, where it stays until a block is mined.
func (c *chain) transfer(in transferLever) (transferResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.Tx != "" && !hashPattern.MatchString(in.Tx) {
		return transferResult{}, invalid("tx_invalid", "tx is not a transaction hash")
	}
	m := c.known[common.HexToHash(in.Tx)]
	if in.Tx != "" && m != nil {
		if err := c.again(m, in); err != nil {
			return transferResult{}, err
		}
	} else {
		made, err := c.movement(in)
		if err != nil {
			return transferResult{}, err
		}
		m = made
	}
	c.known[m.hash] = m
	c.pool = append(c.pool, m)
	c.hub.tell(event{Kind: "chain", Chain: c.cfg.Name, ID: m.hash.Hex(), Text: "pooled"})
	return transferResult{Tx: m.hash.Hex(), From: m.from.Hex()}, nil
}

// again checks that a known transaction can be mined once more: the same hash is the same content, and it stands on
// the chain at most once.
func (c *chain) again(m *movement, in transferLever) error {
	if _, mined := c.places[m.hash]; mined || slices.Contains(c.pool, m) {
		return conflict("tx_known", "the transaction is mined or pooled already")
	}
	if in.To != "" && common.HexToAddress(in.To) != m.to {
		return conflict("tx_differs", "this transaction goes to %s", m.to.Hex())
	}
	if in.Amount != "" {
		if value, err := c.rawAmount(in, m.token); err != nil || value.Cmp(m.value) != 0 {
			return conflict("tx_differs", "this transaction moves %s raw units", m.value)
		}
	}
	return nil
}

func (c *chain) rawAmount(in transferLever, token string) (*big.Int, error) {
	decimals := 18
	if t, found := c.tokenOf(orString(in.Token, token)); found {
		decimals = t.Decimals
	}
	return rawUnits(in.Amount, decimals)
}

// movement makes a new transaction from a lever.
func (c *chain) movement(in transferLever) (*movement, error) {
	token, found := c.tokenOf(in.Token)
	if !found && in.Contract == "" {
		return nil, notFound("token_unknown", "%s has no token %q", c.cfg.Name, in.Token)
	}
	for name, address := range map[string]string{"to": in.To, "contract": in.Contract, "from": in.From} {
		if (address != "" || name == "to") && !addressPattern.MatchString(address) {
			return nil, invalid("address_invalid", "%s is not an address", name)
		}
	}
	value, err := c.rawAmount(in, in.Token)
	if err != nil {
		return nil, err
	}
	if in.Count < 0 || in.Count > maxLogs {
		return nil, invalid("count_invalid", "count must be 1 to %d", maxLogs)
	}
	m := &movement{
		token: in.Token, contract: common.HexToAddress(orString(in.Contract, token.Contract)), to: common.HexToAddress(in.To),
		value: value, logs: max(in.Count, 1), failed: in.Failed, keepLogs: in.KeepLogs,
		from: common.BytesToAddress(digestOf(c.seed, "sender", c.cfg.Name)[:20]),
	}
	if in.From != "" {
		m.from = common.HexToAddress(in.From)
	}
	c.nonce++
	m.tx = c.transaction(m, c.nonce)
	m.hash = m.tx.Hash()
	if in.Tx != "" {
		m.hash = common.HexToHash(in.Tx)
	}
	return m, nil
}

// transaction is the call of transfer(to, value). Its signature has the right form and no signer: nobody checks it.
func (c *chain) transaction(m *movement, nonce uint64) *types.Transaction {
	data := slices.Concat(common.Hex2Bytes("a9059cbb"), common.LeftPadBytes(m.to.Bytes(), 32), common.LeftPadBytes(m.value.Bytes(), 32))
	v := new(big.Int).SetUint64(c.cfg.ID)
	v.Mul(v, big.NewInt(2)).Add(v, big.NewInt(35))
	sum := digestOf(c.seed, "signature", c.cfg.Name)
	return types.NewTx(&types.LegacyTx{
		Nonce: nonce, GasPrice: big.NewInt(1_000_000_000), Gas: gasPerMove, To: &m.contract, Value: new(big.Int), Data: data,
		V: v, R: new(big.Int).SetBytes(sum[:31]), S: new(big.Int).SetBytes(sum[1:32]),
	})
}

// rawUnits reads an amount of whole tokens exactly.
func rawUnits(amount string, decimals int) (*big.Int, error) {
	if !amountPattern.MatchString(amount) {
		return nil, invalid("amount_invalid", "amount %q is not a decimal number of whole tokens", amount)
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return nil, invalid("amount_invalid", "amount %q has more than %d decimals", amount, decimals)
	}
	digits := whole + fraction + strings.Repeat("0", decimals-len(fraction))
	value, ok := new(big.Int).SetString(digits, 10)
	if !ok || value.BitLen() > 256 {
		return nil, invalid("amount_invalid", "amount %q does not fit in 256 bits", amount)
	}
	return value, nil
}

// mine mines blocks; the first holds everything that was pooled.
func (c *chain) mine(blocks int) (uint64, error) {
	if blocks < 1 || blocks > maxMine {
		return 0, invalid("blocks_invalid", "blocks must be 1 to %d", maxMine)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for range blocks {
		c.append(c.pool, c.now())
		c.pool = nil
	}
	return c.tellHeight("mined"), nil
}

func (c *chain) tellHeight(text string) uint64 {
	tip := c.blocks[len(c.blocks)-1]
	c.hub.tell(event{Kind: "chain", Chain: c.cfg.Name, ID: tip.hash.Hex(), Text: text})
	return tip.header.Number.Uint64()
}

// reorgResult says what a reorganisation left.
type reorgResult struct {
	Height  uint64   `json:"height"`
	Dropped []string `json:"dropped"`
	Mined   []string `json:"mined"`
}

// reorg replaces the last blocks by as many others. What is not dropped is mined again, shift blocks later than before;
// what is dropped is gone, until it is given to transfer again.
func (c *chain) reorg(depth int, drop []string, shift int) (reorgResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if depth < 1 || depth >= len(c.blocks) {
		return reorgResult{}, invalid("depth_invalid", "depth must be 1 to %d", len(c.blocks)-1)
	}
	if shift < 0 || shift >= depth {
		return reorgResult{}, invalid("shift_invalid", "shift must be 0 to %d", depth-1)
	}
	first := len(c.blocks) - depth
	dropped, err := c.chosen(drop, uint64(first))
	if err != nil {
		return reorgResult{}, err
	}
	replaced := slices.Clone(c.blocks[first:])
	c.blocks = c.blocks[:first]
	c.forks++
	c.pool = slices.DeleteFunc(c.pool, func(m *movement) bool { return dropped[m.hash] })
	result := reorgResult{Dropped: []string{}, Mined: []string{}}
	again := make([][]*movement, depth)
	for i, b := range replaced {
		delete(c.byHash, b.hash)
		for _, m := range b.moves {
			delete(c.places, m.hash)
			if dropped[m.hash] {
				continue
			}
			at := min(i+shift, depth-1)
			again[at] = append(again[at], m)
			result.Mined = append(result.Mined, m.hash.Hex())
		}
	}
	for i, moves := range again {
		c.append(moves, time.Unix(int64(replaced[i].header.Time), 0))
	}
	for hash := range dropped {
		result.Dropped = append(result.Dropped, hash.Hex())
	}
	slices.Sort(result.Dropped)
	result.Height = c.tellHeight("reorganised")
	return result, nil
}

// chosen reads the transactions to drop: each must be pooled or in the blocks that go.
func (c *chain) chosen(drop []string, first uint64) (map[common.Hash]bool, error) {
	dropped := make(map[common.Hash]bool)
	for _, raw := range drop {
		hash := common.HexToHash(raw)
		m := c.known[hash]
		if !hashPattern.MatchString(raw) || m == nil {
			return nil, notFound("tx_unknown", "%s knows no transaction %q", c.cfg.Name, raw)
		}
		if p, mined := c.places[hash]; mined && p.number < first {
			return nil, conflict("tx_too_deep", "the transaction %s is in block %d, below the reorganisation", raw, p.number)
		}
		dropped[hash] = true
	}
	return dropped, nil
}

func (c *chain) setAuto(every time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setAutoLocked(every)
}

func (c *chain) setAutoLocked(every time.Duration) {
	c.auto, c.nextAt = every, c.now().Add(every)
}

// autoMine mines the blocks that are due by themselves and reports whether there was one.
func (c *chain) autoMine() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	worked := false
	for n := 0; c.auto > 0 && !c.now().Before(c.nextAt) && n < maxMine; n++ {
		c.append(c.pool, c.nextAt)
		c.pool = nil
		c.nextAt = c.nextAt.Add(c.auto)
		worked = true
	}
	if worked {
		c.tellHeight("mined")
	}
	return worked
}

// stall makes the node show the present head for ever, or catch up again.
func (c *chain) stall(stalled bool) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stalled && !c.stalled {
		c.stallAt = uint64(len(c.blocks) - 1)
	}
	c.stalled = stalled
	return c.head()
}
