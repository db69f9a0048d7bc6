package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"offrampbot/services/sandbox"
)

const galleryPhone = "2348030000009"

// scene is a world whose bot is the test itself: it sends what it likes and keeps what arrives.
type scene struct {
	t     *testing.T
	base  string
	token string // of WhatsApp
	bank  string // Paystack's secret key

	mu      sync.Mutex
	arrived []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t}
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.arrived = append(s.arrived, string(body))
		s.mu.Unlock()
	}))
	t.Cleanup(bot.Close)
	var handler http.Handler
	world := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(world.CloseClientConnections)
	w, err := sandbox.New(sandbox.Config{
		Now: now, Log: newLogger(), BaseURL: world.URL, BotURL: bot.URL, Flows: galleryDocuments(t),
		Chains: []sandbox.Chain{{Name: "base", ID: 8453, Tokens: []sandbox.Token{{Symbol: "USDT", Contract: "0xfde4c96c8593536e31f229ea8f37b2ada2699bb2", Decimals: 6}}}},
	})
	require.NoError(t, err)
	handler, s.base = w.Handler(), world.URL
	for _, line := range environment(w.EnvFile()) {
		if token, found := strings.CutPrefix(line, "WHATSAPP_ACCESS_TOKEN="); found {
			s.token = token
		}
		if key, found := strings.CutPrefix(line, "PAYSTACK_SECRET_KEY="); found {
			s.bank = key
		}
	}
	s.call(http.MethodPost, "/world/messages", "", map[string]any{"from": galleryPhone, "text": "hi"})
	return s
}

// call sends JSON with a bearer token and returns the answer, which must be a good one.
func (s *scene) call(method, path, token string, body map[string]any) map[string]any {
	s.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(s.t, err)
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, bytes.NewReader(raw))
	require.NoError(s.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	answer, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, res.Body.Close())
	require.Less(s.t, res.StatusCode, 300, string(answer))
	out := map[string]any{}
	require.NoError(s.t, json.Unmarshal(answer, &out))
	return out
}

// say sends a message from the bot.
func (s *scene) say(message map[string]any) {
	s.t.Helper()
	body := map[string]any{"messaging_product": "whatsapp", "to": galleryPhone}
	for name, value := range message {
		body[name] = value
	}
	s.call(http.MethodPost, "/graph/v25.0/"+sandbox.PhoneNumberID+"/messages", s.token, body)
}

func (s *scene) interactive(interactive map[string]any) {
	s.t.Helper()
	s.say(map[string]any{"type": "interactive", "interactive": interactive})
}

// arrives waits until the world has delivered something to the bot: the page shows it before.
func (s *scene) arrives(what string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(strings.Join(s.arrived, "\n"), what)
	}, browserPatience, 20*time.Millisecond, "%s never arrived", what)
}

// readAndType marks the person's first message as read, and shows that an answer is being typed.
func (s *scene) readAndType() {
	s.t.Helper()
	s.arrives("wamid.")
	s.mu.Lock()
	wamid := regexp.MustCompile(`wamid\.[A-Za-z0-9_-]+`).FindString(s.arrived[0])
	s.mu.Unlock()
	s.say(map[string]any{"status": "read", "message_id": wamid, "typing_indicator": map[string]any{"type": "text"}})
}

// offerGallery sends the Flow with its first screen's data, so that no endpoint is needed.
func (s *scene) offerGallery(nameError string) {
	s.t.Helper()
	var dot bytes.Buffer
	require.NoError(s.t, png.Encode(&dot, image.NewGray(image.Rect(0, 0, 40, 40))))
	var banks []any
	for n := range 30 {
		banks = append(banks, map[string]any{"id": fmt.Sprintf("b%02d", n), "title": fmt.Sprintf("Bank %02d", n), "description": "Lagos"})
	}
	s.interactive(map[string]any{
		"type": "flow", "body": map[string]any{"text": "Open the gallery"},
		"action": map[string]any{"name": "flow", "parameters": map[string]any{
			"flow_message_version": "3", "flow_name": "gallery_flow", "flow_cta": "Open", "flow_token": "token-of-the-gallery",
			"flow_action": "navigate", "flow_action_payload": map[string]any{"screen": "GALLERY", "data": map[string]any{
				"intro": "Every component", "name_error": nameError, "banks": banks, "picture": base64.StdEncoding.EncodeToString(dot.Bytes()),
				"kinds": []any{
					map[string]any{"id": "person", "title": "A person", "description": "Sells for myself"},
					map[string]any{"id": "company", "title": "A company", "description": "Sells for a business"},
				},
				"inits": map[string]any{"city": "Lagos"},
			}},
		}},
	})
}

// response returns the Flow's answer that reached the bot.
func (s *scene) response() map[string]any {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.arrived {
		_, rest, found := strings.Cut(body, `"response_json":`)
		if !found {
			continue
		}
		var inner string
		require.NoError(s.t, json.NewDecoder(strings.NewReader(rest)).Decode(&inner))
		var out map[string]any
		require.NoError(s.t, json.Unmarshal([]byte(inner), &out))
		return out
	}
	return nil
}

// open opens the page on the gallery's phone.
func (s *scene) open(b *browser) {
	s.t.Helper()
	b.open(s.base + "/#phones=" + galleryPhone + "&on=" + galleryPhone)
	b.tap("#intro .secondary")
}

// TestPage_drawsEveryComponentOfAFlow fills in a screen that has them all, and compares what arrives.
func TestPage_drawsEveryComponentOfAFlow(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.offerGallery("")
	b := newBrowser(t, 1400, 900)
	b.colours("light")
	s.open(b)
	b.tap(pageOffer)
	b.see(pageScreen("GALLERY") + " .is-TextHeading")
	b.shot("gallery-1")
	require.Zero(t, b.count(".flow-body img:not(.flow-image)"), "a text is never HTML")
	require.Equal(t, 1, b.count(".flow-rich table")*b.count(".flow-rich ul")*b.count(".flow-rich a[rel~=noopener]"))
	require.Equal(t, "We know no such street", b.text(pageScreen("GALLERY")+` [data-name="street"] .field-error`))

	b.tap(pageFooter("GALLERY"))
	b.until("the first wrong field has the focus", fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, pageInput("GALLERY", "full_name")))
	for name, want := range map[string]string{
		"full_name": "Please fill this in.", "bank": "Please choose one.", "agree": "Please tick this to go on.", "pin": "Please fill this in.", "sum": "",
	} {
		require.Equal(t, want, b.text(fmt.Sprintf(`%s [data-name="%s"] .field-error`, pageScreen("GALLERY"), name)), name)
	}
	s.fillGallery(b)
	b.tap(pageFooter("GALLERY"))
	b.see(pageFooter("DONE"))
	require.Equal(t, "Ada Obi", b.text(pageScreen("DONE")+" .is-TextBody"))
	b.tap(pageFooter("DONE"))
	b.until("the Flow has ended", `document.querySelectorAll(".layer").length === 0`)
	s.arrives(`"response_json":`)
	require.Equal(t, map[string]any{
		"name": "Ada Obi", "bank": "b07", "kind": "company", "company": "Obi Ltd", "days": []any{"mo", "we"}, "coins": []any{"usdc"},
		"born": "1990-06-15", "agree": true, "city": "Lagos", "flow_token": "token-of-the-gallery",
	}, s.response())
	require.Empty(t, b.console())
}

// fillGallery types and chooses, one kind of input after the other.
func (s *scene) fillGallery(b *browser) {
	s.t.Helper()
	at := func(name, part string) string {
		return fmt.Sprintf(`%s [data-name="%s"] %s`, pageScreen("GALLERY"), name, part)
	}
	problem := func(name string) string { return b.text(at(name, ".field-error")) }
	b.fill(pageInput("GALLERY", "full_name"), "Ada Obi")
	require.Equal(s.t, "Hello Ada Obi", b.text(pageScreen("GALLERY")+" .is-TextSubheading"), "a text follows what is typed")
	require.Equal(s.t, "7/20", b.text(at("full_name", ".field-count")))

	b.fill(pageInput("GALLERY", "sum"), "ten")
	b.fill(pageInput("GALLERY", "mail"), "ada")
	b.fill(pageInput("GALLERY", "secret"), "short")
	b.fill(pageInput("GALLERY", "code"), "abc")
	b.fill(pageInput("GALLERY", "pin"), "123")
	b.tap(at("days", "label:nth-child(1) input"))
	b.tap(pageFooter("GALLERY"))
	require.Equal(s.t, "Please write a number.", problem("sum"))
	require.Equal(s.t, "Please write an e-mail address.", problem("mail"))
	require.Equal(s.t, "At least 8 characters are needed.", problem("secret"))
	require.Equal(s.t, "Three capital letters", problem("code"))
	require.Equal(s.t, "4 digits are needed.", problem("pin"))
	require.Equal(s.t, "Choose at least 2.", problem("days"))
	b.shot("gallery-2")

	for name, text := range map[string]string{"sum": "10", "mail": "ada@example.com", "secret": "long enough", "code": "ABC"} {
		b.eval(fmt.Sprintf(`(() => { document.querySelector(%q).value = ""; return true; })()`, pageInput("GALLERY", name)), new(bool))
		b.fill(pageInput("GALLERY", name), text)
	}
	b.fill(pageInput("GALLERY", "pin"), "4")
	b.fill(pageInput("GALLERY", "note"), "Nothing")
	b.tap(pageInput("GALLERY", "bank"))
	b.fill(".layer:not(.leaving) .search", "bank 07")
	b.tap(".layer:not(.leaving) .choices .row")
	b.tap(at("kind", "label:nth-child(2) input"))
	b.fill(pageInput("GALLERY", "company"), "Obi Ltd")
	b.until("the Switch follows", fmt.Sprintf(`document.querySelector(%q).innerText.includes("You are a company.")`, pageScreen("GALLERY")))
	b.tap(at("days", "label:nth-child(3) input"))
	b.tap(at("coins", "label:nth-child(2)"))
	b.eval(fmt.Sprintf(`(() => { const day = document.querySelector(%q); day.value = "2020-02-29";
		return day.dispatchEvent(new Event("input", {bubbles: true})); })()`, pageInput("GALLERY", "born")), new(bool))
	b.tap(pageFooter("GALLERY"))
	require.Equal(s.t, "Not after 2010-01-01.", problem("born"))
	b.eval(fmt.Sprintf(`(() => { const day = document.querySelector(%q); day.value = "1990-06-15";
		return day.dispatchEvent(new Event("input", {bubbles: true})); })()`, pageInput("GALLERY", "born")), new(bool))
	b.tap(at("agree", "input"))
	b.until("what is bound to the tick can be seen", fmt.Sprintf(`document.querySelector(%q).innerText.includes("Thank you for agreeing")`, pageScreen("GALLERY")))
	b.everythingHasAName()
	b.shot("gallery-3")
}

// TestPage_asksBeforeAFlowIsLeft: Escape and the cross ask once something was typed, and Stay keeps it.
func TestPage_asksBeforeAFlowIsLeft(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.offerGallery("This name is taken")
	b := newBrowser(t, 380, 800)
	b.colours("dark")
	s.open(b)
	b.tap(pageOffer)
	b.until("the bot's error stands at its field, which has the focus", fmt.Sprintf(
		`document.activeElement === document.querySelector(%q) && document.activeElement.getAttribute("aria-invalid") === "true"`, pageInput("GALLERY", "full_name")))
	b.fill(pageInput("GALLERY", "full_name"), "Ada")
	b.press(kb.Escape)
	b.see(".question .danger")
	b.shot("leave")
	b.press(kb.Escape)
	b.until("the question is gone, the Flow is not", `document.querySelectorAll(".question").length === 0 && document.querySelector(".flow-body")`)

	for range 60 { // the focus never leaves the sheet
		b.do(keyTab)
	}
	var inside bool
	b.eval(`document.activeElement.closest(".sheet.flow") !== null`, &inside)
	require.True(t, inside)
	b.eval(`(() => { document.activeElement.blur(); return true; })()`, new(bool))
	b.press(kb.Escape) // heard even when the focus is nowhere
	b.tap(".question .danger")
	b.until("the Flow is gone", `document.querySelectorAll(".layer").length === 0`)
	require.Nil(t, s.response())
	require.Empty(t, b.console())
}

// TestPage_showsWhatABotCanSay draws each kind of message, and the person's answers to it.
func TestPage_showsWhatABotCanSay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.say(map[string]any{"type": "text", "text": map[string]any{"body": "*bold* _italic_ ~gone~ `mono` ****6789 a_b_c <b>no</b> https://example.com/a."}})
	s.interactive(map[string]any{
		"type": "button", "header": map[string]any{"type": "text", "text": "Head"}, "body": map[string]any{"text": "Which one?"}, "footer": map[string]any{"text": "Foot"},
		"action": map[string]any{"buttons": []any{
			map[string]any{"type": "reply", "reply": map[string]any{"id": "b-one", "title": "The first"}},
			map[string]any{"type": "reply", "reply": map[string]any{"id": "b-two", "title": "The second"}},
		}},
	})
	s.interactive(map[string]any{
		"type": "list", "body": map[string]any{"text": "Choose from the list"},
		"action": map[string]any{"button": "Open the list", "sections": []any{
			map[string]any{"title": "Money", "rows": []any{map[string]any{"id": "r-sell", "title": "Sell", "description": "USDT to naira"}}},
			map[string]any{"title": "Help", "rows": []any{map[string]any{"id": "r-help", "title": "Help"}}},
		}},
	})
	s.interactive(map[string]any{
		"type": "cta_url", "body": map[string]any{"text": "Read on"},
		"action": map[string]any{"name": "cta_url", "parameters": map[string]any{"display_text": "Open the site", "url": "https://example.com/site"}},
	})
	b := newBrowser(t, 1400, 900)
	b.colours("light")
	s.open(b)
	const first = ".message.theirs .bubble-text"
	var html string
	b.eval(fmt.Sprintf(`document.querySelector(%q).innerHTML`, first), &html)
	require.Equal(t, `<strong>bold</strong> <em>italic</em> <s>gone</s> <code class="mono">mono</code> ****6789 a_b_c &lt;b&gt;no&lt;/b&gt; `+
		`<a href="https://example.com/a" target="_blank" rel="noopener noreferrer">https://example.com/a</a>.`, html)
	require.Equal(t, 1, b.count(`a.control[href="https://example.com/site"]`))

	s.readAndType()
	b.until("the bot is typing, and has read", `document.querySelector(".typing") && document.querySelector(".message.mine .ticks.is-read")`)
	require.Equal(t, "typing…", b.text(".phone.active .status"))
	s.say(map[string]any{"type": "text", "text": map[string]any{"body": "Well?"}})
	b.until("an answer ends it", `!document.querySelector(".typing")`)

	b.tap(`.control[data-id="b-two"]`)
	b.until("the answer is in the chat", `document.querySelector(".message.mine:last-child")?.innerText.includes("The second")`)
	b.tap("#stage .of-list ~ .control")
	b.see(".choices .row")
	require.Equal(t, 2, b.count(".choices .section"))
	b.shot("list-sections")
	b.tap(`.choices .row[data-id="r-help"]`)
	b.tap(".choices .sheet-foot .primary")
	b.until("the choice is in the chat", `document.querySelector(".message.mine:last-child")?.innerText.includes("Help")`)
	b.shot("messages")
	s.arrives(`"button_reply":{"id":"b-two","title":"The second"}`)
	s.arrives(`"list_reply":{"id":"r-help","title":"Help"}`)
	b.phonesSurviveAReload(s.base)
	require.Empty(t, b.console())
}

// phonesSurviveAReload adds a phone beside the first one, loads the page again and closes the new one.
func (b *browser) phonesSurviveAReload(base string) {
	b.t.Helper()
	b.tap(".add-phone")
	b.tap(".new-phone .primary")
	b.until("two phones stand side by side", `document.querySelectorAll("#stage .phone").length === 2`)
	b.fill(".phone.active .composer-text", "hi")
	b.press(kb.Enter)
	b.until("each phone has its own chat", `document.querySelectorAll(".phone.active .message").length === 1`)
	b.everythingHasAName()
	b.shot("two-phones")
	b.tap("#theme-switch")
	b.do(reload)
	b.until("the colours are still the other ones", `document.documentElement.dataset.theme === "dark"`)
	b.until("both phones are there again", `document.querySelectorAll("#stage .phone").length === 2 && document.querySelectorAll(".phone.active .message").length === 1`)
	b.tap(".tab.active .tab-close")
	b.until("one phone is left", `document.querySelectorAll("#stage .phone").length === 1`)
	var at string
	b.eval("location.hash", &at)
	require.Equal(b.t, "#phones="+galleryPhone+"&on="+galleryPhone, at)
	b.eval("location.origin", &at)
	require.Equal(b.t, base, at)
}
