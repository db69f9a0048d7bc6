package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"offrampbot/services/offramp"
	"offrampbot/services/sandbox"
	"offrampbot/services/store"
)

// What must be nowhere but sealed. The numbers are used by no other test, and so they are found wherever they leak.
const (
	canaryPIN       = "739518"
	canaryWrongPIN  = "916374"
	canaryAccount   = "2873946501"
	canaryWrongBank = "6152839407"
)

// canaries are the texts of a sale and of an installation that no store, log, key or metric may hold (I13). Digits count
// only when they stand alone: a random id may hold any six of them.
func (w *town) canaries() map[string]*regexp.Regexp {
	w.t.Helper()
	out := map[string]*regexp.Regexp{}
	for name, digits := range map[string]string{
		"a PIN": canaryPIN, "a wrong PIN": canaryWrongPIN, "an account number": canaryAccount, "a wrong account number": canaryWrongBank,
	} {
		out[name] = regexp.MustCompile(`(^|[^0-9A-Za-z+/_-])` + digits + `($|[^0-9A-Za-z+/_-])`)
	}
	for _, name := range []string{
		"WHATSAPP_ACCESS_TOKEN", "WHATSAPP_APP_SECRET", "WHATSAPP_VERIFY_TOKEN", "FLOW_PRIVATE_KEY", "LOOKUP_KEY", "WALLET_XPUB",
		"DEPOSIT_WEBHOOK_SECRET", "PAYSTACK_SECRET_KEY", "PIN_PEPPER", "FIELD_KEYS", "ADMIN_JWT_KEY",
	} {
		secret := w.secret(name)
		if _, key, listed := strings.Cut(secret, ":"); listed && !strings.Contains(secret, "\n") {
			secret = key
		}
		if lines := strings.Split(secret, "\n"); len(lines) > 2 {
			secret = lines[1] // of a PEM block
		}
		require.Greater(w.t, len(secret), 8, name)
		out[name] = regexp.MustCompile(regexp.QuoteMeta(secret))
	}
	for name, who := range map[string]sandbox.Operator{"operator": sandbox.DefaultOperator(), "approver": sandbox.DefaultApprover()} {
		out[name+"'s password"], out[name+"'s TOTP secret"] = regexp.MustCompile(regexp.QuoteMeta(who.Password)), regexp.MustCompile(who.TOTP)
	}
	return out
}

// places are everything that is kept or shown outside of the chat: where it is, and its text.
func (w *town) places() map[string]string {
	w.t.Helper()
	out := map[string]string{"the log": w.log.String(), "the metrics": w.metrics()}
	for _, c := range store.Collections() {
		require.NoError(w.t, w.db.View(w.t.Context(), func(_ context.Context, r store.Reader) error {
			return r.Find(store.Query{Collection: c, Index: store.ByID}, func(decode store.Decode) (bool, error) {
				var d wholeDocument
				if err := decode(&d); err != nil {
					return false, err
				}
				out[fmt.Sprintf("%s %s", c, d.ID)] = d.ID + " " + text(d.Rest)
				return true, nil
			})
		}))
	}
	return out
}

// wholeDocument is a stored document as it is.
type wholeDocument struct {
	store.Meta `bson:",inline"`
	Rest       map[string]any `bson:",inline"`
}

// text is a stored value with its bytes as text, and what texts hold in base64 decoded beside them.
func text(v any) string {
	switch v := v.(type) {
	case string:
		if plain, err := base64.StdEncoding.DecodeString(v); err == nil {
			return v + " " + string(plain)
		}
		return v
	case bson.Binary:
		return string(v.Data)
	case []byte:
		return string(v)
	case map[string]any:
		var b strings.Builder
		for name, value := range v {
			b.WriteString(name + " " + text(value) + " ")
		}
		return b.String()
	case bson.D:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(e.Key + " " + text(e.Value) + " ")
		}
		return b.String()
	case bson.A:
		var b strings.Builder
		for _, value := range v {
			b.WriteString(text(value) + " ")
		}
		return b.String()
	default:
		return fmt.Sprint(v)
	}
}

// inRedis is every key and what it holds.
func (w *town) inRedis() map[string]string {
	w.t.Helper()
	o, err := redis.ParseURL(w.redis)
	require.NoError(w.t, err)
	client := redis.NewClient(o)
	defer func() { require.NoError(w.t, client.Close()) }()
	out := map[string]string{}
	keys := client.Scan(w.t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(w.t.Context()) {
		key := keys.Val()
		held := ""
		switch client.Type(w.t.Context(), key).Val() {
		case "string":
			held = client.Get(w.t.Context(), key).Val()
		case "hash":
			held = fmt.Sprint(client.HGetAll(w.t.Context(), key).Val())
		case "zset":
			held = fmt.Sprint(client.ZRange(w.t.Context(), key, 0, -1).Val())
		case "set":
			held = fmt.Sprint(client.SMembers(w.t.Context(), key).Val())
		case "list":
			held = fmt.Sprint(client.LRange(w.t.Context(), key, 0, -1).Val())
		}
		out["Redis "+key] = key + " " + held
	}
	require.NoError(w.t, keys.Err())
	return out
}

// TestCanary_noSecretIsAnywhereButSealed makes every part work with numbers that nothing else uses, goes wrong wherever a
// person or a provider can, and then looks for them everywhere.
func TestCanary_noSecretIsAnywhereButSealed(t *testing.T) {
	t.Parallel()
	onBoth(t, nil, func(t *testing.T, w *town) {
		p := w.newPerson()
		p.signsUpWith(canaryPIN)
		p.says("sell 25 usdt on base to " + canaryAccount + " gtbank") // where numbers are not asked for
		p.says("my pin is " + canaryPIN)
		p.says(canaryWrongPIN)
		s := p.details("25 usdt on base", canaryWrongBank+"7") // too long for a bank
		require.Equal(t, "OFFRAMP_DETAILS", s.Screen, "%v", s.Data)
		w.faults("paystack", "resolve", "http_500", 1)
		p.details("25 usdt on base", canaryAccount)
		s = p.review("25 usdt on base", canaryAccount)
		require.Equal(t, "OFFRAMP_CRYPTO_REVIEW", p.submits(s, map[string]any{"pin": canaryWrongPIN}).Screen)
		w.faults("paystack", "transfer", "lost_reply", 1)
		s = p.submits(s, map[string]any{"pin": canaryPIN})
		require.Equal(t, "OFFRAMP_SUCCESS", s.Screen, "%v", s.Data)
		reference, _ := s.Data["reference"].(string)
		during := w.inRedis()
		p.deposits("base", "USDT", "25")
		o := w.becomes(reference, offramp.Success)
		d := w.desk(sandbox.DefaultOperator())
		d.logsIn()
		require.NotContains(t, d.page("/admin/orders/"+o.ID).body, canaryAccount)
		w.eventually("everything is handled", func() bool { return w.waiting() == 0 })

		places := w.places()
		require.Greater(t, len(places), 40, "something was looked at")
		for where, what := range during {
			places[where+" during the sale"] = what
		}
		for where, what := range w.inRedis() {
			places[where] = what
		}
		require.Contains(t, places["orders "+o.ID], "6501", "what is meant to be seen is seen: the last four digits")
		for name, canary := range w.canaries() {
			for where, what := range places {
				require.False(t, canary.MatchString(what), "%s is in %s", name, where)
			}
		}
		for where, what := range places { // a number is what people are found by in the store; elsewhere it says nothing
			if where == "the log" || where == "the metrics" || strings.HasPrefix(where, "Redis ") {
				require.NotContains(t, what, p.phone, where)
			}
		}
	})
}

// TestCanary_goldenFilesHoldNoSecretOfATest reads every committed file that tests write. What providers are sent and
// answer holds account numbers by its nature, and so does what people write to the bot; those files are samples, and no test
// writes them.
func TestCanary_goldenFilesHoldNoSecretOfATest(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	secret := regexp.MustCompile(`(^|[^0-9])(` + strings.Join([]string{goodPIN, canaryPIN, canaryAccount, "0123456789"}, "|") + `)($|[^0-9])`)
	looked := 0
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && (d.Name() == ".git" || strings.HasSuffix(filepath.ToSlash(name), "providers/paystack/testdata") ||
			strings.HasSuffix(filepath.ToSlash(name), "commands/testdata/utterances")):
			if err == nil {
				err = fs.SkipDir
			}
			return err
		case d.IsDir() || !strings.Contains(filepath.ToSlash(name), "/testdata/") && !strings.HasPrefix(filepath.ToSlash(name), "../../docs/"):
			return nil
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		looked++
		require.False(t, secret.Match(body), name)
		return nil
	}))
	require.Greater(t, looked, 100)
}
