package sandbox

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
)

// readEnv reads an environment file as a shell-like reader does.
func readEnv(t *testing.T, file []byte) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, line := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		name, value, found := strings.Cut(line, "=")
		require.True(t, found, line)
		require.True(t, strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`), line)
		out[name] = strings.ReplaceAll(value[1:len(value)-1], `\n`, "\n")
	}
	return out
}

func TestEnvFile_isCompleteForServe(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.Env = map[string]string{"STORE": "embedded", "DATA_DIR": "/tmp/x"} })
	env := readEnv(t, h.world.EnvFile())
	for _, name := range []string{
		"APP_ENV", "HTTP_ADDR", "STORE", "DATA_DIR", "WHATSAPP_GRAPH_URL", "WHATSAPP_PHONE_NUMBER_ID", "WHATSAPP_ACCESS_TOKEN",
		"WHATSAPP_APP_SECRET", "WHATSAPP_VERIFY_TOKEN", "FLOW_PRIVATE_KEY", "PIN_PEPPER", "FIELD_KEYS", "LOOKUP_KEY",
		"DEPOSIT_WEBHOOK_SECRET", "WALLET_XPUB", "TREASURY_ADDRESSES", "CHAIN_BASE_RPC_URLS", "CHAIN_BNB_RPC_URLS",
		"PAYSTACK_SECRET_KEY", "PAYSTACK_URL", "ADMIN_JWT_KEY",
	} {
		require.NotEmpty(t, env[name], name)
	}
	require.Equal(t, "sandbox", env["APP_ENV"])
	require.Equal(t, "http://127.0.0.1:1/rpc/base", env["CHAIN_BASE_RPC_URLS"])
	require.Equal(t, strings.TrimPrefix(h.world.cfg.BotURL, "http://"), env["HTTP_ADDR"])
	block, rest := pem.Decode([]byte(env["FLOW_PRIVATE_KEY"]))
	require.NotNil(t, block)
	require.Empty(t, rest)
	require.Regexp(t, `^[a-z0-9]+:[A-Za-z0-9+/]{43}=$`, env["FIELD_KEYS"])
	require.Equal(t, h.world.EnvFile(), h.world.EnvFile())
}

func TestSecretDigests_coverEverySecretOfTheEnvironmentFile(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	digests, err := SecretDigests()
	require.NoError(t, err)
	env := readEnv(t, h.world.EnvFile())
	for _, name := range []string{
		"WHATSAPP_ACCESS_TOKEN", "WHATSAPP_APP_SECRET", "WHATSAPP_VERIFY_TOKEN", "FLOW_PRIVATE_KEY", "PIN_PEPPER", "FIELD_KEYS",
		"LOOKUP_KEY", "DEPOSIT_WEBHOOK_SECRET", "WALLET_XPUB", "PAYSTACK_SECRET_KEY", "ADMIN_JWT_KEY",
	} {
		value := env[name]
		sum := sha256.Sum256([]byte(value))
		require.Contains(t, digests, hex.EncodeToString(sum[:]), name)
		if _, key, isList := strings.Cut(value, ":"); isList && !strings.Contains(value, "\n") {
			sum = sha256.Sum256([]byte(key))
			require.Contains(t, digests, hex.EncodeToString(sum[:]), name)
		}
	}
}

func TestWallet_isTheWellKnownOne(t *testing.T) {
	t.Parallel()
	xpub, treasury, err := sandboxWallet()
	require.NoError(t, err)
	account, err := hdkeychain.NewKeyFromString(xpub)
	require.NoError(t, err)
	require.False(t, account.IsPrivate())
	require.Equal(t, uint8(3), account.Depth(), "account level")
	for n, want := range []string{"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"} {
		child, err := derive(account, 0, uint32(n))
		require.NoError(t, err)
		key, err := child.ECPubKey()
		require.NoError(t, err)
		require.Equal(t, want, crypto.PubkeyToAddress(*key.ToECDSA()).Hex())
	}
	require.Regexp(t, addressPattern, treasury)
}

func TestNew_namesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Chains: []Chain{{Name: "Base"}, {Name: "x", ID: 1, Tokens: []Token{{Symbol: "T", Contract: "0x1", Decimals: 99}}}}})
	for _, field := range []string{"Now", "Log", "BaseURL", "BotURL", "Base", "contract", "decimals", "no id"} {
		require.ErrorContains(t, err, field)
	}
	h := newHarness(t, nil)
	cfg := h.world.cfg
	cfg.Flows = []FlowDocument{{Name: "x", JSON: []byte("{")}}
	_, err = New(cfg)
	require.ErrorContains(t, err, `"x"`)
}

func TestChainsOf_takesTheWholeRegistry(t *testing.T) {
	t.Parallel()
	registry := assets.Default()
	chains := ChainsOf(registry)
	require.Len(t, chains, len(registry.Chains()))
	tokens := 0
	for _, c := range chains {
		tokens += len(c.Tokens)
	}
	require.Equal(t, 6, tokens)
	world, err := New(Config{
		Now: (&clock{at: time.Unix(1_796_000_000, 0)}).now, Log: slog.New(slog.DiscardHandler), BaseURL: "http://127.0.0.1:1", BotURL: "http://127.0.0.1:2", Chains: chains,
	})
	require.NoError(t, err)
	require.Contains(t, string(world.EnvFile()), "CHAIN_POLYGON_RPC_URLS=")
}

func TestInfo_printsALoginThatWorks(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	operator := h.lever(http.MethodGet, "/world/info", nil)["operator"].(map[string]any)
	want, err := totp.GenerateCode(text(operator["totp_secret"]), h.clock.now())
	require.NoError(t, err)
	require.Equal(t, want, operator["totp_code"])
	require.NotEmpty(t, operator["password"])
}

func TestIDs_areTheSameInEveryWorldOfOneSeed(t *testing.T) {
	t.Parallel()
	var wamids, txs []string
	for _, seed := range []string{"a", "a", "b"} {
		h := newHarness(t, func(cfg *Config) { cfg.Seed = seed })
		wamids = append(wamids, text(h.lever(http.MethodPost, "/world/messages", map[string]any{"from": testPhone, "text": "x"})["wamid"]))
		txs = append(txs, h.transfer("base", nil))
	}
	require.Equal(t, wamids[0], wamids[1])
	require.NotEqual(t, wamids[0], wamids[2])
	require.Equal(t, txs[0], txs[1])
}

func TestEvents_streamAsTheyHappen(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.server.URL+"/world/events", nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "text/event-stream")
	res, err := h.client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	h.greet()
	lines := bufio.NewScanner(res.Body)
	var data string
	for lines.Scan() && data == "" {
		data, _ = strings.CutPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(lines.Text(), "data: ") {
			data = ""
		}
	}
	var e event
	require.NoError(t, json.Unmarshal([]byte(data), &e))
	require.Equal(t, "message", e.Kind)
	require.Equal(t, testPhone, e.Phone)
	poll := h.lever(http.MethodGet, "/world/events?after=0", nil)
	require.Len(t, poll["items"], 1)
	require.Equal(t, "1", poll["next"])
}

func TestPage_isServed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	for path, want := range map[string]int{"/": 200, "/assets/../../secrets.go": 404, "/assets/none.js": 404, "/nowhere": 404} {
		res, err := h.do(http.MethodGet, path, nil)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, path)
	}
}

func TestRun_deliversWithoutBeingDriven(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.StatusDelay = time.Nanosecond })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.world.Run(ctx) }()
	h.greet()
	h.clock.pass(time.Second)
	h.send(textMessage("x"))
	h.clock.pass(time.Second)
	require.Eventually(t, func() bool { return len(h.bot.at(whatsAppPath)) == 4 }, 10*time.Second, 5*time.Millisecond)
	h.lever(http.MethodPost, "/world/chains/base/auto", map[string]any{"seconds": 1})
	h.clock.pass(time.Second)
	require.Eventually(t, func() bool { height, _ := h.rpc("base", "eth_blockNumber"); return height == "0x15" }, 10*time.Second, 5*time.Millisecond)
	h.fault("paystack", "balance", "no_effect_timeout", 0)
	waiting := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.URL+"/paystack/balance", nil)
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+h.world.secrets.PaystackSecret)
			_, err = h.client.Do(req) //nolint:bodyclose // there is no answer
		}
		waiting <- err
	}()
	require.Eventually(t, func() bool { return h.lever(http.MethodGet, "/world/state", nil)["faults"] == json.Number("0") }, 10*time.Second, 5*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	require.Error(t, <-waiting, "the end of the world leaves nobody waiting")
}

// wamidOf is the id of a message that was accepted, "" for none.
func wamidOf(sent map[string]any) string {
	messages, _ := sent["messages"].([]any)
	if len(messages) == 0 {
		return ""
	}
	first, _ := messages[0].(map[string]any)
	return text(first["id"])
}

// quietly calls without failing the test from another goroutine: nil stands for whatever went wrong.
func (h *harness) quietly(method, path string, body any, header ...string) map[string]any {
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.server.URL+path, strings.NewReader(jsonText(body)))
	if err != nil {
		return nil
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := h.client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	var out map[string]any
	if json.NewDecoder(res.Body).Decode(&out) != nil {
		return nil
	}
	return out
}

func TestWorld_everythingAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.BankAuto, cfg.ChainAuto = time.Millisecond, time.Second })
	h.endpoint(sellEndpoint)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.world.Run(ctx) }()
	to := h.recipient()
	const persons = 12
	var completed atomic.Int64
	var all sync.WaitGroup
	for n := range persons {
		all.Go(func() {
			phone := fmt.Sprintf("23480300001%02d", n)
			call := func(method, path string, body any, header ...string) map[string]any {
				return h.quietly(method, path, body, header...)
			}
			for round := range 5 {
				call(http.MethodPost, "/world/messages", map[string]any{"from": phone, "text": "hi", "copies": 2})
				bearer := []string{"Authorization", "Bearer " + h.world.secrets.AccessToken}
				sent := call(http.MethodPost, "/graph/v25.0/"+PhoneNumberID+"/messages", outgoingTo(phone, flowMessage(nil)), bearer...)
				wamid := wamidOf(sent)
				opened := call(http.MethodPost, "/world/flows/open", map[string]any{"phone": phone, "wamid": wamid})
				call(http.MethodPost, "/world/flows/submit", map[string]any{"session": opened["session"], "screen": "DETAILS", "data": map[string]any{}, "copies": 2})
				call(http.MethodPost, "/world/chains/base/transfers", map[string]any{"to": depositTo, "token": "USDT", "amount": "1"})
				call(http.MethodPost, "/world/chains/base/mine", map[string]any{"blocks": 1})
				call(http.MethodPost, "/world/chains/base/reorg", map[string]any{"depth": 2})
				if opened["screen"] == "DETAILS" {
					completed.Add(1)
				}
				key := []string{"Authorization", "Bearer " + h.world.secrets.PaystackSecret}
				call(http.MethodPost, "/paystack/transfer", transferBodyFor(to, fmt.Sprintf("payout-%09d-%d", n, round), 1000), key...)
				call(http.MethodPost, "/paystack/transfer", transferBodyFor(to, "payout-shared-by-all", 1000), key...)
				call(http.MethodPost, "/world/faults", map[string]any{"target": "meta", "operation": "image", "kind": "http_500"})
				call(http.MethodGet, "/world/state", nil)
				call(http.MethodGet, "/world/chains", nil)
				call(http.MethodGet, "/world/chats", nil)
				h.clock.pass(time.Millisecond)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 60, completed.Load(), "every Flow opened")
	state := h.lever(http.MethodGet, "/world/state", nil)
	require.Equal(t, json.Number("12"), state["people"])
	require.Equal(t, json.Number("60"), state["messages_in"])
	require.Equal(t, json.Number("60"), state["messages_out"])
	require.Equal(t, json.Number("61"), state["transfers"])
	require.Equal(t, json.Number("60"), h.truth("payout-shared-by-all")["calls"], "one transfer, however often it was posted")
	require.Equal(t, json.Number("60"), state["chains"].(map[string]any)["base"].(map[string]any)["transfers"], "a reorganisation loses nothing that is not dropped")
	cancel()
	require.NoError(t, <-ended)
}
