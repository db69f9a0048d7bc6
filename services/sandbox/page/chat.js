// One phone: head, chat, composer. It draws what the world has of its chat, and sends what its person does.

import { api, newWamid } from "./api.js";
import { drawBubble } from "./bubble.js";
import { el, fill, icon, iconButton } from "./dom.js";
import { openFlow } from "./flow.js";
import { dayName, firstName, phoneText, sameDay } from "./format.js";
import { openChoices } from "./list.js";
import { notice, showPicture } from "./sheet.js";

const NEAR = 120; // px from the foot within which new messages are followed
const SUGGESTIONS = ["sell 25 usdt", "balance", "rate", "status", "menu"];
const GREETING = ["hi"];
const WELCOME = "A simulated WhatsApp. What you send goes to the real bot over signed webhooks; no money is real.";

/** Makes a phone. Its element is `root`; `close` ends it. */
export function createPhone(phone, world) {
  const log = el("div", { class: "log", role: "log", "aria-live": "polite", "aria-label": `Chat of ${phoneText(phone)}` });
  const thread = el("div", { class: "thread", tabindex: "0", "aria-label": "Messages" }, log);
  const status = el("span", { class: "status", text: "online" });
  const who = el("span", { class: "who" });
  const own = el("div", { class: "own" }, who, el("span", { text: phoneText(phone) }));
  const input = el("textarea", { class: "composer-text", rows: "1", placeholder: "Message", "aria-label": `Message from ${phoneText(phone)}`, maxlength: "4096" });
  const chips = el("div", { class: "suggestions", role: "group", "aria-label": "Suggestions" });
  const toFoot = iconButton("down", "To the newest message", () => scrollToFoot(true), "icon-button to-foot");
  const composer = el("form", { class: "composer" }, el("div", { class: "composer-box" }, input),
    el("button", { type: "submit", class: "send", "aria-label": "Send", title: "Send" }, icon("send")));
  const root = el("article", { class: "phone", "aria-label": `Phone ${phoneText(phone)}`, data: { phone } },
    el("div", { class: "chat" },
      own,
      el("header", { class: "chat-head" },
        el("span", { class: "avatar", "aria-hidden": "true", text: "₦" }),
        el("span", { class: "chat-name" }, el("strong", {}, "Offramp", icon("shield", "icon badge")), status)),
      el("div", { class: "wall" }, thread, toFoot), chips, composer));

  let atFoot = true; // new messages are followed
  const drawn = new Map(); // wamid → {key, node}
  let pending = []; // sent, but not in the world's chat yet
  const welcome = el("p", { class: "welcome", text: WELCOME });
  const typing = el("div", { class: "message theirs typing", "aria-hidden": "true" }, el("div", { class: "bubble theirs" }, el("i"), el("i"), el("i")));

  const acts = {
    button: (message, id) => send({ button: id, context: message.wamid }, titleOf(message.buttons, id)),
    list: (message) => openChoices(root, {
      title: message.rows_label || "Menu", items: message.rows, submit: "Send",
      onChoose: (id) => send({ list: id, context: message.wamid }, titleOf(message.rows, id)),
    }),
    flow: (message) => openFlow(root, phone, message, world.person(phone)),
    picture: (message) => showPicture(root, message.media.url, message.text),
  };

  async function send(what, text) {
    const wamid = newWamid();
    pending.push({ direction: "in", wamid, type: "text", text, buttons: [], rows: [], status: "pending", at: new Date().toISOString(), context: what.context });
    draw();
    scrollToFoot(true);
    try {
      const { deliveries } = await api.send(phone, wamid, what);
      if (deliveries.some((one) => one.status !== 200)) notice(root, `The bot answered ${deliveries[0].status || "nothing"}; WhatsApp will deliver it again.`, "error");
      await world.readChat(phone);
    } catch (error) {
      const failed = pending.find((one) => one.wamid === wamid);
      if (failed) failed.status = "failed";
      draw();
      notice(root, error.message, "error");
    }
  }

  function draw() {
    const known = world.chat(phone);
    pending = pending.filter((one) => !known.some((m) => m.wamid === one.wamid));
    const all = inOrder([...known, ...pending]);
    const byId = new Map(all.map((m) => [m.wamid, m]));
    const reactions = Map.groupBy(all.filter((m) => m.type === "reaction"), (m) => m.context);
    const shown = all.filter((m) => m.type !== "reaction");
    const nodes = [welcome];
    shown.forEach((message, i) => {
      const before = shown[i - 1];
      if (!before || !sameDay(before.at, message.at)) nodes.push(dayNode(message.at));
      const node = nodeOf(message, byId, reactions.get(message.wamid) ?? []);
      node.classList.toggle("first", !before || before.direction !== message.direction || !sameDay(before.at, message.at));
      nodes.push(node);
    });
    if (world.typing.has(phone)) nodes.push(typing);
    settle(nodes);
    suggest(shown);
    if (atFoot) scrollToFoot(false);
    else toFoot.classList.add("has-new");
  }

  // Draws a message again only when it changed: the log is read aloud, and old bubbles keep their focus.
  function nodeOf(message, byId, reactions) {
    const emojis = reactions.map((m) => m.text);
    const key = JSON.stringify([message, emojis]);
    const old = drawn.get(message.wamid);
    if (old?.key === key) return old.node;
    const node = drawBubble(message, { quoted: quotedBy(message, byId), reactions: emojis, acts });
    drawn.set(message.wamid, { key, node });
    return node;
  }

  function dayNode(at) {
    const key = `day ${new Date(at).toDateString()}`;
    if (!drawn.has(key)) drawn.set(key, { node: el("div", { class: "day" }, el("span", { text: dayName(at) })) });
    return drawn.get(key).node;
  }

  // Puts nodes in place with as few moves as possible.
  function settle(nodes) {
    const wantedNodes = new Set(nodes);
    for (const node of [...log.children]) if (!wantedNodes.has(node)) node.remove();
    nodes.forEach((node, i) => { if (log.children[i] !== node) log.insertBefore(node, log.children[i] ?? null); });
  }

  function suggest(shown) {
    const words = shown.length === 0 ? GREETING : SUGGESTIONS;
    if (chips.dataset.words === words.join()) return;
    chips.dataset.words = words.join();
    fill(chips, words.map((text) => el("button", { type: "button", class: "chip", text, on: { click: () => send({ text }, text) } })));
  }

  function scrollToFoot(smooth) {
    atFoot = true;
    thread.scrollTo({ top: thread.scrollHeight, behavior: smooth ? "smooth" : "instant" });
    toFoot.classList.remove("has-new");
  }

  function drawTyping() {
    status.textContent = !world.online ? "connecting…" : world.typing.has(phone) ? "typing…" : "online";
    draw();
  }

  composer.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text === "") return;
    input.value = "";
    grow();
    send({ text }, text);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); composer.requestSubmit(); }
  });
  input.addEventListener("beforeinput", (event) => { if (event.inputType === "insertLineBreak" && input.value === "") event.preventDefault(); });
  const grow = () => { input.rows = Math.min(5, input.value.split("\n").length + Math.floor(input.value.length / 42)); };
  input.addEventListener("input", grow);
  let before = 0; // scrollTop of the last look
  thread.addEventListener("scroll", () => {
    const isNear = thread.scrollHeight - thread.scrollTop - thread.clientHeight < NEAR;
    if (isNear || thread.scrollTop < before) atFoot = isNear; // what grows below, like a picture that loads, is not a person who scrolls up
    before = thread.scrollTop;
    toFoot.classList.toggle("away", !atFoot);
    if (atFoot) toFoot.classList.remove("has-new");
  });
  // Pictures that load and a window that changes its size move the foot.
  const sizes = new ResizeObserver(() => { if (atFoot) scrollToFoot(false); });
  sizes.observe(thread);
  sizes.observe(log);

  const ends = [world.on(`chat:${phone}`, draw), world.on(`typing:${phone}`, drawTyping), world.on("link", drawTyping)];
  draw();
  return {
    root, phone,
    person({ name, account }) {
      who.textContent = name;
      own.title = `Whose phone this is.${account === "" ? "" : ` ${firstName(name)}'s own bank account is ${account}, at any bank.`}`;
    },
    focus: () => input.focus(),
    close() { sizes.disconnect(); ends.forEach((end) => end()); root.remove(); },
  };
}

// The response to a Flow stands before what it caused: the bot answers while the form still shows its last screen.
function inOrder(messages) {
  const out = [];
  for (const message of messages) {
    let at = out.length;
    if (message.answered_at !== undefined) {
      while (at > 0 && out[at - 1].direction === "out" && new Date(out[at - 1].at) >= new Date(message.answered_at)) at -= 1;
    }
    out.splice(at, 0, message);
  }
  return out;
}

function titleOf(choices, id) {
  return choices.find((choice) => choice.id === id)?.title ?? id;
}

// A tap on a button or a row quotes its message, as the client does; the bot's own answers do not need it.
function quotedBy(message, byId) {
  return message.context && message.direction === "in" ? byId.get(message.context) : undefined;
}
