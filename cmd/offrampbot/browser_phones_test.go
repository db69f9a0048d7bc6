package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// handset is one phone of a page with several.
type handset struct {
	b      *browser
	number string
}

// in is a selector inside this phone.
func (p handset) in(selector string) string {
	return fmt.Sprintf(`.phone[data-phone="%s"] %s`, p.number, selector)
}

func (p handset) footer(screen string) string { return p.in(pageFooter(screen)) }

func (p handset) field(screen, name string) string { return p.in(pageInput(screen, name)) }

// says writes a message and sends it.
func (p handset) says(words string) {
	p.b.t.Helper()
	p.b.fill(p.in(".composer-text"), words)
	p.b.press(kb.Enter)
}

// hears waits until the bot has said something to this phone.
func (p handset) hears(words string) {
	p.b.t.Helper()
	p.b.until(p.number+" hears "+words, fmt.Sprintf(`[...document.querySelectorAll(%q)].some((n) => n.innerText.includes(%q))`, p.in(".message.theirs"), words))
}

// opens taps the newest Flow bubble, once there are so many.
func (p handset) opens(bubbles int) {
	p.b.t.Helper()
	p.b.until("a form is offered", fmt.Sprintf(`document.querySelectorAll(%q).length === %d`, p.in(".message.theirs .flow-button"), bubbles))
	p.b.tap(p.in(".message.theirs .flow-button"))
}

// signsUp makes an account and returns the name that the form began with.
func (p handset) signsUp() string {
	p.b.t.Helper()
	p.says("hi")
	p.opens(1)
	p.b.see(p.footer("PERSONAL_INFO"))
	var name string
	p.b.eval(fmt.Sprintf(`document.querySelector(%q).value`, p.field("PERSONAL_INFO", "full_name")), &name)
	p.b.tap(p.footer("PERSONAL_INFO"))
	p.b.fill(p.field("SECURITY_INFO", "pin"), pagePIN)
	p.b.fill(p.field("SECURITY_INFO", "confirm_pin"), pagePIN)
	p.b.tap(p.footer("SECURITY_INFO"))
	p.b.tap(p.footer("SUCCESSFUL"))
	p.hears("Your account is ready")
	return name
}

// review fills in a sale to the person's own account, up to the offer.
func (p handset) review() {
	p.b.t.Helper()
	p.says("sell 25 usdt on base")
	p.opens(2)
	p.b.tap(p.field("OFFRAMP_DETAILS", "bank_code"))
	p.b.fill(p.in(".layer:not(.leaving) .search"), "guaranty")
	p.b.tap(p.in(".layer:not(.leaving) .choices .row"))
	p.b.tap(p.in(pageScreen("OFFRAMP_DETAILS") + " .offer"))
	p.b.tap(p.footer("OFFRAMP_DETAILS"))
	p.b.see(p.footer("OFFRAMP_FIAT_REVIEW"))
}

// confirms goes from the offer to the deposit address in the chat.
func (p handset) confirms() {
	p.b.t.Helper()
	p.b.tap(p.footer("OFFRAMP_FIAT_REVIEW"))
	p.b.fill(p.field("OFFRAMP_CRYPTO_REVIEW", "pin"), pagePIN)
	p.b.tap(p.footer("OFFRAMP_CRYPTO_REVIEW"))
	p.b.tap(p.footer("OFFRAMP_SUCCESS"))
	p.hears("deposit address")
}

// TestPage_showsTheWayOfALostReply breaks the bank's answer to a payout from the panel: the picture goes through unclear, and
// the bank has paid once.
func TestPage_showsTheWayOfALostReply(t *testing.T) {
	t.Parallel()
	world := startDemo(t)
	b := newBrowser(t, 1400, 900)
	b.colours("light")
	ada := handset{b, "2348030000001"}
	b.open(world + "/")
	b.tap("#intro .secondary")
	ada.signsUp()
	ada.review()
	ada.confirms()
	b.tap(`[data-section="faults"] summary`)
	b.lever("faults", "Payout reply lost")
	b.until("the fault is listed", `document.querySelectorAll('[data-section="faults"] .facts li').length === 1`)
	b.lever("bank", "by hand") // nothing settles it before it was seen
	b.tap(`[data-act="send"]`)
	b.until("nobody knows whether the bank has paid", `document.querySelector('.order-picture .node.now')?.dataset.state === "unclear"`)
	b.shot("order-unclear")
	b.lever("bank", "Settle")
	b.until("the bank's word has settled it", `document.querySelector('.order-picture .node.now').dataset.state === "success"`)
	ada.hears("Paid: ₦")
	b.until("the picture shows the way round", `document.querySelector('.way.taken[data-way="sending-unclear"]') && document.querySelector('.way.taken[data-way="unclear-success"]')`)
	paid := bankList(t, world)
	require.Len(t, paid, 1)
	require.Equal(t, "success", paid[0].Status)
	b.eval(`(document.querySelector(".panel-body").scrollTop = 0) === 0`, new(bool))
	b.picture("order-path", `[data-section="sale"]`)
	require.Empty(t, b.console())
}

// TestPage_severalPeopleSideBySide has one person sell while another one is in the middle of typing and a third reads a form.
func TestPage_severalPeopleSideBySide(t *testing.T) {
	t.Parallel()
	world := startDemo(t)
	b := newBrowser(t, 1440, 900)
	b.colours("light")
	ada, ben, cleo := handset{b, "2348030000001"}, handset{b, "2348030000002"}, handset{b, "2348030000003"}
	b.open(world + "/#phones=" + ada.number + "," + ben.number + "," + cleo.number + "&on=" + ada.number)
	b.tap("#intro .secondary")
	b.tap("#panel-switch")
	b.until("three phones stand side by side", `document.querySelectorAll("#stage .phone").length === 3`)
	names := map[string]bool{}
	for _, p := range []handset{ada, ben, cleo} {
		b.until("each phone has its name", fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(" ")`, p.in(".who")))
		names[b.text(p.in(".who"))] = true
	}
	require.Len(t, names, 3, "three phones are three people")

	require.Equal(t, b.text(ada.in(".who")), ada.signsUp(), "WhatsApp knows the person by the name on the phone")
	cleo.says("hi")
	cleo.opens(1)
	b.see(cleo.footer("PERSONAL_INFO"))
	b.fill(ben.in(".composer-text"), "I am still typ")
	ada.review()
	b.picture("phone-several", "main")
	ada.confirms()
	b.until("the response stands before what it caused", fmt.Sprintf(`(() => { const all = [...document.querySelectorAll(%q)];
		return all.findIndex((n) => n.innerText.includes("Response sent") && n.compareDocumentPosition(all.at(-1)) & 4) >= 0 && all.at(-1).matches(".theirs"); })()`,
		ada.in(".message")))
	b.tap("#panel-switch")
	b.tap(ada.in(".chat-head"))
	b.tap(`[data-act="send"]`)
	ada.hears("Paid: ₦")
	b.until("the third phone makes room for the panel", `document.querySelectorAll("#stage .phone").length === 2`)
	b.tap("#panel-switch")
	b.until("and is there again", `document.querySelectorAll("#stage .phone").length === 3`)

	var draft string
	b.eval(fmt.Sprintf(`document.querySelector(%q).value`, ben.in(".composer-text")), &draft)
	require.Equal(t, "I am still typ", draft, "what one person types stays while another one sells")
	require.Equal(t, 1, b.count(cleo.in(pageScreen("PERSONAL_INFO"))), "the form of a third one is still open")
	require.Zero(t, b.count(ben.in(".message")))
	b.fill(ben.in(".composer-text"), "ing")
	b.press(kb.Enter)
	b.until("the message goes out as it was typed", fmt.Sprintf(`document.querySelector(%q)?.innerText.includes("I am still typing")`, ben.in(".message.mine")))
	b.tap(cleo.footer("PERSONAL_INFO"))
	b.see(cleo.field("SECURITY_INFO", "pin"))

	b.size(380, 800)
	b.until("a narrow screen shows one phone", `document.querySelectorAll("#stage .phone").length === 1`)
	b.shot("phones-narrow")
	b.tap(".tab:nth-child(1) .tab-open")
	b.until("the switcher shows another one", fmt.Sprintf(`document.querySelector(%q)`, ada.in(".chat")))
	b.fits("the page with three phones")
	b.colours("dark")
	b.shot("phones-narrow-dark")
	require.Len(t, bankList(t, world), 1)
	require.Empty(t, b.console())
}
