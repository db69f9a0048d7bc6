// The world beside the phones: sections that open and close, and what they have in common.

import { api } from "./api.js";
import { copyText, el, fill, icon } from "./dom.js";
import { drawBank } from "./panel_bank.js";
import { drawChain } from "./panel_chain.js";
import { drawFaults } from "./panel_faults.js";
import { drawSale } from "./panel_sale.js";
import { notice } from "./sheet.js";

const SECTIONS = [
  ["sale", "The sale, step by step", drawSale, true],
  ["chain", "Blockchain", drawChain, true],
  ["bank", "The bank's own list", drawBank, true],
  ["faults", "Break something", drawFaults, false],
  ["counters", "Counters", drawCounters, false],
  ["staff", "Staff pages", drawStaff, false],
];

/** Draws the panel into root. */
export function createPanel({ root, store, world }) {
  const body = el("div", { class: "panel-body" });
  const tools = {
    store, world,
    /** Runs a lever; says what went wrong, and what happened when it went well. */
    async run(lever, done = "") {
      try {
        const answer = await lever();
        if (done !== "") notice(root, typeof done === "function" ? done(answer) : done);
        return answer;
      } catch (error) {
        notice(root, error.message, "error");
        return null;
      }
    },
  };
  root.append(body);
  for (const [name, title, draw, isOpen] of SECTIONS) {
    const content = el("div", { class: "section-body" });
    const badge = el("span", { class: "badge" });
    const section = el("details", { class: "section-box", open: store.recall(`open.${name}`, String(isOpen)) === "true", data: { section: name } },
      el("summary", {}, el("h2", { text: title }), badge, icon("down")), content);
    section.addEventListener("toggle", () => store.remember(`open.${name}`, String(section.open)));
    body.append(section);
    draw(content, { ...tools, badge: (text) => { badge.textContent = text; } });
  }
}

function drawCounters(content, { world }) {
  const rows = (state) => [
    ["Phones", state.people], ["Messages to the bot", state.messages_in], ["Messages from the bot", state.messages_out],
    ["Payouts at the bank", state.transfers], ["… of them paid", state.transfers_paid], ["Faults set", state.faults],
    ...Object.entries(state.chains).map(([name, chain]) => [`Blocks on ${name}`, chain.height]),
  ];
  world.on("state", () => fill(content, el("p", { class: "hint", text: "How often things happened since this world began." }), el("dl", { class: "counters" }, rows(world.state).map(([label, value]) =>
    el("div", {}, el("dt", { text: label }), el("dd", { text: String(value) }))))));
}

function drawStaff(content, { world, run }) {
  const copy = (label, text) => el("div", {}, el("dt", { text: label }), el("dd", {}, el("button", {
    type: "button", class: "copy", title: "Copies it", on: { click: () => copyText(text) },
  }, text, icon("copy"))));
  const login = (title, who) => [
    el("h3", { text: title }),
    el("dl", { class: "login" }, copy("E-mail", who.email), copy("Password", who.password),
      who.totp_code ? copy("Code now", who.totp_code) : null),
  ];
  const draw = (info) => fill(content,
    el("p", { class: "hint", text: "Two people decide about a stuck sale. A code lasts 30 seconds; draw fresh ones when you sign in." }),
    login("Operator", info.operator), login("Second person", info.approver),
    el("div", { class: "line" },
      el("a", { class: "secondary", title: "Where staff see every order, deposit and posting", href: info.admin_url, target: "_blank", rel: "noopener noreferrer" }, "Open the staff pages", icon("link")),
      el("button", { type: "button", class: "secondary", text: "Fresh codes", title: "Reads the one-time codes of this moment", on: { click: () => run(() => world.refresh("info")) } })));
  world.on("info", () => draw(world.info));
  if (world.info !== null) draw(world.info);
  else run(() => api.info().then(draw));
}
