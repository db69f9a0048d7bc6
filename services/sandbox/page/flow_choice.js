// Inputs of a Flow screen that are chosen: Dropdown, RadioButtonsGroup, CheckboxGroup, ChipsSelector, OptIn.

import { el, fill, freshId, icon } from "./dom.js";
import { picture } from "./flow_text.js";
import { openChoices } from "./list.js";

/** Draws a choice, null when the type is none. Host is where a Dropdown's list opens; the rest is as in drawInput. */
export function drawChoice(type, get, use) {
  switch (type) {
    case "Dropdown": return dropdown(get, use);
    case "RadioButtonsGroup": return group(get, use, "radio");
    case "CheckboxGroup": return group(get, use, "checkbox");
    case "ChipsSelector": return group(get, use, "checkbox", "chips");
    case "OptIn": return optIn(get, use);
    default: return null;
  }
}

const source = (get) => (Array.isArray(get("data-source")) ? get("data-source") : []);

function dropdown(get, { value, change, host }) {
  let chosen = source(get).some((item) => item.id === value) ? value : "";
  const id = freshId("field");
  const shown = el("span", { class: "dropdown-value" });
  const button = el("button", {
    type: "button", id, class: "field-input dropdown", "aria-haspopup": "dialog", disabled: get("enabled") === false,
    "aria-labelledby": `${id}-label ${id}-value`, "aria-describedby": `${id}-under`,
  }, shown, icon("down"));
  shown.id = `${id}-value`;
  const frame = frameOf(get, id, el("label", { for: id, id: `${id}-label`, text: get("label") }, optional(get)), el("div", { class: "field-box" }, button));
  const draw = () => {
    const item = source(get).find((one) => one.id === chosen);
    shown.textContent = item?.title ?? "Choose";
    shown.classList.toggle("hint", item === undefined);
  };
  button.addEventListener("click", () => openChoices(host, {
    title: get("label"), items: source(get), selected: chosen, clearable: get("required") !== true,
    onChoose: (next) => { chosen = next; draw(); frame.say(""); change(chosen); },
  }));
  draw();
  return { root: frame.root, say: frame.say, focus: () => button.focus(), problem: () => (get("required") === true && chosen === "" ? "Please choose one." : "") };
}

function group(get, { value, change }, kind, look = "rows") {
  const chosen = new Set(Array.isArray(value) ? value : [value]);
  const name = freshId("group");
  const items = source(get);
  const isMany = kind === "checkbox";
  const frame = frameOf(get, name, el("span", { class: "group-label", id: `${name}-label`, text: get("label") }, optional(get)),
    get("description") ? el("span", { class: "field-help", text: get("description") }) : null,
    el("div", { class: look, role: isMany ? "group" : "radiogroup", "aria-labelledby": `${name}-label`, "aria-describedby": `${name}-under` },
      items.map((item) => choice(item, { kind, name, checked: chosen.has(item.id), disabled: item.enabled === false || get("enabled") === false, look }))));
  const inputs = [...frame.root.querySelectorAll("input")];
  frame.root.addEventListener("change", () => {
    const ids = inputs.filter((input) => input.checked).map((input) => input.value);
    frame.say("");
    change(isMany ? ids : ids[0] ?? "");
  });
  return { root: frame.root, say: frame.say, focus: () => inputs[0]?.focus(), problem: () => countProblem(get, inputs, isMany) };
}

function countProblem(get, inputs, isMany) {
  const count = inputs.filter((input) => input.checked).length;
  if (count === 0) return get("required") === true ? "Please choose one." : "";
  if (!isMany) return "";
  const least = Number(get("min-selected-items")) || 0;
  const most = Number(get("max-selected-items")) || Infinity;
  if (count < least) return `Choose at least ${least}.`;
  return count > most ? `Choose at most ${most}.` : "";
}

function choice(item, { kind, name, checked, disabled, look }) {
  const input = el("input", { type: kind, name, value: item.id, checked, disabled });
  if (look === "chips") return el("label", { class: "chip" }, input, el("span", { text: item.title }));
  return el("label", { class: "row" }, item.image ? picture(item.image, item["alt-text"] ?? "", "row-image") : null,
    el("span", { class: "row-text" }, el("span", { class: "row-title", text: item.title }),
      item.description ? el("span", { class: "row-about", text: item.description }) : null,
      item.metadata ? el("span", { class: "row-about", text: item.metadata }) : null), input);
}

function optIn(get, { value, change, act }) {
  const id = freshId("field");
  const input = el("input", { type: "checkbox", id, checked: value === true, disabled: get("enabled") === false });
  const action = get("on-click-action");
  const frame = frameOf(get, id, el("label", { class: "row opt-in", for: id }, input, el("span", { class: "row-text", text: get("label") })),
    action ? el("button", { type: "button", class: "link", text: "Read more", on: { click: () => act(action, { component: get("name") }) } }) : null);
  input.addEventListener("change", () => { frame.say(""); change(input.checked); });
  return { root: frame.root, say: frame.say, focus: () => input.focus(), problem: () => (get("required") === true && !input.checked ? "Please tick this to go on." : "") };
}

const optional = (get) => (get("required") === true ? null : el("small", { text: " (optional)" }));

/** The frame of a field: its parts, and beneath them what helps or is wrong. */
export function frameOf(get, id, ...parts) {
  const helper = el("span", { class: "field-help", text: get("helper-text") ?? "" });
  const error = el("span", { class: "field-error", role: "alert" });
  const root = el("div", { class: "field", data: { name: get("name") } }, parts, el("div", { class: "field-under", id: `${id}-under` }, error, helper));
  return {
    root,
    say(text) {
      fill(error, text ?? "");
      helper.hidden = Boolean(text);
      root.classList.toggle("wrong", Boolean(text));
    },
  };
}
