// One Flow screen drawn from its layout, with what is typed on it.

import { el, fill } from "./dom.js";
import { holds, isLive, resolve } from "./flow_bind.js";
import { drawCalendar } from "./flow_calendar.js";
import { drawChoice } from "./flow_choice.js";
import { drawInput } from "./flow_input.js";
import { drawCarousel, drawNavigation } from "./flow_list.js";
import { drawPicker } from "./flow_picker.js";
import { drawText } from "./flow_text.js";

const TYPED = ["TextInput", "TextArea", "DatePicker"];
const CHOSEN = ["Dropdown", "RadioButtonsGroup", "CheckboxGroup", "ChipsSelector", "OptIn"];
const PICKED = ["PhotoPicker", "DocumentPicker"];
const NOTHING = { CheckboxGroup: [], ChipsSelector: [], PhotoPicker: [], DocumentPicker: [], OptIn: false };

/**
 * Draws a screen. layout and data come from the world; form holds what was typed before and is kept up to date; other
 * reaches other screens; host is where lists open; act does the actions of links and lists; submit(action, payload) those
 * of the footer; offers is what this phone's keyboard offers, by the name of an input. The result has body and foot, fields() for the first wrong one, and busy(is).
 */
export function drawScreen({ layout, data, form, other, host, act, submit, offers = {} }) {
  const scope = { data, form, other };
  const fields = new Map(); // name → field on the screen
  let watchers = []; // run after each change of the form
  const body = el("form", { class: "flow-body", novalidate: true });
  const foot = el("footer", { class: "flow-foot" });
  let footer = null; // {get, button}

  const changed = () => {
    for (const watch of watchers) watch();
    paintFooter();
  };

  function drawAll(children, defaults) {
    return (Array.isArray(children) ? children : []).map((component) => draw(component, defaults)).filter(Boolean);
  }

  function draw(component, defaults) {
    const get = (name) => resolve(component[name] ?? defaultOf(component, name, defaults), scope);
    switch (component.type) {
      case "If": return branches([component.condition], () => (holds(component.condition, scope) ? component.then : component.else), defaults);
      case "Switch": return branches([component.value], () => caseOf(component, get("value")), defaults);
      case "Form": return el("div", { class: "contents" }, drawAll(component.children, component));
      case "Footer": return void drawFooter(get);
      default: return shown(component, get, leaf(component, get));
    }
  }

  function leaf(component, get) {
    if ([...TYPED, ...CHOSEN, ...PICKED, "CalendarPicker"].includes(component.type)) return field(component, get);
    const make = () => drawText(component.type, get, act) ?? drawMore(component.type, get) ?? el("p", { class: "flow-text is-TextCaption", text: `${component.type} is not drawn here.` });
    if (!isLive(component)) return make();
    const place = el("div", { class: "contents" }, make());
    watchers.push(() => fill(place, make()));
    return place;
  }

  function drawMore(type, get) {
    if (type === "NavigationList") return drawNavigation(get, act);
    return type === "ImageCarousel" ? drawCarousel(get) : null;
  }

  function drawField(type, get, use) {
    if (TYPED.includes(type)) return drawInput(type, get, use);
    if (PICKED.includes(type)) return drawPicker(type, get, use);
    return type === "CalendarPicker" ? drawCalendar(get, use) : drawChoice(type, get, use);
  }

  function field(component, get) {
    const { type, name } = component;
    if (form[name] === undefined || form[name] === null) form[name] = get("init-value") ?? NOTHING[type] ?? "";
    const use = {
      value: form[name], host, act, offer: offers[name],
      change(value) {
        form[name] = value;
        const action = component[value === false || value === "" ? "on-unselect-action" : "on-select-action"];
        if (action?.name === "update_data") act(resolve(action, scope));
        changed();
      },
    };
    const made = drawField(type, get, use);
    fields.set(name, made);
    const error = get("error-message");
    if (error) {
      if (made.isSecret) made.clear();
      made.say(error);
      made.isWrong = true;
    }
    return made.root;
  }

  // Keeps a node hidden while its property visible is false.
  function shown(component, get, node) {
    const paint = () => { node.hidden = get("visible") === false; };
    if (component.visible !== undefined) paint();
    if (isLive(component.visible)) watchers.push(paint);
    return node;
  }

  // Draws the children that choose() names, and again when what is typed chooses others.
  function branches(conditions, choose, defaults) {
    let current = choose();
    const place = el("div", { class: "contents" }, drawAll(current, defaults));
    if (conditions.some(isLive)) {
      watchers.push(() => {
        const next = choose();
        if (next === current) return;
        current = next;
        const before = watchers;
        fill(place, drawAll(next, defaults));
        watchers = before.concat(watchers.slice(before.length));
      });
    }
    return place;
  }

  function drawFooter(get) {
    const button = el("button", { type: "submit", class: "primary", text: get("label") });
    button.addEventListener("click", (event) => { event.preventDefault(); send(); });
    footer = { get, button };
    const caption = (name) => (get(name) ? el("span", { text: get(name) }) : null);
    fill(foot, el("div", { class: "foot-captions" }, ["left-caption", "center-caption", "right-caption"].map(caption)), button,
      el("p", { class: "foot-note", text: "Managed by the business, in a simulated WhatsApp" }));
  }

  const visible = () => [...fields.values()].filter((one) => body.contains(one.root) && one.root.closest("[hidden]") === null);

  function paintFooter() {
    if (footer === null) return;
    footer.button.disabled = footer.get("enabled") === false;
    footer.button.classList.toggle("dim", visible().some((one) => one.problem() !== ""));
  }

  function send() {
    if (footer === null || footer.button.disabled || body.inert) return;
    const wrong = visible().filter((one) => { const problem = one.problem(); if (problem) one.say(problem); return problem !== ""; });
    if (wrong.length > 0) return wrong[0].focus();
    const action = footer.get("on-click-action") ?? {};
    return submit(action, action.payload ?? {});
  }

  body.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  body.append(...drawAll(layout.children, undefined));
  changed();
  return {
    body, foot, send,
    firstWrong: () => visible().find((one) => one.isWrong),
    busy(is) {
      body.inert = is;
      foot.inert = is;
      foot.classList.toggle("busy", is);
      footer?.button.setAttribute("aria-busy", String(is));
    },
  };
}

// The values and errors that a Form around an input gives it.
function defaultOf(component, name, defaults) {
  if (defaults === undefined) return undefined;
  if (name === "init-value") return inside(defaults["init-values"], component.name);
  if (name === "error-message") return inside(defaults["error-messages"], component.name);
  return undefined;
}

// The map itself may be a binding; then it is read by a longer one.
function inside(map, name) {
  if (typeof map === "string") return map.replace(/\}$/, `.${name}}`);
  return map?.[name];
}

function caseOf(component, value) {
  const cases = component.cases ?? {};
  const key = String(value ?? "");
  return Object.hasOwn(cases, key) ? cases[key] : cases.default;
}
