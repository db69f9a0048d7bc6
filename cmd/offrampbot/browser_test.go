package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// startDemo runs `offrampbot demo` in this process and returns the address of its page.
func startDemo(t *testing.T) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, log := &safeBuffer{}, filepath.Join(t.TempDir(), "bot.log")
	ended := make(chan error, 1)
	go func() { ended <- runDemo(ctx, out, "127.0.0.1:0", log) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	address := regexp.MustCompile(`Phone page\s+(http://\S+)/`)
	for end := time.Now().Add(browserPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := address.FindStringSubmatch(out.String()); found != nil {
			return found[1]
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatal("the demo ended: ", err)
		default:
		}
	}
	t.Fatal("the demo did not start: ", out.String())
	return ""
}

// payoutSeen is one line of the bank's own list.
type payoutSeen struct {
	AmountMinor int64  `json:"amount_minor"`
	Status      string `json:"status"`
	Calls       int    `json:"calls"`
}

func bankList(t *testing.T, world string) []payoutSeen {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, world+"/world/bank/transfers", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, res.Body.Close()) }()
	var list struct {
		Items []payoutSeen `json:"items"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&list))
	return list.Items
}

// pageScreen and pageFooter name a Flow screen that is open, and the button at its foot.
func pageScreen(id string) string { return fmt.Sprintf(`.layer:not(.leaving) [data-screen="%s"]`, id) }
func pageFooter(id string) string { return pageScreen(id) + " .flow-foot .primary" }

// pageInput names an input of a Flow screen.
func pageInput(id, name string) string {
	return fmt.Sprintf(`%s [data-name="%s"] .field-input`, pageScreen(id), name)
}

// newestBubble waits until the bot's newest message says something.
func (b *browser) newestBubble(words string) {
	b.t.Helper()
	b.until("the bot says "+words, fmt.Sprintf(`[...document.querySelectorAll(".message.theirs")].at(-1)?.innerText.includes(%q)`, words))
}

const (
	pagePIN   = "482913"
	wrongPIN  = "730164"
	pageOffer = "#stage .message.theirs .flow-button"
)

// TestPage_aSaleFromTheFirstWordToTheMoney plays a whole sale through the page only: nothing but taps and keys.
func TestPage_aSaleFromTheFirstWordToTheMoney(t *testing.T) {
	t.Parallel()
	world := startDemo(t)
	b := newBrowser(t, 1400, 900)
	b.colours("light")
	b.open(world + "/")

	b.see("#intro .secondary")
	b.shot("first-visit")
	b.tap("#intro .secondary")
	b.fill(".composer-text", "hi")
	b.press(kb.Enter)
	b.signUp()

	net := b.fillInSale()
	b.wrongPINKeepsTheScreen()
	b.fill(pageInput("OFFRAMP_CRYPTO_REVIEW", "pin"), pagePIN)
	b.tap(pageFooter("OFFRAMP_CRYPTO_REVIEW"))
	b.see(pageFooter("OFFRAMP_SUCCESS"))
	var notices int
	b.eval(`document.querySelectorAll(".notices .notice").length`, &notices)
	require.Zero(t, notices, "what the wrong PIN said does not lie over the next screen")
	b.shot("flow-success")
	b.picture("phone-flow-success", ".phone.active")
	b.tap(pageFooter("OFFRAMP_SUCCESS"))
	b.until("the deposit address is in the chat", `document.querySelector(".message.theirs .address")`)
	require.Empty(t, bankList(t, world), "nothing is paid before the deposit")

	b.presentStatePulses("waiting")
	b.tap(`[data-act="send"]`)
	b.until("the bot says that it is paid", `[...document.querySelectorAll(".message.theirs")].some((n) => n.innerText.includes("Paid: ₦"))`)
	b.until("the bank's list on the page shows it as paid", `document.querySelector(".payout .state.success")`)
	b.until("the slip is in the chat", `document.querySelector(".message.theirs .bubble-picture img")?.naturalWidth > 0`)
	b.orderPathIsDrawn()
	b.until("the panel asks for nothing any more", `document.querySelector('[data-about="ask"]').textContent.startsWith("Nothing is asked for now")`)
	var off bool
	b.eval(`document.querySelector('[data-act="send"]').disabled`, &off)
	require.True(t, off, "a paid sale needs no more coins")
	b.eval(`(document.querySelector(".panel-body").scrollTop = 0) === 0`, new(bool))
	b.until("the newest message is in view", `(() => { const n = document.querySelector(".phone.active .thread");
		return n.scrollHeight - n.scrollTop - n.clientHeight < 8; })()`)
	b.colours("dark")
	b.shot("sale-dark")
	b.colours("light")
	b.shot("sale")
	b.picture("phone-sale", "main")

	paid := bankList(t, world)
	require.Len(t, paid, 1)
	require.Equal(t, payoutSeen{AmountMinor: net, Status: "success", Calls: 1}, paid[0])
	b.pictureOpensInFull()
	b.sheetsCloseWithEscape()
	b.oldBubbleIsRefused()
	b.savedAccountIsOffered()
	require.Empty(t, b.console(), "the console is clean")
}

// signUp goes through the Flow that makes an account.
func (b *browser) signUp() {
	b.t.Helper()
	b.tap(pageOffer)
	b.see(pageFooter("PERSONAL_INFO"))
	b.shot("flow-sign-up")
	b.picture("phone-flow-sign-up", ".phone.active")
	b.tap(pageFooter("PERSONAL_INFO"))
	b.fill(pageInput("SECURITY_INFO", "pin"), pagePIN)
	b.fill(pageInput("SECURITY_INFO", "confirm_pin"), pagePIN)
	b.shot("flow-pin-twice")
	b.tap(pageFooter("SECURITY_INFO"))
	b.tap(pageFooter("SUCCESSFUL"))
	b.newestBubble("Your account is ready")
}

// fillInSale goes up to the PIN and returns the net payout that the review quotes, in minor units.
func (b *browser) fillInSale() int64 {
	b.t.Helper()
	before := b.count(pageOffer)
	b.tap(`.suggestions .chip:first-child`) // sell 25 usdt
	b.until("the sell Flow is offered", fmt.Sprintf(`document.querySelectorAll(%q).length > %d`, pageOffer, before))
	b.tap(pageOffer)
	b.tap(pageInput("OFFRAMP_DETAILS", "bank_code"))
	b.fill(".layer:not(.leaving) .search", "guaranty")
	b.tap(".layer:not(.leaving) .choices .row")
	b.tap(pageScreen("OFFRAMP_DETAILS") + " .offer") // the person's own account, as a keyboard offers it
	require.Equal(b.t, "10 digits, without spaces", b.text(pageScreen("OFFRAMP_DETAILS")+` [data-name="account_number"] .field-help`))
	b.everythingHasAName()
	b.shot("flow-details")
	b.picture("phone-flow-details", ".phone.active")
	b.tap(pageFooter("OFFRAMP_DETAILS"))
	b.see(pageFooter("OFFRAMP_FIAT_REVIEW"))
	b.shot("flow-review")
	require.Contains(b.t, b.text(pageScreen("OFFRAMP_FIAT_REVIEW")), strings.ToUpper(b.text(".phone.active .who")), "the bank knows the person of the phone")
	b.picture("phone-flow-review", ".phone.active")

	b.tap(pageScreen("OFFRAMP_FIAT_REVIEW") + " .layer-back")
	b.see(pageFooter("OFFRAMP_DETAILS"))
	var kept string
	b.eval(fmt.Sprintf(`document.querySelector(%q).value`, pageInput("OFFRAMP_DETAILS", "account_number")), &kept)
	require.Equal(b.t, "8030000001", kept, "what was typed is still there after going back")
	b.tap(pageFooter("OFFRAMP_DETAILS"))
	b.see(pageFooter("OFFRAMP_FIAT_REVIEW"))

	quoted := regexp.MustCompile(`₦[\d,]+\.\d\d`).FindString(b.text(pageScreen("OFFRAMP_FIAT_REVIEW") + " .is-TextHeading"))
	require.NotEmpty(b.t, quoted)
	digits := strings.NewReplacer("₦", "", ",", "", ".", "").Replace(quoted)
	var net int64
	_, err := fmt.Sscan(digits, &net)
	require.NoError(b.t, err)
	b.tap(pageFooter("OFFRAMP_FIAT_REVIEW"))
	return net
}

// wrongPINKeepsTheScreen sends a wrong PIN: the field says so and the screen stays.
func (b *browser) wrongPINKeepsTheScreen() {
	b.t.Helper()
	b.fill(pageInput("OFFRAMP_CRYPTO_REVIEW", "pin"), wrongPIN)
	b.shot("flow-pin")
	b.picture("phone-flow-pin", ".phone.active")
	b.tap(pageFooter("OFFRAMP_CRYPTO_REVIEW"))
	b.until("the PIN field shows an error", fmt.Sprintf(`document.querySelector(%q)?.textContent !== ""`, pageScreen("OFFRAMP_CRYPTO_REVIEW")+` [data-name="pin"] .field-error`))
	b.shot("flow-pin-wrong")
	var typed string
	b.eval(fmt.Sprintf(`document.querySelector(%q).value`, pageInput("OFFRAMP_CRYPTO_REVIEW", "pin")), &typed)
	require.Empty(b.t, typed, "a wrong PIN does not stay in the field")
}

// presentStatePulses looks at the picture's mark of where the order is now, also with the system set to little motion.
func (b *browser) presentStatePulses(state string) {
	b.t.Helper()
	b.until("the picture shows the order in "+state, fmt.Sprintf(`document.querySelector('.order-picture .node.now')?.dataset.state === %q`, state))
	const times = `getComputedStyle(document.querySelector(".order-picture .node.now rect")).animationIterationCount`
	var count string
	b.eval(times, &count)
	require.Equal(b.t, "infinite", count)
	b.media("prefers-reduced-motion", "reduce")
	b.eval(times, &count)
	require.Equal(b.t, "1", count, "nothing moves for people who asked for that")
	b.colours("light")
}

// orderPathIsDrawn waits until the picture of the states shows where the bot's own record has the paid sale.
func (b *browser) orderPathIsDrawn() {
	b.t.Helper()
	b.until("the picture says that the sale is paid", `document.querySelector('.order-picture .node.now')?.dataset.state === "success"`)
	var ways []string
	b.eval(`[...document.querySelectorAll(".order-picture .way.taken")].map((n) => n.dataset.way)`, &ways)
	for _, way := range []string{"-waiting", "exchange-sending", "sending-success"} {
		require.Contains(b.t, ways, way)
	}
	require.NotContains(b.t, ways, "sending-unclear")
	require.Greater(b.t, b.count(".order-picture .way"), 20, "all other ways are there, faint")
	require.Contains(b.t, b.text(".order-now"), "conclusively paid")
	require.Contains(b.t, b.text(".order-trail"), "PayoutPaid")
}

// pictureOpensInFull opens the slip and leaves it by Escape.
func (b *browser) pictureOpensInFull() {
	b.t.Helper()
	b.tap(".message.theirs .bubble-picture")
	b.see(".picture img")
	b.everythingHasAName()
	b.shot("slip")
	b.press(kb.Escape)
	b.until("the picture is gone", `document.querySelectorAll(".layer").length === 0`)
}

// sheetsCloseWithEscape opens the menu's list and leaves it by Escape; the focus goes back to its button.
func (b *browser) sheetsCloseWithEscape() {
	b.t.Helper()
	b.fill(".composer-text", "menu")
	b.press(kb.Enter)
	const listButton = "#stage .message.theirs:last-child .control"
	b.until("a list is offered", fmt.Sprintf(`document.querySelector(%q)`, listButton))
	b.tap(listButton)
	b.see(".layer:not(.leaving) .choices .row")
	b.everythingHasAName()
	b.shot("list")
	b.press(kb.Escape)
	b.until("the sheet is gone", `document.querySelectorAll(".layer").length === 0`)
	var focused bool
	b.eval(fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, listButton), &focused)
	require.True(b.t, focused, "the focus is back on the button that opened the sheet")
}

// oldBubbleIsRefused opens the sell Flow again: its token is used, which the sheet says in the bot's own words, and the
// bubble's button is dead from then on.
func (b *browser) oldBubbleIsRefused() {
	b.t.Helper()
	b.tap(pageOffer)
	b.see(".flow-end .primary")
	require.Contains(b.t, b.text(".flow-end p"), "no longer valid")
	b.shot("flow-expired")
	b.tap(".flow-end .primary")
	b.until("the button of the bubble is dead", fmt.Sprintf(`[...document.querySelectorAll(%q)].at(-1).disabled`, pageOffer))
}

// savedAccountIsOffered opens the form of a second sale: it says that the account of the first one will do.
func (b *browser) savedAccountIsOffered() {
	b.t.Helper()
	before := b.count(pageOffer)
	b.tap(`.suggestions .chip:first-child`)
	b.until("the sell Flow is offered again", fmt.Sprintf(`document.querySelectorAll(%q).length > %d`, pageOffer, before))
	b.tap(pageOffer)
	b.see(pageInput("OFFRAMP_DETAILS", "beneficiary"))
	field := func(name, part string) string {
		return b.text(fmt.Sprintf(`%s [data-name="%s"] %s`, pageScreen("OFFRAMP_DETAILS"), name, part))
	}
	require.Equal(b.t, "Receiving account", field("beneficiary", "label"))
	require.Contains(b.t, field("beneficiary", ".field-input"), "0001")
	require.Contains(b.t, field("account_number", ".field-help"), "Leave it empty to use the saved account above")
	b.shot("flow-details-again")
	b.press(kb.Escape)
	b.until("the sheet is gone", `document.querySelectorAll(".layer").length === 0`)
}

// TestPage_playsASaleByItself starts the tour on a narrow phone and lets it go on to the end.
func TestPage_playsASaleByItself(t *testing.T) {
	t.Parallel()
	world := startDemo(t)
	b := newBrowser(t, 380, 800)
	b.colours("dark")
	b.open(world + "/?poll") // over long polls, as where streams do not come through
	b.shot("narrow-first-visit")
	b.tap("#tour") // the button of the bar; the card above the phone leaves by itself
	b.until("the tour asks for the account", fmt.Sprintf(`document.querySelector(%q)`, pageInput("OFFRAMP_DETAILS", "bank_code")))
	b.shot("tour-details")
	b.until("the coins are sent", `document.querySelector(".path .done:nth-child(2)")`)
	b.shot("tour-panel")
	b.until("the tour says that it is paid", `document.querySelector("#tour-bar").innerText.startsWith("Paid, once.")`)
	b.shot("tour-paid")
	b.until("the tour is over", `document.querySelector("#tour-bar").hidden`)
	b.until("the slip is in the chat", `document.querySelector(".message.theirs .bubble-picture img")?.naturalWidth > 0`)
	b.shot("narrow-dark")
	b.picture("phone-narrow-dark", "body")
	require.Equal(t, 1, b.count("#intro[hidden]"), "what explains the page has left")
	paid := bankList(t, world)
	require.Len(t, paid, 1)
	require.Equal(t, "success", paid[0].Status)
	require.Equal(t, 1, paid[0].Calls)
	require.Empty(t, b.console())
}
