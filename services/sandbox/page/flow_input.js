// Inputs of a Flow screen that are typed: TextInput with its kinds and passcode boxes, TextArea, DatePicker.

import { el, fill, freshId, iconButton } from "./dom.js";

const KINDS = {
  text: { type: "text" }, number: { type: "text", inputmode: "decimal" }, email: { type: "email", inputmode: "email" },
  password: { type: "password" }, passcode: { type: "password", inputmode: "numeric" }, phone: { type: "tel", inputmode: "tel" },
};
const BOXES = 8; // longest passcode that is drawn as boxes
const DEFAULT_LENGTH = { TextInput: 80, TextArea: 600 }; // as Meta's page on Flow components has it

/**
 * Draws an input. get reads a property; change(value) tells the screen. The result has root, focus(), problem() (the
 * reason why the value cannot be sent, "" for none), say(error) and value(v).
 */
export function drawInput(type, get, { value, change, offer }) {
  const id = freshId("field");
  const wanted = Number(get(type === "TextArea" ? "max-length" : "max-chars")) || 0;
  const limit = wanted || DEFAULT_LENGTH[type];
  const kind = type === "TextInput" && Object.hasOwn(KINDS, get("input-type")) ? get("input-type") : "text";
  const input = makeInput(type, kind, get, limit, id);
  const frame = frameOf({ id, get, input, isBoxed: kind === "passcode" && limit <= BOXES, limit, counted: wanted > 0 && kind !== "passcode" });
  input.value = value ?? "";
  frame.count(input.value);
  if (offer && get("required") === true) frame.root.append(offerButton(offer, input));
  input.addEventListener("input", () => {
    frame.count(input.value);
    frame.say("");
    change(input.value);
  });
  return {
    root: frame.root,
    say: frame.say,
    focus: () => input.focus(),
    problem: () => problemOf(type, kind, input.value, get, limit),
    clear: () => { input.value = ""; frame.count(""); change(""); },
    isSecret: kind === "passcode" || kind === "password",
  };
}

function makeInput(type, kind, get, limit, id) {
  const common = { id, class: "field-input", name: get("name"), autocomplete: "off", required: get("required") === true, disabled: get("enabled") === false };
  if (type === "TextArea") return el("textarea", { ...common, rows: "4", maxlength: limit });
  if (type === "DatePicker") return el("input", { ...common, type: "date", min: isoDay(get("min-date")), max: isoDay(get("max-date")) });
  return el("input", { ...common, ...KINDS[kind], maxlength: limit, spellcheck: "false", autocapitalize: kind === "text" ? "sentences" : "off" });
}

// Label, input, and beneath it what helps, what is wrong and how many characters there are.
function frameOf({ id, get, input, isBoxed, limit, counted }) {
  const helper = el("span", { class: "field-help", id: `${id}-help`, text: get("helper-text") ?? "" });
  const error = el("span", { class: "field-error", id: `${id}-error`, role: "alert" });
  const counter = el("span", { class: "field-count", "aria-hidden": "true" });
  const boxes = isBoxed ? Array.from({ length: limit }, () => el("i")) : [];
  const wrap = el("div", { class: `field-box ${isBoxed ? "boxed" : ""}` }, input, boxes.length > 0 ? el("span", { class: "boxes", "aria-hidden": "true" }, boxes) : null);
  if (input.type === "password") wrap.append(revealButton(input, boxes));
  const label = el("label", { for: id, class: get("label-variant") === "large" ? "large" : false, text: get("label") }, get("required") === true ? null : el("small", { text: " (optional)" }));
  input.setAttribute("aria-describedby", `${id}-error ${id}-help`);
  const frame = { root: el("div", { class: "field", data: { name: get("name") } }, label, wrap, el("div", { class: "field-under" }, el("span", {}, error, helper), counter)) };

  frame.count = (text) => {
    if (counted) counter.textContent = `${text.length}/${limit}`;
    boxes.forEach((box, i) => {
      box.className = i < text.length ? "full" : i === text.length ? "next" : "";
      fill(box, i < text.length ? (input.type === "password" ? "●" : text[i]) : "");
    });
  };
  frame.say = (text) => {
    error.textContent = text ?? "";
    helper.hidden = Boolean(text);
    frame.root.classList.toggle("wrong", Boolean(text));
    input.setAttribute("aria-invalid", String(Boolean(text)));
  };
  return frame;
}

// What a phone's keyboard offers for a field: something of the person's own.
function offerButton({ text, label }, input) {
  return el("button", {
    type: "button", class: "offer", on: { click: () => { input.value = text; input.dispatchEvent(new Event("input", { bubbles: true })); input.focus(); } },
  }, el("b", { text }), ` ${label}`);
}

function revealButton(input, boxes) {
  const button = iconButton("eye", "Show what is typed", () => {
    input.type = input.type === "password" ? "text" : "password";
    button.setAttribute("aria-pressed", String(input.type === "text"));
    boxes.forEach((box, i) => { if (i < input.value.length) box.textContent = input.type === "text" ? input.value[i] : "●"; });
    input.focus();
  }, "icon-button reveal");
  button.setAttribute("aria-pressed", "false");
  return button;
}

// The client's own checks; the endpoint checks again.
function problemOf(type, kind, value, get, limit) {
  if (value === "") return get("required") === true ? "Please fill this in." : "";
  const least = Number(get("min-chars")) || 0;
  if (value.length < least) return kind === "passcode" ? `${least} digits are needed.` : `At least ${least} characters are needed.`;
  if (limit > 0 && value.length > limit) return `At most ${limit} characters fit.`;
  if (kind === "number" && !/^[-+]?\d*[.,]?\d+$/.test(value)) return "Please write a number.";
  if (kind === "email" && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value)) return "Please write an e-mail address.";
  if (kind === "phone" && !/^\+?[\d\s()-]{5,20}$/.test(value)) return "Please write a phone number.";
  if (type === "DatePicker") return dateProblem(value, get);
  return matches(get("pattern"), value) ? "" : get("helper-text") || "This has not the right form.";
}

function dateProblem(value, get) {
  const least = isoDay(get("min-date"));
  const most = isoDay(get("max-date"));
  if (least && value < least) return `Not before ${least}.`;
  if (most && value > most) return `Not after ${most}.`;
  return (get("unavailable-dates") ?? []).map(isoDay).includes(value) ? "This day cannot be chosen." : "";
}

/** A day as YYYY-MM-DD; Flows before 5.0 have epoch milliseconds. */
export function isoDay(date) {
  if (date === undefined || date === null || date === "") return undefined;
  return /^\d{9,}$/.test(String(date)) ? new Date(Number(date)).toISOString().slice(0, 10) : String(date);
}

function matches(pattern, value) {
  if (!pattern) return true;
  try {
    return new RegExp(`^(?:${pattern})$`, "u").test(value);
  } catch {
    return true; // a pattern that no client can read checks nothing
  }
}
