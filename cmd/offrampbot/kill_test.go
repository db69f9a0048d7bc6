package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"offrampbot/services/offramp"
	"offrampbot/services/store/mongo"
	"offrampbot/services/testkit"
)

func TestServe_asAProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	bin := buildBot(t)
	t.Run("does not start in production with the sandbox's secrets, and names each", func(t *testing.T) {
		t.Parallel()
		productionWithSandboxSecrets(t, bin)
	})
	t.Run("does not start without its secrets, and names each", func(t *testing.T) {
		t.Parallel()
		nothingSet(t, bin)
	})
	t.Run("refuses a database of the other environment", func(t *testing.T) {
		t.Parallel()
		otherEnvironment(t, bin)
	})
	t.Run("killed three times among fifty sales, it pays each exactly once", func(t *testing.T) {
		t.Parallel()
		killedThreeTimes(t, bin)
	})
	t.Run("killed among fifty sales, it leaves them to another process, which pays each exactly once", func(t *testing.T) {
		t.Parallel()
		killedBesideAnother(t, bin)
	})
	t.Run("given one message by ten copies each, two of them answer it once", func(t *testing.T) {
		t.Parallel()
		copiesToBoth(t, bin)
	})
}

// sandboxSecrets are the variables that hold a secret in a sandbox's environment.
func sandboxSecrets() []string {
	return []string{
		"WHATSAPP_ACCESS_TOKEN", "WHATSAPP_APP_SECRET", "WHATSAPP_VERIFY_TOKEN", "FLOW_PRIVATE_KEY", "PIN_PEPPER", "FIELD_KEYS", "LOOKUP_KEY",
		"DEPOSIT_WEBHOOK_SECRET", "WALLET_XPUB", "PAYSTACK_SECRET_KEY", "ADMIN_JWT_KEY",
	}
}

func productionWithSandboxSecrets(t *testing.T, bin string) {
	t.Helper()
	w := openWorld(t, "http://127.0.0.1:1")
	env := plainEnv(environment(w.file)...)
	env = append(env, "APP_ENV=production", "STORE=embedded", "WHATSAPP_TYPO=1", "PROVIDER_TIMEOUT=soon")
	exit, _, said := runBot(t, bin, env, "serve")
	require.Equal(t, 1, exit)
	for _, name := range sandboxSecrets() {
		require.Contains(t, said, name+" is a known sandbox secret")
		require.NotContains(t, said, w.secret(name), "a problem is named, its value is not shown")
	}
	for _, want := range []string{
		"STORE cannot be embedded in production", "PAYSTACK_URL must be encrypted", "WHATSAPP_GRAPH_URL must be encrypted",
		"CHAIN_BASE_RPC_URLS must be encrypted", "CHAIN_BNB_RPC_URLS", "CHAIN_POLYGON_RPC_URLS", "WHATSAPP_TYPO", "PROVIDER_TIMEOUT",
	} {
		require.Contains(t, said, want)
	}
}

func nothingSet(t *testing.T, bin string) {
	t.Helper()
	for _, env := range []string{"production", "sandbox"} {
		exit, _, said := runBot(t, bin, plainEnv("APP_ENV="+env), "serve")
		require.Equal(t, 1, exit)
		for _, name := range append(sandboxSecrets(), "WHATSAPP_PHONE_NUMBER_ID", "MONGO_URI", "REDIS_URL") {
			require.Contains(t, said, name+" is missing")
		}
	}
	exit, _, said := runBot(t, bin, plainEnv(), "serve")
	require.Equal(t, 1, exit, "an empty environment is production")
	require.Contains(t, said, "MONGO_URI is missing")
}

// production is a complete environment of production, with secrets of its own.
func production(t *testing.T, own ...string) []string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	secret := func() string {
		b := make([]byte, 32)
		_, err := rand.Read(b)
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(b)
	}
	seed, err := hdkeychain.GenerateSeed(32)
	require.NoError(t, err)
	master, err := hdkeychain.NewMaster(seed, &chaincfg.MainNetParams)
	require.NoError(t, err)
	account := master
	for _, i := range []uint32{44, 60, 0} {
		account, err = account.Derive(hdkeychain.HardenedKeyStart + i)
		require.NoError(t, err)
	}
	public, err := account.Neuter()
	require.NoError(t, err)
	return plainEnv(append([]string{
		"APP_ENV=production", "WHATSAPP_PHONE_NUMBER_ID=1", "WHATSAPP_ACCESS_TOKEN=" + secret(), "WHATSAPP_APP_SECRET=" + secret(),
		"WHATSAPP_VERIFY_TOKEN=" + secret(), "PIN_PEPPER=a:" + secret(), "FIELD_KEYS=a:" + secret(), "LOOKUP_KEY=" + secret(),
		"DEPOSIT_WEBHOOK_SECRET=" + secret(), "WALLET_XPUB=" + public.String(), "PAYSTACK_SECRET_KEY=" + secret(), "ADMIN_JWT_KEY=a:" + secret(),
		"FLOW_PRIVATE_KEY=" + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "HTTP_ADDR=127.0.0.1:0",
		"INTERNAL_ADDR=127.0.0.1:0",
	}, own...)...)
}

func otherEnvironment(t *testing.T, bin string) {
	t.Helper()
	const refused = "the database belongs to APP_ENV="
	redisURL, _ := testkit.Redis(t)
	for _, first := range []string{"sandbox", "production"} {
		uri, database := testkit.Mongo(t)
		stored := []string{"MONGO_URI=" + uri, "MONGO_DATABASE=" + database, "REDIS_URL=" + redisURL}
		w := openWorld(t, "http://127.0.0.1:1")
		environments := map[string][]string{
			"sandbox": plainEnv(append(environment(w.file), append(stored, "HTTP_ADDR=127.0.0.1:0", "INTERNAL_ADDR=127.0.0.1:0")...)...), "production": production(t, stored...),
		}
		exit, _, said := runBot(t, bin, environments[first], "settings", "get")
		require.Equal(t, 0, exit, said)
		delete(environments, first)
		for _, other := range environments {
			exit, _, said := runBot(t, bin, other, "serve")
			require.Equal(t, 1, exit)
			require.Contains(t, said, refused+first)
		}
	}
}

// crowd is many people in front of bots in processes of their own, on MongoDB and Redis.
type crowd struct {
	*town
	children []*child
	robots   []*robot
}

const (
	people       = 10
	salesApiece  = 5
	smallestSale = 6 // USDT; each sale of a person is one more than the last
)

// newCrowd starts bots and a world, signs everybody up and funds the balances.
func newCrowd(t *testing.T, bin string, bots int) *crowd {
	t.Helper()
	c := newProcesses(t, bin, bots)
	for range people {
		c.robots = append(c.robots, &robot{world: c.world, phone: fmt.Sprintf("234803%07d", mathrand.IntN(10_000_000))})
	}
	c.everybody(func(ctx context.Context, r *robot) error { return r.joins(ctx, "100") })
	return c
}

// newProcesses starts bots and a world in which nobody lives yet.
func newProcesses(t *testing.T, bin string, bots int) *crowd {
	t.Helper()
	uri, database := testkit.Mongo(t)
	redisURL, _ := testkit.Redis(t)
	return processesOn(t, bin, bots, map[string]string{"MONGO_URI": uri, "MONGO_DATABASE": database, "REDIS_URL": redisURL, "VISIBILITY_BOUND": "1s"})
}

// processesOn starts bots on servers of the test's choice, which the environment names, and their world.
func processesOn(t *testing.T, bin string, bots int, servers map[string]string) *crowd {
	t.Helper()
	var backends []string
	var own []map[string]string
	for range bots {
		public, internal := quietAddress(t), quietAddress(t)
		backends = append(backends, public)
		own = append(own, map[string]string{"HTTP_ADDR": public, "INTERNAL_ADDR": internal})
	}
	w := openWorld(t, "http://"+newBalancer(t, backends...).listener.Addr().String(), shortTimes, map[string]string{
		"STORE": "mongo", "PROVIDER_TIMEOUT": "1s", "STORE_TIMEOUT": "4s", "OUTBOX_LEASE": "10s",
	}, servers)
	c := &crowd{town: w}
	for i, addresses := range own {
		env := maps.Clone(addresses)
		var lines []string
		for name, value := range env {
			lines = append(lines, name+"="+value)
		}
		one := &child{t: t, bin: bin, env: plainEnv(append(environment(w.file), lines...)...), addr: backends[i], log: w.log}
		one.start()
		t.Cleanup(one.kill)
		w.eventually("process is ready", one.ready) // the first one makes the indexes
		c.children = append(c.children, one)
	}
	db, err := mongo.Open(t.Context(), mongo.Options{URI: servers["MONGO_URI"], Database: servers["MONGO_DATABASE"], Indexes: indexes(), Timeout: 30 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	w.db = db
	return c
}

// everybody lets all people do something at the same time, and meanwhile something else happen.
func (c *crowd) everybody(do func(ctx context.Context, r *robot) error, meanwhile ...func()) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute)
	defer cancel()
	var g errgroup.Group
	for _, r := range c.robots {
		g.Go(func() error { return do(ctx, r) })
	}
	for _, other := range meanwhile {
		other()
	}
	require.NoError(c.t, g.Wait(), c.tail())
}

// sellsAll is one person's sales, one after the other.
func sellsAll(ctx context.Context, r *robot) error {
	for i := range salesApiece {
		if err := r.sells(ctx, smallestSale+i); err != nil {
			return err
		}
	}
	return nil
}

// moment is a random time in which something may be in the middle.
func moment() { time.Sleep(time.Duration(300+mathrand.IntN(1500)) * time.Millisecond) }

// accounts for every sale: each is final, paid exactly once at the bank, and nothing is left over.
func (c *crowd) balances(bin string) {
	c.t.Helper()
	var orders []*offramp.Order
	states := map[offramp.State]int{}
	c.eventually("every order is final", func() bool {
		orders = c.orders()
		clear(states)
		for _, o := range orders {
			states[o.State]++
		}
		return states[offramp.Success] == people*salesApiece
	}, states)
	bank := c.bank()
	require.Len(c.t, bank, len(orders))
	requirePaidRight(c.t, orders, bank)
	c.eventually("no receipt is left", func() bool { return c.waiting() == 0 })
	exit, out, said := runBot(c.t, bin, c.children[0].env, "verify", "--json")
	require.Equal(c.t, 0, exit, "%s\n%s", out, said)
	var report struct {
		OK          bool             `json:"ok"`
		Checked     map[string]int   `json:"checked"`
		Differences []map[string]any `json:"differences"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(out), &report))
	require.True(c.t, report.OK)
	require.Empty(c.t, report.Differences)
	require.Equal(c.t, len(orders), report.Checked["orders"])
	require.False(c.t, strings.Contains(c.log.String(), "panicked"), c.tail())
}

func killedThreeTimes(t *testing.T, bin string) {
	t.Helper()
	c := newCrowd(t, bin, 1)
	one := c.children[0]
	c.everybody(sellsAll, func() {
		for range 3 {
			moment()
			one.kill()
			one.start()
			c.eventually("the process is ready again", one.ready)
		}
	})
	c.balances(bin)
}

func killedBesideAnother(t *testing.T, bin string) {
	t.Helper()
	c := newCrowd(t, bin, 2)
	c.everybody(sellsAll, func() {
		moment()
		c.children[0].kill()
	})
	c.balances(bin)
}
