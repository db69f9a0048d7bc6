// Faults by button: the ways in which a bank, WhatsApp and a chain let people down.

import { api } from "./api.js";
import { el, fill } from "./dom.js";

// title, what is set, what to see; after each group a sentence about it. A chain's fault is for the first chain of the world.
const PRESETS = [
  ["Bank", [
    ["Payout reply lost", { target: "paystack", operation: "transfer", kind: "lost_reply" }, "The bank pays; its answer never comes."],
    ["500 after the payout", { target: "paystack", operation: "transfer", kind: "http_500_after" }, "The bank pays and says that it failed."],
    ["500, nothing paid", { target: "paystack", operation: "transfer", kind: "http_500" }, "The same words, but nothing happened."],
    ["No answer, nothing paid", { target: "paystack", operation: "transfer", kind: "no_effect_timeout", delay_ms: 20000 }, "Silence until the bot gives up."],
    ["Slow bank", { target: "paystack", operation: "transfer", kind: "slow", delay_ms: 8000 }, "Eight seconds for every answer."],
    ["Webhook never", { target: "paystack", operation: "transfer", kind: "webhook_never" }, "The bot has to ask by itself."],
    ["Webhook twice", { target: "paystack", operation: "transfer", kind: "webhook_twice" }, "Two at the same time."],
    ["Webhook first", { target: "paystack", operation: "transfer", kind: "webhook_first" }, "It overtakes the answer."],
    ["Other amount", { target: "paystack", operation: "transfer", kind: "wrong_amount" }, "The reply names another amount."],
    ["HTML instead of JSON", { target: "paystack", operation: "verify", kind: "html", times: 3 }, "Three look-ups meet a gateway's page."],
    ["Bank is throttling", { target: "paystack", operation: "transfer", kind: "rate_limited", times: 2 }, "Two times 429."],
    ["Account check down", { target: "paystack", operation: "resolve", kind: "http_500" }, "The name of an account cannot be read."],
  ], "The bot tells the bank to pay, and something happens on the way."],
  ["WhatsApp", [
    ["131056: too many", { target: "meta", operation: "messages", kind: "error:131056" }, "The next message is refused for a while."],
    ["Send reply lost", { target: "meta", operation: "messages", kind: "lost_reply" }, "A message arrives; the bot does not know."],
    ["WhatsApp down", { target: "meta", operation: "messages", kind: "http_500", times: 3 }, "Three messages fail."],
    ["Picture upload fails", { target: "meta", operation: "media", kind: "http_500" }, "The slip has to try again."],
  ], "What the bot writes to people does not go through."],
  ["Chain", [
    ["RPC errors", { operation: "eth_getLogs", kind: "http_500", times: 5 }, "Five reads of deposits fail."],
    ["RPC throttles", { operation: "*", kind: "rate_limited", times: 5 }, "Five calls are refused."],
    ["Empty answers", { operation: "eth_getLogs", kind: "empty", times: 3 }, "Deposits seem not to exist."],
  ], "The bot looks for deposits, and the node lets it down."],
];

// A fault in the words of the world API, for those who write scripts.
function technical({ target = "chain", operation, kind, times = 1 }) {
  return `${target}, ${operation === "*" ? "any call" : operation}: ${kind}, ${times === 1 ? "once" : `${times} times`}`;
}

/** Draws the faults section. */
export function drawFaults(content, { world, run, badge }) {
  const live = el("ul", { class: "facts" });
  const clear = el("button", { type: "button", class: "secondary danger", text: "Clear all faults", title: "Whatever is set and did not happen yet is forgotten.", on: { click: () => run(() => api.clearFaults(), "The world is whole again.") } });
  const set = (fault, title) => run(() => api.setFault({ ...fault, target: fault.target ?? world.chains[0].name }), `Set: ${title}.`);
  fill(content,
    el("p", { class: "hint", text: "Each fault waits for the next call that it concerns. Then sell something: no sale is paid twice, no deposit is lost." }),
    live, clear,
    PRESETS.map(([group, presets, sentence]) => [el("h3", { text: group }), el("p", { class: "hint", text: sentence }), el("div", { class: "presets" }, presets.map(([title, fault, about]) =>
      el("button", { type: "button", class: "preset", title: technical(fault), on: { click: () => set(fault, title) } }, el("b", { text: title }), el("small", { text: about }))))]));

  world.on("faults", () => {
    badge(world.faults.length === 0 ? "" : `${world.faults.length} set`);
    clear.hidden = world.faults.length === 0;
    fill(live, world.faults.map((fault) => el("li", {},
      el("span", { class: "fact" }, el("b", { text: `${fault.target} ${fault.operation}` }), el("small", { class: "mono", text: fault.kind })),
      el("span", { class: "state pending", text: fault.times < 0 ? "until cleared" : `${fault.times} left` }))));
  });
}
