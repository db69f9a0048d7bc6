// Chain levers: send what is missing, mine, reorganise, stall.

import { api } from "./api.js";
import { el, fill, freshId } from "./dom.js";
import { chainTitle, lastSale, payoutOf, short, tokens, wanted } from "./format.js";

const SHOWN = 6; // transfers of a chain that are listed
const UNFUNDED = ["", "waiting", "overdue"]; // states of an order that still asks for coins; "" when it is not known

// What each lever does, for whoever points at it.
const ABOUT = {
  chain: "The levers below are those of this chain.",
  to: "The bot gives each person an address of their own on each chain.", amount: "In whole coins, like 25 or 27.5.", token: "Which coin is sent.",
  drop: "Ticked transfers are gone after a reorganisation.",
  send: "Sends the coins from a wallet that never runs empty. They wait in the pool until a block is mined.",
  mine: "Adds blocks now. A deposit counts for the bot once enough blocks lie on top of it.",
  auto: "Whether blocks come by themselves, as on a real chain, or only by your tap.",
  stall: "Stops the chain: no block is mined and the bot sees nothing new until it goes on.",
  reorganise: "Replaces the last blocks by other ones, as chains now and then do. Ticked transfers are not in the new ones.",
  depth: "How many of the last blocks are replaced.",
  final: "Blocks up to here can no longer be replaced.",
  pool: "Sent, but in no block yet.", deep: "How many blocks lie on it, its own included.",
};

/** Draws the chain section. The newest address of the active phone's chat is filled in, with what is missing. */
export function drawChain(content, { store, world, run: runLever, badge }) {
  // Not every lever is an event of the world, so the chains are read again after each.
  const run = (lever, done) => runLever(async () => {
    const answer = await lever();
    await world.refresh("chains");
    return answer;
  }, done);
  let name = "";
  let filled = ""; // what the chat asked for when the inputs were filled last
  const dropped = new Set();

  const tabs = el("div", { class: "segments", role: "group", "aria-label": "Chain" });
  const facts = el("p", { class: "hint", "aria-live": "off" });
  const to = input("To", { title: ABOUT.to, class: "mono", placeholder: "0x… the deposit address", spellcheck: "false" });
  const amount = input("Amount", { title: ABOUT.amount, inputmode: "decimal", placeholder: "25" });
  const token = select("Token", ABOUT.token);
  const hint = el("p", { class: "hint", data: { about: "ask" } });
  const send = el("button", { type: "submit", class: "primary", title: ABOUT.send, data: { act: "send" } });
  const form = el("form", { class: "lever" }, to.root, el("div", { class: "pair" }, amount.root, token.root), hint, send);
  const depth = input("Depth", { title: ABOUT.depth, type: "number", min: "1", max: "200", value: "3" });
  const list = el("ul", { class: "facts" });

  const chain = () => world.chains.find((one) => one.name === name);
  const small = (label, title, act) => el("button", { type: "button", class: "secondary", text: label, title, on: { click: act } });
  const auto = small("", ABOUT.auto, () => run(() => api.mineEvery(name, chain().auto_seconds > 0 ? 0 : 2), (answer) => (answer.seconds > 0 ? "A block every 2 seconds." : "Blocks by hand from now on.")));
  const stall = small("", ABOUT.stall, () => run(() => api.stall(name, !chain().stalled), (answer) => (answer.stalled ? `${chainTitle(name)} stands still.` : `${chainTitle(name)} goes on.`)));
  const mine = (blocks) => small(`Mine ${blocks}`, ABOUT.mine, () => run(() => api.mine(name, blocks), (answer) => `${chainTitle(name)} is at block ${answer.height}.`));
  const reorganise = small("Reorganise", ABOUT.reorganise, () => run(() => api.reorganise(name, Number(depth.field.value), [...dropped]), (answer) => {
    dropped.clear();
    return `The last ${depth.field.value} blocks are other ones now; ${answer.dropped.length} transfers are gone.`;
  }));

  fill(content,
    el("p", { class: "hint", text: "Simulated blockchains. Coins travel in blocks; the bot takes a deposit for sure when enough blocks lie on top of it." }),
    tabs, facts, form, el("div", { class: "line" }, mine(1), mine(10), auto, stall), list,
    el("div", { class: "line reorg" }, depth.root, reorganise, el("span", { class: "hint", text: "Ticked transfers vanish." })));

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(() => api.transfer(name, to.field.value.trim(), token.field.value, amount.field.value.trim()),
      (answer) => `Sent as ${short(answer.tx)}; it waits for the next block.`);
  });
  form.addEventListener("input", label);
  token.field.addEventListener("change", label);

  function choose(next) {
    name = next;
    dropped.clear();
    draw();
  }

  // Fills the inputs when the chat asks for something new, and leaves alone what a person wrote since.
  function follow() {
    const ask = wanted(world.chat(store.active), world.chains);
    const isOver = ask !== null && ask.amount !== "" && isFunded();
    const key = JSON.stringify([store.active, ask, isOver]);
    if (key === filled || world.chains.length === 0) return;
    filled = key;
    if (ask === null) {
      to.field.value = "";
      hint.textContent = "When the bot shows this phone's deposit address, it stands here.";
    } else {
      to.field.value = ask.address;
      if (isOver) amount.field.value = "";
      else if (ask.amount !== "") amount.field.value = ask.amount;
      if (ask.chain !== "") choose(ask.chain);
      if (ask.token !== "") token.field.value = ask.token;
      hint.textContent = isOver ? "Nothing is asked for now. What you send all the same goes to this person's balance." : ask.amount === "" ? "The address is the newest one in the chat." : `Filled in from the chat: the bot asks for ${ask.amount} ${ask.token}.`;
    }
    label();
  }

  // The newest sale of the phone has its coins: the bot says so, or the bank was asked to pay.
  function isFunded() {
    const sale = lastSale(world.chat(store.active));
    if (sale === null) return false;
    const order = world.orders.get(store.active);
    return payoutOf(sale, world.bank) !== null || (order?.asked === sale.reference && !UNFUNDED.includes(order.state));
  }

  function label() {
    send.textContent = `Send ${amount.field.value || "…"} ${token.field.value || ""} on ${chainTitle(name || "…")}`;
    send.disabled = !/^0x[0-9a-fA-F]{40}$/.test(to.field.value.trim()) || !/^\d+(\.\d+)?$/.test(amount.field.value.trim());
  }

  function draw() {
    if (world.chains.length === 0) return;
    if (chain() === undefined) name = world.chains[0].name;
    const one = chain();
    badge(`block ${one.height}`);
    segments(tabs, world.chains.map((each) => each.name), name, choose);
    facts.title = ABOUT.final;
    facts.textContent = `Block ${one.height} · ${one.stalled ? "stalled" : one.auto_seconds > 0 ? `a new one every ${one.auto_seconds} s` : "mined by hand"} · final up to ${one.finalized}`;
    auto.textContent = one.auto_seconds > 0 ? "Mine by hand" : "Mine every 2 s";
    stall.textContent = one.stalled ? "Go on" : "Stall";
    options(token.field, one.tokens.map((each) => each.symbol));
    fill(list, one.transfers.slice(0, SHOWN).map((moved) => row(moved, one, dropped)));
    label();
  }

  world.on("chains", () => { draw(); follow(); });
  for (const topic of ["bank", "order"]) world.on(topic, follow);
  const followed = new Set();
  const watch = () => {
    for (const phone of store.phones) if (!followed.has(phone)) { followed.add(phone); world.on(`chat:${phone}`, follow); }
    follow();
  };
  store.onChange(watch);
  watch();
  label();
}

function row(moved, chain, dropped) {
  const decimals = chain.tokens.find((each) => each.symbol === moved.token)?.decimals ?? 0;
  const check = el("input", { type: "checkbox", title: ABOUT.drop, checked: dropped.has(moved.tx), "aria-label": `Drop ${short(moved.tx)} in a reorganisation` });
  check.addEventListener("change", () => (check.checked ? dropped.add(moved.tx) : dropped.delete(moved.tx)));
  const state = moved.failed ? "failed" : moved.confirmations === 0 ? "in the pool" : `${moved.confirmations} deep`;
  return el("li", {}, el("label", {}, check,
    el("span", { class: "fact" }, el("b", { text: `${tokens(moved.raw, decimals)} ${moved.token || "?"}` }), el("small", { class: "mono", text: `to ${short(moved.to)}` })),
    el("span", { class: `state ${moved.confirmations === 0 ? "pending" : "success"}`, title: moved.confirmations === 0 ? ABOUT.pool : ABOUT.deep, text: state })));
}

// Buttons of which one is pressed; drawn again only when something changed, so that the keyboard stays where it is.
function segments(root, names, active, choose) {
  const key = `${names} ${active}`;
  if (root.dataset.key === key) return;
  root.dataset.key = key;
  fill(root, names.map((each) => el("button", { type: "button", title: ABOUT.chain, "aria-pressed": String(each === active), text: chainTitle(each), on: { click: () => choose(each) } })));
}

function options(field, values) {
  if (field.dataset.values === values.join()) return;
  field.dataset.values = values.join();
  const before = field.value;
  fill(field, values.map((value) => el("option", { value, text: value })));
  if (values.includes(before)) field.value = before;
}

function input(label, attributes) {
  const id = freshId("lever");
  const field = el("input", { id, type: "text", autocomplete: "off", ...attributes });
  return { field, root: el("div", { class: "lever-field" }, el("label", { for: id, text: label }), field) };
}

function select(label, title) {
  const id = freshId("lever");
  const field = el("select", { id, title });
  return { field, root: el("div", { class: "lever-field" }, el("label", { for: id, text: label }), field) };
}
