package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

const panelAddress = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

// lever names a button of a section of the panel by its label.
func (b *browser) lever(section, label string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { const found = [...document.querySelectorAll('[data-section="%s"] button')].find((n) => n.textContent.trim().startsWith(%q));
		document.querySelectorAll("[data-lever]").forEach((n) => delete n.dataset.lever);
		found.dataset.lever = "1"; return true; })()`, section, label), new(bool))
	b.tap(`[data-lever="1"]`)
}

// items returns a list of the world API.
func (s *scene) items(path string) []any {
	s.t.Helper()
	list, _ := s.call(http.MethodGet, path, "", nil)["items"].([]any)
	return list
}

// TestPage_leversReachTheWorld pulls the levers of the panel and looks at the world's own account of it.
func TestPage_leversReachTheWorld(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.say(map[string]any{"type": "text", "text": map[string]any{
		"body": "We received 20 USDT. Your sale 7F2K9QXDM still needs 1,027.5 USDT on *Base*.\n\nSend it to " + panelAddress,
	}})
	b := newBrowser(t, 1400, 900)
	b.colours("light")
	s.open(b)
	b.until("what is missing is filled in", `document.querySelector('[data-act="send"]').textContent === "Send 1027.5 USDT on Base"`)
	b.tap(`[data-act="send"]`)
	b.until("the transfer waits in the pool", `document.querySelector('[data-section="chain"] .facts .state')?.textContent === "in the pool"`)
	b.lever("chain", "Mine 1")
	b.until("it is mined", `document.querySelector('[data-section="chain"] .facts .state').textContent === "1 deep"`)
	require.Equal(t, "1,027.5 USDT", b.text(`[data-section="chain"] .fact b`))

	b.tap(`[data-section="chain"] .facts input`)
	b.lever("chain", "Reorganise")
	b.until("the transfer is gone", `document.querySelectorAll('[data-section="chain"] .facts li').length === 0`)
	b.lever("chain", "Stall")
	b.until("the chain stands still", `document.querySelector('[data-section="chain"]').innerText.includes("stalled")`)

	b.tap(`[data-section="faults"] summary`)
	b.lever("faults", "Payout reply lost")
	b.until("the fault is listed", `document.querySelectorAll('[data-section="faults"] .facts li').length === 1`)
	faults := s.items("/world/faults")
	require.Len(t, faults, 1)
	require.Equal(t, "lost_reply", faults[0].(map[string]any)["kind"])
	b.lever("faults", "Clear all faults")
	b.until("no fault is left", `document.querySelectorAll('[data-section="faults"] .facts li').length === 0`)
	s.bankLevers(b)
	b.everyLeverIsExplained()
	require.Empty(t, b.console())
}

// everyLeverIsExplained: whoever points at a lever reads what it does, and each group begins with a plain sentence.
func (b *browser) everyLeverIsExplained() {
	b.t.Helper()
	b.eval(`document.querySelectorAll(".panel details").forEach((n) => { n.open = true; }) === undefined`, new(bool))
	var silent []string
	b.eval(`[...document.querySelectorAll(".section-body :is(button, input, select, a)")].filter((n) => n.closest("[title]") === null).map((n) => n.outerHTML.slice(0, 150))`, &silent)
	require.Empty(b.t, silent)
	b.eval(`[...document.querySelectorAll(".panel details")].filter((n) => n.querySelector(".section-body > .hint:first-child") === null).map((n) => n.dataset.section)`, &silent)
	require.Empty(b.t, silent)
}

// bankLevers settles and reverses a payout by hand.
func (s *scene) bankLevers(b *browser) {
	s.t.Helper()
	to := s.call(http.MethodPost, "/paystack/transferrecipient", s.bank, map[string]any{
		"type": "nuban", "name": "Ada Obi", "account_number": "0123456789", "bank_code": "058", "currency": "NGN",
	})["data"].(map[string]any)["recipient_code"]
	s.call(http.MethodPost, "/paystack/transfer", s.bank, map[string]any{
		"source": "balance", "amount": 3_726_250, "recipient": to, "reference": "payout-by-the-test-0001", "reason": "test", "currency": "NGN",
	})
	b.until("the payout is pending", `document.querySelector(".payout .state.pending")`)
	require.Equal(s.t, "₦37,262.50", b.text(".payout b"))
	require.NotContains(s.t, b.text(".payout"), "0123456789", "account numbers are masked")
	b.lever("bank", "Settle")
	b.until("it is paid", `document.querySelector(".payout .state.success")`)
	b.lever("bank", "Reverse")
	b.until("it is reversed", `document.querySelector(".payout .state.reversed")`)
	require.Equal(s.t, "reversed", s.items("/world/bank/transfers")[0].(map[string]any)["status"])
	b.shot("panel")
}
