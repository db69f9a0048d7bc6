// The newest sale of the active phone, step by step: read from the chat, the chain and the bank, not from the bot.

import { el, fill, icon } from "./dom.js";
import { chainTitle, clock, fiat, lastSale, masked, tokens } from "./format.js";

/** Draws the sale section and keeps it up to date. */
export function drawSale(content, { store, world, badge }) {
  const empty = el("p", { class: "empty", text: "This phone has sold nothing yet. Write hi, sign up, then sell 25 usdt." });

  function draw() {
    const sale = lastSale(world.chat(store.active));
    badge(sale === null ? "" : sale.reference);
    if (sale === null) return fill(content, empty);
    return fill(content, el("ol", { class: "path" }, steps(sale, world).map(([done, title, about, tone = ""]) =>
      el("li", { class: `${done ? "done" : "open"} ${tone}` }, el("span", { class: "path-dot" }, done ? icon(tone === "bad" ? "close" : "check") : null),
        el("span", { class: "path-text" }, el("b", { text: title }), el("small", { text: about }))))));
  }

  for (const topic of ["chains", "bank"]) world.on(topic, draw);
  const watched = new Set();
  const watch = () => {
    for (const phone of store.phones) if (!watched.has(phone)) { watched.add(phone); world.on(`chat:${phone}`, draw); }
    draw();
  };
  store.onChange(watch);
  watch();
}

// Each step: is it done, its name, what is known of it, "bad" when it ended badly.
function steps(sale, world) {
  const moved = sale.address === "" ? null : depositOf(sale, world);
  const payout = payoutOf(sale, world.bank);
  return [
    [true, "Accepted", `${sale.reference} at ${clock(sale.at)}`],
    depositStep(sale, moved, payout),
    [payout !== null, "Payout asked", payout === null ? "after the deposit is confirmed" : `${fiat(payout.amount_minor, payout.currency)} to ${masked(payout.account_number)}, ${payout.calls === 1 ? "asked once" : `asked ${payout.calls} times`}`],
    paidStep(payout),
  ];
}

function depositStep(sale, moved, payout) {
  if (moved !== null) return [moved.confirmations > 0, "Deposit", `${moved.amount} ${moved.token} on ${chainTitle(moved.chain)}, ${moved.confirmations === 0 ? "in the pool" : `${moved.confirmations} deep`}`];
  if (payout !== null) return [true, "Deposit", "paid from the balance"];
  return [false, "Deposit", sale.address === "" ? "nothing to send" : "send it from the blockchain section"];
}

function paidStep(payout) {
  if (payout === null || ["pending", "received"].includes(payout.status)) return [false, "Paid", payout === null ? "" : "the bank is working on it"];
  return [true, payout.status === "success" ? "Paid" : "Not paid", `the bank says: ${payout.status}`, payout.status === "success" ? "good" : "bad"];
}

// The newest transfer to the sale's address since it was accepted. One of which the world no longer knows when it was
// sent counts as soon as the bot has written about the sale again.
function depositOf(sale, world) {
  const counts = (one) => (world.sentAt.has(one.tx) ? world.sentAt.get(one.tx) >= sale.at : sale.told > 1);
  for (const chain of world.chains) {
    const moved = chain.transfers.find((one) => one.to.toLowerCase() === sale.address && !one.failed && counts(one));
    if (moved) {
      const decimals = chain.tokens.find((each) => each.symbol === moved.token)?.decimals ?? 0;
      return { ...moved, chain: chain.name, amount: tokens(moved.raw, decimals) };
    }
  }
  return null;
}

// The bank's newest payout that fits what the chat promised.
function payoutOf(sale, bank) {
  return bank.findLast((one) => String(one.amount_minor) === sale.net && one.account_number.endsWith(sale.last4) && one.at >= sale.at) ?? null;
}
