// The page's copy of the world: read when something happened, told to whoever draws it.

import { api } from "./api.js";
import { lastSale } from "./format.js";
import { follow } from "./live.js";

const STATUS_RANK = { accepted: 0, sent: 1, delivered: 2, read: 3, failed: 4 };
const GATHER = { chat: 20, chains: 250, bank: 80, faults: 40, state: 600 }; // ms in which several causes are one reading
const ORDER = { next: 1000, after: 150, failed: 6000 }; // ms until an order is read again: while it moves, after a cause, while nothing is known
const TYPING = 25_000; // ms that WhatsApp shows the dots at most

/**
 * Reads and follows the world. Topics: chat:<phone>, typing:<phone>, people, order, table, chains, bank, faults, state, info,
 * link.
 */
export function createWorld(phones) {
  const listeners = new Map();
  const timers = new Map();
  const world = { chats: new Map(), typing: new Map(), chains: [], bank: [], faults: [], state: null, info: null, online: true };
  world.people = new Map(); // phone → {name, account}
  world.orders = new Map(); // phone → its newest order as the bot's staff see it; state "" when they cannot be asked
  world.table = null; // the states of an order and the ways between them
  world.sentAt = new Map(); // transaction → when it was sent; chains do not tell

  world.on = (topic, listener) => {
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic).add(listener);
    return () => listeners.get(topic).delete(listener);
  };
  const tell = (topic) => listeners.get(topic)?.forEach((listener) => listener());

  world.chat = (phone) => world.chats.get(phone) ?? [];

  world.readChat = async (phone) => {
    const { name, account, messages } = await api.chat(phone);
    const before = world.chat(phone);
    const isNew = !world.people.has(phone);
    world.people.set(phone, { name, account });
    if (isNew) tell("people");
    world.chats.set(phone, messages);
    if (messages.some((m, i) => i >= before.length && m.direction === "out")) stopTyping(phone);
    tell(`chat:${phone}`);
    orderSoon(phone, ORDER.after);
  };

  world.person = (phone) => world.people.get(phone) ?? { name: "New phone", account: "" };

  // The newest order of a phone, again and again until it has ended; a cause reads it at once.
  function orderSoon(phone, delay) {
    const sale = lastSale(world.chat(phone));
    if (sale !== null && phones().includes(phone)) soon(`order:${phone}`, delay, () => readOrder(phone, sale.reference));
  }

  async function readOrder(phone, reference) {
    const order = await api.order(reference).catch(() => ({ reference, state: "", history: [] }));
    const before = world.orders.get(phone);
    const isLost = order.state === "" && before?.asked === reference; // what was known of it stays
    if (!isLost) world.orders.set(phone, { ...order, asked: reference });
    tell("order");
    const isOver = world.table?.states.some((state) => state.name === order.state && state.final) ?? true;
    if (!isOver) orderSoon(phone, order.state === "" ? ORDER.failed : ORDER.next);
  }

  const readings = {
    chains: async () => { world.chains = await api.chains(); },
    bank: async () => { world.bank = await api.bank(); },
    faults: async () => { world.faults = await api.faults(); },
    table: async () => { world.table = await api.orderTable(); },
    state: async () => { world.state = await api.state(); },
    info: async () => { world.info = await api.info(); },
  };

  world.refresh = async (topic) => {
    await readings[topic]();
    tell(topic);
  };

  // Gathers causes that come together into one reading; a reading that fails is repeated by the next cause.
  function soon(topic, delay, read) {
    if (timers.has(topic)) return;
    timers.set(topic, setTimeout(() => {
      timers.delete(topic);
      read().catch(() => {});
    }, delay));
  }
  const readSoon = (topic) => soon(topic, GATHER[topic], () => world.refresh(topic));
  const chatSoon = (phone) => {
    if (phones().includes(phone)) soon(`chat:${phone}`, GATHER.chat, () => world.readChat(phone));
  };

  world.readAll = () => {
    for (const phone of phones()) chatSoon(phone);
    for (const topic of ["chains", "bank", "faults", "state"]) readSoon(topic);
    if (world.table === null) world.refresh("table").catch(() => {});
    if (world.info === null) world.refresh("info").catch(() => {});
  };

  function startTyping(phone, at) {
    const left = TYPING - (Date.now() - new Date(at).getTime());
    const answered = world.chat(phone).some((m) => m.direction === "out" && m.at > at);
    if (answered || left <= 0) return;
    clearTimeout(world.typing.get(phone));
    world.typing.set(phone, setTimeout(() => stopTyping(phone), left));
    tell(`typing:${phone}`);
  }

  function stopTyping(phone) {
    clearTimeout(world.typing.get(phone));
    if (world.typing.delete(phone)) tell(`typing:${phone}`);
  }

  function status(event) {
    if (event.text === "typing") startTyping(event.phone, event.at);
    const message = world.chat(event.phone).find((m) => m.wamid === event.id);
    const name = event.text === "typing" ? "read" : event.text;
    if (message === undefined || (STATUS_RANK[name] ?? 0) <= (STATUS_RANK[message.status] ?? -1)) return;
    message.status = name;
    tell(`chat:${event.phone}`);
  }

  function take(event) {
    readSoon("state");
    if (event.kind === "status") status(event);
    else if (event.kind === "message") chatSoon(event.phone);
    else if (event.kind === "flow" && event.text === "closed") chatSoon(event.phone);
    else if (event.kind === "chain") {
      if (event.text === "pooled" && !world.sentAt.has(event.id)) world.sentAt.set(event.id, event.at);
      readSoon("chains");
    } else if (event.kind === "bank") {
      readSoon("bank");
      for (const phone of phones()) orderSoon(phone, ORDER.after);
    }
    if (event.kind === "fault" || world.faults.length > 0) readSoon("faults"); // what happens may use one up
  }

  function link(online) {
    if (online) world.readAll();
    world.online = online;
    tell("link");
  }

  world.start = (signal, streams) => follow({ onEvent: take, onLink: link, signal, streams });
  return world;
}
