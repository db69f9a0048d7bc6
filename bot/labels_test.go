package bot

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"offrampbot/flows"
	"offrampbot/services/assets"
	"offrampbot/services/audit"
	"offrampbot/services/delivery"
	"offrampbot/services/offramp"
	"offrampbot/services/operation"
	"offrampbot/services/ratelimit"
	"offrampbot/services/session"
	"offrampbot/services/testkit"
	"offrampbot/services/texts"
	"offrampbot/services/user"
	"offrampbot/services/whatsapp"
)

// oneOrder is an order service with a single order.
type oneOrder struct{ order *offramp.Order }

func (o oneOrder) list() []*offramp.Order {
	if o.order == nil {
		return nil
	}
	return []*offramp.Order{o.order}
}

func (o oneOrder) Open(context.Context, string) ([]*offramp.Order, error) { return o.list(), nil }

func (o oneOrder) History(context.Context, string, int) ([]*offramp.Order, error) {
	return o.list(), nil
}

func (o oneOrder) ByReference(context.Context, string, string) (*offramp.Order, error) {
	return o.order, nil
}

func (o oneOrder) Order(context.Context, string) (*offramp.Order, error) { return o.order, nil }

func (o oneOrder) Cancel(context.Context, string, string, string) (*offramp.Order, error) {
	return o.order, nil
}

func (oneOrder) Cover(context.Context, string, string) (offramp.Cover, error) {
	return offramp.Cover{}, nil
}

// everyTime lets everybody write.
type everyTime struct{}

func (everyTime) Allow(context.Context, string, string, ratelimit.Limit) (bool, time.Duration) {
	return true, 0
}

// noDrafts keeps nothing.
type noDrafts struct{}

func (noDrafts) Get(context.Context, string) (session.Draft, bool) { return session.Draft{}, false }
func (noDrafts) Put(context.Context, string, session.Draft) error  { return nil }
func (noDrafts) Delete(context.Context, string)                    {}

// topics are all that the bot does.
func topics() []Topic {
	seen, out := map[Topic]bool{}, []Topic(nil)
	for _, r := range conversation {
		if !seen[r.Do] {
			seen[r.Do], out = true, append(out, r.Do)
		}
	}
	return out
}

// newTurn is a message being answered, on a real store.
func newTurn(t *testing.T, catalogue *texts.Catalogue, o *offramp.Order) *turn {
	t.Helper()
	clock := testkit.Noon()
	tokens, err := flows.NewTokens([]byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	u := &user.User{Language: "en", Name: "Ada Obi", Country: "NG", Address: "0xabc"}
	u.ID = "ada"
	return &turn{
		Dispatcher: &Dispatcher{d: Deps{
			Engine: testkit.Bolt(t, audit.Indexes), Orders: oneOrder{o}, Drafts: noDrafts{}, Limiter: everyTime{},
			Registry: assets.Default(), Texts: catalogue, Tokens: tokens, Log: slog.New(slog.DiscardHandler), Now: clock.Now,
			LookupKey: []byte("key"), PhoneID: "1",
		}},
		at: clock.Now(), receipt: &delivery.Receipt{}, msg: &whatsapp.Message{}, user: u,
		heard: heard{secret: "pin"},
	}
}

// label is one shown word with the most characters that its place takes.
type label struct {
	text string
	most int
}

func labels(m operation.Message) (out []label) {
	for _, b := range m.Buttons {
		out = append(out, label{b.Title, 20})
	}
	if m.Flow != nil {
		out = append(out, label{m.Flow.CTA, 30})
	}
	if m.List == nil {
		return out
	}
	out = append(out, label{m.List.Button, 20})
	for _, s := range m.List.Sections {
		out = append(out, label{s.Title, 24})
		for _, r := range s.Rows {
			out = append(out, label{r.Title, 24}, label{r.Description, 72})
		}
	}
	return out
}

// isPicture reports whether a character is an emoji, or joins or colours one.
func isPicture(r rune) bool {
	return unicode.Is(unicode.So, r) || unicode.Is(unicode.Sk, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u200d'
}

// The sender writes a label that is a key of the catalogue as its words; any other would reach the phone as it is.
func TestTopics_showLabelsThatTheCatalogueHasInFull(t *testing.T) {
	t.Parallel()
	catalogue, err := texts.Load()
	require.NoError(t, err)
	var orders []*offramp.Order
	for _, s := range offramp.States() {
		o := &offramp.Order{User: "ada", State: s, Reference: "7F2K9QXD-M", Asset: "USDT", Fiat: "NGN"}
		o.ID = "o1"
		orders = append(orders, o)
	}
	seen, lists := 0, 0
	for _, topic := range topics() {
		for _, o := range append(orders, nil) {
			turn := newTurn(t, catalogue, o)
			if o == nil && (topic == DoCancel || topic == DoRenew) { // a button of an order that is there
				continue
			}
			require.NoError(t, turn.do(t.Context(), topic), topic)
			for _, m := range turn.replies {
				require.True(t, m.Key == "" || catalogue.Has(m.Key), m.Key)
				if m.List != nil {
					lists++
				}
				for _, l := range labels(m) {
					if l.text == "" {
						continue
					}
					seen++
					require.True(t, catalogue.Has(l.text), "%s: %q is no text key", topic, l.text)
					words := catalogue.Render("en", l.text, m.Args)
					require.NotContains(t, words, "{", "%s", l.text)
					require.LessOrEqual(t, utf8.RuneCountInString(words), l.most, "%s is cut short", l.text)
					require.False(t, strings.ContainsFunc(words, isPicture), "%s: WhatsApp refuses pictures in a label (P38)", l.text)
				}
			}
		}
	}
	require.NotZero(t, seen)
	require.NotZero(t, lists)
}
