// Choosing one of several things in a bottom sheet: list messages of the chat, and long choices of Flows.

import { el, fill, freshId } from "./dom.js";
import { picture } from "./flow_text.js";
import { openSheet } from "./sheet.js";

const SEARCH_FROM = 12; // choices from which a search field helps

/**
 * Opens a sheet of choices, {id, title, description, section, enabled}, in sections. onChoose gets the id. submit is
 * the label of a button that confirms a choice (list messages); without it a tap is the choice (Flows). selected is
 * the id chosen before; clearable lets people take it back.
 */
export function openChoices(host, { title, items, selected = "", submit = "", clearable = false, onChoose }) {
  const sheet = openSheet(host, { title, className: "choices" });
  const name = freshId("choice");
  const rows = el("div", { class: "rows", role: "radiogroup", "aria-label": title });
  const none = el("p", { class: "empty", text: "Nothing found." });
  const choose = (id) => { sheet.close(); onChoose(id); };

  const draw = (needle) => {
    const found = items.filter((item) => `${item.title} ${item.description ?? ""}`.toLowerCase().includes(needle));
    fill(rows, sections(found, (item) => choice(item, name, selected)));
    none.hidden = found.length > 0;
  };

  const confirm = el("button", {
    type: "button", class: "primary", text: submit, disabled: true,
    on: { click: () => choose(rows.querySelector("input:checked").value) },
  });
  const search = el("input", {
    type: "search", class: "search", placeholder: "Search", "aria-label": "Search", autocomplete: "off",
    on: { input: (event) => draw(event.target.value.trim().toLowerCase()) },
  });
  onPick(rows, selected, submit === "", (id) => {
    if (submit === "") choose(id);
    else confirm.disabled = false;
  });
  draw("");
  if (items.length >= SEARCH_FROM) sheet.body.append(el("div", { class: "search-bar" }, search));
  sheet.body.append(rows, none);
  if (clearable && selected !== "") {
    sheet.head.lastChild.append(el("button", { type: "button", class: "text-button", text: "Clear", on: { click: () => choose("") } }));
  }
  if (submit !== "") sheet.box.append(el("footer", { class: "sheet-foot" }, confirm));
  (rows.querySelector("input:checked") ?? sheet.box).focus();
  rows.querySelector("input:checked")?.closest(".row").scrollIntoView({ block: "center" });
  return sheet;
}

function sections(items, draw) {
  const nodes = [];
  let current = "";
  for (const item of items) {
    if ((item.section ?? "") !== current) {
      current = item.section ?? "";
      nodes.push(el("h3", { class: "section", text: current }));
    }
    nodes.push(draw(item));
  }
  return nodes;
}

// Arrow keys move between radios and check them; where no button confirms, only a tap, Enter or the space bar chooses.
function onPick(rows, selected, once, pick) {
  let byArrow = false;
  rows.addEventListener("keydown", (event) => {
    byArrow = event.key.startsWith("Arrow");
    const isChoice = event.key === "Enter" || (event.key === " " && event.target.checked);
    if (!isChoice || !event.target.matches("input")) return;
    event.preventDefault();
    event.target.checked = true;
    pick(event.target.value);
  });
  rows.addEventListener("keyup", () => { byArrow = false; });
  rows.addEventListener("click", (event) => {
    if (once && !byArrow && event.target.matches("input") && event.target.value === selected) pick(selected);
  });
  rows.addEventListener("change", (event) => {
    if (!once || !byArrow) pick(event.target.value);
    byArrow = false;
  });
}

function choice(item, name, selected) {
  return el("label", { class: "row", data: { id: item.id } }, item.image ? picture(item.image, item["alt-text"] ?? "", "row-image") : null,
    el("span", { class: "row-text" },
      el("span", { class: "row-title", text: item.title }),
      item.description ? el("span", { class: "row-about", text: item.description }) : null,
      item.metadata ? el("span", { class: "row-about", text: item.metadata }) : null),
    el("input", { type: "radio", name, value: item.id, checked: item.id === selected, disabled: item.enabled === false }));
}
