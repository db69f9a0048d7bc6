// Puts the page together.

import { el, fill, icon, iconButton } from "./dom.js";
import { createPanel } from "./panel.js";
import { createPhones } from "./phones.js";
import { createStore } from "./store.js";
import { createTour } from "./tour.js";
import { createWorld } from "./world.js";

const INTRO = [
  "This is a whole world on one page: phones with a chat, a blockchain and a bank, around the real bot.",
  "Write hi, sign up and sell some USDT; when the bot shows an address, send the coins from the panel. Add phones for more people.",
  "Then break something and try again: no sale is ever paid twice, no deposit is ever lost.",
];

const byId = (id) => document.getElementById(id);
const store = createStore(window.location, window.localStorage, window.history);
const world = createWorld(() => store.phones);
const ending = new AbortController();

const phones = createPhones({ store, world, tabs: byId("tabs"), stage: byId("stage") });
createPanel({ root: byId("panel"), store, world });

// The panel stands beside the phones, or over them where there is no room.
const panelSwitch = byId("panel-switch");
const wide = window.matchMedia("(min-width: 900px)");
function showPanel(isOpen) {
  document.body.classList.toggle("with-panel", isOpen);
  byId("panel").inert = !isOpen;
  byId("stage").inert = isOpen && !wide.matches; // the panel lies over it
  panelSwitch.setAttribute("aria-expanded", String(isOpen));
  if (wide.matches) store.remember("panel", String(isOpen));
}
fill(panelSwitch, icon("world"), el("span", { text: "World" }));
panelSwitch.addEventListener("click", () => showPanel(!document.body.classList.contains("with-panel")));
byId("panel").prepend(el("header", { class: "panel-head" }, el("h2", { text: "The world around the bot" }),
  iconButton("close", "Close the world panel", () => { showPanel(false); panelSwitch.focus(); })));
byId("panel").addEventListener("keydown", (event) => { if (event.key === "Escape") { showPanel(false); panelSwitch.focus(); } });
byId("veil").addEventListener("click", () => showPanel(false));
wide.addEventListener("change", () => showPanel(wide.matches && store.recall("panel", "true") === "true"));
showPanel(wide.matches && store.recall("panel", "true") === "true");

// Light, dark, or as the system has it.
const themeSwitch = byId("theme-switch");
const isDark = () => (document.documentElement.dataset.theme ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function paintTheme() {
  fill(themeSwitch, icon(isDark() ? "sun" : "moon"));
  themeSwitch.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
  themeSwitch.title = themeSwitch.getAttribute("aria-label");
}
if (["light", "dark"].includes(store.recall("theme", ""))) document.documentElement.dataset.theme = store.recall("theme", "");
themeSwitch.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  store.remember("theme", document.documentElement.dataset.theme);
  paintTheme();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintTheme);
paintTheme();


// A first visit explains itself.
const intro = byId("intro");
const dismiss = () => { intro.hidden = true; store.remember("intro", "seen"); };
const tour = createTour({ store, world, phones, showPanel, button: byId("tour"), bar: byId("tour-bar"), onStart: dismiss });
fill(intro, el("div", { class: "intro-text" }, INTRO.map((text) => el("p", { text }))),
  el("div", { class: "intro-acts" },
    el("button", { type: "button", class: "primary", on: { click: () => tour.start() } }, icon("play"), "Play a sale"),
    el("button", { type: "button", class: "secondary", text: "I'll try it myself", on: { click: dismiss } })));
intro.hidden = store.recall("intro", "") === "seen";

world.on("link", () => { byId("offline").hidden = world.online; });
window.addEventListener("pagehide", () => ending.abort());
world.readAll();
world.start(ending.signal, !new URLSearchParams(window.location.search).has("poll"));
