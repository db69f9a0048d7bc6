// Message texts as nodes: WhatsApp's *bold* _italic_ ~strike~ `mono`, links and addresses; and the Markdown of Flows.

import { copyText, el, icon } from "./dom.js";

const TAGS = { "*": "strong", _: "em", "~": "s" };
const WORD = /[\p{L}\p{N}]/u;
const PARTS = /(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)])|(0x[0-9a-fA-F]{40,64})(?![0-9a-fA-F])/g;

/** Turns a chat text into nodes; line breaks stay as they are, the bubble shows them. */
export function chatText(text) {
  return spans(text, true);
}

/** Turns a chat text into one plain line, for quotes and notices. */
export function plainLine(text) {
  return text.replace(/[*_~`]/g, "").replace(/\s+/g, " ").trim();
}

function spans(text, block) {
  const nodes = [];
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const found = block && text.startsWith("```", at) ? fence(text, at) : delimited(text, at);
    if (found === null) continue;
    nodes.push(...leaves(text.slice(from, at)), found.node);
    from = found.end;
    at = found.end - 1;
  }
  nodes.push(...leaves(text.slice(from)));
  return nodes;
}

function fence(text, at) {
  const end = text.indexOf("```", at + 3);
  if (end < at + 4) return null;
  return { node: el("code", { class: "mono block", text: text.slice(at + 3, end) }), end: end + 3 };
}

// A delimiter opens at the edge of a word and closes at the edge of one; ****6789 and snake_case_names stay as they are.
function delimited(text, at) {
  const mark = text[at];
  if (mark !== "`" && !Object.hasOwn(TAGS, mark)) return null;
  const before = text[at - 1] ?? " ";
  const after = text[at + 1] ?? " ";
  if (before === mark || WORD.test(before) || after === mark || /\s/.test(after)) return null;
  for (let end = text.indexOf(mark, at + 2); end > 0; end = text.indexOf(mark, end + 1)) {
    const inside = text.slice(at + 1, end);
    if (inside.includes("\n")) return null;
    if (/\s$/.test(inside) || text[end + 1] === mark || WORD.test(text[end + 1] ?? " ")) continue;
    const node = mark === "`" ? el("code", { class: "mono", text: inside }) : el(TAGS[mark], {}, spans(inside, false));
    return { node, end: end + 1 };
  }
  return null;
}

// Plain text with its links and addresses.
function leaves(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(PARTS)) {
    nodes.push(text.slice(from, found.index), found[1] ? outside(found[1], found[1]) : address(found[2]));
    from = found.index + found[0].length;
  }
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
}

/** A link that leaves the page, only over http; anything else stays text. */
export function outside(url, title) {
  if (!/^https?:\/\//i.test(url)) return document.createTextNode(title);
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer", text: title });
}

function address(text) {
  const button = el("button", { type: "button", class: "address", title: "Copy", "aria-label": `Copy ${text}` }, text, icon("copy"));
  button.addEventListener("click", async () => {
    const done = await copyText(text);
    button.classList.toggle("copied", done);
    setTimeout(() => button.classList.remove("copied"), 1200);
  });
  return button;
}

/** Turns the Markdown of RichText and of texts with `markdown` into nodes. */
export function markdown(source) {
  const nodes = [];
  for (const block of source.split(/\n{2,}/)) {
    const lines = block.split("\n").filter((line) => line.trim() !== "");
    if (lines.length > 0) nodes.push(...blocks(lines));
  }
  return nodes;
}

function blocks(lines) {
  const heading = /^(#{1,2})\s+(.*)$/.exec(lines[0]);
  if (heading) {
    const node = el(heading[1].length === 1 ? "h3" : "h4", {}, words(heading[2]));
    return lines.length === 1 ? [node] : [node, ...blocks(lines.slice(1))];
  }
  for (const [pattern, tag] of [[/^\s*[-+*]\s+/, "ul"], [/^\s*\d+\.\s+/, "ol"]]) {
    if (lines.every((line) => pattern.test(line))) {
      return [el(tag, {}, lines.map((line) => el("li", {}, words(line.replace(pattern, "")))))];
    }
  }
  if (lines.length > 2 && lines.every((line) => line.includes("|")) && /^[\s|:-]+$/.test(lines[1])) return [table(lines)];
  return [el("p", {}, lines.flatMap((line, n) => (n === 0 ? words(line) : [el("br"), ...words(line)])))];
}

function table(lines) {
  const cells = (line) => line.replace(/^\s*\||\|\s*$/g, "").split("|").map((cell) => cell.trim());
  return el("table", {},
    el("thead", {}, el("tr", {}, cells(lines[0]).map((cell) => el("th", { scope: "col" }, words(cell))))),
    el("tbody", {}, lines.slice(2).map((line) => el("tr", {}, cells(line).map((cell) => el("td", {}, words(cell)))))));
}

const INLINE = /\*\*(.+?)\*\*|__(.+?)__|~~(.+?)~~|\*(.+?)\*|_(.+?)_|\[([^\]]+)\]\(([^)\s]+)\)/g;

function words(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(INLINE)) {
    nodes.push(text.slice(from, found.index));
    const [, bold, bold2, strike, italic, italic2, title, url] = found;
    if (title !== undefined) nodes.push(outside(url, title));
    else if (bold ?? bold2) nodes.push(el("strong", {}, words(bold ?? bold2)));
    else if (strike) nodes.push(el("s", {}, words(strike)));
    else nodes.push(el("em", {}, words(italic ?? italic2)));
    from = found.index + found[0].length;
  }
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
}
