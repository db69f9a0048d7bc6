// "Play a sale": a whole sale at human pace, by the page's own controls and nothing else.

import { api } from "./api.js";
import { el, fill, icon, pause } from "./dom.js";
import { firstName } from "./format.js";

const TAP = 650; // ms between two taps
const KEY = 45; // ms between two letters
const PATIENCE = 60_000; // ms for anything to appear
const PIN = "482913";
const SELL = "sell 25 usdt";
const ACCOUNT = "0123456789"; // of people whose number is no Nigerian one

/** Wires the tour's button. start plays; the same button stops. */
export function createTour({ store, world, phones, showPanel, button, bar, onStart }) {
  let running = null;

  function paint() {
    fill(button, icon(running ? "stop" : "play"), el("span", { text: running ? "Stop" : "Play a sale" }));
  }

  async function start() {
    if (running) return;
    running = new AbortController();
    onStart();
    paint();
    const hand = createHand(running.signal, (text) => { bar.hidden = false; fill(bar, icon("play"), el("span", { text })); });
    try {
      await play(hand);
      await hand.rest(4000);
    } catch (error) {
      if (!running.signal.aborted) {
        hand.say(`The tour stopped: ${error.message}`);
        await pause(5000);
      }
    }
    hand.leave();
    running = null;
    bar.hidden = true;
    paint();
  }

  async function play(hand) {
    const chats = await api.chats();
    if (chats.some((chat) => chat.phone === store.active)) store.show(store.freshPhone(chats.map((chat) => chat.phone)));
    const { root: phone, phone: number } = phones.active();
    await world.readChat(number);
    const person = world.person(number);
    const name = firstName(person.name);
    const sheet = (screen) => () => phone.querySelector(`.layer:not(.leaving) [data-screen="${screen}"]`);
    const footer = (screen) => () => sheet(screen)()?.querySelector(".flow-foot .primary");
    const field = (screen, name) => () => sheet(screen)()?.querySelector(`[data-name="${name}"] .field-input`);

    hand.say(`1 of 6 · ${name} says hi to the bot`);
    await chat(hand, phone, "hi");
    await hand.tap(last(phone, ".flow-button"));

    hand.say(`2 of 6 · ${name} signs up: name and PIN`);
    await hand.see(field("PERSONAL_INFO", "full_name")); // filled in with the name that WhatsApp knows
    await hand.tap(footer("PERSONAL_INFO"));
    await hand.type(field("SECURITY_INFO", "pin"), PIN);
    await hand.type(field("SECURITY_INFO", "confirm_pin"), PIN);
    await hand.tap(footer("SECURITY_INFO"));
    await hand.tap(footer("SUCCESSFUL"));

    hand.say(`3 of 6 · ${name} sells 25 USDT for money in the bank`);
    const flows = phone.querySelectorAll(".flow-button").length;
    await chat(hand, phone, SELL);
    await hand.tap(() => (phone.querySelectorAll(".flow-button").length > flows ? last(phone, ".flow-button")() : null));
    await hand.tap(field("OFFRAMP_DETAILS", "bank_code"));
    await hand.tap(() => choiceRow(phone));
    await hand.type(field("OFFRAMP_DETAILS", "account_number"), person.account || ACCOUNT);
    await hand.tap(footer("OFFRAMP_DETAILS"));

    hand.say("4 of 6 · The offer: what arrives, at which rate, on whose account");
    await hand.see(sheet("OFFRAMP_FIAT_REVIEW"));
    await hand.rest(1800);
    await hand.tap(footer("OFFRAMP_FIAT_REVIEW"));
    await hand.type(field("OFFRAMP_CRYPTO_REVIEW", "pin"), PIN);
    await hand.tap(footer("OFFRAMP_CRYPTO_REVIEW"));
    await hand.tap(footer("OFFRAMP_SUCCESS"));

    hand.say("5 of 6 · The coins go to the deposit address that the bot gave");
    await hand.see(() => phone.querySelector(".message.theirs .address"));
    await hand.rest(1500);
    store.show(number); // the panel follows the phone in use
    showPanel(true);
    const send = () => { const node = document.querySelector('[data-act="send"]'); return node && !node.disabled ? node : null; };
    const sale = document.querySelector('[data-section="sale"]');
    document.querySelector('[data-section="chain"]').open = true;
    document.querySelector('[data-section="bank"]').open = true;
    await hand.tap(send);

    hand.say("6 of 6 · The chain confirms, the bank pays, the bot says so");
    sale.open = true;
    sale.scrollIntoView({ block: "start", behavior: "smooth" }); // the order's path, as it goes
    await hand.rest(4000);
    if (!window.matchMedia("(min-width: 900px)").matches) showPanel(false);
    await hand.wait(() => document.querySelector(".payout .state.success")); // on a narrow screen the panel is shut
    await hand.wait(() => [...phone.querySelectorAll(".message.theirs")].find((node) => /paid/i.test(node.textContent)));
    hand.say("Paid, once. Now break something in the panel and try it yourself.");
  }

  button.addEventListener("click", () => (running ? running.abort(new Error("stopped")) : start()));
  paint();
  return { start };
}

const last = (root, selector) => () => [...root.querySelectorAll(selector)].at(-1);

function choiceRow(phone) {
  const rows = [...phone.querySelectorAll(".layer:not(.leaving) .choices .row")];
  return rows.find((row) => row.dataset.id === "058") ?? rows[0]; // a bank that the sandbox knows under its real code
}

async function chat(hand, phone, text) {
  await hand.type(() => phone.querySelector(".composer-text"), text);
  await hand.tap(() => phone.querySelector(".send"));
}

// A hand that taps and types what can be seen, and shows where.
function createHand(signal, say) {
  const pointer = el("div", { class: "hand", "aria-hidden": "true" });
  document.body.append(pointer);

  async function wait(find) {
    for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(100, signal)) {
      const node = find();
      if (node) return node;
    }
    throw new Error("what comes next did not appear");
  }

  // Waits for something that can be seen and tapped.
  const see = (find) => wait(() => {
    const node = find();
    return node && node.closest("[inert]") === null && node.getClientRects().length > 0 ? node : null;
  });

  async function reach(find) {
    await pause(TAP, signal);
    const node = await see(find);
    node.scrollIntoView({ block: "nearest", behavior: "instant" });
    const box = node.getBoundingClientRect();
    pointer.style.translate = `${box.left + Math.min(box.width / 2, 180)}px ${box.top + box.height / 2}px`;
    pointer.classList.add("shown");
    await pause(TAP / 2, signal);
    pointer.classList.remove("tapping");
    void pointer.offsetWidth; // starts the ripple again
    pointer.classList.add("tapping");
    return node;
  }

  return {
    say, see, wait,
    rest: (ms) => pause(ms, signal),
    leave: () => pointer.remove(),
    async tap(find) {
      const node = await reach(find);
      node.focus({ preventScroll: true });
      node.click();
    },
    async type(find, text) {
      const node = await reach(find);
      node.focus({ preventScroll: true });
      node.value = "";
      for (const letter of text) {
        node.value += letter;
        node.dispatchEvent(new Event("input", { bubbles: true }));
        await pause(KEY, signal);
      }
    },
  };
}
