// Times, numbers, phones and amounts as people read them, and what the page reads out of the bot's words.

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });

/** 14:05 */
export function clock(at) {
  return TIME.format(new Date(at));
}

/** The name of a day: Today, Yesterday or a date. */
export function dayName(at, now = new Date()) {
  const day = new Date(at);
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const age = Math.ceil((midnight - day) / 86_400_000);
  if (age <= 0) return "Today";
  return age === 1 ? "Yesterday" : DATE.format(day);
}

/** True when two instants are on the same day here. */
export function sameDay(a, b) {
  return new Date(a).toDateString() === new Date(b).toDateString();
}

/** +234 803 000 0001; ids that are no number stay as they are. */
export function phoneText(phone) {
  if (!/^\d+$/.test(phone)) return phone;
  const cut = phone.startsWith("1") ? 1 : /^(20|27|3[0-469]|4[013-9]|5[1-8]|6[0-6]|7|8[1246]|9[0-58])/.test(phone) ? 2 : 3;
  const rest = phone.slice(cut);
  const groups = [];
  let left = rest.length;
  while (left > 4) { groups.push(rest.substr(rest.length - left, 3)); left -= 3; }
  groups.push(rest.slice(rest.length - left));
  return `+${phone.slice(0, cut)} ${groups.join(" ")}`;
}

const SYMBOLS = { NGN: "₦", GHS: "GH₵", USD: "$", EUR: "€", GBP: "£", KES: "KSh ", ZAR: "R" };

/** ₦37,262.50 of 3726250 minor units; every fiat of the registry has two decimals. Whole numbers only, no rounding. */
export function fiat(minor, currency) {
  const digits = String(minor).padStart(3, "0");
  return `${SYMBOLS[currency] ?? `${currency} `}${thousands(digits.slice(0, -2))}.${digits.slice(-2)}`;
}

/** A token amount of raw units, without final zeros: "25000000" with 6 decimals is 25. */
export function tokens(raw, decimals) {
  const digits = raw.padStart(decimals + 1, "0");
  const whole = decimals === 0 ? digits : digits.slice(0, -decimals);
  const part = decimals === 0 ? "" : digits.slice(-decimals).replace(/0+$/, "");
  return thousands(whole) + (part === "" ? "" : `.${part}`);
}

/** 1,234,567 */
export function thousands(whole) {
  return String(whole).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** The middle of a long id replaced by dots. */
export function short(id, head = 6, tail = 4) {
  return id.length <= head + tail + 1 ? id : `${id.slice(0, head)}…${id.slice(-tail)}`;
}

/** •••• 6789 */
export function masked(account) {
  return `•••• ${account.slice(-4)}`;
}

/** The first of somebody's names. */
export function firstName(name) {
  return name.split(" ")[0];
}

/** BNB for bnb, Base for base. */
export function chainTitle(name) {
  return name.length <= 3 ? name.toUpperCase() : name[0].toUpperCase() + name.slice(1);
}

const ADDRESS = /0x[0-9a-fA-F]{40}(?![0-9a-fA-F])/;

/**
 * Reads what a chat says is to be sent: {address, amount, token, chain}, null without an address. The newest address
 * counts, and of its message the amount that is followed by "on <chain>": what is missing, not what arrived. A picture
 * or a text without an amount leaves amount, token and chain empty.
 */
export function wanted(messages, chains) {
  for (let i = messages.length - 1; i >= 0; i -= 1) {
    const found = messages[i].direction === "out" ? ADDRESS.exec(messages[i].text) : null;
    if (found === null) continue;
    return { address: found[0], ...missing(messages[i].text, chains) };
  }
  return null;
}

function missing(text, chains) {
  const plain = text.replace(/[*_~`]/g, "");
  for (const chain of chains) {
    for (const token of chain.tokens) {
      const amount = new RegExp(`(\\d[\\d,]*(?:\\.\\d+)?)\\s*${token.symbol}\\s+\\S{1,6}\\s+${chain.name}\\b`, "i").exec(plain);
      if (amount) return { amount: amount[1].replaceAll(",", ""), token: token.symbol, chain: chain.name };
    }
  }
  return { amount: "", token: "", chain: "" };
}

/**
 * Reads the newest sale out of a chat: {reference, net, last4, address, at, told}, null for none. net is the payout's
 * digits without a point (minor units), "" when no message names it; told is how many messages were about it.
 */
export function lastSale(messages) {
  let sale = null;
  for (const message of messages) {
    const reference = message.direction === "out" ? referenceIn(message.text) : "";
    if (reference === "") continue;
    if (sale === null || sale.reference !== reference) sale = { reference, net: "", last4: "", at: message.at, address: "", told: 0 };
    sale.told += 1;
    const net = /(?:₦|GH₵|NGN|GHS)\s?([\d,]+\.\d\d)/.exec(message.text);
    const last4 = /(?:\*{4}|•{4})\s?(\d{4})/.exec(message.text);
    const address = ADDRESS.exec(message.text);
    sale.net ||= net ? net[1].replace(/\D/g, "") : "";
    sale.last4 ||= last4 ? last4[1] : "";
    sale.address ||= address ? address[0].toLowerCase() : "";
  }
  return sale;
}

/** The bank's newest payout that fits what the chat promised for a sale, null for none. */
export function payoutOf(sale, bank) {
  return bank.findLast((one) => String(one.amount_minor) === sale.net && one.account_number.endsWith(sale.last4) && one.at >= sale.at) ?? null;
}

// A reference is nine characters without I, L, O and U (DESIGN §4); a word in capitals may be too, so one without a
// digit counts only behind a colon.
function referenceIn(text) {
  for (const found of text.matchAll(/(: )?\b([0-9A-HJKMNP-TV-Z]{8}-?[0-9A-HJKMNP-TV-Z])\b/g)) {
    if (found[1] !== undefined || /\d/.test(found[2])) return found[2];
  }
  return "";
}
