// One message as a bubble.

import { el, icon } from "./dom.js";
import { clock } from "./format.js";
import { chatText, outside, plainLine } from "./markup.js";

const TICKS = {
  pending: ["clock", "Sending"], failed: ["alert", "Not delivered"], sent: ["tick", "Sent"], delivered: ["ticks", "Delivered"],
  read: ["ticks", "Read"],
};

/**
 * Draws a message. quoted is the message that it answers, if any; reactions are emojis on it; acts are what its
 * controls do: button(message, id), list(message), flow(message), picture(message).
 */
export function drawBubble(message, { quoted, reactions = [], acts }) {
  const mine = message.direction === "in"; // in: from the person of this phone to the bot
  const bubble = el("div", { class: `bubble ${mine ? "mine" : "theirs"} of-${message.type}` },
    el("span", { class: "unseen", text: mine ? "You: " : "Bot: " }),
    quoted ? quote(quoted) : null,
    message.media ? media(message, acts) : null,
    message.header ? el("strong", { class: "bubble-head", text: message.header }) : null,
    message.text ? el("span", { class: "bubble-text" }, body(message)) : null,
    message.footer ? el("span", { class: "bubble-foot", text: message.footer }) : null,
    !mine && message.status === "failed" ? el("span", { class: "bubble-lost", text: "WhatsApp did not deliver this one." }) : null,
    el("span", { class: "bubble-meta" }, el("time", { datetime: message.at, text: clock(message.at) }), mine ? ticks(message.status) : null));
  const parts = [bubble, ...controls(message, acts)];
  if (reactions.length > 0) bubble.append(el("span", { class: "reactions", text: reactions.join("") }));
  return el("div", { class: `message ${mine ? "mine" : "theirs"}`, data: { wamid: message.wamid } }, parts);
}

function body(message) {
  switch (message.type) {
    case "nfm_reply": return [icon("check"), el("em", { text: message.text })];
    case "location": return [icon("world"), "Location"];
    default: return chatText(message.text);
  }
}

function quote(message) {
  return el("span", { class: "quote" },
    el("span", { class: "quote-who", text: message.direction === "in" ? "You" : "Offramp" }),
    el("span", { class: "quote-text", text: plainLine(message.text || message.header || "Picture").slice(0, 140) }));
}

function media(message, acts) {
  if (message.type === "image") {
    const image = el("img", { src: message.media.url, alt: message.text || "Picture from the bot", loading: "lazy" });
    return el("button", { type: "button", class: "bubble-picture", "aria-label": "View the picture", on: { click: () => acts.picture(message) } }, image);
  }
  return el("a", { class: "bubble-file", href: message.media.url, target: "_blank", rel: "noopener noreferrer" },
    icon("file"), el("span", { text: message.footer || "File" }));
}

function ticks(status) {
  const known = Object.hasOwn(TICKS, status ?? "") ? status : "delivered"; // the world delivers before it answers
  const [name, label] = TICKS[known];
  return el("span", { class: `ticks is-${known}`, role: "img", "aria-label": label }, icon(name));
}

// What can be tapped under a bubble.
function controls(message, acts) {
  const control = (name, label, onClick, more = {}) =>
    el("button", { type: "button", class: "control", ...more, on: { click: onClick } }, icon(name), el("span", { text: label }));
  if (message.flow) {
    const { cta, closed } = message.flow;
    return [control("chevron", cta || "Open", () => acts.flow(message), { class: "control flow-button", disabled: closed })];
  }
  if (message.rows.length > 0) return [control("list", message.rows_label || "Menu", () => acts.list(message))];
  if (message.link) {
    const link = outside(message.link.url, message.link.title);
    if (link instanceof HTMLElement) link.className = "control";
    return [link];
  }
  return message.buttons.map(({ id, title }) => control("reply", title, () => acts.button(message, id), { data: { id } }));
}
