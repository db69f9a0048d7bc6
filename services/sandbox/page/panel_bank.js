// The bank's own list: what it really did, whatever anybody was told.

import { api } from "./api.js";
import { el, fill, freshId } from "./dom.js";
import { clock, fiat, masked, short } from "./format.js";

const WORDS = {
  pending: "pending", received: "received", success: "paid", failed: "failed", reversed: "reversed", rejected: "rejected", blocked: "blocked",
};
const OPEN = ["pending", "received"];
const ABOUT = {
  success: "The money reaches the account.", failed: "The bank does not pay it, or takes back that it did.",
  reversed: "It was paid, and the bank fetches it back.",
};

/** Draws the bank section, the newest payout first. */
export function drawBank(content, { world, run, badge }) {
  const id = freshId("webhook");
  const webhook = el("input", { type: "checkbox", id, checked: true });
  const list = el("ul", { class: "payouts", "aria-label": "Payouts at the bank" });
  const none = el("p", { class: "empty", text: "The bank has paid nothing yet." });
  const after = (label, seconds, done) => el("button", { type: "button", class: "secondary", text: label, title: seconds > 0 ? "The bank pays what it was asked to pay, after this time." : "The bank pays only when you tap Settle.", on: { click: () => run(() => api.payAfter(seconds), done) } });
  fill(content,
    el("p", { class: "hint", text: "What the bank really did, whatever the bot was told. Asked once and paid once is the whole promise." }),
    el("div", { class: "line" }, el("span", { class: "hint", text: "A payout is paid" }),
      after("after 3 s", 3, "The bank pays by itself, after 3 seconds."), after("after 30 s", 30, "The bank pays by itself, after 30 seconds."),
      after("by hand", 0, "Payouts wait for your tap.")),
    el("label", { class: "tick", for: id, title: "Without it the bot has to ask the bank by itself." }, webhook, "tell the bot by webhook"),
    list, none);

  function card(payout) {
    const settle = (label, status, isPossible) => el("button", {
      type: "button", class: "secondary", text: label, title: ABOUT[status], disabled: !isPossible, "aria-label": `${label} ${payout.reference}`, data: { act: status },
      on: { click: () => run(async () => { await api.settle(payout.reference, status, webhook.checked); await world.refresh("bank"); }, `${fiat(payout.amount_minor, payout.currency)} ${WORDS[status]}.`) },
    });
    const isOpen = OPEN.includes(payout.status);
    return el("li", { class: "payout", data: { reference: payout.reference } },
      el("div", { class: "payout-head" }, el("b", { text: fiat(payout.amount_minor, payout.currency) }),
        el("span", { class: `state ${payout.status}`, text: WORDS[payout.status] ?? payout.status })),
      el("div", { class: "payout-to" }, el("span", { text: payout.account_name }), el("span", { text: `bank ${payout.bank_code} ${masked(payout.account_number)}` })),
      el("div", { class: "payout-about" }, el("span", { class: "mono", title: `The bot's reference at the bank: ${payout.reference}`, text: short(payout.reference, 10, 6) }),
        el("span", { text: clock(payout.at) }), el("span", { class: payout.calls > 1 ? "calls many" : "calls", title: "How often the bot told the bank to pay this. With one reference the bank pays once, however often it is told.", text: payout.calls === 1 ? "asked once" : `asked ${payout.calls} times` })),
      el("div", { class: "line" }, settle("Settle", "success", isOpen), settle("Fail", "failed", isOpen || payout.status === "success"), settle("Reverse", "reversed", payout.status === "success")));
  }

  const cards = new Map(); // reference → {key, node}: a card that did not change keeps the keyboard's place
  world.on("bank", () => {
    const paid = world.bank.filter((payout) => payout.status === "success").length;
    badge(world.bank.length === 0 ? "" : `${paid} of ${world.bank.length} paid`);
    none.hidden = world.bank.length > 0;
    fill(list, world.bank.toReversed().map((payout) => {
      const key = JSON.stringify(payout);
      if (cards.get(payout.reference)?.key !== key) cards.set(payout.reference, { key, node: card(payout) });
      return cards.get(payout.reference).node;
    }));
  });
}
