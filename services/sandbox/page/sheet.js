// Layers over a phone: bottom sheets, questions, pictures in full, and the short notices (snackbars).

import { el, fill, freshId, iconButton } from "./dom.js";

const LEAVE = 180; // ms of the closing animation, as in the style sheet
const NOTICE = 6000; // ms that a notice stays

const FOCUSABLE = "a[href],button:not([disabled]),input:not([disabled]),select:not([disabled]),textarea:not([disabled]),[tabindex='0']";

/**
 * Opens a layer over a host. kind is its class: sheet, question or picture. onDismiss is asked when somebody wants to
 * leave by Escape, the backdrop or the cross; it calls close itself, the default does so at once. What is below the
 * layer cannot be reached while it is open, and the focus goes back where it came from.
 */
export function openLayer(host, { kind, title, onDismiss }) {
  const opener = document.activeElement;
  const labelId = freshId("layer");
  const heading = el("h2", { id: labelId, class: "layer-title", text: title });
  const box = el("section", { class: kind, role: "dialog", "aria-modal": "true", "aria-labelledby": labelId, tabindex: "-1" });
  const backdrop = el("div", { class: "backdrop" });
  const root = el("div", { class: "layer" }, backdrop, box);
  const layer = { root, box, heading, isOpen: true };
  const below = [...host.children].filter((node) => !node.inert && !node.classList.contains("notices"));

  layer.dismiss = () => (onDismiss ?? layer.close)();

  // Escape also counts when the focus is nowhere, for the layer on top of the phone in use.
  const atLarge = (event) => {
    const phone = host.closest(".phone");
    const onTop = [...phone.querySelectorAll(".layer:not(.leaving)")].at(-1) === root;
    if (event.key === "Escape" && document.activeElement === document.body && onTop && phone.classList.contains("active")) layer.dismiss();
  };
  document.addEventListener("keydown", atLarge);

  layer.close = () => {
    if (!layer.isOpen) return;
    layer.isOpen = false;
    document.removeEventListener("keydown", atLarge);
    for (const node of below) node.inert = false;
    root.inert = true;
    root.classList.add("leaving");
    setTimeout(() => root.remove(), LEAVE);
    if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
  };

  layer.cross = () => iconButton("close", "Close", layer.dismiss, "icon-button layer-close");
  backdrop.addEventListener("click", layer.dismiss);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      layer.dismiss();
    } else if (event.key === "Tab") trap(event, box);
  });
  for (const node of below) node.inert = true;
  host.append(root);
  box.focus({ preventScroll: true });
  return layer;
}

// Keeps Tab inside a layer.
function trap(event, box) {
  const all = [...box.querySelectorAll(FOCUSABLE)].filter((node) => node.offsetParent !== null && node.closest("[inert]") === null);
  if (all.length === 0) return event.preventDefault();
  const edge = event.shiftKey ? all[0] : all.at(-1);
  const outside = !box.contains(document.activeElement) || document.activeElement === box;
  if (document.activeElement === edge || (outside && event.shiftKey)) {
    event.preventDefault();
    (event.shiftKey ? all.at(-1) : all[0]).focus();
  }
  return undefined;
}

/** Opens a bottom sheet with a head and a body that scrolls. */
export function openSheet(host, { title, className = "", onDismiss }) {
  const layer = openLayer(host, { kind: `sheet ${className}`, title, onDismiss });
  layer.body = el("div", { class: "sheet-body" });
  layer.head = el("header", { class: "sheet-head" }, layer.cross(), layer.heading, el("span", { class: "sheet-side" }));
  layer.box.append(layer.head, layer.body);
  return layer;
}

/** Asks a question with two answers; resolves to true for the first one. */
export function ask(host, { title, text, yes, no }) {
  return new Promise((resolve) => {
    const done = (answer) => { layer.close(); resolve(answer); };
    const layer = openLayer(host, { kind: "question", title, onDismiss: () => done(false) });
    const stay = el("button", { type: "button", class: "text-button", text: no, on: { click: () => done(false) } });
    layer.box.append(
      layer.heading,
      el("p", { text }),
      el("div", { class: "answers" }, stay,
        el("button", { type: "button", class: "text-button danger", text: yes, on: { click: () => done(true) } })));
    stay.focus();
  });
}

/** Shows a picture in full; another tap closes it. */
export function showPicture(host, url, caption) {
  const layer = openLayer(host, { kind: "picture", title: caption || "Picture" });
  const image = el("img", { src: url, alt: caption || "Picture from the bot" });
  image.addEventListener("click", layer.dismiss);
  layer.box.append(
    el("header", {}, layer.cross(), layer.heading,
      el("a", { class: "text-button", href: url, download: "", text: "Save" })),
    el("div", { class: "picture-frame" }, image));
}

/** Takes the notices of a host away: what they spoke of is over. */
export function dropNotices(host) {
  host.querySelector(":scope > .notices")?.replaceChildren();
}

/** Shows a short notice at the foot of a host; it leaves by itself. kind is "error" or "". */
export function notice(host, text, kind = "") {
  let shelf = host.querySelector(":scope > .notices");
  if (shelf === null) host.append((shelf = el("div", { class: "notices", role: "status", "aria-live": "polite" })));
  const line = el("div", { class: `notice ${kind}` }, el("span", { text }));
  const close = () => line.remove();
  line.append(iconButton("close", "Dismiss", close));
  fill(shelf, line);
  shelf.parentElement.append(shelf); // above every layer
  setTimeout(close, NOTICE);
}
