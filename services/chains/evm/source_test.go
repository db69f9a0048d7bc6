package evm_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"offrampbot/services/chains/evm"
	"offrampbot/services/deposit"
)

func TestSource_readsTransfersWithTheirOrdinals(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	approval := transferLog(50, txHash(1), 7, theirs, ours, 1)
	approval.topics = []string{"0x" + strings.Repeat("8", 64), padded(theirs), padded(ours)}
	n.logs = []fakeLog{
		approval, // ordinal 0 is no transfer
		transferLog(50, txHash(1), 8, theirs, ours, 25),
		transferLog(50, txHash(1), 9, theirs, theirs, 3),
		transferLog(50, txHash(1), 10, theirs, ours, 30),
		transferLog(51, txHash(2), 0, ours, theirs, 5),
	}
	got, err := source(t, nil, n).Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.Equal(t, []int{1, 3, 0}, []int{got[0].Ordinal, got[1].Ordinal, got[2].Ordinal})
	require.Equal(t, deposit.Transfer{
		Tx: txHash(1), Ordinal: 1, Contract: token, From: theirs, To: ours, Raw: got[0].Raw, Block: 50, BlockHash: n.blockHash(50),
	}, got[0])
	require.Equal(t, "25", got[0].Raw.String())
}

func TestSource_whatIsNoTransferIsNotReturned(t *testing.T) {
	t.Parallel()
	base := func() fakeLog { return transferLog(50, txHash(1), 0, theirs, ours, 25) }
	tests := []struct {
		name   string
		change func(*fakeLog)
	}{
		{"an ERC-721 transfer with the id as a fourth topic", func(l *fakeLog) { l.topics = append(l.topics, amount(7)); l.data = "0x" }},
		{"a log that the node has taken back", func(l *fakeLog) { l.removed = true }},
		{"an address topic with rubbish before the address", func(l *fakeLog) { l.topics[1] = "0x01" + l.topics[1][4:] }},
		{"no amount", func(l *fakeLog) { l.data = "0x" }},
		{"two amounts", func(l *fakeLog) { l.data += strings.Repeat("0", 64) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			l := base()
			tt.change(&l)
			n.logs = []fakeLog{l}
			got, err := source(t, nil, n).Transfers(t.Context(), 40, 60, []string{ours})
			require.NoError(t, err)
			require.Empty(t, got)
		})
	}
}

func TestSource_aFailedTransactionIsLeftOut(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.logs = []fakeLog{transferLog(50, txHash(1), 0, theirs, ours, 25), transferLog(50, txHash(2), 1, theirs, ours, 30)}
	n.status[txHash(1)] = "0x0"
	s := source(t, nil, n)
	got, err := s.Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, txHash(2), got[0].Tx)
	r, found, err := s.Receipt(t.Context(), txHash(1))
	require.NoError(t, err)
	require.True(t, found)
	require.False(t, r.Success)
}

func TestSource_zeroValuesAreReturnedWithoutAskingForTheirReceipts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for i := range 20 {
		n.logs = append(n.logs, transferLog(50, txHash(i), int64(i), theirs, ours, 0))
	}
	got, err := source(t, nil, n).Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Len(t, got, 20)
	require.Zero(t, n.calls["eth_getTransactionReceipt"])
}

func TestSource_aTransferBetweenOurAddressesIsFoundOnce(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.logs = []fakeLog{transferLog(50, txHash(1), 0, ours, theirs, 25)}
	got, err := source(t, nil, n).Transfers(t.Context(), 40, 60, []string{ours, theirs})
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestSource_aNodeThatCountsLogsPerTransactionGivesTheSameOrdinals(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	first, second := transferLog(50, txHash(1), 0, theirs, ours, 25), transferLog(50, txHash(1), 1, theirs, ours, 30)
	first.inBlock, second.inBlock = 41, 42 // the receipt counts per block (B55)
	n.logs = []fakeLog{first, second}
	got, err := source(t, nil, n).Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{got[0].Ordinal, got[1].Ordinal})
}

func TestSource_aReceiptThatDoesNotShowTheLogYetFailsTheRange(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.logs = []fakeLog{transferLog(50, txHash(1), 0, theirs, ours, 25)}
	n.noLogs[txHash(1)] = true
	s := source(t, nil, n)
	_, err := s.Transfers(t.Context(), 40, 60, []string{ours})
	require.ErrorContains(t, err, "receipt does not show the log yet")
	n.noLogs[txHash(1)] = false
	got, err := s.Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestSource_refusalsOfARangeAreHalvedAndRemembered(t *testing.T) {
	t.Parallel()
	// The codes that nodes use (B49), and the statuses.
	refusals := map[string]struct {
		problem any
		status  int
	}{
		"-32005":     {map[string]any{"code": -32005, "message": "query returned more than 10000 results"}, 0},
		"-32600":     {map[string]any{"code": -32600, "message": "block range too large"}, 0},
		"-32602":     {map[string]any{"code": -32602, "message": "eth_getLogs is limited to 100"}, 0},
		"-32603":     {map[string]any{"code": -32603, "message": "internal"}, 0},
		"-32000":     {map[string]any{"code": -32000, "message": "exceed maximum block range: 5000"}, 0},
		"35":         {map[string]any{"code": 35, "message": "ranges over 10000 blocks are not supported on freetier"}, 0},
		"with a 400": {map[string]any{"code": -32600, "message": "range"}, http.StatusBadRequest},
		"with a 413": {map[string]any{"code": -32600, "message": "range"}, http.StatusRequestEntityTooLarge},
	}
	for name, r := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			n.noBatch, n.status4 = r.status != 0, r.status
			n.refuse = func(from, to int64) any {
				if to-from+1 > 6 {
					return r.problem
				}
				return nil
			}
			n.logs = []fakeLog{transferLog(41, txHash(1), 0, theirs, ours, 1), transferLog(99, txHash(2), 0, theirs, ours, 2)}
			s := source(t, nil, n)
			got, err := s.Transfers(t.Context(), 1, 100, []string{ours})
			require.NoError(t, err)
			require.Len(t, got, 2)
			before := n.calls["eth_getLogs"]
			n.ranges = nil
			_, err = s.Transfers(t.Context(), 1, 12, []string{ours})
			require.NoError(t, err)
			require.Len(t, n.ranges, n.calls["eth_getLogs"]-before, "no range was refused again")
		})
	}
}

func TestSource_aNodeThatRefusesOneBlockFails(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.refuse = func(int64, int64) any { return map[string]any{"code": -32005, "message": "no"} }
	_, err := source(t, nil, n).Transfers(t.Context(), 1, 100, []string{ours})
	require.ErrorContains(t, err, "read logs of blocks 1 to 1")
}

func TestSource_rangesCoverEverythingOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := newNode(t)
		n.height = 1000
		limit := rapid.Int64Range(1, 80).Draw(rt, "limit")
		n.refuse = func(from, to int64) any {
			if to-from+1 > limit {
				return map[string]any{"code": -32005, "message": "too long"}
			}
			return nil
		}
		from := rapid.Int64Range(0, 500).Draw(rt, "from")
		to := from + rapid.Int64Range(0, 300).Draw(rt, "length")
		s := source(t, func(o *evm.Options) { o.MaxRange = rapid.Int64Range(1, 200).Draw(rt, "most") }, n)
		_, err := s.Transfers(t.Context(), from, to, []string{ours})
		require.NoError(rt, err)
		next := from
		for i, r := range n.ranges {
			if i%2 == 1 {
				require.Equal(rt, n.ranges[i-1], r, "into and out of the addresses")
				continue
			}
			require.Equal(rt, next, r[0], "a gap or an overlap")
			next = r[1] + 1
		}
		require.Equal(rt, to+1, next)
	})
}

func TestSource_addressesAreAskedInChunks(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.logs = []fakeLog{transferLog(50, txHash(1), 0, ours, theirs, 25)}
	s := source(t, func(o *evm.Options) { o.AddressChunk = 1 }, n)
	got, err := s.Transfers(t.Context(), 40, 60, []string{token, theirs, ours})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, 6, n.calls["eth_getLogs"])
}

func TestSource_answersThatMeanNothingAreErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(n *fakeNode)
	}{
		{"null instead of a list", func(n *fakeNode) { n.answer["eth_getLogs"] = func() (any, any) { return nil, nil } }},
		{"a node behind the range", func(n *fakeNode) { n.height = 55 }},
		{"a log outside the range", func(n *fakeNode) {
			n.answer["eth_getLogs"] = func() (any, any) { return []any{n.wire(transferLog(70, txHash(1), 0, theirs, ours, 1), 0)}, nil }
		}},
		{"a decimal block number", func(n *fakeNode) {
			n.answer["eth_getLogs"] = func() (any, any) {
				w := n.wire(transferLog(50, txHash(1), 0, theirs, ours, 1), 0)
				w["blockNumber"] = "50"
				return []any{w}, nil
			}
		}},
		{"a log without a block", func(n *fakeNode) {
			n.answer["eth_getLogs"] = func() (any, any) {
				w := n.wire(transferLog(50, txHash(1), 0, theirs, ours, 1), 0)
				w["blockHash"] = nil
				return []any{w}, nil
			}
		}},
		{"no receipt", func(n *fakeNode) {
			n.logs = []fakeLog{transferLog(50, txHash(1), 0, theirs, ours, 1)}
			n.answer["eth_getTransactionReceipt"] = func() (any, any) { return nil, nil }
		}},
		{"a receipt without a status", func(n *fakeNode) {
			n.logs = []fakeLog{transferLog(50, txHash(1), 0, theirs, ours, 1)}
			n.status[txHash(1)] = "0x"
		}},
		{"an empty body", func(n *fakeNode) { n.handle = func(http.ResponseWriter, *http.Request) bool { return true } }},
		{"a page of HTML", func(n *fakeNode) {
			n.handle = func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte("<html>")); return true }
		}},
		{"a redirect", func(n *fakeNode) {
			n.handle = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				return true
			}
		}},
		{"neither result nor error", func(n *fakeNode) {
			n.handle = func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":0}`))
				return true
			}
		}},
		{"another id", func(n *fakeNode) {
			n.handle = func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":5,"result":[]}`))
				return true
			}
		}},
		{"a result under an error status", func(n *fakeNode) {
			n.handle = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusBadGateway)
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":0,"result":[]}`))
				return true
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			s := source(t, nil, n)
			require.NoError(t, s.Check(t.Context()))
			tt.change(n)
			_, err := s.Transfers(t.Context(), 40, 60, []string{ours})
			require.Error(t, err)
		})
	}
}

func TestSource_goesOnToTheNextNodeAndStaysThere(t *testing.T) {
	t.Parallel()
	bad, good := newNode(t), newNode(t)
	s := source(t, nil, bad, good)
	require.NoError(t, s.Check(t.Context()))
	bad.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	_, err := s.Head(t.Context())
	require.NoError(t, err)
	requests := bad.requests
	_, err = s.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, requests, bad.requests)
}

func TestSource_aNodeWhoseIndexLagsIsPassedOver(t *testing.T) {
	t.Parallel()
	behind, good := newNode(t), newNode(t)
	behind.height = 55
	good.logs = []fakeLog{transferLog(58, txHash(1), 0, theirs, ours, 25)}
	got, err := source(t, nil, behind, good).Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestSource_aNodeOfAnotherChainIsRefusedAndNeverUsed(t *testing.T) {
	t.Parallel()
	wrong, good := newNode(t), newNode(t)
	wrong.chainID, wrong.height = "0x1", 5000
	s := source(t, nil, wrong, good)
	require.ErrorIs(t, s.Check(t.Context()), evm.ErrChainID)
	head, err := s.Head(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 100, head.Number)
	require.Zero(t, wrong.calls["eth_getBlockByNumber"])
	_, err = source(t, nil, wrong).Head(t.Context())
	require.ErrorIs(t, err, evm.ErrChainID)
}

func TestSource_aNodeThatIsDownIsNoReasonNotToStart(t *testing.T) {
	t.Parallel()
	down := newNode(t)
	down.server.Close()
	require.NoError(t, source(t, nil, down, newNode(t)).Check(t.Context()))
}

func TestSource_errorsNeverShowTheAddressOfANode(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.handle = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }
	down := newNode(t)
	down.server.Close()
	s := source(t, func(o *evm.Options) {
		for i := range o.URLs {
			o.URLs[i] += "/v2/secret-key"
		}
	}, n, down)
	_, err := s.Head(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret-key")
	require.NotContains(t, err.Error(), "/v2/")
	require.Contains(t, err.Error(), "node 2 of 2")
}

func TestSource_aNodeWithoutBatchesIsAskedOneByOne(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.noBatch = true
	n.logs = []fakeLog{transferLog(50, txHash(1), 0, theirs, ours, 25), transferLog(51, txHash(2), 0, theirs, ours, 30)}
	s := source(t, nil, n)
	got, err := s.Transfers(t.Context(), 40, 60, []string{ours})
	require.NoError(t, err)
	require.Len(t, got, 2)
	blocks, err := s.BlocksAt(t.Context(), []int64{50, 51, 500})
	require.NoError(t, err)
	require.Equal(t, n.blockHash(50), blocks[50].Hash)
	require.Equal(t, deposit.Block{}, blocks[500])
}

func TestSource_aSlowNodeIsGivenUpByItsOwnDeadline(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	s := source(t, func(o *evm.Options) { o.Timeout = 50 * time.Millisecond }, n)
	require.NoError(t, s.Check(t.Context()))
	n.handle = func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = http.MaxBytesReader(nil, r.Body, 1<<20).Read(make([]byte, 1<<16))
		<-r.Context().Done()
		return true
	}
	_, err := s.Head(t.Context())
	require.ErrorContains(t, err, "did not answer in time")
}

func TestSource_blocksAndTags(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	s := source(t, nil, n)
	head, err := s.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, deposit.Block{Number: 100, Hash: n.blockHash(100), Parent: n.blockHash(99), Time: time.Unix(0x65, 0).UTC()}, head)
	_, found, err := s.BlockAt(t.Context(), 101)
	require.NoError(t, err)
	require.False(t, found)
	b, found, err := s.BlockAt(t.Context(), 7)
	require.NoError(t, err)
	require.True(t, found)
	require.EqualValues(t, 7, b.Number)

	height, ok, err := s.Final(t.Context(), "finalized")
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 100, height)
	n.answer["eth_getBlockByNumber"] = func() (any, any) { return nil, map[string]any{"code": -32602, "message": "unknown tag"} }
	_, ok, err = s.Final(t.Context(), "finalized")
	require.NoError(t, err)
	require.False(t, ok)
	n.server.Close()
	_, _, err = s.Final(t.Context(), "finalized")
	require.Error(t, err)
}

func TestSource_aBlockOfAnotherHeightIsNoAnswer(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	s := source(t, nil, n)
	n.answer["eth_getBlockByNumber"] = func() (any, any) { return n.block("0x9"), nil }
	_, _, err := s.BlockAt(t.Context(), 10)
	require.ErrorContains(t, err, "the answer is block 9")
	_, err = s.BlocksAt(t.Context(), []int64{10, 11})
	require.ErrorContains(t, err, "the answer is block 9")
}

func TestSource_asksASecondNodeForItsOpinion(t *testing.T) {
	t.Parallel()
	first, second := newNode(t), newNode(t)
	second.fork = "another"
	s := source(t, nil, first, second)
	b, asked, err := s.SecondBlockAt(t.Context(), 50)
	require.NoError(t, err)
	require.True(t, asked)
	require.Equal(t, second.blockHash(50), b.Hash)
	_, asked, err = source(t, nil, first).SecondBlockAt(t.Context(), 50)
	require.NoError(t, err)
	require.False(t, asked)
	second.server.Close()
	_, asked, err = s.SecondBlockAt(t.Context(), 50)
	require.NoError(t, err)
	require.False(t, asked)
}

func TestSource_balance(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	s := source(t, nil, n)
	n.answer["eth_call"] = func() (any, any) { return amount(123456), nil }
	got, err := s.Balance(t.Context(), token, ours)
	require.NoError(t, err)
	require.EqualValues(t, 123456, got.Int64())
	n.answer["eth_call"] = func() (any, any) { return "0x", nil } // no contract there
	_, err = s.Balance(t.Context(), token, ours)
	require.Error(t, err)
}

func TestNew_refusesOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	_, err := evm.New(evm.Options{URLs: []string{"ftp://x", "http://ok", "::"}, Timeout: -1, MaxRange: -1, AddressChunk: -1})
	for _, want := range []string{
		"Chain is empty", "ChainID must be positive", "number 1 is not", "number 3 is not", "Timeout", "MaxRange", "AddressChunk",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "number 2")
	_, err = evm.New(evm.Options{Chain: "base", ChainID: 1})
	require.ErrorContains(t, err, "URLs is empty")
}
