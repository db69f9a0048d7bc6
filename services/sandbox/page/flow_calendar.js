// CalendarPicker of a Flow screen: a month of days to tap, for one day or for the first and the last one.

import { el, fill, freshId, iconButton } from "./dom.js";
import { frameOf } from "./flow_choice.js";
import { isoDay } from "./flow_input.js";

const DAY = 86_400_000;
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTH = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });
const FULL = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

const iso = (date) => date.toISOString().slice(0, 10);
const dayOf = (text) => new Date(`${text}T00:00:00Z`);

/** Draws the picker; the parts are as in drawInput. The value is a day, or {start-date, end-date} in a range. */
export function drawCalendar(get, { value, change }) {
  const isRange = get("mode") === "range";
  // In a range label, required and helper-text may speak of each end.
  const part = (name, end) => { const one = get(name); return one !== null && typeof one === "object" ? one[end] : one; };
  const needs = (end) => part("required", end) === true;
  let [start, end] = isRange ? [value?.["start-date"] ?? "", value?.["end-date"] ?? ""] : [typeof value === "string" ? value : "", ""];
  const first = isoDay(get("min-date"));
  const last = isoDay(get("max-date"));
  const off = new Set((get("unavailable-dates") ?? []).map(isoDay));
  const days = get("include-days");
  let month = dayOf(`${(start || first || iso(new Date())).slice(0, 7)}-01`);

  const id = freshId("calendar");
  const name = el("b", { id: `${id}-month`, "aria-live": "polite" });
  const step = (by) => { month = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + by, 1)); draw(); };
  const before = iconButton("back", "The month before", () => step(-1));
  const after = iconButton("chevron", "The month after", () => step(1));
  const grid = el("div", { class: "calendar-days", role: "group", "aria-labelledby": `${id}-month` });
  const chosen = el("p", { class: "calendar-chosen" });
  const label = isRange && typeof get("label") === "object" ? `${part("label", "start-date")} – ${part("label", "end-date")}` : get("label");
  const mustStart = needs("start-date");
  const frame = frameOf((property) => (property === "helper-text" ? part(property, "start-date") : get(property)), id,
    get("title") ? el("h3", { class: "calendar-title", text: get("title") }) : null,
    el("span", { class: "group-label", text: label }, mustStart ? null : el("small", { text: " (optional)" })),
    get("description") ? el("span", { class: "field-help", text: get("description") }) : null,
    el("div", { class: "calendar" }, el("div", { class: "calendar-head" }, before, name, after), grid), chosen);

  const isOff = (day) => get("enabled") === false || (first && day < first) || (last && day > last) || off.has(day) ||
    (Array.isArray(days) && !days.includes(WEEK[(dayOf(day).getUTCDay() + 6) % 7]));

  function pick(day) {
    if (!isRange) start = start === day && !mustStart ? "" : day;
    else if (start === "" || end !== "" || day < start) [start, end] = [day, ""];
    else end = day;
    frame.say("");
    draw();
    grid.querySelector(`[data-day="${day}"]`)?.focus();
    change(isRange ? { ...(start && { "start-date": start }), ...(end && { "end-date": end }) } : start);
  }

  function draw() {
    name.textContent = MONTH.format(month);
    before.disabled = Boolean(first) && iso(month) <= first;
    const next = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1));
    after.disabled = Boolean(last) && iso(next) > last;
    const nodes = WEEK.map((text) => el("span", { class: "calendar-name", "aria-hidden": "true", text: text.slice(0, 2) }));
    for (let blank = (month.getUTCDay() + 6) % 7; blank > 0; blank -= 1) nodes.push(el("span"));
    for (let at = month; at < next; at = new Date(at.getTime() + DAY)) nodes.push(dayButton(iso(at), at));
    fill(grid, nodes);
    chosen.textContent = start === "" ? "" : `${FULL.format(dayOf(start))}${end === "" ? (isRange ? " – …" : "") : ` – ${FULL.format(dayOf(end))}`}`;
  }

  function dayButton(day, at) {
    const isEnd = day === start || day === end;
    const isBetween = start !== "" && end !== "" && day > start && day < end;
    return el("button", {
      type: "button", class: `calendar-day ${isBetween ? "between" : ""}`, text: String(at.getUTCDate()), data: { day }, disabled: isOff(day),
      "aria-label": FULL.format(at), "aria-pressed": String(isEnd || isBetween), on: { click: () => pick(day) },
    });
  }

  function problem() {
    if (!isRange) return mustStart && start === "" ? "Please choose a day." : "";
    if ((start === "" && mustStart) || (end === "" && (needs("end-date") || start !== ""))) return "Please choose the first and the last day.";
    const count = start === "" ? 0 : (dayOf(end) - dayOf(start)) / DAY + 1;
    if (count > 0 && count < (Number(get("min-days")) || 0)) return `At least ${get("min-days")} days.`;
    return count > (Number(get("max-days")) || Infinity) ? `At most ${get("max-days")} days.` : "";
  }

  draw();
  const say = (error) => frame.say(error !== null && typeof error === "object" ? error["start-date"] ?? error["end-date"] : error);
  return { root: frame.root, say, problem, focus: () => grid.querySelector("button:not([disabled])")?.focus() };
}
