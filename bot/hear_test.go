package bot

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"offrampbot/services/fault"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/session"
	"offrampbot/services/store"
	"offrampbot/services/user"
)

// cancelled is an order service with one order that counts how often somebody cancels it.
type cancelled struct {
	oneOrder
	by []string
}

func (c *cancelled) Cancel(_ context.Context, userID, orderID, _ string) (*offramp.Order, error) {
	c.by = append(c.by, userID+" "+orderID)
	return c.order, nil
}

func (c *cancelled) Order(_ context.Context, id string) (*offramp.Order, error) {
	if id != c.order.ID {
		return nil, fault.New("order_unknown", nil)
	}
	return c.order, nil
}

// kept are drafts that are not lost.
type kept map[string]session.Draft

func (k kept) Get(_ context.Context, id string) (session.Draft, bool) { d, ok := k[id]; return d, ok }

func (k kept) Put(_ context.Context, id string, d session.Draft) error { k[id] = d; return nil }

func (k kept) Delete(_ context.Context, id string) { delete(k, id) }

// newSeller is a chat with somebody who has signed up and has a sale that waits for its deposit.
func newSeller(t *testing.T) (*chat, *cancelled) {
	t.Helper()
	c := newChat(t, limited(false))
	c.writes(typedText("hi"))
	c.signUp()
	o := &offramp.Order{State: offramp.Waiting, Reference: "7F2K9QXDM", Asset: "USDT", Fiat: "NGN", Amount: 25_000_000}
	o.ID = "o1"
	require.NoError(t, c.engine.View(t.Context(), func(_ context.Context, r store.Reader) error {
		people, err := store.All[user.User](r, store.Query{Collection: store.Users, Index: store.ByID})
		o.User = people[0].ID
		return err
	}))
	orders := &cancelled{oneOrder: oneOrder{o}}
	c.bot.d.Orders, c.bot.d.Drafts = orders, kept{}
	return c, orders
}

// said lists the texts and forms of the replies so far, without an order.
func (c *chat) said() map[string]int {
	c.t.Helper()
	out := map[string]int{}
	require.NoError(c.t, c.engine.View(c.t.Context(), func(_ context.Context, r store.Reader) error {
		ops, err := store.All[operation.Operation](r, store.Query{Collection: store.Outbox, Index: store.ByID})
		for _, op := range ops {
			if op.Message != nil {
				out[op.Message.Key]++
			}
			if op.Message != nil && op.Message.Flow != nil {
				out["a form"]++
			}
		}
		return err
	}))
	return out
}

func tap(id string) map[string]any {
	return map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "button_reply", "button_reply": map[string]any{"id": id, "title": "Yes"},
	}}
}

// Invariant: what was said longer ago than ten minutes moves no money (P9). The sender's clock counts, not the time at
// which the message reached us (P10).
func TestHandle_aMessageThatReachesUsLateMovesNoMoney(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]func() map[string]any{
		"a sale":         func() map[string]any { return typedText("sell 50 usdt on base") },
		"a cancellation": func() map[string]any { return typedText("cancel") },
		"a button":       func() map[string]any { return tap("cancel:o1") },
		"a renewal":      func() map[string]any { return tap("renew:o1") },
		"a reading":      func() map[string]any { return tap("choice:1000 USDT") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, orders := newSeller(t)
			before := c.said()
			for i, age := range []time.Duration{10*time.Minute + time.Second, 7 * 24 * time.Hour} {
				m := message()
				m["timestamp"] = strconv.FormatInt(c.clock.Now().Add(-age).Unix(), 10)
				c.writes(m)
				require.Equal(t, i+1, c.said()["bot.stale"], "it is offered to start again")
			}
			require.Equal(t, before["a form"], c.said()["a form"])
			require.Empty(t, orders.by)
			inTime := message()
			inTime["timestamp"] = strconv.FormatInt(c.clock.Now().Add(-10*time.Minute).Unix(), 10)
			c.writes(inTime)
			require.Equal(t, 2, c.said()["bot.stale"], "ten minutes are in time")
		})
	}
}

// A message of a kind that the bot does not read is answered, and not again within a minute (P20–P22).
func TestHandle_whatCannotBeReadIsSaidOnceAMinute(t *testing.T) {
	t.Parallel()
	c, orders := newSeller(t)
	kinds := []map[string]any{
		{"type": "unsupported", "errors": []any{map[string]any{"code": 131051}}},
		{"type": "unsupported", "errors": []any{map[string]any{"code": 131060, "title": "This message is currently unavailable."}}},
		{"type": "unknown"}, {"type": "hologram", "hologram": map[string]any{"depth": 3}}, {},
		{"type": "sticker", "sticker": map[string]any{"id": "1"}},
		{"type": "location", "location": map[string]any{"latitude": 6.5, "longitude": 3.4}},
		{"type": "image", "image": map[string]any{"id": "1"}},
		{"type": "audio", "audio": map[string]any{"id": "1", "voice": true}},
	}
	for _, m := range kinds {
		c.writes(m)
	}
	require.Equal(t, 1, c.said()["bot.unreadable"])
	c.clock.Advance(time.Minute)
	c.writes(map[string]any{"type": "unsupported"})
	require.Equal(t, 2, c.said()["bot.unreadable"])
	c.writes(typedText("balance"))
	require.Equal(t, 1, c.said()["bot.balance"], "the next message is answered as ever")
	require.Empty(t, orders.by)
}

// A sale is confirmed by its form and cancelled by its button. Nothing else that a person may say or send does either,
// however much it sounds like it (P29, P30, P58).
func TestHandle_onlyAButtonCancelsAndNoWordConfirms(t *testing.T) {
	t.Parallel()
	c, orders := newSeller(t)
	c.writes(typedText("sell 50 usdt on base"))
	forms := c.said()["a form"]
	for _, m := range []map[string]any{
		typedText("yes"), typedText("YES!"), typedText("👍"), typedText("ok👨‍👩‍👧‍👦"), typedText("sí"), typedText("confirm"), typedText("cancel it, yes"),
		{"type": "reaction", "reaction": map[string]any{"message_id": "wamid.OUT", "emoji": "👍"}},
		{"type": "edit", "edit": map[string]any{"original_message_id": "wamid.S1"}},
		{"type": "revoke", "revoke": map[string]any{"original_message_id": "wamid.S1"}},
		{"type": "audio", "audio": map[string]any{"id": "1", "voice": true}},
		tap("confirm:o1"), tap("yes"), tap("paid:o1"), tap("cancel"),
	} {
		c.writes(m)
	}
	require.Empty(t, orders.by)
	require.Equal(t, forms, c.said()["a form"])
	c.writes(tap("cancel:o1"))
	require.Equal(t, []string{orders.order.User + " o1"}, orders.by)
	orders.order.State = offramp.Cancelled
	c.writes(tap("cancel:o1"))
	require.Len(t, orders.by, 1, "a second tap on the old button does nothing")
	orders.order.State, orders.order.User = offramp.Waiting, "somebody else"
	c.writes(tap("cancel:o1"))
	require.Len(t, orders.by, 1, "nor does a button with another person's sale")
}

// A form's answer is a message like any other: whatever it holds, it is taken, and moves nothing (P24, P26, P27).
func TestHandle_everyAnswerOfAFormIsTakenAndMovesNothing(t *testing.T) {
	t.Parallel()
	c, orders := newSeller(t)
	before := c.said()
	for _, response := range []any{
		`{"flow_token":"t","reference":"7F2K9QXDM","type":"sale"}`, `{"reference":"7F2K9QXDM"}`, `[]`, `"done"`, `null`, `not json`, ``, 7, nil,
		map[string]any{"status": "paid"},
	} {
		c.writes(map[string]any{"type": "interactive", "context": map[string]any{"id": "wamid.OUT"}, "interactive": map[string]any{
			"type": "nfm_reply", "nfm_reply": map[string]any{"name": "flow", "body": "Sent", "response_json": response},
		}})
	}
	require.Equal(t, before, c.said())
	require.Empty(t, orders.by)
}
