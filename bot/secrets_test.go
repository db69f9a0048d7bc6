package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/commands"
	"offrampbot/flows"
	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/operation"
	"offrampbot/services/ratelimit"
	"offrampbot/services/store"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
	"offrampbot/services/user"
	"offrampbot/services/whatsapp"
)

const phoneID = "106000000000001"

// plainHasher hashes nothing; no PIN is set here.
type plainHasher struct{}

func (plainHasher) Hash(user.TypedPIN) (string, string, error) { return "hash", "pepper", nil }

func (plainHasher) Verify(string, string, user.TypedPIN) (right, outdated bool, err error) {
	return false, false, nil
}

type noBook struct{}

func (noBook) Address(int64) (string, error) { return "0xabc", nil }

type noGuards struct{}

func (noGuards) TouchUser(store.Tx, string) error { return nil }

// limited lets nobody, or everybody, write.
type limited bool

func (l limited) Allow(context.Context, string, string, ratelimit.Limit) (bool, time.Duration) {
	return !bool(l), time.Second
}

// chat is a dispatcher on a store, and an inbox to write to.
type chat struct {
	t      *testing.T
	engine store.Engine
	clock  *testkit.Clock
	bot    *Dispatcher
	sent   int
}

func newChat(t *testing.T, limiter Limiter) *chat {
	t.Helper()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	c := &chat{t: t, clock: testkit.Noon()}
	c.engine = testkit.Bolt(t, slices.Concat(user.Indexes, delivery.Indexes, operation.Indexes, flows.SessionIndexes, audit.Indexes))
	key := []byte(strings.Repeat("k", 32))
	users, err := user.NewService(user.Deps{
		Engine: c.engine, Hasher: plainHasher{}, Addresses: noBook{}, Guards: noGuards{}, Now: c.clock.Now,
		CountryOf: func(string) string { return "NG" },
	}, user.Config{LookupKey: key, Tier: "tier0"})
	require.NoError(t, err)
	tokens, err := flows.NewTokens(key)
	require.NoError(t, err)
	c.bot, err = New(Deps{
		Engine: c.engine, Users: users, Orders: oneOrder{}, Drafts: noDrafts{}, Limiter: limiter, Registry: assets.Default(),
		Texts: catalogue, Tokens: tokens, Log: slog.New(slog.DiscardHandler), Now: c.clock.Now, LookupKey: key, PhoneID: phoneID,
	}, Config{})
	require.NoError(t, err)
	return c
}

// signUp makes the person who writes a user, so that commands are carried out.
func (c *chat) signUp() {
	c.t.Helper()
	require.NoError(c.t, c.engine.Update(c.t.Context(), func(_ context.Context, tx store.Tx) error {
		people, err := store.All[user.User](tx, store.Query{Collection: store.Users, Index: "_id"})
		if err != nil || len(people) == 0 {
			return err
		}
		people[0].Status, people[0].Country = user.Active, "NG"
		return tx.Replace(store.Users, people[0])
	}))
}

// writes sends one message, and returns what is stored of it.
func (c *chat) writes(message map[string]any) *delivery.Receipt {
	c.t.Helper()
	c.sent++
	id := "wamid.S" + strconv.Itoa(c.sent)
	message["id"], message["from"] = id, "2348030000001"
	if _, said := message["timestamp"]; !said {
		message["timestamp"] = strconv.FormatInt(c.clock.Now().Unix(), 10)
	}
	posted, err := json.Marshal(map[string]any{"object": "whatsapp_business_account", "entry": []any{map[string]any{
		"id": "1", "changes": []any{map[string]any{"field": "messages", "value": map[string]any{
			"messaging_product": "whatsapp", "metadata": map[string]any{"phone_number_id": phoneID}, "messages": []any{message},
		}}},
	}}})
	require.NoError(c.t, err)
	batch := whatsapp.Decode(posted, phoneID)
	require.Len(c.t, batch.Items, 1, "%v", batch)
	body := batch.Items[0].Body()
	receipt := delivery.New(id, delivery.Message, "message", "2348030000001", id, body, c.clock.Now(), c.clock.Now())
	_, err = c.engine.Append(c.t.Context(), store.Inbox, []store.Document{receipt})
	require.NoError(c.t, err)
	claim, _, err := delivery.Claimer{Lease: time.Minute}.Next(c.t.Context(), c.engine, id, c.clock.Now())
	require.NoError(c.t, err)
	require.NotNil(c.t, claim)
	require.NoError(c.t, c.bot.Handle(c.t.Context(), claim.Receipt, body))
	var stored *delivery.Receipt
	require.NoError(c.t, c.engine.View(c.t.Context(), func(_ context.Context, r store.Reader) error {
		stored, err = delivery.Load(r, id)
		return err
	}))
	require.Equal(c.t, delivery.Done, stored.State)
	return stored
}

func typedText(text string) map[string]any {
	return map[string]any{"type": "text", "text": map[string]any{"body": text}}
}

// elsewhere is all that was written beside the message: replies and forms.
func (c *chat) elsewhere() string {
	c.t.Helper()
	var out []byte
	require.NoError(c.t, c.engine.View(c.t.Context(), func(_ context.Context, r store.Reader) error {
		ops, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: "_id"})
		if err != nil {
			return err
		}
		sessions, err := store.All[flows.Session](r, store.Query{Collection: store.FlowSessions, Index: "_id"})
		if err != nil {
			return err
		}
		var said []any
		for _, op := range ops {
			said = append(said, op.Message)
		}
		for _, s := range sessions {
			said = append(said, s.Values)
		}
		out, err = json.Marshal(said)
		return err
	}))
	return string(out)
}

func TestHandle_storesNoSecretWhateverTheMessageMeans(t *testing.T) {
	t.Parallel()
	for name, limiter := range map[string]Limiter{"heard": limited(false), "too fast": limited(true)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, limiter)
			c.writes(typedText("hi"))
			c.signUp()
			for _, text := range []string{
				"sell 10 usdt to 2087654321 gtb", "sell 2087654321", "sell 10 usdt ٢٠٨٧٦٥٤٣٢١", "balance 2087654321", "2087654321gtb", "PIN739164", "my pin is ٧٣٩١٦٤",
				"sell 50 usdt pin739164", "sell 739164 pin", "rate pin 739164", "739164", "٧٣٩١٦٤", "sell 50 usdt 7391", "cancel my pin 739164",
			} {
				require.Empty(t, c.writes(typedText(text)).Body, "%q stays in the archive", text)
			}
			caption := map[string]any{"type": "image", "image": map[string]any{"id": "1", "mime_type": "image/png", "caption": "gtb 2087654321"}}
			require.Empty(t, c.writes(caption).Body, "a caption")
			group := typedText("PIN739164")
			group["group_id"] = "g1"
			require.Empty(t, c.writes(group).Body, "a group")
			for _, secret := range []string{"2087654321", "739164", "7391"} {
				require.NotContains(t, c.elsewhere(), secret)
			}
		})
	}
}

func TestHandle_keepsWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	c := newChat(t, limited(false))
	c.writes(typedText("hi"))
	c.signUp()
	for _, text := range []string{
		"sell 50000 usdt on base", "sell ₦200,000 of usdt", "status 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", "balance",
	} {
		require.NotEmpty(t, c.writes(typedText(text)).Body, "%q", text)
	}
	require.Contains(t, c.elsewhere(), "50000 USDT")
	require.Contains(t, c.elsewhere(), "200000 NGN")
}

func TestTyped_takesNoAmountThatMayBeASecret(t *testing.T) {
	t.Parallel()
	for text, amount := range map[string]string{"sell 2087654321": "", "sell 2087654321 usdt": "", "sell 50 usdt": "50 USDT", "sell 50000 usdt": "50000 USDT"} {
		c := newChat(t, limited(false))
		turn := &turn{Dispatcher: c.bot, msg: &whatsapp.Message{Type: "text", Text: text}}
		turn.read()
		h := turn.typed()
		require.Equal(t, SaidSell, h.said, text)
		require.Equal(t, amount, h.amount, text)
		require.Equal(t, amount == "", h.unreadable, text)
		require.Equal(t, amount == "", turn.mask, text)
	}
	require.False(t, mayBeSecret(commands.Command{}))
}
