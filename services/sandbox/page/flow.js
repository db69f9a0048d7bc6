// A Flow on a phone: what the client does between the tap on the bubble and the message that ends it.

import { api } from "./api.js";
import { el, fill, iconButton } from "./dom.js";
import { drawScreen } from "./flow_screen.js";
import { firstName } from "./format.js";
import { ask, dropNotices, notice, openSheet } from "./sheet.js";

const WRONG = "Something went wrong. Please try again.";
const EXPIRED = "This form is no longer valid. Please ask for a new one in the chat.";
const STATUS = {
  0: "The bot did not answer in time.", 421: "The bot could not decrypt the request.", 432: "The bot did not accept the signature.",
};

/** Opens the Flow of a message on a phone, in a sheet over host. person, {name, account}, is whose phone it is. */
export function openFlow(host, phone, message, person) {
  const sheet = openSheet(host, { title: message.header || message.flow.cta || "Flow", className: "flow", onDismiss: leave });
  const back = iconButton("back", "Back", goBack, "icon-button layer-back");
  const forms = new Map(); // screen → what is typed on it
  const inits = new Map(); // screen → data that the inputs began with
  let stack = []; // screens that were shown: {id, view, data}
  let session = "";
  let drawn = null;
  let touched = false;
  let isBusy = false;

  fill(sheet.head, back, sheet.heading, sheet.cross());
  sheet.body.addEventListener("input", () => { touched = true; });
  back.hidden = true;
  start();

  const current = () => stack.at(-1);
  const isOver = () => drawn === null || current().view.terminal;

  async function leave() {
    if (isBusy && session !== "") return;
    const leaves = isOver() || (stack.length === 1 && !touched) ||
      (await ask(sheet.box, { title: "Leave?", text: "What you have typed is lost.", yes: "Leave", no: "Stay" }));
    if (leaves) sheet.close();
  }

  async function start() {
    fill(sheet.body, el("div", { class: "flow-wait", role: "status" }, el("span", { class: "spinner" }), "Loading…"));
    await step(() => api.openFlow(phone, message.wamid));
    if (drawn === null && sheet.isOpen && !sheet.box.querySelector(".flow-end")) end(WRONG, "Try again", start);
  }

  async function goBack() {
    if (stack.length < 2 || isBusy) return;
    const before = stack.at(-2);
    await step(() => api.backFlow(session, before.id), () => { stack = stack.slice(0, -1); });
  }

  function submit(action, payload) {
    return step(() => api.submitFlow(session, current().id, payload));
  }

  // Runs one step of the Flow while nothing else can be tapped. onShown comes before its screen is drawn.
  async function step(run, onShown = () => {}) {
    isBusy = true;
    drawn?.busy(true);
    try {
      const state = await run();
      if (sheet.isOpen) take(state, onShown);
    } catch (error) {
      say(error.message);
    }
    isBusy = false;
    drawn?.busy(false);
  }

  function take(state, onShown) {
    session = state.session || session;
    if (state.http_status === 427) return end(state.data.error_msg || EXPIRED, "Back to the chat", sheet.close);
    if (state.error) return say(`${WRONG} (${state.error}: ${state.message})`);
    if (state.http_status !== 200) return say(`${STATUS[state.http_status] ?? `The bot answered ${state.http_status}.`} Please try again.`);
    if (state.ended) return sheet.close();
    onShown();
    show(state);
    if (state.data.error_message) say(state.data.error_message);
    return undefined;
  }

  function show({ screen, data, view }) {
    if (current()?.id === screen) stack.pop();
    stack.push({ id: screen, data, view });
    dropNotices(sheet.box);
    draw();
  }

  function draw() {
    const { id, data, view } = current();
    drawn = drawScreen({
      layout: view.layout, data, form: formOf(id, data), host: sheet.box, submit, act, offers: offersOf(person),
      other: (screen, kind) => (kind === "form" ? forms.get(screen) : stack.find((one) => one.id === screen)?.data),
    });
    sheet.heading.textContent = view.title;
    sheet.box.dataset.screen = id;
    back.hidden = stack.length < 2 || view.terminal;
    sheet.box.querySelector(":scope > .flow-foot")?.remove();
    fill(sheet.body, drawn.body);
    sheet.box.append(drawn.foot);
    sheet.body.scrollTop = 0;
    const wrong = drawn.firstWrong();
    if (wrong) wrong.focus();
    else sheet.box.focus({ preventScroll: true });
  }

  // What was typed stays when a screen comes again, but for inputs that the endpoint gives another value.
  function formOf(id, data) {
    const form = forms.get(id) ?? {};
    const before = inits.get(id) ?? data;
    for (const name of Object.keys(form)) {
      if (Object.hasOwn(data, name) && JSON.stringify(data[name]) !== JSON.stringify(before[name])) delete form[name];
    }
    forms.set(id, form);
    inits.set(id, data);
    return form;
  }

  function act(action, tap) {
    if (action.name === "update_data") {
      Object.assign(current().data, action.payload);
      draw();
    } else if (action.name === "open_url" && /^https?:/.test(action.url ?? "")) {
      window.open(action.url, "_blank", "noopener,noreferrer");
    } else if (tap !== undefined) step(() => api.submitFlow(session, current().id, action.payload ?? {}, tap));
  }

  // What the phone of this person would fill in by itself.
  function offersOf({ name, account }) {
    return account === "" ? {} : { account_number: { text: account, label: `${firstName(name)}'s account` } };
  }

  const say = (text) => notice(sheet.box, text, "error");

  // The Flow cannot go on: says why, and what to do.
  function end(text, label, run) {
    drawn = null;
    back.hidden = true;
    sheet.box.querySelector(":scope > .flow-foot")?.remove();
    const button = el("button", { type: "button", class: "primary", text: label, on: { click: run } });
    fill(sheet.body, el("div", { class: "flow-end", role: "alert" }, el("p", { text }), button));
    button.focus();
  }
}
