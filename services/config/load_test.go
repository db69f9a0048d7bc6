package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated files again")

const (
	canary = "canary-7f3a-canary-7f3a-canary-7f3a-canary" // stands in every secret; must never show
	hexKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// environment is a complete production environment, changed by the given pairs; an empty value takes a name away.
func environment(changes ...string) []string {
	vars := map[string]string{
		"MONGO_URI": "mongodb://" + canary + "@db.example/?replicaSet=rs0", "REDIS_URL": "rediss://" + canary + "@r.example",
		"WHATSAPP_PHONE_NUMBER_ID": "1061", "WHATSAPP_ACCESS_TOKEN": canary, "WHATSAPP_APP_SECRET": canary,
		"WHATSAPP_VERIFY_TOKEN": canary, "FLOW_PRIVATE_KEY": `-----BEGIN\n` + canary, "PIN_PEPPER": "p1:" + canary,
		"FIELD_KEYS": "f2:" + hexKey + ",f1:" + canary, "LOOKUP_KEY": canary, "WALLET_XPUB": canary,
		"DEPOSIT_WEBHOOK_SECRET": canary, "PAYSTACK_SECRET_KEY": canary, "ADMIN_JWT_KEY": "a1:" + canary,
	}
	for i := 0; i < len(changes); i += 2 {
		if vars[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(vars, changes[i])
		}
	}
	var out []string
	for name, value := range vars {
		out = append(out, name+"="+value)
	}
	return out
}

func noFiles(string) ([]byte, error) { return nil, fs.ErrNotExist }

func load(changes ...string) (*Config, error) { return Load(environment(changes...), noFiles, nil) }

func TestLoad_fillsDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := load()
	require.NoError(t, err)
	require.Equal(t, Production, cfg.App.Env)
	require.Equal(t, Mongo, cfg.Store.Engine)
	require.Equal(t, 5*time.Second, cfg.Store.Timeout)
	require.Equal(t, 10*time.Minute, cfg.Times.QuoteTTL)
	require.Equal(t, []time.Duration{
		5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
	}, cfg.Times.LookUpSchedule)
	require.True(t, cfg.Policy.ContentCheck())
	require.Equal(t, "f2", cfg.Keys.Field.Active().ID)
	require.Len(t, cfg.Keys.Field.Active().Bytes(), KeySize)
	require.Equal(t, "-----BEGIN\n"+canary, cfg.Flow.PrivateKey.Reveal())
}

func TestLoad_namesEveryProblemAtOnceAndNoValue(t *testing.T) {
	t.Parallel()
	_, err := load(
		"WHATSAPP_APP_SECRET", "", "QUOTE_TTL", canary, "LOOKUP_SCHEDULE", "5s,"+canary, "APP_ENV", canary, "STORE", canary,
		"PIN_PEPPER", canary, "HTTP_ADDR", canary, "PAYSTACK_URL", canary, "CHAIN_POLL", "-1s", "WHATSAPP_TYPO", canary,
		"OUTBOX_LEASE", "20s", "CHAIN_BASE_RPC_URLS", canary, "REDIS_URL", canary, "LOOKUP_KEY", "short",
		"DEPOSIT_WEBHOOK_SECRET", "short", "GUARD_CONTENT_CHECK", "maybe",
	)
	var problems Problems
	require.ErrorAs(t, err, &problems)
	for _, name := range []string{
		"WHATSAPP_APP_SECRET is missing", "QUOTE_TTL is not a period", "LOOKUP_SCHEDULE is not a list of periods",
		"APP_ENV is not one of production, sandbox", "STORE is not one of mongo, embedded", "PIN_PEPPER entry 1 is not id:key",
		"HTTP_ADDR is not host:port", "PAYSTACK_URL is not an http", "CHAIN_POLL cannot be zero or negative",
		"WHATSAPP_TYPO is not a name of this program", "OUTBOX_LEASE must be longer", "CHAIN_BASE_RPC_URLS has an entry",
		"REDIS_URL does not begin", "LOOKUP_KEY is too short", "DEPOSIT_WEBHOOK_SECRET is shorter",
		"GUARD_CONTENT_CHECK is not one of on, off",
	} {
		require.ErrorContains(t, err, name)
	}
	require.NotContains(t, err.Error(), canary)
}

func TestLoad_startsWithNoSecretMissingOrEmpty(t *testing.T) {
	t.Parallel()
	for _, f := range Fields() {
		if !f.Secret || !f.Required {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(append(environment(f.Name, ""), f.Name+"="), noFiles, nil)
			require.ErrorContains(t, err, f.Name+" is missing")
		})
	}
}

func TestLoad_refusesSandboxSecretsInProductionOnly(t *testing.T) {
	t.Parallel()
	known := []string{Digest(canary), Digest("-----BEGIN\n" + canary)}
	_, err := Load(environment(), noFiles, known)
	var problems Problems
	require.ErrorAs(t, err, &problems)
	for _, f := range Fields() {
		if f.Secret && f.Required {
			require.ErrorContains(t, err, f.Name+" is a known sandbox secret")
		}
	}
	_, err = Load(environment("APP_ENV", "sandbox"), noFiles, known)
	require.NoError(t, err)
}

func TestLoad_relations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes []string
		want    string // empty: accepted
	}{
		{"embedded in production", []string{"STORE", "embedded"}, "STORE cannot be embedded in production"},
		{"embedded in the sandbox needs neither database", []string{"APP_ENV", "sandbox", "STORE", "embedded", "MONGO_URI", "", "REDIS_URL", ""}, ""},
		{"mongo needs its address", []string{"MONGO_URI", ""}, "MONGO_URI is missing"},
		{"mongo needs Redis", []string{"REDIS_URL", ""}, "REDIS_URL is missing"},
		{"plain http to the bank", []string{"PAYSTACK_URL", "http://api.paystack.co"}, "PAYSTACK_URL must be encrypted"},
		{"the bank on this machine", []string{"PAYSTACK_URL", "https://127.0.0.1:9000"}, "PAYSTACK_URL is on this machine"},
		{"the bank on this machine, version 6", []string{"PAYSTACK_URL", "https://[::1]"}, "PAYSTACK_URL is on this machine"},
		{"the bank on this machine, mapped", []string{"PAYSTACK_URL", "https://[::ffff:127.0.0.1]"}, "PAYSTACK_URL is on this machine"},
		{"the bank on localhost", []string{"PAYSTACK_URL", "https://LOCALHOST./"}, "PAYSTACK_URL is on this machine"},
		{"Meta in the clear", []string{"WHATSAPP_GRAPH_URL", "http://graph.example"}, "WHATSAPP_GRAPH_URL must be encrypted"},
		{"a simulated chain", []string{"CHAIN_BNB_CHAIN_RPC_URLS", "https://ok.example,http://127.0.0.1:1"}, "CHAIN_BNB_CHAIN_RPC_URLS must be encrypted"},
		{"a node that is reached by another way than HTTP", []string{"APP_ENV", "sandbox", "CHAIN_BASE_RPC_URLS", "https://ok.example,wss://node.example"}, "CHAIN_BASE_RPC_URLS has an entry that is not an http or https address"},
		{"all of it in the sandbox", []string{"APP_ENV", "sandbox", "PAYSTACK_URL", "http://127.0.0.1:1", "CHAIN_BASE_RPC_URLS", "http://127.0.0.1:2"}, ""},
		{"a lease as long as the calls", []string{"OUTBOX_LEASE", "20s"}, "OUTBOX_LEASE must be longer"},
		{"a lease a little longer", []string{"OUTBOX_LEASE", "20001ms"}, ""},
		{"two keys of one id", []string{"FIELD_KEYS", "a:" + hexKey + ",a:" + canary}, "FIELD_KEYS has the id of entry 2 twice"},
		{"a short key", []string{"FIELD_KEYS", "a:abc"}, "FIELD_KEYS entry 1: a key is 32 bytes"},
		{"the system chooses the port", []string{"HTTP_ADDR", "127.0.0.1:0"}, ""},
		{"a port too high", []string{"HTTP_ADDR", "127.0.0.1:70000"}, "HTTP_ADDR is not host:port"},
		{"a platform's own variables", []string{"MONGO_PORT_27017_TCP_ADDR", "x", "REDIS_SERVICE_HOST", "y", "HTTP_PROXY", "z"}, ""},
		{"an empty schedule", []string{"LOOKUP_SCHEDULE", "0s"}, "LOOKUP_SCHEDULE cannot be zero"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(tt.changes...)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var problems Problems
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, 1)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// TestLoad_refusesAddressTricks gives the bank's address in the notations by which checks are got past (E3).
func TestLoad_refusesAddressTricks(t *testing.T) {
	t.Parallel()
	const here, odd = "PAYSTACK_URL is on this machine", "PAYSTACK_URL is neither a name nor an address"
	for address, want := range map[string]string{
		"https://127.0.0.1":                     here,
		"https://127.8.9.1:443":                 here,
		"https://0.0.0.0":                       here,
		"https://[::]":                          here,
		"https://[::ffff:7f00:1]":               here,
		"https://localhost":                     here,
		"https://api.localhost":                 here,
		"https://api.paystack.co@127.0.0.1":     here,
		"https://169.254.169.254":               here, // a cloud's own service, which hands out keys
		"https://[fe80::1]":                     here,
		"https://127.1":                         odd,
		"https://2130706433":                    odd,
		"https://0x7f000001":                    odd,
		"https://0x7f.1":                        odd,
		"https://0177.0.0.1":                    odd,
		"https://127.0.0.1.":                    here,
		"https://api.paystack.co":               "",
		"https://api.paystack.co.":              "",
		"https://1paystack.example":             "",
		"https://[2606:4700::6810:1]/paystack/": "",
	} {
		_, err := load("PAYSTACK_URL", address)
		if want == "" {
			require.NoError(t, err, address)
			continue
		}
		require.ErrorContains(t, err, want, address)
	}
}

func TestLoad_readsSecretsFromFiles(t *testing.T) {
	t.Parallel()
	files := func(name string) ([]byte, error) {
		switch name {
		case "/run/token":
			return []byte("from a file\n"), nil
		case "/run/windows":
			return []byte("from\nwindows\r\n"), nil
		case "/run/two":
			return []byte("two newlines\n\n"), nil
		case "/run/urls":
			return []byte("https://a.example,https://b.example\n"), nil
		case "/run/empty":
			return []byte("\n"), nil
		case "/run/denied":
			return nil, fs.ErrPermission
		}
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	cfg, err := Load(append(environment("WHATSAPP_ACCESS_TOKEN", "", "WHATSAPP_APP_SECRET", "", "WHATSAPP_VERIFY_TOKEN", ""),
		"WHATSAPP_ACCESS_TOKEN_FILE=/run/token", "WHATSAPP_APP_SECRET_FILE=/run/windows", "WHATSAPP_APP_SECRET=",
		"WHATSAPP_VERIFY_TOKEN_FILE=/run/two", "CHAIN_BASE_RPC_URLS_FILE=/run/urls"), files, nil)
	require.NoError(t, err)
	require.Equal(t, "from a file", cfg.WhatsApp.AccessToken.Reveal())
	require.Equal(t, "from\nwindows", cfg.WhatsApp.AppSecret.Reveal())
	require.Equal(t, "two newlines\n", cfg.WhatsApp.VerifyToken.Reveal())
	require.Equal(t, []string{"https://a.example", "https://b.example"}, cfg.ChainURLs.Reveal("base"))

	_, err = Load(append(environment("WHATSAPP_ACCESS_TOKEN", "", "PIN_PEPPER", "", "LOOKUP_KEY", ""),
		"WHATSAPP_ACCESS_TOKEN_FILE=/secret/path", "WHATSAPP_APP_SECRET_FILE=/run/token",
		"PIN_PEPPER_FILE=/run/denied", "LOOKUP_KEY_FILE=/run/empty", "HTTP_ADDR_FILE=/run/token"), files, nil)
	require.ErrorContains(t, err, "WHATSAPP_ACCESS_TOKEN_FILE names a file that does not exist")
	require.ErrorContains(t, err, "WHATSAPP_APP_SECRET and WHATSAPP_APP_SECRET_FILE are both set")
	require.ErrorContains(t, err, "PIN_PEPPER_FILE names a file that cannot be read")
	require.ErrorContains(t, err, "LOOKUP_KEY_FILE names an empty file")
	require.NotContains(t, err.Error(), "/secret/path")
	require.NotContains(t, err.Error(), "PIN_PEPPER is missing")
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 4)
}

func TestConfig_printsNoSecretInAnyWay(t *testing.T) {
	t.Parallel()
	cfg, err := load("CHAIN_BASE_RPC_URLS", "https://rpc.example/"+canary)
	require.NoError(t, err)
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("configuration", cfg.Attrs()...)
	logger.Info("whole", "config", cfg, "key", cfg.Keys.Field, "one", cfg.Keys.Field[1], "secret", cfg.WhatsApp.AppSecret)
	asJSON, err := json.Marshal(cfg)
	require.NoError(t, err)
	all := log.String() + string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		all += fmt.Sprintf(verb, cfg) + fmt.Sprintf(verb, *cfg) + fmt.Sprintf(verb, cfg.Keys.Field[1].Secret)
	}
	require.NotContains(t, all, canary)
	require.NotContains(t, all, hexKey)
	require.NotContains(t, all, fmt.Sprintf("%x", canary))
	require.Contains(t, log.String(), `"whatsapp_app_secret":"set"`)
	require.Contains(t, log.String(), `"whatsapp_app_secret_previous":"not set"`)
	require.Contains(t, log.String(), `"field_keys":"set, keys f2,f1"`)
	require.Contains(t, log.String(), `"chain_base_rpc_urls":"set"`)
}

func TestKeyBytes_readsOneKeyInEveryNotation(t *testing.T) {
	t.Parallel()
	want, err := KeyBytes(hexKey)
	require.NoError(t, err)
	for _, text := range []string{
		strings.ToUpper(hexKey), "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
	} {
		got, err := KeyBytes(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	hashed, err := KeyBytes(strings.Repeat("k", 32))
	require.NoError(t, err)
	require.Len(t, hashed, KeySize)
	for _, text := range []string{"", "short", strings.Repeat("k", 31), hexKey[:20]} {
		_, err := KeyBytes(text)
		require.Error(t, err, text)
	}
}

func TestFields_areDocumentedAndUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range Fields() {
		require.NotEmpty(t, f.Name)
		require.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
		require.True(t, strings.HasSuffix(f.Doc, "."), "%s needs a sentence", f.Name)
	}
	require.Len(t, seen, 43) // the names of DESIGN §13
}

func TestDocument_configIsFresh(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"docs/config.md": Markdown(), ".env.example": Example()} {
		file := filepath.Join("..", "..", path)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "run go test ./services/config -update")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("QUOTE_TTL", "5m")
	f.Add("FIELD_KEYS", "a:b,c:d")
	f.Add("CHAIN__RPC_URLS", ",")
	f.Fuzz(func(t *testing.T, name, value string) {
		value += "-never-shown-" // long enough to be told from the sentences
		_, err := Load(append(environment(), name+"="+value), noFiles, nil)
		if err != nil {
			require.NotContains(t, err.Error(), value)
		}
	})
}
