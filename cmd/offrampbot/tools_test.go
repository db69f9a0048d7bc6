package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/admin"
	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/sandbox"
	"offrampbot/services/seal"
	"offrampbot/services/setting"
	"offrampbot/services/store"
)

// host is a shell on a machine whose environment is a sandbox's, with an embedded store of its own. Commands read the
// process's environment, so these tests cannot run in parallel.
type host struct {
	t *testing.T
}

func newHost(t *testing.T) *host {
	t.Helper()
	world, err := sandbox.New(sandbox.Config{
		Now: now, Log: slog.New(slog.DiscardHandler), BaseURL: "http://127.0.0.1:1", BotURL: "http://127.0.0.1:2",
		Chains: sandbox.ChainsOf(assets.Sandbox()), Env: map[string]string{"STORE": "embedded", "DATA_DIR": t.TempDir()},
	})
	require.NoError(t, err)
	for _, line := range environment(world.EnvFile()) {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	return &host{t: t}
}

// do runs one command line with something on standard input.
func (h *host) do(in string, args ...string) (out string, err error) {
	h.t.Helper()
	var b bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(in))
	root.SetOut(&b)
	root.SetErr(io.Discard)
	err = root.ExecuteContext(h.t.Context())
	return b.String(), err
}

func (h *host) ok(in string, args ...string) string {
	h.t.Helper()
	out, err := h.do(in, args...)
	require.NoError(h.t, err, "%v", args)
	return out
}

// misused reports whether a command line was refused as misuse, which ends the process with 2.
func (h *host) misused(in string, args ...string) bool {
	h.t.Helper()
	_, err := h.do(in, args...)
	var misuse *misuseError
	return errors.As(err, &misuse)
}

// inside runs something on the store between two commands.
func (h *host) inside(fn func(ctx context.Context, a *app)) {
	h.t.Helper()
	cfg, err := loadConfig()
	require.NoError(h.t, err)
	a := &app{cfg: cfg, log: slog.New(slog.DiscardHandler)}
	require.NoError(h.t, a.openLeaves(h.t.Context(), tune{}))
	a.db, err = openStore(h.t.Context(), cfg)
	require.NoError(h.t, err)
	require.NoError(h.t, a.openPeople(h.t.Context(), tune{}))
	fn(h.t.Context(), a)
	require.NoError(h.t, a.close(h.t.Context()))
}

func TestAdmin_createAndToken(t *testing.T) { //nolint:paralleltest // it changes the process's environment
	h := newHost(t)
	out := h.ok("correct horse\n", "admin", "create", "--email", "Ada@Example.com", "--role", "operator")
	require.Regexp(t, `(?m)^totp secret: [A-Z2-7]{16,}$`, out)
	require.Contains(t, out, "ada@example.com")
	require.NotContains(t, out, "correct horse")

	_, err := h.do("correct horse\n", "admin", "create", "--email", "ada@example.com", "--role", "viewer")
	require.ErrorContains(t, err, "There is an account with this e-mail address already")
	require.True(t, h.misused("x\n", "admin", "create", "--email", "b@example.com", "--role", "king"))
	require.True(t, h.misused("", "admin", "create", "--email", "b@example.com", "--role", "viewer"), "no password")
	require.True(t, h.misused("x\n", "admin", "create", "--role", "viewer"))
	_, err = h.do("short\n", "admin", "create", "--email", "b@example.com", "--role", "viewer")
	require.ErrorContains(t, err, "8 to 256 characters")
	require.True(t, h.misused("", "admin"))
	require.True(t, h.misused("", "admin", "destroy"))

	token := strings.TrimSpace(h.ok("", "admin", "token", "--email", "ada@example.com"))
	h.inside(func(ctx context.Context, a *app) {
		who, err := a.staff.Verify(ctx, token)
		require.NoError(t, err)
		require.Equal(t, admin.Operator, who.Role)
	})
	_, err = h.do("", "admin", "token", "--email", "nobody@example.com")
	require.ErrorContains(t, err, "There is no such account")
	var asJSON struct{ Token, ID string }
	require.NoError(t, json.Unmarshal([]byte(h.ok("", "admin", "token", "--email", "ada@example.com", "--json")), &asJSON))
	require.Equal(t, "ada@example.com", asJSON.ID)
}

func TestSettings_getAndSet(t *testing.T) { //nolint:paralleltest // it changes the process's environment
	h := newHost(t)
	require.Contains(t, h.ok("", "settings", "get"), "spread_bps=0\n")
	out := h.ok("", "settings", "set", "rate.USDT.NGN=1512.5", "spread_bps=50", "--why", "market moved")
	require.Contains(t, out, `rate.USDT.NGN: "" → "1512.5"`)
	require.Equal(t, "1512.5\n", h.ok("", "settings", "get", "rate.USDT.NGN"))
	var item setting.Item
	require.NoError(t, json.Unmarshal([]byte(h.ok("", "settings", "get", "rate.USDT.NGN", "--json")), &item))
	require.Equal(t, "system:host", item.SetBy)
	var list struct{ Items []setting.Item }
	require.NoError(t, json.Unmarshal([]byte(h.ok("", "settings", "get", "--json")), &list))
	require.Greater(t, len(list.Items), 10)

	_, err := h.do("", "settings", "set", "spread_bps=7", "rate.USDT.NGN=much")
	require.ErrorContains(t, err, "rate.USDT.NGN")
	require.Equal(t, "50\n", h.ok("", "settings", "get", "spread_bps"), "all or none")
	for _, args := range [][]string{{"set"}, {"set", "spread_bps"}, {"set", "a=1", "a=2"}, {"get", "a", "b"}, {"get", "nothing"}} {
		require.True(t, h.misused("", append([]string{"settings"}, args...)...), args)
	}
	h.inside(func(ctx context.Context, a *app) {
		require.NoError(t, a.db.View(ctx, func(_ context.Context, r store.Reader) error {
			entries, err := store.All[audit.Entry](r, store.Query{Collection: store.Audit, Index: "stream", Equal: []any{setting.Stream}})
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.Equal(t, "market moved", entries[0].Why)
			return nil
		}))
	})
}

func TestVerify_printsTheDocumentOfADifference(t *testing.T) { //nolint:paralleltest // it changes the process's environment
	h := newHost(t)
	h.ok("", "settings", "set", "spread_bps=1")
	h.ok("", "settings", "set", "spread_bps=2")
	require.Contains(t, h.ok("", "verify"), "0 differences")
	var report struct {
		OK          bool
		Checked     map[string]int
		Differences []struct{ ID, Rule, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(h.ok("", "verify", "--json")), &report))
	require.True(t, report.OK)
	require.NotNil(t, report.Differences)
	h.inside(func(ctx context.Context, a *app) { // somebody edits the trail in the database
		require.NoError(t, a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
			var e audit.Entry
			if err := tx.Get(store.Audit, audit.ID(setting.Stream, 1), &e); err != nil {
				return err
			}
			e.Actor = "somebody else"
			return tx.Replace(store.Audit, &e)
		}))
	})
	out, err := h.do("", "verify")
	require.ErrorIs(t, err, errDifference)
	require.Contains(t, out, audit.ID(setting.Stream, 1)+"  I11  ")
	out, err = h.do("", "verify", "--json")
	require.ErrorIs(t, err, errDifference)
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.False(t, report.OK)
	require.Equal(t, "I11", report.Differences[0].Rule)
	require.Equal(t, 1, run(t.Context(), []string{"verify"}))
	require.Equal(t, 2, run(t.Context(), []string{"verify", "now"}))
}

func TestMigrate_isSafeToRepeatAndRefusesAnotherWorld(t *testing.T) { //nolint:paralleltest // it changes the process's environment
	h := newHost(t)
	h.ok("", "migrate")
	require.Contains(t, h.ok("", "migrate", "--drop"), "added what was missing (0)")
	h.inside(func(ctx context.Context, a *app) {
		require.NoError(t, a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
			var s stamp
			if err := tx.Get(store.Migrations, stampID, &s); err != nil {
				return err
			}
			s.Environment = "production"
			return tx.Replace(store.Migrations, &s)
		}))
	})
	_, err := h.do("", "migrate")
	require.ErrorContains(t, err, "belongs to APP_ENV=production")
	_, err = h.do("", "verify")
	require.ErrorContains(t, err, "belongs to APP_ENV=production")
}

func TestKeysRotate_sealsEverythingUnderTheNewKey(t *testing.T) { //nolint:paralleltest // it changes the process's environment
	h := newHost(t)
	h.ok("correct horse\n", "admin", "create", "--email", "ada@example.com", "--role", "operator")
	h.inside(func(ctx context.Context, a *app) {
		body, err := a.sealer.Seal([]byte("hello"), "wa:1")
		require.NoError(t, err)
		other, err := a.sealer.Seal([]byte("hello"), "wa:another")
		require.NoError(t, err)
		require.NoError(t, a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
			for id, sealed := range map[string][]byte{"wa:1": body, "wa:moved": other, "wa:empty": nil} {
				r := delivery.New(id, delivery.Message, "text", "p", "f", sealed, now(), now())
				if err := tx.Insert(store.Inbox, r); err != nil {
					return err
				}
			}
			return nil
		}))
	})
	cfg, err := loadConfig()
	require.NoError(t, err)
	old := cfg.Keys.Field[0]
	fresh := "next:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	t.Setenv("FIELD_KEYS", fresh+","+old.ID+":"+old.Secret.Reveal())
	out, err := h.do("", "keys", "rotate")
	require.ErrorIs(t, err, errDifference, "one body belongs to another record")
	require.Contains(t, out, "sealed 2 fields anew, 0 were, 1 do not open")
	require.Contains(t, out, "wa:moved  inbox  ")
	h.inside(func(ctx context.Context, a *app) {
		require.NoError(t, a.db.Update(ctx, func(_ context.Context, tx store.Tx) error {
			r, err := delivery.Load(tx, "wa:moved")
			if err != nil {
				return err
			}
			return tx.Delete(store.Inbox, r.ID, r.Revision)
		}))
	})
	require.Contains(t, h.ok("", "keys", "rotate"), "sealed 0 fields anew, 2 were, 0 do not open", "a second run has nothing to do")

	t.Setenv("FIELD_KEYS", fresh) // the old key is gone: everything still opens
	h.inside(func(ctx context.Context, a *app) {
		require.NoError(t, a.db.View(ctx, func(_ context.Context, r store.Reader) error {
			rec, err := delivery.Load(r, "wa:1")
			require.NoError(t, err)
			plain, err := a.sealer.Open(rec.Body, rec.ID)
			require.NoError(t, err)
			require.Equal(t, "hello", string(plain))
			var ada admin.Admin
			require.NoError(t, r.Get(store.Admins, "ada@example.com", &ada))
			id, err := seal.KeyID(ada.TOTP)
			require.Equal(t, "next", id)
			return err
		}))
	})
	require.NoError(t, json.Unmarshal([]byte(h.ok("", "keys", "rotate", "--json")), &rotation{}))
}

func TestReconcile_saysWhatIsNotProven(t *testing.T) { //nolint:paralleltest // it changes the process's environment
	h := newHost(t) // whose nodes and provider do not answer
	t.Setenv("PROVIDER_TIMEOUT", "1s")
	out, err := h.do("", "reconcile")
	require.ErrorIs(t, err, errDifference)
	require.Contains(t, out, "statement:paystack  statement  the provider does not list its transfers")
	require.NotContains(t, out, "sk_test")
	out, err = h.do("", "reconcile", "--json")
	require.ErrorIs(t, err, errDifference)
	var report struct {
		OK          bool
		Differences []struct{ ID, Rule, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.False(t, report.OK)
	require.NotEmpty(t, report.Differences)
	require.True(t, h.misused("", "reconcile", "--days", "0"))
}
