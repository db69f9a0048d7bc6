// The newest sale of the active phone: where the bot's own record has it, and what chat, chain and bank show of it.

import { el, fill, icon } from "./dom.js";
import { chainTitle, clock, fiat, lastSale, masked, payoutOf, tokens } from "./format.js";
import { createPicture } from "./order_picture.js";

const NONE = "This phone has sold nothing yet. Write hi, sign up, then sell 25 usdt.";

/** Draws the sale section and keeps it up to date. */
export function drawSale(content, { store, world, badge }) {
  const empty = el("p", { class: "empty", text: NONE });
  const place = el("div", { class: "order", hidden: true });
  const now = el("p", { class: "order-now", role: "status" });
  const trail = el("p", { class: "order-trail" });
  const path = el("ol", { class: "path", "aria-label": "What the world saw of it" });
  let picture = null;
  let shown = "";

  fill(content,
    el("p", { class: "hint", text: "First the bot's own record: the states of an order, with the way that this phone's newest sale took. Below it, what chain and bank saw." }),
    place, empty, path);

  function drawPicture(order, reference) {
    if (world.table === null || world.table.states.length === 0) return;
    if (picture === null) {
      picture = createPicture(world.table);
      fill(place, picture.root, now, trail);
      place.hidden = false;
    }
    const known = order?.asked === reference && order.state !== "" ? order : null;
    const key = JSON.stringify([reference, known]);
    if (key === shown) return; // so that the pulse does not start again
    shown = key;
    picture.show(known);
    fill(now, ...words(known, reference));
    trail.textContent = (known?.history ?? []).map((fact) => fact.event).join(" ▸ ");
  }

  function words(order, reference) {
    if (reference === "") return [];
    if (order === null) return ["The bot's record of this sale cannot be read at the moment."];
    const meaning = world.table.states.find((state) => state.name === order.state)?.meaning ?? "";
    return [el("b", { text: order.state }), ` – ${meaning}`];
  }

  function draw() {
    const sale = lastSale(world.chat(store.active));
    badge(sale === null ? "" : sale.reference);
    drawPicture(world.orders.get(store.active), sale?.reference ?? "");
    empty.hidden = sale !== null;
    fill(path, sale === null ? [] : steps(sale, world).map(([done, title, about, tone = ""]) =>
      el("li", { class: `${done ? "done" : "open"} ${tone}` }, el("span", { class: "path-dot" }, done ? icon(tone === "bad" ? "close" : "check") : null),
        el("span", { class: "path-text" }, el("b", { text: title }), el("small", { text: about })))));
  }

  for (const topic of ["chains", "bank", "table", "order"]) world.on(topic, draw);
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
