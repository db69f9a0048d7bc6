package sandbox

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aTale is what the bot's staff API answers about an order, and more than the page needs.
const aTale = `{"order":{"id":"o1","reference":"7F2K9QXDM","state":"sending","beneficiary":{"last4":"6789"}},
 "history":[
  {"event":"Placed","key":"q1","event_id":"e1","from":"","to":"waiting","phase":"none","by":"user","at":"2026-11-30T12:00:00Z"},
  {"event":"DepositConfirmed","key":"d1","event_id":"e2","from":"waiting","to":"exchange","phase":"exchange:1","by":"chain","at":"2026-11-30T12:00:09Z"},
  {"event":"ExchangeDone","key":"x1","event_id":"e3","from":"exchange","to":"sending","phase":"payout:1","by":"venue","at":"2026-11-30T12:00:10Z"}],
 "postings":[{"account":"secret"}]}`

// staffAPI makes the fake bot answer staff: a login with the right code, and one order.
func (h *harness) staffAPI(tale string) {
	h.t.Helper()
	before := h.bot.answer
	h.bot.answers(func(a arrival) (int, []byte) {
		switch {
		case a.path == "/admin/login":
			form, err := url.ParseQuery(string(a.body))
			who := DefaultApprover()
			code, codeErr := totpCode(who.TOTP, h.clock.now().Add(-codePeriod))
			if err != nil || codeErr != nil || form.Get("email") != who.Email || form.Get("password") != who.Password || form.Get("code") != code {
				return http.StatusUnauthorized, nil
			}
			return http.StatusSeeOther, nil // the fake bot adds a cookie
		case a.path == "/admin/api/v1/orders/7F2K9QXDM" && a.header.Get("Authorization") == "Bearer "+fakeToken:
			return http.StatusOK, []byte(tale)
		case strings.HasPrefix(a.path, "/admin/api/v1/orders/") && a.header.Get("Authorization") == "Bearer "+fakeToken:
			return http.StatusNotFound, []byte(`{}`)
		case strings.HasPrefix(a.path, "/admin/"):
			return http.StatusUnauthorized, nil
		case before != nil:
			return before(a)
		}
		return http.StatusOK, nil
	})
}

func TestOrder_isReadAsStaffReadIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.staffAPI(aTale)
	for range 3 {
		got := h.lever(http.MethodGet, "/world/orders/7F2K9QXDM", nil)
		require.Equal(t, "sending", got["state"])
		require.NotContains(t, jsonText(got), "secret", "only what the picture needs")
		history := got["history"].([]any)
		require.Len(t, history, 3)
		require.Equal(t, map[string]any{
			"event": "DepositConfirmed", "from": "waiting", "to": "exchange", "by": "chain", "at": "2026-11-30T12:00:09Z",
		}, history[1])
	}
	require.Len(t, h.bot.at("/admin/login"), 1, "one login serves many readings")
	h.clock.pass(deskLife)
	h.lever(http.MethodGet, "/world/orders/7F2K9QXDM", nil)
	require.Len(t, h.bot.at("/admin/login"), 2, "an old session is renewed")

	require.Contains(t, h.lever(http.MethodGet, "/world/orders/nothing", nil)["problem"], "answered 404")
	status, refused := h.call(http.MethodGet, "/world/orders/a%20b", nil)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Equal(t, "reference_invalid", refused["error"])
}

func TestOrder_aRefusedLoginIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.bot.answers(func(arrival) (int, []byte) { return http.StatusOK, nil }) // a bot that knows no staff
	for range 4 {
		got := h.lever(http.MethodGet, "/world/orders/7F2K9QXDM", nil)
		require.Empty(t, got["state"])
		require.Contains(t, got["problem"], "do not answer")
	}
	require.Len(t, h.bot.at("/admin/login"), 1, "an account that is tried too often is locked")
	h.staffAPI(aTale)
	h.clock.pass(deskPause)
	require.Equal(t, "sending", h.lever(http.MethodGet, "/world/orders/7F2K9QXDM", nil)["state"])
}

func TestOrder_aSessionThatTheBotForgotIsRenewed(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.staffAPI(aTale)
	h.world.desk.token, h.world.desk.since = "of-another-life", h.clock.now()
	require.Equal(t, "sending", h.lever(http.MethodGet, "/world/orders/7F2K9QXDM", nil)["state"])
	require.Len(t, h.bot.at("/admin/login"), 1)
}

func TestOrder_anAnswerThatIsNoOrderIsSaid(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.staffAPI(`{"error":"internal"}`)
	require.Contains(t, h.lever(http.MethodGet, "/world/orders/7F2K9QXDM", nil)["problem"], "something else than an order")
}

func TestPeople_areThePersonOfTheirPhoneAtTheBankToo(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	before := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)
	require.Equal(t, "8030000001", before["account"])
	require.Empty(t, before["messages"])
	h.greet()
	after := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)
	require.Equal(t, before["name"], after["name"], "the name is there before the first message")
	profile := firstContact(t, h.bot.at(whatsAppPath)[0])
	require.Equal(t, after["name"], profile)
	for _, bank := range []string{"058", "999992"} {
		status, resolved := h.paystack(http.MethodGet, "/bank/resolve?account_number=8030000001&bank_code="+bank, nil)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, strings.ToUpper(profile), resolved["data"].(map[string]any)["account_name"])
	}
	require.Empty(t, h.lever(http.MethodGet, "/world/chats/15551234567", nil)["account"], "only Nigerian numbers are accounts")
}

// firstContact is the profile name in a webhook.
func firstContact(t *testing.T, a arrival) string {
	t.Helper()
	var body struct {
		Entry []struct {
			Changes []struct {
				Value struct {
					Contacts []struct {
						Profile struct{ Name string }
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(a.body, &body))
	return body.Entry[0].Changes[0].Value.Contacts[0].Profile.Name
}

func TestFlow_theResponseSaysWhenItsLastQuestionWasAnswered(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.endpoint(sellEndpoint)
	session := h.openSell()["session"]
	h.submit(session, "DETAILS", map[string]any{"asset": "USDT_BASE", "amount": "5"})
	h.clock.pass(3 * time.Second)
	answered := h.clock.now()
	h.submit(session, "REVIEW", map[string]any{"pin": "493817"})
	h.clock.pass(5 * time.Second)
	h.submit(session, "DONE", nil)
	messages := h.lever(http.MethodGet, "/world/chats/"+testPhone, nil)["messages"].([]any)
	last := messages[len(messages)-1].(map[string]any)
	require.Equal(t, "nfm_reply", last["type"])
	require.Equal(t, answered.Format(time.RFC3339), last["answered_at"])
	require.Equal(t, answered.Add(5*time.Second).Format(time.RFC3339), last["at"])
}

// tapFlow is a Flow whose first screen leads on by a link and by a list instead of a footer.
const tapFlow = `{"version":"7.3","routing_model":{"LIST":["DONE"],"DONE":[]},"screens":[
  {"id":"LIST","title":"List","data":{},"layout":{"type":"SingleColumnLayout","children":[
    {"type":"EmbeddedLink","text":"Skip","on-click-action":{"name":"navigate","next":{"type":"screen","name":"DONE"},"payload":{"what":"nothing"}}},
    {"type":"NavigationList","name":"topics","list-items":[
      {"id":"sell","main-content":{"title":"Sell"},"on-click-action":{"name":"navigate","next":{"type":"screen","name":"DONE"},"payload":{"what":"sell"}}},
      {"id":"rest","main-content":{"title":"Rest"}}]}]}},
  {"id":"DONE","title":"Done","terminal":true,"data":{"what":{"type":"string","__example__":"x"}},
   "layout":{"type":"SingleColumnLayout","children":[{"type":"Footer","label":"Close","on-click-action":{"name":"complete","payload":{"what":"${data.what}"}}}]}}]}`

func TestFlow_listsAndLinksLeadOn(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(cfg *Config) { cfg.Flows = []FlowDocument{{Name: "topics", JSON: []byte(tapFlow)}} })
	h.greet()
	wamid := h.send(map[string]any{"type": "interactive", "interactive": map[string]any{
		"type": "flow", "body": map[string]any{"text": "Topics"}, "action": map[string]any{"name": "flow", "parameters": map[string]any{
			"flow_message_version": "3", "flow_name": "topics", "flow_cta": "Open", "flow_token": "t",
		}},
	}})
	for _, tt := range []struct {
		name string
		tap  map[string]any
		want string
	}{
		{"a link by its text", map[string]any{"component": "Skip"}, "nothing"},
		{"an item by its id", map[string]any{"component": "topics", "item": "sell"}, "sell"},
	} {
		session := h.lever(http.MethodPost, "/world/flows/open", map[string]any{"phone": testPhone, "wamid": wamid})["session"]
		state := h.lever(http.MethodPost, "/world/flows/submit", map[string]any{"session": session, "screen": "LIST", "tap": tt.tap})
		require.Equal(t, "DONE", state["screen"], tt.name)
		require.Equal(t, map[string]any{"what": tt.want}, state["data"], tt.name)
	}
	session := h.lever(http.MethodPost, "/world/flows/open", map[string]any{"phone": testPhone, "wamid": wamid})["session"]
	for _, tap := range []map[string]any{{"component": "nowhere"}, {"component": "topics", "item": "rest"}} {
		status, refused := h.call(http.MethodPost, "/world/flows/submit", map[string]any{"session": session, "screen": "LIST", "tap": tap})
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Equal(t, "component_unknown", refused["error"])
	}
}
