// Components of a Flow screen that only show something, and links.

import { el } from "./dom.js";
import { markdown, outside } from "./markup.js";

const TEXTS = { TextHeading: "h2", TextSubheading: "h3", TextBody: "p", TextCaption: "p" };

/** Draws a component that takes no input, null when the type is none of them. get reads a property of it. */
export function drawText(type, get, act) {
  if (Object.hasOwn(TEXTS, type)) return textNode(type, get);
  switch (type) {
    case "RichText": return el("div", { class: "flow-rich" }, markdown(lines(get("text"), "\n\n")));
    case "Image": return imageNode(get);
    case "EmbeddedLink": return linkNode(get, act);
    default: return null;
  }
}

function lines(text, between = "\n") {
  return Array.isArray(text) ? text.join(between) : String(text ?? "");
}

function textNode(type, get) {
  const text = lines(get("text"));
  if (text === "") return el("span", { hidden: true });
  const weight = String(get("font-weight") ?? "normal");
  const classes = ["flow-text", `is-${type}`];
  if (weight.includes("bold")) classes.push("bold");
  if (weight.includes("italic")) classes.push("italic");
  if (get("strikethrough") === true) classes.push("strike");
  if (get("markdown") === true) return el("div", { class: classes.join(" ") }, markdown(text));
  return el(TEXTS[type], { class: classes.join(" "), text });
}

/** A picture of a Flow. It travels as base64 without saying what it is; its first characters do. */
export function picture(src, alt, className) {
  const source = String(src ?? "").replace(/^data:[^,]*,/, "");
  const kind = source.startsWith("/9j/") ? "jpeg" : source.startsWith("UklGR") ? "webp" : "png";
  if (!/^[A-Za-z0-9+/=\s]+$/.test(source)) return el("span", { hidden: true });
  return el("img", { class: className, src: `data:image/${kind};base64,${source}`, alt });
}

function imageNode(get) {
  const image = picture(get("src"), get("alt-text") ?? "", "flow-image");
  const height = Number(get("height"));
  if (height > 0) image.style.height = `${Math.min(height, 600)}px`;
  if (get("scale-type") === "cover") image.style.objectFit = "cover";
  return image;
}

function linkNode(get, act) {
  const action = get("on-click-action") ?? {};
  if (action.name === "open_url") {
    return el("p", { class: "flow-link" }, outside(String(action.url ?? ""), String(get("text") ?? "")));
  }
  return el("p", { class: "flow-link" }, el("button", { type: "button", class: "link", text: get("text"), on: { click: () => act(action, { component: get("text") }) } }));
}
