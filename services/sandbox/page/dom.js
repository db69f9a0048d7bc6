// Building DOM nodes. Nothing on this page parses HTML: every text, whoever wrote it, goes through textContent.

/**
 * Makes an element. Properties: class, text, on ({event: listener}), data ({name: value}); anything else is an
 * attribute, left out when it is false, null or undefined. Children are nodes or strings; empty ones are skipped.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

// Each icon is drawn with strokes on a 24 × 24 grid.
const ICONS = {
  back: "M15 5l-7 7 7 7",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  send: "M4 12l16-8-6 16-3-6z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  tick: "M3 12.5l4 4L15.5 8",
  ticks: "M1.5 12.5l4 4L14 8M10 15l1.5 1.5L20.5 8",
  clock: "M12 4a8 8 0 100 16 8 8 0 000-16zM12 8v4.5l3 1.5",
  alert: "M12 4a8 8 0 100 16 8 8 0 000-16zM12 8v5M12 16v.5",
  list: "M9 7h11M9 12h11M9 17h11M4.5 7h.01M4.5 12h.01M4.5 17h.01",
  reply: "M10 8L5 13l5 5M5 13h9a5 5 0 005-5V6",
  link: "M14 5h5v5M19 5l-8 8M17 14v5H5V7h5",
  down: "M6 9l6 6 6-6",
  chevron: "M9 6l6 6-6 6",
  sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  moon: "M20 14.5A8 8 0 119.5 4a6.5 6.5 0 0010.5 10.5z",
  world: "M12 3a9 9 0 100 18 9 9 0 000-18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  play: "M8 5l11 7-11 7z",
  stop: "M7 7h10v10H7z",
  copy: "M9 9h10v11H9zM6 15H5V4h10v1",
  eye: "M2 12s4-6.5 10-6.5S22 12 22 12s-4 6.5-10 6.5S2 12 2 12zM12 9.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5z",
  shield: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM8.5 12l2.5 2.5 4.5-5",
  photo: "M4 6h4l1.5-2h5L16 6h4v13H4zM12 9.5a3.5 3.5 0 100 7 3.5 3.5 0 000-7z",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
};

/** Makes an element of a drawing; what is left out of el's properties is all attributes here. */
export function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children.flat(Infinity));
  return node;
}

/** Makes an icon that screen readers skip; the button around it carries the label. */
export function icon(name, className = "icon") {
  return draw("svg", { viewBox: "0 0 24 24", class: className, "aria-hidden": "true" }, draw("path", { d: ICONS[name] }));
}

/** Makes a button that shows an icon only; label is its name for everybody who does not see it. */
export function iconButton(name, label, onClick, className = "icon-button") {
  return el("button", { type: "button", class: className, "aria-label": label, title: label, on: { click: onClick } }, icon(name));
}

/** Replaces the children of a node. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

let lastId = 0;

/** Returns an id that is new on this page, for labels and descriptions. */
export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** Waits for a time in milliseconds, or until a signal ends; then it rejects with the signal's reason. */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
    return undefined;
  });
}

/** Puts a text on the clipboard; false where the browser forbids it. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
