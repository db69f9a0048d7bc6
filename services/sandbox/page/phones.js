// The phones of the page: their tabs, and as many of them side by side as fit.

import { api } from "./api.js";
import { createPhone } from "./chat.js";
import { el, fill, iconButton, icon } from "./dom.js";
import { firstName, phoneText } from "./format.js";
import { openSheet } from "./sheet.js";

const WIDTH = 372; // px that a phone needs at least beside another one

/** Draws tabs and phones for what the store holds. */
export function createPhones({ store, world, tabs, stage }) {
  const made = new Map();
  const seen = new Map();
  let recent = []; // phones, the last used first

  function draw() {
    recent = [store.active, ...recent.filter((phone) => phone !== store.active && store.phones.includes(phone))];
    for (const [phone, one] of made) {
      if (!store.phones.includes(phone)) { one.close(); made.delete(phone); }
    }
    for (const phone of store.phones) if (!made.has(phone)) add(phone);
    place();
    drawTabs();
  }

  function add(phone) {
    const one = createPhone(phone, world);
    made.set(phone, one);
    one.root.addEventListener("focusin", () => { if (store.active !== phone) store.show(phone); });
    one.root.addEventListener("pointerdown", () => { if (store.active !== phone) store.show(phone); });
    world.on(`chat:${phone}`, drawTabs);
    world.readChat(phone).catch(() => {});
  }

  // Shows the last used phones that fit, in the order of their tabs.
  function place() {
    const fit = Math.max(1, Math.floor(stage.clientWidth / WIDTH));
    const others = store.phones.filter((phone) => !recent.includes(phone));
    const shown = new Set([...recent, ...others].slice(0, fit));
    const wanted = store.phones.filter((phone) => shown.has(phone)).map((phone) => made.get(phone).root);
    for (const node of [...stage.children]) if (!wanted.includes(node)) node.remove();
    wanted.forEach((node, i) => { if (stage.children[i] !== node) stage.insertBefore(node, stage.children[i] ?? null); });
    for (const [phone, one] of made) one.root.classList.toggle("active", phone === store.active);
  }

  function drawTabs() {
    for (const [phone, one] of made) {
      one.person(world.person(phone));
      if (one.root.isConnected) seen.set(phone, world.chat(phone).length);
    }
    const key = JSON.stringify([store.phones, store.active, store.phones.map(nameOf), store.phones.map(unread)]);
    if (tabs.dataset.key === key) return; // whoever stands on a tab with the keyboard keeps it
    tabs.dataset.key = key;
    fill(tabs, store.phones.map(tab), el("button", {
      type: "button", class: "secondary add-phone", "aria-label": "Add a phone", title: "Adds another person with a phone of their own, beside this one",
      on: { click: openNew },
    }, icon("plus"), store.phones.length === 1 ? el("span", { text: "Add a phone" }) : null));
    tabs.querySelector(".active")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  const nameOf = (phone) => world.person(phone).name;

  const unread = (phone) => (phone === store.active ? 0 : world.chat(phone).length - (seen.get(phone) ?? 0));

  function tab(phone) {
    const isActive = phone === store.active;
    return el("span", { class: `tab ${isActive ? "active" : ""}` },
      el("button", { type: "button", class: "tab-open", "aria-pressed": String(isActive), on: { click: () => show(phone) } },
        icon("world", "icon tab-icon"), el("span", { class: "tab-text" }, el("b", {}, firstName(nameOf(phone)), el("span", { class: "tab-rest", text: nameOf(phone).slice(firstName(nameOf(phone)).length) })), el("small", { text: phoneText(phone) })),
        unread(phone) > 0 ? el("span", { class: "unread", text: String(unread(phone)) }) : null),
      store.phones.length > 1 ? iconButton("close", `Close ${phoneText(phone)}`, () => store.close(phone), "icon-button tab-close") : null);
  }

  function show(phone) {
    store.show(phone);
    if (matchMedia("(hover: hover)").matches) made.get(phone).focus(); // on a touch screen the keyboard would jump up
  }

  async function openNew() {
    const chats = await api.chats().catch(() => []);
    const host = made.get(store.active).root;
    const sheet = openSheet(host, { title: "Add a phone" });
    const input = el("input", {
      class: "field-input", inputmode: "tel", autocomplete: "off", id: "new-phone",
      value: store.freshPhone(chats.map((chat) => chat.phone)),
    });
    const error = el("p", { class: "field-error", role: "alert" });
    const take = (phone) => { sheet.close(); show(phone); };
    const form = el("form", { class: "new-phone" },
      el("label", { for: "new-phone", text: "Its number, with the country code" }), input, error,
      el("button", { type: "submit", class: "primary", text: "Add this phone" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const digits = input.value.replace(/\D/g, "");
      if (/^[1-9]\d{6,14}$/.test(digits)) take(digits);
      else error.textContent = "A number has 7 to 15 digits.";
    });
    const others = chats.filter((chat) => !store.phones.includes(chat.phone));
    sheet.body.append(form);
    if (others.length > 0) {
      sheet.body.append(el("h3", { class: "section", text: "Phones of this world" }), el("div", { class: "rows" }, others.map((chat) =>
        el("button", { type: "button", class: "row", on: { click: () => take(chat.phone) } },
          el("span", { class: "row-text" }, el("span", { class: "row-title", text: chat.name }),
            el("span", { class: "row-about", text: `${phoneText(chat.phone)} · ${chat.messages} messages` }))))));
    }
    input.select();
  }

  store.onChange(draw);
  world.on("people", drawTabs);
  new ResizeObserver(place).observe(stage);
  draw();
  return { active: () => made.get(store.active) };
}
