// The world API (DESIGN §14), call by call. A refusal throws a WorldError with the world's own code and words.

/** What the world answered to a call that it refused; status 0 means that it did not answer. */
export class WorldError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = "WorldError";
    this.status = status;
    this.code = code;
  }
}

async function call(method, path, body, accept = []) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new WorldError(0, "unreachable", "The sandbox does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok || (accept.includes(response.status) && answer.session !== undefined)) return answer;
  throw new WorldError(response.status, answer.error ?? "unknown", answer.message ?? `The sandbox answered ${response.status}.`);
}

const get = (path) => call("GET", path);
const post = (path, body) => call("POST", path, body);
const part = encodeURIComponent;

/** A new message id in WhatsApp's form, so that a message can be shown before the world has it. */
export function newWamid() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  const text = btoa(String.fromCharCode(...bytes));
  return `wamid.${text.replaceAll("+", "-").replaceAll("/", "_")}`;
}

export const api = {
  info: () => get("/world/info"),
  state: () => get("/world/state"),
  chats: async () => (await get("/world/chats")).items,
  /** {name, account, messages}; name and account are there before the first message. */
  chat: (phone) => get(`/world/chats/${part(phone)}`),
  /** what: {text}, {button} or {list}, with context for a tap. */
  send: (from, wamid, what) => post("/world/messages", { from, wamid, ...what }),

  // A Flow step that the client complains about is a 422 that still carries the whole state.
  openFlow: (phone, wamid) => call("POST", "/world/flows/open?view=1", { phone, wamid }, [422]),
  /** tap is {component, item} when something else than the footer is tapped. */
  submitFlow: (session, screen, data, tap) => call("POST", "/world/flows/submit?view=1", { session, screen, data, tap }, [422]),
  backFlow: (session, screen) => call("POST", "/world/flows/back?view=1", { session, screen }, [422]),

  /** The states of an order and the ways between them: {states, edges}. */
  orderTable: () => get("/world/orders"),
  /** Where one order stands, from the bot's staff API: {reference, state, history}. */
  order: (reference) => get(`/world/orders/${part(reference)}`),

  chains: async () => (await get("/world/chains")).items,
  transfer: (chain, to, token, amount) => post(`/world/chains/${part(chain)}/transfers`, { to, token, amount }),
  mine: (chain, blocks) => post(`/world/chains/${part(chain)}/mine`, { blocks }),
  reorganise: (chain, depth, drop) => post(`/world/chains/${part(chain)}/reorg`, { depth, drop }),
  mineEvery: (chain, seconds) => post(`/world/chains/${part(chain)}/auto`, { seconds }),
  stall: (chain, stalled) => post(`/world/chains/${part(chain)}/stall`, { stalled }),

  bank: async () => (await get("/world/bank/transfers")).items,
  settle: (reference, status, webhook) => post(`/world/bank/transfers/${part(reference)}`, { status, webhook }),
  payAfter: (seconds) => post("/world/bank/auto", { seconds }),

  faults: async () => (await get("/world/faults")).items,
  setFault: (fault) => post("/world/faults", fault),
  clearFaults: () => call("DELETE", "/world/faults"),

  /** Events after a number: {items, next}; waits for the next one, at most 25 s. */
  events: (after) => get(`/world/events?after=${part(after)}`),
};
