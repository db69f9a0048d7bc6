package chaintest_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/chains/evm"
	"offrampbot/services/deposit"
	"offrampbot/services/deposit/chaintest"
	"offrampbot/services/sandbox"
	"offrampbot/services/testkit"
)

func TestSuite_onTheSandbox(t *testing.T) {
	t.Parallel()
	chaintest.Run(t, newSandbox, withOfframp)
}

func TestSuite_onARealNode(t *testing.T) { //nolint:paralleltest // the node is shared by the sub-tests
	url := testkit.AnvilURL(t)
	anvil := func(t *testing.T) *chaintest.World { return chaintest.NewAnvil(t, url) }
	chaintest.Run(t, anvil, chaintest.WithBooks)
	chaintest.RunSeveral(t, anvil, chaintest.WithBooks)
}

const sandboxFake = "0x00000000000000000000000000000000000fa4e0"

// newSandbox is a world on the sandbox's chain, moved by the levers of its world API over HTTP.
func newSandbox(t *testing.T) *chaintest.World {
	t.Helper()
	clock := testkit.Noon()
	chain := sandbox.Chain{Name: "bnb", ID: 56, StartHeight: 20, RangeLimit: 50, Tokens: []sandbox.Token{
		{Symbol: "USDT", Contract: chaintest.USDT, Decimals: 6}, {Symbol: "USDC", Contract: chaintest.USDC, Decimals: 18},
	}}
	w, err := sandbox.New(sandbox.Config{
		Now: clock.Now, Log: slog.New(slog.DiscardHandler), BaseURL: "http://127.0.0.1:1", BotURL: "http://127.0.0.1:1",
		Chains: []sandbox.Chain{chain},
	})
	require.NoError(t, err)
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	node := chaintest.NewProxy(t, server.URL+"/rpc/bnb")
	source, err := evm.New(evm.Options{Chain: "bnb", ChainID: 56, URLs: []string{node.URL}})
	require.NoError(t, err)
	require.NoError(t, source.Check(t.Context()))

	lever := func(path string, body map[string]any) map[string]any {
		return pull(t, server.URL+"/world/chains/bnb/"+path, body)
	}
	pay := func(body map[string]any) string {
		tx, ok := lever("transfers", body)["tx"].(string)
		require.True(t, ok)
		return tx
	}
	policy := chaintest.Policy("bnb")
	policy.Tokens[0].Tiers = nil
	return &chaintest.World{
		Source: source, Policy: policy, Node: node, Address: randomAddress(t),
		Pay: func(to, asset string, whole int64) string {
			return pay(map[string]any{"to": to, "token": asset, "amount": strconv.FormatInt(whole, 10)})
		},
		PayFake: func(to string) string {
			return pay(map[string]any{"to": to, "token": "USDT", "contract": sandboxFake, "amount": "1000"})
		},
		Mine: func(blocks int) { clock.Advance(time.Second); lever("mine", map[string]any{"blocks": blocks}) },
		Reorg: func(depth int, drop ...string) {
			lever("reorg", map[string]any{"depth": depth, "drop": append([]string{}, drop...), "shift": 1})
		},
	}
}

func randomAddress(t *testing.T) func() string {
	return func() string {
		b := make([]byte, 20)
		_, err := rand.Read(b)
		require.NoError(t, err)
		return "0x" + hex.EncodeToString(b)
	}
}

// pull calls a lever and wants 200.
func pull(t *testing.T, url string, body map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(raw))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", url, answer)
	var out map[string]any
	require.NoError(t, json.Unmarshal(answer, &out))
	return out
}

var _ deposit.Source = (*evm.Source)(nil)
